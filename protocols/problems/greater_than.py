"""greater_than: whether Alice's number is larger than Bob's.

x and y are numbers of n bits, first bit highest; the answer is 1 where x > y. Never erring
takes n bits. With `pairs` uniform the first few bits decide nearly always, and no wall is
proved here.

With `pairs` prefix Bob's number agrees with x up to a random place: k is uniform in 1..n
and y = x_1 .. x_(k-1) 0 1 .. 1, so x > y exactly where x_k = 1. The place of the last 0 of
y tells k, so this is augmented Index (Bob knows k and the earlier bits, asked for x_k),
and the walls proved for that apply; see `augmented_index`.
"""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

import numpy as np

from statebound.errors import UsageError
from statebound.protocols.problem import (
    Answers,
    Counts,
    Structure,
    Symbols,
    bits_of,
    named,
    no_wall,
    query_weights,
)
from statebound.protocols.problems._strings import Strings

REASON = "answers are ordered in y, so they are not independent"
BASIS = "given the earlier bits, which y tells, each asked bit is uniform (see augmented_index)"


class GreaterThan(Strings):
    """Comparison of two numbers of n bits, n at most 62.

    Parameters
    ----------
    n
        Bits of a number.
    pairs
        ``uniform`` or ``prefix``.

    Examples
    --------
    >>> problem = GreaterThan(3)
    >>> problem.answers(problem.parse("010")).tolist()
    [[1, 1, 0, 0, 0, 0, 0, 0]]
    """

    name: ClassVar[str] = "greater_than"
    cost: ClassVar[str] = "n"

    def __init__(self, n: int, pairs: str = "uniform") -> None:
        self._set(n)
        if pairs not in ("uniform", "prefix"):
            raise UsageError("pairs", pairs, "is not a law", "choose uniform or prefix")
        self.pairs, self.joint = pairs, pairs == "prefix"

    @property
    def structure(self) -> Structure:
        """With prefix pairs that of augmented Index."""
        if not self.joint:
            return no_wall(2, REASON)
        weights: tuple[Fraction, ...] = query_weights("uniform", self.n)
        return Structure(2, self.n, weights, independent=False, index_stream=False, basis=BASIS)

    @property
    def weights(self) -> tuple[Fraction, ...]:
        """The law of y: with prefix pairs 2^-(k-1) / n where its last 0 is at place k."""
        self.refuse_unlisted()
        if not self.joint:
            return query_weights("uniform", self.queries)
        return tuple(
            Fraction(1 << _trailing_ones(y), self.n * self.queries // 2)
            if y + 1 < self.queries
            else Fraction(0)
            for y in range(self.queries)
        )

    @property
    def least_messages(self) -> int:
        """One for each x: of two, y one less than the larger, or its prefix pair, tells them."""
        return self.queries

    def number(self, x: Symbols) -> Counts:
        """Return the numbers, first bit highest."""
        return super().number(x[:, ::-1])

    def compare(self, x: Counts, y: Counts) -> Answers:
        """Return whether x is larger."""
        return np.asarray(x > y, np.uint8)

    def multiplicities(self, x: Symbols) -> Counts | None:
        """Return 1 for the y that agree with x before their last 0."""
        if not self.joint:
            return None
        self.refuse_unlisted()
        y = np.arange(self.queries, dtype=np.int64)
        shift = np.array([_trailing_ones(int(v)) + 1 for v in y[:-1]] + [0])
        held = np.asarray((self.number(x)[:, None] >> shift) == (y >> shift), np.int64)
        held[:, -1] = 0
        return held

    def draw(self, generator: np.random.Generator, x: Symbols, count: int) -> Counts:
        """Draw y, for prefix pairs by its place k."""
        if not self.joint:
            return super().draw(generator, x, count)
        after = generator.integers(0, self.n, (len(x), count))  # ones that follow the last 0
        kept = self.number(x)[:, None] >> (after + 1) << (after + 1)
        drawn: Counts = kept | ((np.int64(1) << after) - 1)
        return drawn

    def spell(self, query: Counts) -> Symbols:
        """Return y, first bit highest."""
        return super().spell(query)[:, ::-1]

    def read_query(self, text: str) -> int:
        """Read y=BITS."""
        return bits_of(named(text, "y")[::-1], self.n)


def _trailing_ones(y: int) -> int:
    return (y ^ (y + 1)).bit_length() - 1


PROBLEM = GreaterThan
