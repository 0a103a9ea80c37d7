"""index -> phonebook: symbols as numbers.

Name k has the number x_k, written in two digits of base 10, or of base 36 for alphabets
beyond 10. So a phonebook holds whatever Index holds.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from statebound.errors import UsageError
from statebound.protocols.problem import Problem, Symbols
from statebound.protocols.problems.phonebook import Phonebook
from statebound.protocols.protocol import Queries
from statebound.reductions.map import Map


class IndexToPhonebook(Map):
    """Symbols as numbers of two digits.

    Examples
    --------
    >>> from statebound.protocols.problems.index import Index
    >>> book = IndexToPhonebook(Index(3))
    >>> book.instance(book.source.parse("101")).tolist()
    [[0, 1, 0, 0, 0, 1]]
    """

    source_name: ClassVar[str] = "index"
    target_name: ClassVar[str] = "phonebook"
    statement: ClassVar[str] = (
        "one-to-one on inputs and on queries: all of Index is kept, so n numbers need n bits"
    )

    def __init__(self, source: Problem) -> None:
        if source.queries != source.n:
            raise UsageError("marked", source.queries, "this map asks for all", "drop the marks")
        self.source = source
        self.target = Phonebook(source.n, 2, 10 if source.symbols <= 10 else 36)

    def instance(self, x: Symbols) -> Symbols:
        """Put a 0 before every symbol."""
        image = np.zeros((len(x), self.target.length), np.uint8)
        image[:, 1::2] = x
        return image

    def query(self, query: Queries) -> Queries:
        """Return the same number: the name."""
        return query


MAP = IndexToPhonebook
