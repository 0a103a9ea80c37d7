"""index -> pointer_chasing: every place points to one of two ends.

Vertices 0 and 1 point to themselves, vertex 2 + a to x_a. However many hops there are,
from 2 + a one ends at x_a.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from statebound.protocols.problem import Problem, Symbols
from statebound.protocols.problems.pointer_chasing import PointerChasing
from statebound.protocols.protocol import Queries
from statebound.reductions.map import Map, bits_only


class IndexToPointerChasing(Map):
    """Two ends.

    Examples
    --------
    >>> from statebound.protocols.problems.index import Index
    >>> ends = IndexToPointerChasing(Index(3))
    >>> ends.instance(ends.source.parse("101")).tolist()
    [[0, 1, 1, 0, 1]]
    """

    source_name: ClassVar[str] = "index"
    target_name: ClassVar[str] = "pointer_chasing"
    statement: ClassVar[str] = (
        "one-to-one on inputs and on queries: all m bits of Index are kept, so chasing "
        "pointers through n vertices needs n - 2 bits"
    )

    def __init__(self, source: Problem) -> None:
        bits_only(source)
        self.source, self.target = source, PointerChasing(source.n + 2)

    def instance(self, x: Symbols) -> Symbols:
        """Put the two ends before x."""
        ends = np.broadcast_to(np.array([0, 1], np.uint8), (len(x), 2))
        return np.concatenate([ends, x], axis=1)

    def query(self, query: Queries) -> Queries:
        """Return the vertex of the position."""
        return query + 2


MAP = IndexToPointerChasing
