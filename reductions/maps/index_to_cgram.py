"""index -> cgram: positions written as grams of digits, each followed by its value.

Symbols 0 and 1 are values, 2 .. b + 1 the digits of positions in base b, the least base
with b^2 >= m. x becomes digit, digit, x_1, digit, digit, x_2, ... of 3m symbols. A value
stands between any two grams, so a gram of digits occurs where it was written and nowhere
else, and what follows it is the value.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from statebound.protocols.problem import Problem, Symbols
from statebound.protocols.problems.cgram import CGram
from statebound.protocols.protocol import Queries
from statebound.reductions.map import Map, bits_only

C = 3


class IndexToCGram(Map):
    """Positions as grams.

    Examples
    --------
    >>> from statebound.protocols.problems.index import Index
    >>> grams = IndexToCGram(Index(3))
    >>> grams.instance(grams.source.parse("101")).tolist()
    [[2, 2, 1, 3, 2, 0, 2, 3, 1]]
    """

    source_name: ClassVar[str] = "index"
    target_name: ClassVar[str] = "cgram"
    statement: ClassVar[str] = (
        "one-to-one on inputs and on queries: all m bits of Index are kept, so 3-grams in "
        "3m symbols need m bits"
    )

    def __init__(self, source: Problem) -> None:
        bits_only(source)
        base = next(b for b in range(1, source.n + 1) if b ** (C - 1) >= source.n)
        self.base, self.source = base, source
        self.target = CGram(C * source.n, C, base + 2)

    def _digits(self) -> Symbols:
        """Return the digits of all positions, the least first: (m, C - 1)."""
        place = np.arange(self.source.n)[:, None] // self.base ** np.arange(C - 1)
        return (place % self.base + 2).astype(np.uint8)

    def instance(self, x: Symbols) -> Symbols:
        """Put each position's digits before its value."""
        image = np.empty((len(x), self.source.n, C), np.uint8)
        image[:, :, : C - 1] = self._digits()
        image[:, :, C - 1] = x
        return image.reshape(len(x), -1)

    def query(self, query: Queries) -> Queries:
        """Return the number of the position's gram."""
        powers = self.target.symbols ** np.arange(C - 1)
        return np.asarray(self._digits()[query] @ powers, np.int64)


MAP = IndexToCGram
