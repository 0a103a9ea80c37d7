"""A split anywhere is one process that quantises and dequantises at the same token."""

from __future__ import annotations

import numpy as np
import pytest

from statebound.errors import StateboundError
from statebound.models._lanes import LANES, tile_count, to_lanes, to_rows
from statebound.protocols.message import MessageError
from statebound.reductions.machine import CutMachine

CHUNKS = (1, 2, 3)


def quantised(machine: CutMachine, state, read: int, first: int = 0):
    """Quantise and dequantise by the definition, from a field on; return (codes, values)."""
    codes = []
    some = slice(first, first + len(state))
    fields, quantisers = machine.cell.fields[some], machine.quantisers[some]
    for field, quantiser, part in zip(fields, quantisers, state, strict=True):
        code = quantiser.encode(part)
        if field.cache:
            unused = max(0, field.shape[0] - read)
            code.reshape(len(code), field.shape[0], -1, LANES)[:, :unused] = 0
        codes.append(code)
    values = []
    for field, quantiser, code in zip(fields, quantisers, codes, strict=True):
        part = quantiser.decode(code, machine.cell.dtype)
        if field.cache:  # what was never written is what the start state holds
            unused = max(0, field.shape[0] - read)
            part.reshape(len(part), field.shape[0], -1, LANES)[:, :unused] = 0
        values.append(part)
    return codes, tuple(values)


def quantised_step(machine: CutMachine, state, token: np.ndarray, read: int):
    """Read one token, each part of the model settled in its turn; return (codes, values)."""
    codes = []

    def settle(first, values):
        assert first == len(codes), "every field is settled once, in order"
        fresh, kept = quantised(machine, values, read, first)
        codes.extend(fresh)
        return kept

    return codes, machine.cell.step(state, token, settle)


def one_process(machine: CutMachine, tokens: np.ndarray, handoff: int):
    """Run without a split, token by token; return the final values and what is sent."""
    state = machine.cell.start(tile_count(len(tokens)))
    codes = None
    for t in range(tokens.shape[1] + 1):
        if t > 0:
            token = to_lanes(tokens[:, t - 1 : t])
            if machine.regime == "step":
                codes, state = quantised_step(machine, state, token, t)
            else:
                state = machine.cell.scan(state, token)
            if machine.regime == "handoff" and t == handoff:
                codes, state = quantised(machine, state, t)
    if machine.regime == "handoff":
        codes, _ = quantised(machine, state, tokens.shape[1])
    return state, packed(machine, codes, len(tokens))


def packed(machine: CutMachine, codes, count: int) -> np.ndarray:
    """Write the codes one after the other as one long number a row, lowest bits first."""
    flat = np.concatenate([to_rows(code, count) for code in codes], axis=1)
    out = np.zeros((count, machine.message_bytes), np.uint8)
    for row in range(count):
        number, shift = 0, 0
        for code, width in zip(flat[row].tolist(), machine.widths.tolist(), strict=True):
            assert code < 2**width
            number |= code << shift
            shift += width
        out[row] = np.frombuffer(number.to_bytes(machine.message_bytes, "little"), np.uint8)
    return out


def run(machine: CutMachine, state, tokens: np.ndarray, chunk: int):
    for t in range(0, tokens.shape[1], chunk):
        state = machine.extend(state, tokens[:, t : t + chunk])
    return state


def same_values(cut, values) -> bool:
    return all(
        to_rows(a, cut.count).tobytes() == to_rows(b, cut.count).tobytes()
        for a, b in zip(cut.values, values, strict=True)
    )


def check_law(machine: CutMachine, other: CutMachine, inputs: np.ndarray) -> None:
    tokens = machine.encoding.tokens(inputs)
    for handoff in range(tokens.shape[1] + 1):
        values, sent = one_process(machine, tokens, handoff)
        for turn, chunk in enumerate(CHUNKS):
            begun = machine.starts(len(inputs))
            alice = run(machine, begun, tokens[:, :handoff], CHUNKS[turn - 1])
            message = machine.message(alice)
            bob = run(other, other.resume(message, handoff), tokens[:, handoff:], chunk)
            assert same_values(bob, values), f"values differ after a split at {handoff}"
            assert bob.read == tokens.shape[1]
            assert (other.message(bob) == sent).all(), f"bytes differ after a split at {handoff}"
            assert (machine.message(alice) == message).all(), "Bob changed Alice's state"
            if machine.regime == "step":
                assert (machine.encode(inputs) == sent).all(), "in `step` a split must not show"


def test_a_split_anywhere_is_one_process(kind, inputs):
    """Bob is a machine of his own, made from the same arguments; he has the bytes alone."""
    check_law(kind.machine(), kind.fresh(), inputs)


