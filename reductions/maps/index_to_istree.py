"""index -> istree: bit k of y decides whether two stars become a tree.

y in {0, 1}^m becomes x in {0, 1}^(m+1) with x_1 = 0 and x_(a+1) = x_a xor y_a, an
instance of IsTree on n = m + 3 vertices. Bob's edge k - (k+1) makes a tree exactly
when x_k != x_(k+1), that is when y_k = 1: query k of Index is query k of IsTree. The
map is one-to-one, so all m bits that Index needs are needed here: IsTree on n vertices
needs n - 3.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from statebound.protocols.problem import Problem, Symbols
from statebound.protocols.problems.istree import IsTree
from statebound.protocols.protocol import Queries
from statebound.reductions.map import Map, bits_only


class IndexToIsTree(Map):
    """The two-star gadget.

    Examples
    --------
    >>> from statebound.protocols.problems.index import Index
    >>> gadget = IndexToIsTree(Index(3))
    >>> gadget.target.n, gadget.instance(gadget.source.parse("101")).tolist()
    (6, [[0, 1, 1, 0]])
    """

    source_name: ClassVar[str] = "index"
    target_name: ClassVar[str] = "istree"
    statement: ClassVar[str] = (
        "one-to-one on inputs and on queries: all m bits of Index are kept, "
        "so IsTree on n vertices needs n - 3 bits"
    )

    def __init__(self, source: Problem) -> None:
        bits_only(source)
        self.source = source
        self.target = IsTree(source.n + 3, source.law)

    def instance(self, x: Symbols) -> Symbols:
        """Return the running parity after a leading 0."""
        walked = np.zeros((len(x), x.shape[1] + 1), np.uint8)
        np.bitwise_xor.accumulate(x, axis=1, out=walked[:, 1:])
        return walked

    def query(self, query: Queries) -> Queries:
        """Return the same query."""
        return query


MAP = IndexToIsTree
