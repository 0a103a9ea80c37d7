"""A split anywhere is one process that quantises and dequantises at the same token."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from statebound.errors import StateboundError
from statebound.models._lanes import LANES, tile_count, to_lanes, to_rows
from statebound.protocols.message import MessageError
from statebound.reductions.machine import CutMachine

from .coins import coins
from .conftest import CELLS, CORE, N

CHUNKS = (1, 2, 3)


def rounded_codes(machine: CutMachine, i: int, entry: np.ndarray, time: int) -> np.ndarray:
    """Quantise numbers (tiles, C, LANES) that belong together, by the definition."""
    quantiser, rounding = machine.crossings[i].quantiser, machine.spec.rounding
    entry = np.ascontiguousarray(entry)
    codes = quantiser.encode(entry)
    if not rounding.startswith("stochastic"):
        return codes
    here = quantiser.decode(codes, machine.cell.dtype)
    other = quantiser.neighbour(codes, entry > here)
    there = quantiser.decode(other, machine.cell.dtype)
    gap = there.astype(np.float64) - here
    share = np.where(gap != 0, (entry - here.astype(np.float64)) / np.where(gap, gap, 1), 0)
    drawn = coins(machine.spec.machine_seed, i, time, entry, rounding == "stochastic_private")
    count = entry.shape[1]
    codes[:, :count] = np.where(drawn < share, other[:, :count], codes[:, :count])
    return codes


class Quantised:
    """A machine's state quantised and dequantised by the definition, entry by entry."""

    def __init__(self, machine: CutMachine) -> None:
        self.machine = machine
        self.entries = [{} for _ in machine.cell.fields]  # time of insertion -> codes, values
        self.residual = [np.float32(0)] * len(machine.cell.fields)

    def __call__(self, state, read: int, first: int = 0):
        """Return (codes, values), from a field on, of a state after `read` tokens."""
        made = [self._field(i, part, read) for i, part in enumerate(state, first)]
        return [codes for codes, _ in made], tuple(values for _, values in made)

    def _field(self, i: int, part: np.ndarray, read: int):
        machine, field = self.machine, self.machine.cell.fields[i]
        quantiser, dtype = machine.crossings[i].quantiser, machine.cell.dtype
        if not field.cache:
            fed = machine.spec.rounding == "feedback"
            target = part + self.residual[i] if fed else part
            codes = rounded_codes(machine, i, target, read)
            values = quantiser.decode(codes, dtype)
            if fed:
                self.residual[i] = (target - values).astype(np.float32)
                codes = np.concatenate([codes, self.residual[i].view(np.uint32)], axis=1)
            return codes, values
        places = field.shape[0]
        cut_up = part.reshape(len(part), places, -1, LANES)
        codes, values = [], []
        for place in range(places):
            time = read - (places - 1 - place)
            if time < 1:  # what was never written is what the start state holds
                zeros = np.zeros_like(cut_up[:, place])
                codes.append(np.zeros_like(quantiser.encode(zeros)))
                values.append(zeros)
                continue
            if time not in self.entries[i]:
                code = rounded_codes(machine, i, cut_up[:, place], time)
                self.entries[i][time] = code, quantiser.decode(code, dtype)
            codes.append(self.entries[i][time][0])
            values.append(self.entries[i][time][1])
        return np.concatenate(codes, axis=1), np.concatenate(values, axis=1)


def quantised_step(machine: CutMachine, quantised, state, token: np.ndarray, read: int):
    """Read one token, each part of the model settled in its turn; return (codes, values)."""
    codes = []

    def settle(first, values):
        assert first == len(codes), "every field is settled once, in order"
        fresh, kept = quantised(values, read, first)
        codes.extend(fresh)
        return kept

    return codes, machine.cell.step(state, token, settle)


def one_process(machine: CutMachine, tokens: np.ndarray, handoff: int):
    """Run without a split, token by token; return the final values and what is sent."""
    state = machine.cell.start(tile_count(len(tokens)))
    codes = None
    quantised = Quantised(machine)
    for t in range(tokens.shape[1] + 1):
        if t > 0:
            token = to_lanes(tokens[:, t - 1 : t])
            if machine.regime == "step":
                codes, state = quantised_step(machine, quantised, state, token, t)
            else:
                state = machine.cell.scan(state, token)
                if t == handoff:
                    codes, state = quantised(state, t)
    if machine.regime == "handoff":
        codes, _ = Quantised(machine)(state, tokens.shape[1])
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
    """Split everywhere; each size of chunks comes before and after an early and a late split."""
    for handoff in range(N + 1):
        check_splits(machine, other, inputs, handoff, CHUNKS[handoff % 3])


def check_law_briefly(machine: CutMachine, other: CutMachine, inputs: np.ndarray) -> None:
    """Split at the start, with a cache not yet filled, and with a full one."""
    for handoff, chunk in ((0, 1), (1, 2), (4, 3)):
        check_splits(machine, other, inputs[::4], handoff, chunk)


def check_splits(machine, other, inputs, handoff, chunk) -> None:
    tokens = machine.encoding.tokens(inputs)
    values, sent = one_process(machine, tokens, handoff)
    alice = run(machine, machine.starts(len(inputs)), tokens[:, :handoff], CHUNKS[chunk - 2])
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
    check = check_law if (kind.quantiser, kind.bits) in CORE else check_law_briefly
    check(kind.machine(), kind.fresh(), inputs)


