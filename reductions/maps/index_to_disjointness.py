"""index -> disjointness: whether element k is outside the complement of x.

Alice takes the set of places where x is 0, Bob the set {k}. They are disjoint exactly
where x_k = 1.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from statebound.errors import UsageError
from statebound.protocols.problem import Problem, Symbols
from statebound.protocols.problems.disjointness import Disjointness
from statebound.protocols.protocol import Queries
from statebound.reductions.map import Map, bits_only


class IndexToDisjointness(Map):
    """Single elements.

    Examples
    --------
    >>> from statebound.protocols.problems.index import Index
    >>> sets = IndexToDisjointness(Index(3))
    >>> sets.instance(sets.source.parse("101")).tolist(), sets.query(np.array([2])).tolist()
    ([[0, 1, 0]], [4])
    """

    source_name: ClassVar[str] = "index"
    target_name: ClassVar[str] = "disjointness"
    statement: ClassVar[str] = (
        "one-to-one on inputs and on queries: all n bits of Index are kept, so disjointness "
        "of sets of n elements needs n bits"
    )

    def __init__(self, source: Problem) -> None:
        bits_only(source)
        if source.n > 62:
            raise UsageError("n", source.n, "is beyond 62 elements", "take a smaller n")
        self.source, self.target = source, Disjointness(source.n)

    def instance(self, x: Symbols) -> Symbols:
        """Return the complement."""
        return 1 - x

    def query(self, query: Queries) -> Queries:
        """Return the number of the set {k}."""
        return np.int64(1) << query


MAP = IndexToDisjointness