@pytest.mark.parametrize("regime", ["handoff", "step"])
@pytest.mark.parametrize("quantisation_of", [("quantile", 3), ("uniform", 16), ("uniform", 32)])
def test_a_split_anywhere_in_double_precision(model, regime, quantisation_of, inputs, kind_of):
    kind = kind_of(model, quantisation_of, regime, "float64")
    check_law(kind.fresh(), kind.fresh(), inputs)


def test_nothing_is_sent_before_the_first_token(model, kind_of):
    machine = kind_of(model, ("uniform", 3), "step").fresh()
    empty = machine.message(machine.starts(7))
    assert empty.shape == (7, 0)
    bob = machine.resume(empty, 0)
    assert all(not part.any() for part in bob.values)
    with pytest.raises(MessageError):
        machine.resume(np.zeros((7, 1), np.uint8), 0)


@pytest.mark.parametrize("regime", ["handoff", "step"])
def test_lanes_beyond_the_batch_carry_nothing(model, regime, kind_of, inputs):
    """What is not a declared number of a sent row cannot reach the message or Bob."""
    machine = kind_of(model, ("quantile", 3), regime).fresh()
    tokens = machine.encoding.tokens(inputs)
    state = machine.extend(machine.starts(len(inputs)), tokens[:, :4])
    for field, part in zip(machine.cell.fields, state.values, strict=True):
        assert part.shape == (2, field.numbers, LANES)
    expected = machine.message(state)
    final = machine.message(machine.extend(state, tokens[:, 4:]))
    for part in state.values:
        part[-1, :, len(inputs) % LANES :] = -0.8125
    for code in state.codes or ():
        code[-1, :, len(inputs) % LANES :] = 1
    assert (machine.message(state) == expected).all()
    assert (machine.message(machine.extend(state, tokens[:, 4:])) == final).all()


def test_bytes_that_are_no_message_are_refused(model, kind_of, inputs):
    machine = kind_of(model, ("uniform", 3), "handoff").fresh()
    message = machine.encode(inputs)
    for wrong in (
        message[:, :-1],
        np.concatenate([message, message[:, :1]], axis=1),
        message[0],
    ):
        with pytest.raises(MessageError, match="exactly"):
            machine.resume(wrong, 6)
    if machine.state_bits % 8:
        padded = message.copy()
        padded[3, -1] |= 1 << (machine.state_bits % 8)
        with pytest.raises(MessageError, match="padding"):
            machine.resume(padded, 6)
        assert (message[:, -1] >> (machine.state_bits % 8) == 0).all()


def test_requantising_what_was_received_changes_no_value(kind, inputs):
    machine = kind.machine()
    bob = machine.resume(machine.encode(inputs), 6)
    again = quantised(machine, bob.values, 6)[1]
    assert same_values(bob, again)


def test_in_step_any_message_is_kept_as_it_came(kind):
    """Codes are sent, never requantised: even codes that no input reaches come back."""
    if kind.regime != "step":
        return
    machine = kind.machine()
    generator = np.random.Generator(np.random.PCG64(2))
    bits = generator.integers(0, 2, (50, machine.state_bits), dtype=np.uint8)
    message = np.packbits(bits, axis=1, bitorder="little")
    assert (machine.message(machine.resume(message, 6)) == message).all()


def test_entries_of_a_cache_are_quantised_once(kind, inputs):
    """In `step` an entry keeps its code from insertion to eviction; unused ones send 0."""
    machine = kind.machine()
    caches = [i for i, f in enumerate(machine.cell.fields) if f.cache]
    tokens = machine.encoding.tokens(inputs)
    state, before = machine.starts(len(inputs)), None
    for t in range(tokens.shape[1]):
        state = machine.extend(state, tokens[:, t : t + 1])
        codes = state.codes or quantised(machine, state.values, t + 1)[0]
        for i in caches:
            field = machine.cell.fields[i]
            width = field.numbers // field.shape[0]
            unused = max(0, field.shape[0] - t - 1) * width
            assert not codes[i][:, :unused].any()
            if before is not None:
                assert (codes[i][:, :-width] == before[i][:, width:]).all()
        before = codes


def test_entries_of_a_cache_share_one_quantiser(kind):
    machine = kind.machine()
    for field, quantiser in zip(machine.cell.fields, machine.quantisers, strict=True):
        if field.cache:
            for parameter in quantiser.parameters().values():
                entries = parameter.reshape(field.shape[0], -1)
                assert (entries == entries[0]).all()


def test_numbers_that_are_not_finite_are_refused(model, kind_of):
    machine = kind_of(model, ("uniform", 8), "handoff").fresh()
    state = machine.extend(machine.starts(3), machine.encoding.tokens(np.ones((3, 6), np.uint8)))
    for value in (np.nan, np.inf):
        broken = machine.take(state, np.arange(3))
        broken.values[0][0, 0, 1] = value
        with pytest.raises(StateboundError, match="not finite"):
            machine.message(broken)
