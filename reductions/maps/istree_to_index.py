"""istree -> index: whether neighbouring bits differ.

x in {0, 1}^(n-2) becomes y with y_k = x_k xor x_(k+1), n - 3 bits. Bob's edge k - (k+1)
makes a tree exactly where y_k = 1. So IsTree on two stars is no harder than Index on n - 3
bits; with the map the other way they cost the same.
"""

from __future__ import annotations

from typing import ClassVar

from statebound.protocols.problem import Problem, Symbols
from statebound.protocols.problems.index import Index
from statebound.protocols.protocol import Queries
from statebound.reductions.map import Map


class IsTreeToIndex(Map):
    """Differences of neighbours.

    Examples
    --------
    >>> from statebound.protocols.problems.istree import IsTree
    >>> stars = IsTreeToIndex(IsTree(6))
    >>> stars.instance(stars.source.parse("0110")).tolist()
    [[1, 0, 1]]
    """

    source_name: ClassVar[str] = "istree"
    target_name: ClassVar[str] = "index"
    statement: ClassVar[str] = (
        "two-to-one on inputs, one-to-one on queries: n - 3 bits of Index suffice for IsTree "
        "on two stars with n vertices"
    )

    def __init__(self, source: Problem) -> None:
        self.source, self.target = source, Index(source.n - 3, query_law=source.law)

    def instance(self, x: Symbols) -> Symbols:
        """Return where neighbours differ."""
        return x[:, :-1] ^ x[:, 1:]

    def query(self, query: Queries) -> Queries:
        """Return the same query."""
        return query


MAP = IsTreeToIndex
