"""augmented_index -> index: Bob forgets the prefix.

The input stays the same, and Bob asks for the place that his prefix leads up to. There is
no map the other way: in Index Bob does not know the symbols before the one he asks for.
"""

from __future__ import annotations

from typing import ClassVar

from statebound.protocols.problem import Problem, Symbols
from statebound.protocols.problems.augmented_index import AugmentedIndex
from statebound.protocols.problems.index import Index
from statebound.protocols.protocol import Queries
from statebound.reductions.map import Map


class AugmentedIndexToIndex(Map):
    """The place alone.

    Examples
    --------
    >>> import numpy as np
    >>> forget = AugmentedIndexToIndex(AugmentedIndex(3))
    >>> forget.query(np.arange(7)).tolist()
    [0, 1, 1, 2, 2, 2, 2]
    """

    source_name: ClassVar[str] = "augmented_index"
    target_name: ClassVar[str] = "index"
    statement: ClassVar[str] = (
        "the same inputs: what suffices for Index suffices for augmented Index, whose walls "
        "it cannot pass"
    )

    def __init__(self, source: Problem) -> None:
        assert isinstance(source, AugmentedIndex)
        self.source, self.target = source, Index(source.n, source.symbols, source.law)
        self._augmented = source

    def instance(self, x: Symbols) -> Symbols:
        """Return x."""
        return x

    def query(self, query: Queries) -> Queries:
        """Return the place."""
        return self._augmented.place(query)


MAP = AugmentedIndexToIndex
