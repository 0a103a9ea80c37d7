"""augmented_index -> greater_than: the prefix, a 0, then ones.

Bob, who knows x_1 .. x_(k-1), takes the number y = x_1 .. x_(k-1) 0 1 .. 1. If x_k = 1,
x is larger at place k; if x_k = 0, they agree up to place k and y has only ones after it,
so x is not larger. The place of the last 0 of y tells k, so queries are one-to-one.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from statebound.errors import UsageError
from statebound.protocols.problem import Problem, Symbols, digits
from statebound.protocols.problems.augmented_index import AugmentedIndex
from statebound.protocols.problems.greater_than import GreaterThan
from statebound.protocols.protocol import Queries
from statebound.reductions.map import Map, bits_only


class AugmentedIndexToGreaterThan(Map):
    """Comparison with a number that agrees so far.

    Examples
    --------
    >>> bits = AugmentedIndexToGreaterThan(AugmentedIndex(3))
    >>> [bits.target.query_text(int(y)) for y in bits.query(np.arange(4))]
    ['y=011', 'y=001', 'y=101', 'y=000']
    """

    source_name: ClassVar[str] = "augmented_index"
    target_name: ClassVar[str] = "greater_than"
    statement: ClassVar[str] = (
        "the same inputs, queries one-to-one: all n bits of augmented Index are kept, so "
        "comparing numbers of n bits needs n bits"
    )

    def __init__(self, source: Problem) -> None:
        bits_only(source)
        assert isinstance(source, AugmentedIndex)
        if source.n > 62:
            raise UsageError("n", source.n, "is beyond 62 bits", "take a smaller n")
        law = "prefix" if source.law == "uniform" else "uniform"
        self.source, self.target = source, GreaterThan(source.n, law)
        self._augmented = source

    def instance(self, x: Symbols) -> Symbols:
        """Return x."""
        return x

    def query(self, query: Queries) -> Queries:
        """Return y as a number, first bit highest."""
        n, place = self.source.n, self._augmented.place(query)
        prefix = query - ((np.int64(1) << place) - 1)  # first bit lowest
        bits = digits(prefix.astype(np.uint64), 2, n).astype(np.int64)
        high = (bits << np.arange(n - 1, -1, -1)).sum(axis=1)
        return np.asarray(high + (np.int64(1) << (n - 1 - place)) - 1, np.int64)


MAP = AugmentedIndexToGreaterThan
