"""A sequence model cut in two: Alice runs it, its quantised state is the message.

Alice reads the tokens of x from the public start state. In the regime ``handoff`` she
computes in floating point and quantises once, at the end; in ``step`` the state is
quantised and dequantised after every token. The codes, packed, are all that crosses:
those of the numbers, and of what was computed from them, scales and residuals. Bob unpacks
them, restores the state, and goes on with the tokens of his query.

The start state is public: a machine that has read nothing sends nothing.
"""

from __future__ import annotations

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
from statebound.reductions import trained, zoo
from statebound.reductions.bob import Network
from statebound.reductions.calibration import CALIBRATION_SEED, fit
from statebound.reductions.checkpoint import Checkpoint
from statebound.reductions.crossing import Crossing
from statebound.reductions.encoding import Encoding
from statebound.reductions.quantiser import Codes
from statebound.reductions.spec import MachineSpec, hash_arrays
from statebound.reductions.trained import Wanted

REGIMES = ("handoff", "step")


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
    checkpoint
        Where the parameters are from, if they were trained: the quantiser ``trained`` is
        its own, and with it comes its Bob.

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
        checkpoint: Checkpoint | None = None,
    ) -> None:
        self.problem, self.cell, self.encoding, self.regime = problem, cell, encoding, regime
        self.numbers = sum(f.numbers for f in cell.fields)
        each = [(precision or {}).get(f.name, bits) for f in cell.fields]
        self.bob: Network | None = None
        self._last: tuple[bytes, NDArray[np.intp], NDArray[np.intp]] | None = None
        if checkpoint is not None and quantiser == trained.TRAINED:
            fitted = trained.quantisers_of(checkpoint, cell)
            self.bob = trained.network_of(checkpoint, problem, self.numbers)
        else:
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
            bob_hash=None if self.bob is None else hash_arrays(self.bob.parameters()),
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
        """Whether the parameters have a readout for query tokens, or a network that answers."""
        return self.bob is not None or self.cell.has_readout

    def answer(self, message: Bytes, query: Queries) -> Symbols:
        """Bob: restore the state, read the query's tokens, take the likeliest answer.

        Where training made a network that answers, the restored numbers go to it instead.

        Raises
        ------
        TypeError
            When the parameters have no readout.
        """
        if not self.has_bob:
            raise TypeError(f"this {self.cell.name} has no readout, so no Bob of its own")
        if self.bob is not None:
            table, where = self._answers(message)
            return np.asarray(table[where, query], self.problem.answer_type)
        state = self.restored(message)
        tokens = self.encoding.question(query)
        state = self.extend(state, tokens[:, :-1])
        last = tokens[:, -1:]
        after = self.extend(state, last)
        logits = self.cell.logits(state.values, after.values, to_lanes(last))
        best: Symbols = to_rows(logits, len(message)).argmax(axis=1).astype(np.uint8)
        return best

    def _answers(self, message: Bytes) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the network's answers to the different messages, and which is whose.

        The last ones are kept: one batch is usually asked query after query.
        """
        key = message.tobytes()
        if self._last is None or self._last[0] != key or len(self._last[2]) != len(message):
            assert self.bob is not None
            kinds, where = np.unique(message, axis=0, return_inverse=True)
            self._last = key, self.bob.answers(self.features(kinds)), where.reshape(-1)
        return self._last[1:]

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


def cut(
    problem: Problem,
    model: str | None,
    *,
    numbers: int | None = None,
    bits: int | None = None,
    precision: Mapping[str, int] | None = None,
    regime: str | None = None,
    quantiser: str | None = None,
    rounding: str = "nearest",
    encoding: str | None = None,
    init: str | None = None,
    weights: Weights | None = None,
    checkpoint: Checkpoint | None = None,
    machine_seed: int | None = None,
    settings: Mapping[str, int | str] | None = None,
    dtype: str | None = None,
    scratch: int = 0,
) -> CutMachine:
    """Build and cut a model for a problem; every argument is checked here.

    Parameters are those of the command line (``statebound measure --help``), and `scratch`:
    how many tokens there are beside those of the stream and the queries. A checkpoint
    stands for all that it tells; without one and without weights, a trained machine that is
    shipped for exactly this size is taken before parameters are drawn (see `zoo.choose`).

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
    wanted = Wanted(
        model,
        numbers,
        bits,
        precision or {},
        regime,
        quantiser,
        rounding,
        encoding,
        init,
        machine_seed,
        settings or {},
        dtype,
    )
    found = None
    if checkpoint is None and weights is None and not scratch:
        checkpoint = found = zoo.choose(problem, wanted)
    if checkpoint is not None:
        wanted, weights = trained.settle(wanted, checkpoint), checkpoint.weights
    if wanted.model is None:
        raise UsageError("model", None, "must be named", "choose from statebound models")
    regime = wanted.regime or "handoff"
    chosen, each = check_quantisation(
        wanted.quantiser, wanted.bits, wanted.precision, regime, rounding
    )
    cell, spoken, origin = uncut(
        problem,
        wanted.model,
        numbers=wanted.numbers,
        encoding=wanted.encoding,
        init=None if checkpoint else init,
        weights=weights,
        machine_seed=machine_seed or 0,
        settings=wanted.settings,
        dtype=wanted.dtype or "float32",
        scratch=scratch,
    )
    if checkpoint is not None:
        trained.check(checkpoint, cell)
    for name, p in wanted.precision.items():
        if name not in {f.name for f in cell.fields}:
            raise UsageError(
                "precision",
                f"{name}={p}",
                f"is not a field of {cell.name}",
                f"choose from {', '.join(f.name for f in cell.fields)}",
            )
    drawn = weights is None or roundings.family(rounding).draws
    if found is not None and machine_seed is not None and not drawn:
        raise UsageError(
            "machine_seed",
            machine_seed,
            "has no meaning here: the parameters are trained, and no coins are drawn",
            "drop --machine-seed, or pass --init random",
        )
    return CutMachine(
        problem,
        cell,
        spoken,
        chosen,
        each,
        regime,
        origin if checkpoint is None else trained.TRAINED,
        (machine_seed or 0) if drawn else None,
        rounding,
        wanted.precision,
        checkpoint,
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
