"""index -> mqar: position a is key a, and its bit chooses one of two values of its own.

The value of key a is 2a + x_a, so values are distinct as they must be; all m keys occur,
in order, and Bob reads the bit off the value's parity.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from statebound.protocols.problem import Answers, Problem, Symbols
from statebound.protocols.problems.mqar import MQAR
from statebound.protocols.protocol import Queries
from statebound.reductions.map import Map, bits_only


class IndexToMQAR(Map):
    """Bits as a choice of values.

    Examples
    --------
    >>> from statebound.protocols.problems.index import Index
    >>> pairs = IndexToMQAR(Index(3))
    >>> pairs.instance(pairs.source.parse("101")).tolist()  # keys 0..2, values 3..8
    [[0, 4, 1, 5, 2, 8]]
    """

    source_name: ClassVar[str] = "index"
    target_name: ClassVar[str] = "mqar"
    statement: ClassVar[str] = (
        "one-to-one on inputs and on queries: all m bits of Index are kept, so recall of m "
        "pairs among 2m values needs m bits"
    )

    def __init__(self, source: Problem) -> None:
        bits_only(source)
        n = source.n
        self.source, self.target = source, MQAR(n, n, 2 * n)

    def instance(self, x: Symbols) -> Symbols:
        """Write every key with the value that its bit chooses."""
        places = np.arange(self.source.n, dtype=np.uint8)
        image = np.empty((len(x), self.target.length), np.uint8)
        image[:, ::2] = places
        image[:, 1::2] = self.source.n + 2 * places + x
        return image

    def query(self, query: Queries) -> Queries:
        """Return the same number: the key of the position."""
        return query

    def answer(self, query: Queries, said: Answers) -> Answers:
        """Return the parity of the value."""
        return said & 1


MAP = IndexToMQAR
