"""index -> copy: whoever can say all of x can say one symbol.

The input stays the same, and whatever Bob's query is he asks for the whole string and
takes his symbol out of it. So what suffices to copy suffices for Index; it is all right at
once, not on average, and a protocol that often fails to copy may still do well here.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from statebound.errors import UsageError
from statebound.protocols.problem import Answers, Problem, Symbols
from statebound.protocols.problems.copy import Copy
from statebound.protocols.protocol import Queries
from statebound.reductions.map import Map


class IndexToCopy(Map):
    """One symbol out of the whole string.

    Examples
    --------
    >>> from statebound.protocols.problems.index import Index
    >>> whole = IndexToCopy(Index(3))
    >>> said = whole.target.answers(whole.source.parse("110"))[:, 0]
    >>> [int(whole.answer(np.array([k]), said)[0]) for k in range(3)]
    [1, 1, 0]
    """

    source_name: ClassVar[str] = "index"
    target_name: ClassVar[str] = "copy"
    statement: ClassVar[str] = (
        "the same inputs, every query becomes the one: all of Index is kept, so copying n "
        "symbols without error needs n symbols' bits"
    )

    def __init__(self, source: Problem) -> None:
        if source.queries != source.n:
            raise UsageError("marked", source.queries, "this map asks for all", "drop the marks")
        self.source, self.target = source, Copy(source.n, source.symbols)

    def instance(self, x: Symbols) -> Symbols:
        """Return x."""
        return x

    def query(self, query: Queries) -> Queries:
        """Return the only query."""
        return np.zeros_like(query)

    def answer(self, query: Queries, said: Answers) -> Answers:
        """Take the symbol that was asked for."""
        places = self.source.n - 1 - query
        return said.astype(np.int64) // self.source.symbols**places % self.source.symbols


MAP = IndexToCopy
