"""index -> associative_recall: keys of positions, each followed by its value.

Tokens 0 and 1 are values, 2 .. m + 1 are keys. x becomes key 1, x_1, key 2, x_2, ... of 2m
tokens; every key occurs once, so what follows key k is x_k. The paper's reduction in
spirit: Wen, Dang and Lyu (2024).
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from statebound.protocols.problem import Problem, Symbols
from statebound.protocols.problems.associative_recall import AssociativeRecall
from statebound.protocols.protocol import Queries
from statebound.reductions.map import Map, bits_only


class IndexToAssociativeRecall(Map):
    """Keys and values.

    Examples
    --------
    >>> from statebound.protocols.problems.index import Index
    >>> recall = IndexToAssociativeRecall(Index(3))
    >>> recall.instance(recall.source.parse("101")).tolist()
    [[2, 1, 3, 0, 4, 1]]
    """

    source_name: ClassVar[str] = "index"
    target_name: ClassVar[str] = "associative_recall"
    statement: ClassVar[str] = (
        "one-to-one on inputs and on queries: all m bits of Index are kept, so recall with "
        "m keys in 2m tokens needs m bits"
    )

    def __init__(self, source: Problem) -> None:
        bits_only(source)
        self.source, self.target = source, AssociativeRecall(2 * source.n, source.n + 2)

    def instance(self, x: Symbols) -> Symbols:
        """Put each position's key before its value."""
        image = np.empty((len(x), self.target.length), np.uint8)
        image[:, ::2] = np.arange(2, self.source.n + 2)
        image[:, 1::2] = x
        return image

    def query(self, query: Queries) -> Queries:
        """Return the key of the position."""
        return query + 2


MAP = IndexToAssociativeRecall
