"""index -> sparse_averaging: one place, and pads that are known to be -1.

A place whose bit is 0, that is -1, follows x. The pair of place k and the pad has as many
ones as x_k.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from statebound.protocols.problem import Problem, Symbols
from statebound.protocols.problems.sparse_averaging import SparseAveraging
from statebound.protocols.protocol import Queries
from statebound.reductions.map import Map, bits_only


class IndexToSparseAveraging(Map):
    """Pairs of a place and the pad.

    Examples
    --------
    >>> from statebound.protocols.problems.index import Index
    >>> pairs = IndexToSparseAveraging(Index(3))
    >>> [pairs.target.query_text(int(k)) for k in pairs.query(np.arange(3))]
    ['1,4', '2,4', '3,4']
    """

    source_name: ClassVar[str] = "index"
    target_name: ClassVar[str] = "sparse_averaging"
    statement: ClassVar[str] = (
        "one-to-one on inputs and on queries: all m bits of Index are kept, so averages of "
        "pairs among n signs need n - 1 bits"
    )

    def __init__(self, source: Problem) -> None:
        bits_only(source)
        self.source, self.target = source, SparseAveraging(source.n + 1)

    def instance(self, x: Symbols) -> Symbols:
        """Put the pad after x."""
        return np.concatenate([x, np.zeros((len(x), 1), np.uint8)], axis=1)

    def query(self, query: Queries) -> Queries:
        """Return the number of the pair {k, n}, pairs being in lexicographic order."""
        n = self.target.n
        before = query * (2 * n - query - 1) // 2  # pairs that begin with a lower place
        return np.asarray(before + n - 2 - query, np.int64)


MAP = IndexToSparseAveraging
