"""Reading again: what a fixed-state model gains when the context comes twice, or r times.

The one-way bound falls when the query is known while the context is read. Three machines,
each a finite automaton whose state is the record it names:

* `IndexReader`: with the context, the query, and the context again (or the query first and
  the context once) Index takes ceil(log2(n + 1)) + 2 bits: the query counts down in place, a
  latch keeps the symbol, a flag says that it is kept. The first reading is ignored.
* `DisjointnessReader`: x, then y, r times over; is there no j with x_j = y_j = 1? In each
  pass the machine keeps B bits of x, so r = ceil(n / B) passes and
  M = B + 2 ceil(log2(n + 1)) + 1 bits. If Alice holds x and Bob y, the state crosses 2 r - 1
  times: `exchange` compares (2 r - 1) M with n. Any protocol needs a constant times n bits
  (Kalyanasundaram and Schnitger 1992; Razborov 1992), so re-reading moves the cost
  and does not remove it.
* `interleaved`: with x_j next to y_j one pass and 2 bits do. The order decides.

All work on B runs at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statebound.errors import UsageError
from statebound.models.constructions.ledger import Ledger, bits_for

Ints = NDArray[np.int64]
Bits = NDArray[np.bool_]


def _check(name: str, value: int) -> None:
    if value < 1:
        raise UsageError(name, value, "must be at least 1", "pass a positive number")


@dataclass(frozen=True)
class IndexState:
    """State of B runs: countdown in 0..n, latch, and whether the latch holds the answer."""

    countdown: Ints
    latch: Bits
    kept: Bits


class IndexReader:
    """Index in two passes, or in one with the query first."""

    def __init__(self, n: int) -> None:
        _check("n", n)
        self.n = n
        self.fields = {"countdown": bits_for(n + 1), "latch": 1, "kept": 1}

    @property
    def state_bits(self) -> int:
        """M = ceil(log2(n + 1)) + 2."""
        return sum(self.fields.values())

    def start(self, runs: int) -> IndexState:
        """Return the public start state."""
        no = np.zeros(runs, bool)
        return IndexState(np.zeros(runs, np.int64), no, no)

    def read(self, state: IndexState, symbol: Bits) -> IndexState:
        """Read one symbol (B,)."""
        counting = state.countdown > 0
        reached = state.countdown == 1
        return IndexState(
            state.countdown - counting,
            np.where(reached, symbol, state.latch),
            state.kept | reached,
        )

    def ask(self, state: IndexState, query: Ints) -> IndexState:
        """Read the query (B,), a position from 1."""
        return replace(state, countdown=query)

    def answer(self, state: IndexState) -> Ints:
        """Return the answers (B,), -1 where nothing is kept."""
        return np.where(state.kept, state.latch, -1)

    def run(self, x: Bits, query: Ints, order: str = "twice") -> Ints:
        """Answer queries (B,) on x (B, n).

        `order` is ``twice`` (x, query, x), ``first`` (query, x) or ``once`` (x, query), which
        never has an answer.
        """
        orders = {"twice": "xqx", "first": "qx", "once": "xq"}
        if order not in orders:
            known = ", ".join(orders)
            raise UsageError("order", order, "is not an order", f"choose from {known}")
        state = self.start(len(x))
        for part in orders[order]:
            if part == "q":
                state = self.ask(state, query)
                continue
            for a in range(self.n):
                state = self.read(state, x[:, a])
        return self.answer(state)


@dataclass(frozen=True)
class DisjointnessState:
    """State of B runs: the block kept (B, block), its start, the place, and a common one."""

    block: Bits
    begin: int
    place: int
    common: Bits


class DisjointnessReader:
    """Disjointness of x and y, n bits each, in r passes over x, y.

    Parameters
    ----------
    n
        Length.
    kept
        B, the bits of x kept in a pass.
    """

    def __init__(self, n: int, kept: int) -> None:
        _check("n", n)
        _check("kept", kept)
        self.n, self.kept = n, min(kept, n)
        counter = bits_for(n + 1)
        self.fields = {"block": self.kept, "begin": counter, "place": counter, "common": 1}

    @classmethod
    def of(cls, n: int, state_bits: int) -> DisjointnessReader:
        """Return the machine with M bits of state, as many of them kept as possible."""
        rest = 2 * bits_for(n + 1) + 1
        if state_bits <= rest:
            raise UsageError(
                "state_bits", state_bits, f"must exceed {rest} at n = {n}", f"pass {rest + 1}"
            )
        return cls(n, state_bits - rest)

    @property
    def state_bits(self) -> int:
        """M = B + 2 ceil(log2(n + 1)) + 1."""
        return sum(self.fields.values())

    @property
    def passes(self) -> int:
        """R = ceil(n / B)."""
        return -(-self.n // self.kept)

    def start(self, runs: int) -> DisjointnessState:
        """Return the public start state."""
        return DisjointnessState(np.zeros((runs, self.kept), bool), 0, 0, np.zeros(runs, bool))

    def read_x(self, state: DisjointnessState, symbol: Bits) -> DisjointnessState:
        """Read one symbol of x (B,): the place goes up."""
        at, block = state.place - state.begin, state.block
        if 0 <= at < self.kept:
            block = block.copy()
            block[:, at] = symbol
        return replace(state, block=block, place=state.place + 1)

    def read_y(self, state: DisjointnessState, symbol: Bits) -> DisjointnessState:
        """Read one symbol of y (B,): the place goes down, and at 0 the block moves on."""
        at = self.n - state.place - state.begin
        common = state.common
        if 0 <= at < self.kept:
            common = common | (symbol & state.block[:, at])
        ended = state.place == 1
        begin = min(state.begin + self.kept, self.n) if ended else state.begin
        return replace(state, begin=begin, place=state.place - 1, common=common)

    def run(self, x: Bits, y: Bits, passes: int | None = None) -> Bits:
        """Return whether x and y (B, n) are disjoint, after all passes or some."""
        state = self.start(len(x))
        for _ in range(self.passes if passes is None else passes):
            for j in range(self.n):
                state = self.read_x(state, x[:, j])
            for j in range(self.n):
                state = self.read_y(state, y[:, j])
        return ~state.common


def exchange(n: int, state_bits: int) -> dict[str, Any]:
    """Return what r passes at M bits send between Alice and Bob, and its ratio to n.

    Examples
    --------
    >>> record = exchange(1024, 128)
    >>> record["passes"], record["bits"], record["ratio"]
    (10, 2432, 2.375)
    """
    reader = DisjointnessReader.of(n, state_bits)
    bits = (2 * reader.passes - 1) * state_bits
    return {
        "n": n,
        "state_bits": state_bits,
        "kept": reader.kept,
        "passes": reader.passes,
        "bits": bits,
        "ratio": bits / n,
    }


def interleaved(x: Bits, y: Bits) -> Bits:
    """Return whether x and y (B, n) are disjoint, read as x_1 y_1 x_2 y_2 ... with 2 bits."""
    pending = common = np.zeros(len(x), bool)
    for j in range(x.shape[1]):
        pending = x[:, j]
        common = common | (pending & y[:, j])
    return ~common


def ledger(reader: IndexReader | DisjointnessReader) -> Ledger:
    """Return the cost of a machine; it has no weights and no cache."""
    index = isinstance(reader, IndexReader)
    passes = 2 if isinstance(reader, IndexReader) else 2 * reader.passes
    return Ledger(
        construction="re-reading, Index" if index else "re-reading, disjointness",
        tokens_read=passes * reader.n + index,
        tokens_written=0,
        recurrent_fields=dict(reader.fields),
        cache_bits=0,
        parameters=None,
        nonzero=None,
        significand_bits=None,
    )
