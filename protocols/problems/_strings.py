"""Two strings of bits: what equality, disjointness and greater_than share.

Alice holds x and Bob y, both of n bits; y is the query. There are 2^n queries, listed up to
4,096 and else asked one by one, n being at most 62. Numbers of strings count the first bit
lowest unless said.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from statebound.protocols.problem import (
    MOST_LISTED,
    Answers,
    Counts,
    Problem,
    Symbols,
    bits_of,
    digits,
    named,
    require,
)


class Strings(Problem):
    """A problem on two strings; subclasses say what is asked of x and y in `compare`."""

    query_form: ClassVar[str] = "y=BITS"
    symbols, alphabet = 2, 2

    def _set(self, n: int) -> None:
        require("n", n, 1, 62, "bits")
        self.n = self.length = n
        self.queries = 1 << n
        self.listed = self.queries <= MOST_LISTED

    @abstractmethod
    def compare(self, x: Counts, y: Counts) -> Answers:
        """Return the answer for numbers of strings that broadcast."""

    def number(self, x: Symbols) -> Counts:
        """Return the numbers of strings: (B, n) -> (B,)."""
        powers: Counts = np.int64(1) << np.arange(self.n, dtype=np.int64)
        return np.asarray(x.astype(np.int64) @ powers, np.int64)

    def answers(self, x: Symbols) -> Answers:
        """Return the answer for every y."""
        self.refuse_unlisted()
        every = np.arange(self.queries, dtype=np.int64)
        return self.compare(self.number(x)[:, None], every).astype(np.uint8)

    def ask(self, x: Symbols, query: Counts) -> Answers:
        """Return the answer for one y each."""
        return self.compare(self.number(x), query).astype(np.uint8)

    def draw(self, generator: np.random.Generator, x: Symbols, count: int) -> Counts:
        """Draw y uniformly."""
        return generator.integers(0, self.queries, (len(x), count))

    def spell(self, query: Counts) -> Symbols:
        """Return y."""
        return digits(query.astype(np.uint64), 2, self.n)

    def read_query(self, text: str) -> int:
        """Read y=BITS."""
        return bits_of(named(text, "y"), self.n)

    def query_text(self, query: int) -> str:
        """Write y=BITS."""
        return "y=" + "".join(str(int(b)) for b in self.spell(np.array([query]))[0])
