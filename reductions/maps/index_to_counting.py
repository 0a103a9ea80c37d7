"""index -> counting: symbol a occurs once, or twice if x_a = 1.

Symbols 0 .. m - 1 stand for the positions, m is a pad. x becomes, for each position a, two
places: a and a if x_a = 1, else a and the pad. So the length is 2m whatever x is, and
symbol a occurs more than once exactly where x_a = 1.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from statebound.protocols.problem import Problem, Symbols
from statebound.protocols.problems.counting import Counting
from statebound.protocols.protocol import Queries
from statebound.reductions.map import Map, bits_only


class IndexToCounting(Map):
    """Bits as multiplicities.

    Examples
    --------
    >>> from statebound.protocols.problems.index import Index
    >>> counts = IndexToCounting(Index(3))
    >>> counts.instance(counts.source.parse("101")).tolist()
    [[0, 0, 1, 3, 2, 2]]
    """

    source_name: ClassVar[str] = "index"
    target_name: ClassVar[str] = "counting"
    statement: ClassVar[str] = (
        "one-to-one on inputs and on queries: all m bits of Index are kept, so counting m + 1 "
        "symbols to 2 needs m bits"
    )

    def __init__(self, source: Problem) -> None:
        bits_only(source)
        self.source = source
        self.target = Counting(2 * source.n, source.n + 1, 2)

    def instance(self, x: Symbols) -> Symbols:
        """Write each position's symbol, and again or a pad."""
        places = np.arange(self.source.n, dtype=np.uint8)
        image = np.empty((len(x), self.target.length), np.uint8)
        image[:, ::2] = places
        image[:, 1::2] = np.where(x == 1, places, self.source.n)
        return image

    def query(self, query: Queries) -> Queries:
        """Ask whether the position's symbol occurs more than once."""
        return 2 * query + 1


MAP = IndexToCounting
