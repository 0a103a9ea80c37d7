"""index -> noisy_recall: position k is key k, asked for without a wrong bit."""

from __future__ import annotations

from typing import ClassVar

from statebound.errors import UsageError
from statebound.protocols.problem import Problem, Symbols
from statebound.protocols.problems.noisy_recall import NoisyRecall
from statebound.protocols.protocol import Queries
from statebound.reductions.map import Map


class IndexToNoisyRecall(Map):
    """Keys as they are.

    Examples
    --------
    >>> import numpy as np
    >>> from statebound.protocols.problems.index import Index
    >>> keys = IndexToNoisyRecall(Index(3))
    >>> [keys.target.query_text(int(k)) for k in keys.query(np.arange(3))]
    ['key=000000', 'key=111000', 'key=000111']
    """

    source_name: ClassVar[str] = "index"
    target_name: ClassVar[str] = "noisy_recall"
    statement: ClassVar[str] = (
        "the same inputs, queries one-to-one: all of Index is kept, so recall of n values by "
        "corrupted keys needs as many bits as n values have"
    )

    def __init__(self, source: Problem) -> None:
        if source.queries != source.n:
            raise UsageError("marked", source.queries, "this map asks for all", "drop the marks")
        self.source = source
        self._target = NoisyRecall(source.n, source.symbols)
        self.target = self._target

    def instance(self, x: Symbols) -> Symbols:
        """Return x: symbols are values."""
        return x

    def query(self, query: Queries) -> Queries:
        """Return the first word of each key, which has no wrong bit."""
        return query * self._target.words


MAP = IndexToNoisyRecall
