"""A sequence model cut in two: Alice runs it, its quantised state is the message.

Alice reads the tokens of x from the public start state. In the regime ``handoff`` she
computes in floating point and quantises once, at the end; in ``step`` the state is
quantised and dequantised after every token. The codes, packed, are all that crosses:
those of the numbers, and of what was computed from them, scales and residuals. Bob unpacks
them, restores the state, and goes on with the tokens of his query.

The start state is public: a machine that has read nothing sends nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statebound.errors import UsageError
from statebound.models import Cell
from statebound.models._build import build
from statebound.models._build import family as cell_family
from statebound.models._cell import State, Weights
from statebound.models._lanes import LANES, take_lanes, tile_count, to_lanes, to_rows
from statebound.protocols.message import Bytes, check, pack, unpack
from statebound.protocols.problem import Problem, Symbols
from statebound.protocols.protocol import Queries, StreamingProtocol
from statebound.reductions import encoding as encodings
from statebound.reductions import quantiser as quantisers
from statebound.reductions import rounding as roundings
from statebound.reductions.calibration import CALIBRATION_SEED, fit
from statebound.reductions.crossing import Crossing
from statebound.reductions.encoding import Encoding
from statebound.reductions.quantiser import Codes, FieldBits

REGIMES = ("handoff", "step")


@dataclass(frozen=True)
class MachineSpec:
    """All that defines a cut machine; packing, M, header and identity derive from it.

    `weights_hash` and `quantiser_hash` are SHA-256 of the parameters and of the
    calibrated quantisers, so two processes whose arithmetic differs notice. The machine's
    seed is that of its parameters and of its coins; None where nothing is drawn from it.
    `fields` says all that crosses, in order: numbers, and whatever is sent beside them.
    """

    problem: str
    problem_options: tuple[tuple[str, int | str], ...]
    model: str
    config: tuple[tuple[str, int | str], ...]
    init: str
    machine_seed: int | None
    weights_hash: str
    dtype: str
    encoding: str
    regime: str
    quantiser: str
    quantiser_hash: str
    rounding: str
    calibration_seed: int
    fields: tuple[FieldBits, ...]
    growing: tuple[tuple[str, int], ...] = ()  # fields without a fixed size: numbers a token

    @property
    def state_bits(self) -> int:
        """M, the sum over all fields."""
        return sum(f.numbers * f.bits for f in self.fields)

    def as_dict(self) -> dict[str, Any]:
        """Return the specification as JSON-able data."""
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        plain["problem_options"] = dict(self.problem_options)
        plain["config"] = dict(self.config)
        plain["fields"] = [vars(f) for f in self.fields]
        plain["growing"] = dict(self.growing)
        if not self.growing:
            del plain["growing"]
        return plain

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical, key-sorted JSON of the specification."""
        text = json.dumps(self.as_dict(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Cut:
    """A batch of B states that have read equally many tokens.

    `values` are what the model sees; `codes`, in the regime ``step``, are what they
    were dequantised from, with the residuals: what would be sent.
    """

    values: State
    codes: tuple[Codes, ...] | None
    count: int
    read: int


class CutMachine(StreamingProtocol[Cut]):
    """A cell with an encoding and quantisers, as a one-way protocol.

    Parameters
    ----------
    problem, cell, encoding
        What is asked, the model, and how inputs become tokens.
    quantiser
        Registry name.
    bits
        Bits a number.
    regime
        ``handoff`` or ``step``.
    init, machine_seed
        Where the parameters are from, for the record; the seed is that of coins too.
    rounding
        Registry name.
    precision
        Bits a number of some fields, by name, in place of `bits`.

    Attributes
    ----------
    numbers
        How many numbers the state holds.
    widths
        The bits of every code of the message; M is their sum.
    """

    def __init__(
        self,
        problem: Problem,
        cell: Cell,
        encoding: Encoding,
        quantiser: str,
        bits: int,
        regime: str = "handoff",
        init: str = "random",
        machine_seed: int | None = 0,
        rounding: str = "nearest",
        precision: Mapping[str, int] | None = None,
    ) -> None:
        self.problem, self.cell, self.encoding, self.regime = problem, cell, encoding, regime
        self.numbers = sum(f.numbers for f in cell.fields)
        each = [(precision or {}).get(f.name, bits) for f in cell.fields]
        fitted = fit(problem, cell, encoding, regime, quantiser, each)
        rounds = roundings.family(rounding)(machine_seed or 0)
        self.crossings = [
            Crossing(i, field, fitted[i], rounds, cell.dtype) for i, field in enumerate(cell.fields)
        ]
        self.widths = np.concatenate([c.widths for c in self.crossings])
        self.state_bits = int(self.widths.sum())
        self.spec = MachineSpec(
            problem=problem.name,
            problem_options=tuple(sorted(problem.options().items())),
            model=cell.name,
            config=tuple(sorted(cell.settings().items())),
            init=init,
            machine_seed=machine_seed,
            weights_hash=hash_arrays(cell.weights),
            dtype=str(cell.dtype),
            encoding=encoding.name,
            regime=regime,
            quantiser=quantiser,
            quantiser_hash=hash_arrays(
                {
                    f"{c.field.name}.{name}": array
                    for c in self.crossings
                    for name, array in c.quantiser.parameters().items()
                }
            ),
            rounding=rounding,
            calibration_seed=CALIBRATION_SEED,
            fields=tuple(line for c in self.crossings for line in c.ledger),
            growing=tuple((f.name, f.growing) for f in cell.fields if f.grows),
        )

    def _settle(
        self, values: State, held: tuple[Codes, ...] | None, read: int, first: int = 0
    ) -> tuple[tuple[Codes, ...], State]:
        """Quantise the fields from number `first` on after a token; `held` is from before it."""
        done = [
            c.step(part, None if held is None else held[c.number], read)
            for c, part in zip(self.crossings[first : first + len(values)], values, strict=True)
        ]
        return tuple(codes for codes, _ in done), tuple(back for _, back in done)

    def _step(self, state: Cut, token: NDArray[np.int32]) -> Cut:
        """Read one token (tiles, 1, LANES): what goes on is the dequantised state."""
        read, codes = state.read + 1, dict[int, Codes]()

        def settle(first: int, values: State) -> State:
            fresh, back = self._settle(values, state.codes, read, first)
            codes.update(enumerate(fresh, first))
            return back

        values = self.cell.step(state.values, token, settle)
        return Cut(values, tuple(codes[i] for i in range(len(values))), state.count, read)

    @property
    def is_automaton(self) -> bool:
        """In the regime ``step`` the codes are all that goes on."""
        return self.regime == "step"

    def start(self) -> Cut:
        """Return the public start state of one sequence."""
        return self.starts(1)

    def starts(self, count: int) -> Cut:
        """Return the public start state of `count` sequences."""
        return Cut(self.cell.start(tile_count(count)), None, count, 0)

    def size(self, state: Cut) -> int:
        """Return B."""
        return state.count

    def take(self, state: Cut, which: NDArray[np.int64]) -> Cut:
        """Return the states at these indices."""
        codes = None if state.codes is None else tuple(take_lanes(c, which) for c in state.codes)
        values = tuple(take_lanes(v, which) for v in state.values)
        return Cut(values, codes, len(which), state.read)

    def extend(self, state: Cut, tokens: NDArray[np.int32]) -> Cut:
        """Let each state read its own tokens (B, T)."""
        lanes = to_lanes(tokens)
        if self.regime == "handoff":
            values = self.cell.scan(state.values, lanes)
            return Cut(values, None, state.count, state.read + tokens.shape[1])
        for t in range(tokens.shape[1]):
            state = self._step(state, lanes[:, t : t + 1])
        return state

    def branch(self, state: Cut, position: int) -> Cut:
        """Let every state read every symbol at `position`."""
        block = self.encoding.block(position)  # (symbols, tokens)
        fan, count = len(block), state.count
        whole = self.regime == "handoff" or type(self.cell).step is Cell.step
        if count % LANES or not whole:  # lanes of different parents share a tile, or parts settle
            parents = np.tile(np.arange(count), fan)
            return self.extend(self.take(state, parents), np.repeat(block, count, axis=0))
        values = self.cell.branch(state.values, np.ascontiguousarray(block[:, 0]))
        read, codes = state.read + 1, None
        if self.regime == "step":
            held = state.codes and tuple(
                np.tile(part, (fan, 1, 1)) if c.looks_back else part
                for c, part in zip(self.crossings, state.codes, strict=True)
            )
            codes, values = self._settle(values, held, read)
        grown = Cut(values, codes, fan * count, read)
        if block.shape[1] == 1:
            return grown
        return self.extend(grown, np.repeat(block[:, 1:], count, axis=0))

    def message(self, state: Cut) -> Bytes:
        """Return the messages, (B, message_bytes); empty before the first token."""
        if state.read == 0:
            return np.zeros((state.count, 0), np.uint8)
        codes = state.codes
        if codes is None:
            pairs = zip(self.crossings, state.values, strict=True)
            codes = tuple(c.encode(part, state.read) for c, part in pairs)
        every = codes[0] if len(codes) == 1 else np.concatenate(codes, axis=1)
        return pack(every, self.widths, state.count)

    def resume(self, message: Bytes, read: int) -> Cut:
        """Restore the states from messages that were sent after `read` tokens."""
        if read == 0:
            check(message, 0)
            return self.starts(len(message))
        every = unpack(message, self.widths, LANES)
        ends = np.cumsum([len(c.widths) for c in self.crossings])[:-1]
        codes = tuple(np.split(every, ends, axis=1))
        values = tuple(c.decode(part, read) for c, part in zip(self.crossings, codes, strict=True))
        return Cut(values, codes if self.regime == "step" else None, len(message), read)

    def encode(self, x: Symbols) -> Bytes:
        """Alice: read the tokens of x, hand the state over."""
        return self.message(self.extend(self.starts(len(x)), self.encoding.tokens(x)))

    @property
    def has_bob(self) -> bool:
        """Whether the parameters have a readout for query tokens."""
        return self.cell.has_readout

    def answer(self, message: Bytes, query: Queries) -> Symbols:
        """Bob: restore the state, read the query's tokens, take the likeliest answer.

        Raises
        ------
        TypeError
            When the parameters have no readout.
        """
        if not self.has_bob:
            raise TypeError(f"this {self.cell.name} has no readout, so no Bob of its own")
        state = self.restored(message)
        tokens = self.encoding.question(query)
        state = self.extend(state, tokens[:, :-1])
        last = tokens[:, -1:]
        after = self.extend(state, last)
        logits = self.cell.logits(state.values, after.values, to_lanes(last))
        best: Symbols = to_rows(logits, len(message)).argmax(axis=1).astype(np.uint8)
        return best

    @cached_property
    def _stream_length(self) -> int:
        return sum(self.encoding.block(a).shape[1] for a in range(self.problem.length))

    def restored(self, message: Bytes) -> Cut:
        """Return the states that Bob starts from: those of messages sent at the handoff."""
        return self.resume(message, self._stream_length)

    def read_off(self, state: Cut) -> NDArray[np.float64]:
        """Return the numbers of all fields, (B, C)."""
        rows = [to_rows(part, state.count) for part in state.values]
        return np.concatenate(rows, axis=1).astype(np.float64)

    def features(self, message: Bytes) -> NDArray[np.float64]:
        """Return the dequantised numbers of all fields, (B, C)."""
        return self.read_off(self.restored(message))

    def describe(self) -> dict[str, Any]:
        """Return the specification."""
        return self.spec.as_dict()


def hash_arrays(arrays: Mapping[str, NDArray[Any]]) -> str:
    """Return SHA-256 over the names, shapes and float64 bytes of arrays, names sorted."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name], "<f8")
        digest.update(f"{name}{array.shape}".encode() + array.tobytes())
    return digest.hexdigest()


def cut(
    problem: Problem,
    model: str,
    *,
    numbers: int | None = None,
    bits: int | None = None,
    precision: Mapping[str, int] | None = None,
    regime: str = "handoff",
    quantiser: str | None = None,
    rounding: str = "nearest",
    encoding: str | None = None,
    init: str | None = None,
    weights: Weights | None = None,
    machine_seed: int = 0,
    settings: Mapping[str, int | str] | None = None,
    dtype: str = "float32",
    scratch: int = 0,
) -> CutMachine:
    """Build and cut a model for a problem; every argument is checked here.

    Parameters are those of the command line (``statebound measure --help``), and `scratch`:
    how many tokens there are beside those of the stream and the queries.

    Raises
    ------
    UsageError
        When an argument or a combination has no meaning.

    Examples
    --------
    >>> from statebound.protocols.problems.index import Index
    >>> machine = cut(Index(8), "sliding_window", numbers=4)
    >>> machine.state_bits, machine.message_bytes
    (4, 1)
    """
    precision = dict(precision or {})
    chosen, bits = check_quantisation(quantiser, bits, precision, regime, rounding)
    cell, spoken, origin = uncut(
        problem,
        model,
        numbers=numbers,
        encoding=encoding,
        init=init,
        weights=weights,
        machine_seed=machine_seed,
        settings=settings,
        dtype=dtype,
        scratch=scratch,
    )
    for name, p in precision.items():
        if name not in {f.name for f in cell.fields}:
            raise UsageError(
                "precision",
                f"{name}={p}",
                f"is not a field of {cell.name}",
                f"choose from {', '.join(f.name for f in cell.fields)}",
            )
    drawn = origin != "file" or roundings.family(rounding).draws
    return CutMachine(
        problem,
        cell,
        spoken,
        chosen,
        bits,
        regime,
        origin,
        machine_seed if drawn else None,
        rounding,
        precision,
    )


def check_quantisation(
    quantiser: str | None,
    bits: int | None,
    precision: Mapping[str, int],
    regime: str,
    rounding: str,
) -> tuple[str, int]:
    """Return the quantiser and the bits a number that are meant; all of them fit together.

    Raises
    ------
    UsageError
        When they do not.
    """
    asked = [("bits", bits)] * (bits is not None) + [("precision", p) for p in precision.values()]
    for argument, p in asked:
        if p is not None and not 1 <= p <= quantisers.MOST_BITS:
            raise UsageError(
                argument,
                p,
                f"must be 1 to {quantisers.MOST_BITS} bits a number",
                "pass a precision there",
            )
    if regime not in REGIMES:
        raise UsageError("regime", regime, "is not a known regime", "choose handoff or step")
    chosen, each = quantisers.choose(quantiser, bits, precision.values())
    quantisers.family(chosen, each)
    for p in precision.values():
        quantisers.family(chosen, p, "precision")
    if roundings.family(rounding).keeps_residual and regime == "handoff":
        raise UsageError(
            "rounding",
            rounding,
            "needs a state that is quantised again and again; a handoff quantises once and "
            "has nothing to feed back",
            "choose another rounding, or regime step",
        )
    return chosen, each


def uncut(
    problem: Problem,
    model: str,
    *,
    numbers: int | None = None,
    encoding: str | None = None,
    init: str | None = None,
    weights: Weights | None = None,
    machine_seed: int = 0,
    settings: Mapping[str, int | str] | None = None,
    dtype: str = "float32",
    scratch: int = 0,
) -> tuple[Cell, Encoding, str]:
    """Build a model for a problem: the cell, its encoding, and where its weights are from.

    With `scratch` tokens it reads those of the queries as well, and answers none itself.

    Raises
    ------
    UsageError
        When an argument or a combination has no meaning.
    """
    cell_class = cell_family(model)
    chosen = encodings.make(encoding or cell_class.encoding, problem)
    cell, origin = build(
        cell_class,
        chosen.vocabulary.aloud(scratch) if scratch else chosen.vocabulary,
        numbers=numbers,
        settings=settings,
        init=init,
        weights=weights,
        seed=machine_seed,
        dtype=dtype,
    )
    return cell, chosen, origin
