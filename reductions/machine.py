"""A sequence model cut in two: Alice runs it, its quantised state is the message.

Alice reads the tokens of x from the public start state. In the regime ``handoff`` she
computes in floating point and quantises once, at the end; in ``step`` the state is
quantised and dequantised after every token. The codes, packed, are all that crosses.
Bob unpacks them, restores the state, and goes on with the tokens of his query.

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

from statebound.errors import StateboundError, UsageError
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
from statebound.reductions.encoding import Encoding
from statebound.reductions.quantiser import Codes, Quantiser

REGIMES = ("handoff", "step")
CALIBRATION_INPUTS = 1024
CALIBRATION_SEED = 20240229
CALIBRATION_STEPS = 64
MEMORY_CAP = 4 << 30  # bytes


@dataclass(frozen=True)
class FieldBits:
    """One field of the message: its name, kind, count of numbers, and bits a number."""

    name: str
    kind: str
    numbers: int
    bits: int


@dataclass(frozen=True)
class MachineSpec:
    """All that defines a cut machine; packing, M, header and identity derive from it.

    `weights_hash` and `quantiser_hash` are SHA-256 of the parameters and of the
    calibrated quantisers, so two processes whose arithmetic differs notice.
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
    were dequantised from and what would be sent.
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
        Where the parameters are from, for the record.
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
    ) -> None:
        self.problem, self.cell, self.encoding, self.regime = problem, cell, encoding, regime
        family = quantisers.family(quantiser, bits)
        samples = self._calibrate() if any(map(family.needs_calibration, cell.fields)) else None
        self.quantisers: list[Quantiser] = [
            family.fit(bits, f, samples[i] if samples else np.empty((f.numbers, 0)))
            for i, f in enumerate(cell.fields)
        ]
        self.widths = np.concatenate([np.full(f.numbers, q.bits) for f, q in self._parts()]).astype(
            np.int64
        )
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
                    f"{f.name}.{name}": array
                    for f, q in self._parts()
                    for name, array in q.parameters().items()
                }
            ),
            calibration_seed=CALIBRATION_SEED,
            fields=tuple(FieldBits(f.name, "real", f.numbers, q.bits) for f, q in self._parts()),
            growing=tuple((f.name, f.growing) for f in cell.fields if f.grows),
        )

    def _parts(self) -> list[tuple[Any, Quantiser]]:
        return list(zip(self.cell.fields, self.quantisers, strict=True))

    def _calibrate(self) -> list[NDArray[np.float64]]:
        """Return what each field holds on public inputs, (C, samples) each.

        At the handoff for ``handoff``, after every token for ``step`` (of a long stream,
        after evenly spaced ones); of a cache the newest entry likewise, for all of its
        entries. In floating point: the quantiser does not exist yet.
        """
        generator = np.random.Generator(np.random.PCG64(CALIBRATION_SEED))
        tokens = to_lanes(self.encoding.tokens(self.problem.sample(generator, CALIBRATION_INPUTS)))
        steps = tokens.shape[1]
        apart = -(-steps // CALIBRATION_STEPS)  # counted back from the handoff
        numbers = sum(f.numbers for f in self.cell.fields)
        kept_bytes = 8 * numbers * CALIBRATION_INPUTS * (-(-steps // apart))
        if kept_bytes > MEMORY_CAP:
            raise UsageError(
                "numbers",
                numbers,
                f"calibrating them needs about {kept_bytes / 2**30:.3g} GiB, the cap is "
                f"{MEMORY_CAP >> 30} GiB",
                "take a smaller state",
            )
        state = self.cell.start(len(tokens))
        seen: list[list[NDArray[np.float64]]] = [[] for _ in self.cell.fields]
        for t in range(steps):
            state = self.cell.scan(state, tokens[:, t : t + 1])
            for field, kept, part in zip(self.cell.fields, seen, state, strict=True):
                pooled = field.cache or self.regime == "step"
                if (pooled and (steps - 1 - t) % apart == 0) or t == steps - 1:
                    width = field.numbers // field.shape[0] if field.cache else field.numbers
                    newest = to_rows(part[:, -width:], CALIBRATION_INPUTS)
                    kept.append(newest.T.astype(np.float64))
        samples = []
        for field, kept in zip(self.cell.fields, seen, strict=True):
            sample = np.concatenate(kept, axis=1)
            _require_finite(field.name, sample)
            samples.append(np.tile(sample, (field.numbers // len(sample), 1)))
        return samples

    def _encode(self, values: State, read: int, first: int = 0) -> tuple[Codes, ...]:
        """Return the codes of the fields from number `first` on."""
        codes = []
        parts = self._parts()[first : first + len(values)]
        for (field, quantiser), part in zip(parts, values, strict=True):
            _require_finite(field.name, part)
            code = quantiser.encode(part)
            if field.cache and read < field.shape[0]:
                width = field.numbers // field.shape[0]
                code[:, : (field.shape[0] - read) * width] = 0
            codes.append(code)
        return tuple(codes)

    def _decode(self, codes: tuple[Codes, ...], read: int, first: int = 0) -> State:
        """Return the values of codes; cache entries not yet written are zeros, as at the start."""
        values = []
        parts = self._parts()[first : first + len(codes)]
        for (field, quantiser), code in zip(parts, codes, strict=True):
            part = quantiser.decode(code, self.cell.dtype)
            if field.cache and read < field.shape[0]:
                width = field.numbers // field.shape[0]
                part[:, : (field.shape[0] - read) * width] = 0
            values.append(part)
        return tuple(values)

    def _step(self, state: Cut, token: NDArray[np.int32]) -> Cut:
        """Read one token (tiles, 1, LANES): what goes on is the dequantised state."""
        read, codes = state.read + 1, dict[int, Codes]()

        def settle(first: int, values: State) -> State:
            fresh = self._encode(values, read, first)
            codes.update(enumerate(fresh, first))
            return self._decode(fresh, read, first)

        values = self.cell.step(state.values, token, settle)
        return Cut(values, tuple(codes[i] for i in range(len(values))), state.count, read)

    def _grown(self, values: State, count: int, read: int) -> Cut:
        """Close a step that was taken in one piece."""
        if self.regime == "handoff":
            return Cut(values, None, count, read)
        codes = self._encode(values, read)
        return Cut(self._decode(codes, read), codes, count, read)

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
        grown = self._grown(values, fan * count, state.read + 1)
        if block.shape[1] == 1:
            return grown
        return self.extend(grown, np.repeat(block[:, 1:], count, axis=0))

    def message(self, state: Cut) -> Bytes:
        """Return the messages, (B, message_bytes); empty before the first token."""
        if state.read == 0:
            return np.zeros((state.count, 0), np.uint8)
        codes = self._encode(state.values, state.read) if state.codes is None else state.codes
        every = codes[0] if len(codes) == 1 else np.concatenate(codes, axis=1)
        return pack(every, self.widths, state.count)

    def resume(self, message: Bytes, read: int) -> Cut:
        """Restore the states from messages that were sent after `read` tokens."""
        if read == 0:
            check(message, 0)
            return self.starts(len(message))
        every = unpack(message, self.widths, LANES)
        ends = np.cumsum([f.numbers for f in self.cell.fields])[:-1]
        codes = tuple(np.split(every, ends, axis=1))
        kept = codes if self.regime == "step" else None
        return Cut(self._decode(codes, read), kept, len(message), read)

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
        state = self.resume(message, self._stream_length)
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

    def features(self, message: Bytes) -> NDArray[np.float64]:
        """Return the dequantised numbers of all fields, (B, C)."""
        state = self.resume(message, self._stream_length)
        rows = [to_rows(part, state.count) for part in state.values]
        return np.concatenate(rows, axis=1).astype(np.float64)

    def describe(self) -> dict[str, Any]:
        """Return the specification."""
        return self.spec.as_dict()


def _require_finite(name: str, values: NDArray[Any]) -> None:
    if not np.isfinite(values.sum()) and not np.isfinite(values).all():
        raise StateboundError(
            f"state field {name}: holds a number that is not finite; a state that overflows "
            "cannot be quantised, so use dtype float64 or smaller weights"
        )


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
    bits: int = 1,
    regime: str = "handoff",
    quantiser: str | None = None,
    encoding: str | None = None,
    init: str | None = None,
    weights: Weights | None = None,
    machine_seed: int = 0,
    settings: Mapping[str, int | str] | None = None,
    dtype: str = "float32",
) -> CutMachine:
    """Build and cut a model for a problem; every argument is checked here.

    Parameters are those of the command line (``statebound measure --help``).

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
    if not 1 <= bits <= 32:
        raise UsageError("bits", bits, "must be 1 to 32 bits a number", "pass a precision there")
    if regime not in REGIMES:
        raise UsageError("regime", regime, "is not a known regime", "choose handoff or step")
    if quantiser is None:
        quantiser = "quantile" if bits <= 8 else "uniform"
    quantisers.family(quantiser, bits)
    cell, chosen, origin = uncut(
        problem,
        model,
        numbers=numbers,
        encoding=encoding,
        init=init,
        weights=weights,
        machine_seed=machine_seed,
        settings=settings,
        dtype=dtype,
    )
    seed = None if origin == "file" else machine_seed
    return CutMachine(problem, cell, chosen, quantiser, bits, regime, origin, seed)


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
) -> tuple[Cell, Encoding, str]:
    """Build a model for a problem: the cell, its encoding, and where its weights are from.

    Raises
    ------
    UsageError
        When an argument or a combination has no meaning.
    """
    cell_class = cell_family(model)
    chosen = encodings.make(encoding or cell_class.encoding, problem)
    cell, origin = build(
        cell_class,
        chosen.vocabulary,
        numbers=numbers,
        settings=settings,
        init=init,
        weights=weights,
        seed=machine_seed,
        dtype=dtype,
    )
    return cell, chosen, origin