def test_every_rounding(rounded, inputs):
    """The law of splits, entries that are quantised once, messages that no input makes."""
    machine = rounded.machine()
    check_law_briefly(machine, rounded.fresh(), inputs)
    check_entries_at_once(machine, inputs)
    check_any_message(machine)


@pytest.mark.parametrize("regime", ["handoff", "step"])
def test_a_split_in_double_precision(model, regime, inputs, kind_of):
    kind = kind_of(model, ("uniform", 32), regime, "float64")
    check_law_briefly(kind.fresh(), kind.fresh(), inputs)


@pytest.mark.parametrize("cell", [CELLS[0], CELLS[3]], ids=["gru", "mamba"])
@pytest.mark.parametrize(
    ("quantisation_of", "regime", "rounding"),
    [
        (("quantile", 3), "step", "nearest"),
        (("lloyd", 3), "handoff", "stochastic"),
        (("absmax", 5), "step", "stochastic_private"),
        (("absmax_group", 16), "handoff", "nearest"),
        (("bf16", 16), "step", "nearest"),
        (("fp32", 32), "step", "feedback"),
    ],
)
def test_all_ways_in_double_precision(cell, quantisation_of, regime, rounding, inputs, kind_of):
    kind = kind_of(cell, quantisation_of, regime, "float64", rounding)
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


def test_a_message_does_not_say_when_it_was_sent_but_cannot_be_cut_short(kind_of, inputs):
    """The time is public: equal sizes at an earlier one are no fault that can be seen."""
    for cell, quantisation in product(CELLS, (("absmax", 3), ("fp16", 16), ("quantile", 3))):
        machine = kind_of(cell, quantisation, "step").fresh()
        message = machine.encode(inputs)
        assert machine.resume(message, 5).read == 5
        with pytest.raises(MessageError, match="exactly"):
            machine.resume(message, 0)
        for size in range(message.shape[1]):
            with pytest.raises(MessageError, match="exactly"):
                machine.resume(message[:, :size], 5)


def test_requantising_what_was_received_changes_no_value(kind, inputs):
    machine = kind.machine()
    bob = machine.resume(machine.encode(inputs), 6)
    again = Quantised(machine)(bob.values, 6)[1]
    assert same_values(bob, again)


def check_any_message(machine: CutMachine) -> None:
    generator = np.random.Generator(np.random.PCG64(2))
    bits = generator.integers(0, 2, (50, machine.state_bits), dtype=np.uint8)
    message = np.packbits(bits, axis=1, bitorder="little")
    bob = machine.resume(message, 6)
    assert all(np.isfinite(part).all() for part in bob.values)
    if machine.regime == "step":
        assert (machine.message(bob) == message).all()


def test_in_step_any_message_is_kept_as_it_came(kind):
    """Codes are sent, never requantised: even codes that no input reaches come back."""
    check_any_message(kind.machine())


def check_entries(machine: CutMachine, inputs: np.ndarray) -> dict[int, np.ndarray]:
    """Check what each token does to the codes of caches; return those after the last one."""
    caches = [c for c in machine.crossings if c.field.cache]
    tokens = machine.encoding.tokens(inputs)
    state, before = machine.starts(len(inputs)), {}
    for t in range(tokens.shape[1]):
        state = machine.extend(state, tokens[:, t : t + 1])
        for c in caches:
            part = state.values[c.number]
            codes = c.encode(part, t + 1) if state.codes is None else state.codes[c.number]
            each = codes.shape[1] // c.field.shape[0]
            unused = max(0, c.field.shape[0] - t - 1) * each
            assert not codes[:, :unused].any()
            if c.number in before:
                assert (codes[:, :-each] == before[c.number][:, each:]).all()
            before[c.number] = codes
    return before


def test_entries_of_a_cache_are_quantised_once(kind, inputs):
    """In `step` an entry keeps its code from insertion to eviction; unused ones send 0."""
    check_entries(kind.machine(), inputs)


def check_entries_at_once(machine: CutMachine, inputs: np.ndarray) -> None:
    """Check that entries quantised one by one are those quantised at once, scales and coins too.

    The caches tried here do not depend on the rest of the state.
    """
    tokens = machine.encoding.tokens(inputs)
    found = check_entries(machine, inputs)
    floating = machine.cell.scan(machine.cell.start(tile_count(len(inputs))), to_lanes(tokens))
    for number, codes in found.items():
        at_once = machine.crossings[number].encode(floating[number], tokens.shape[1])
        assert (to_rows(codes, len(inputs)) == to_rows(at_once, len(inputs))).all()


def test_numbers_that_are_not_finite_are_refused(model, kind_of):
    machine = kind_of(model, ("uniform", 8), "handoff").fresh()
    state = machine.extend(machine.starts(3), machine.encoding.tokens(np.ones((3, 6), np.uint8)))
    for value in (np.nan, np.inf):
        broken = machine.take(state, np.arange(3))
        broken.values[0][0, 0, 1] = value
        with pytest.raises(StateboundError, match="not finite"):
            machine.message(broken)
