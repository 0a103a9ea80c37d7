"""cgram: the symbol that follows the last occurrence of a queried (c-1)-gram.

x is a string of n symbols; the query is a string of c - 1 symbols, and the answer the
symbol right after its last occurrence that has one, or "none", which is numbered last.
With c = 2 this is associative recall. Two queries overlap in what they ask about, so the
answers depend on one another; for c > 2 answer tables are counted while inputs are few.

Index maps to it: write each position as a gram of c - 1 digits, then its value.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from statebound.errors import UsageError
from statebound.protocols.problem import (
    MOST_LISTED,
    Counts,
    Problem,
    Structure,
    Symbols,
    digits,
    named,
    no_wall,
    require,
    spelled,
    symbol_of,
)
from statebound.protocols.problems._tables import recall_tables

REASON = "grams overlap, so the answers are not independent"


class CGram(Problem):
    """Retrieval of c-grams from a string of n symbols.

    Parameters
    ----------
    n
        Length of the string, at least c.
    c
        Length of a gram with its answer, at least 2.
    alphabet
        Symbols, 2 to 255, with at most 4,096 grams of c - 1.

    Examples
    --------
    >>> problem = CGram(6, c=3)
    >>> problem.answers(problem.parse("010011")).tolist()  # after 00, 10, 01, 11; 2 is none
    [[1, 0, 1, 2]]
    """

    name: ClassVar[str] = "cgram"
    cost: ClassVar[str] = (
        "as associative_recall for c = 2, c log2 alphabet for n = c, else counted at small n"
    )
    query_form: ClassVar[str] = "after=GRAM"

    def __init__(self, n: int, c: int = 3, alphabet: int = 2) -> None:
        require("c", c, 2, 13, "symbols of a gram")
        if n < c:
            raise UsageError("n", n, f"grams of {c} symbols need at least {c}", f"pass n >= {c}")
        require("alphabet", alphabet, 2, 255, "symbols to choose from")
        if alphabet ** (c - 1) > MOST_LISTED:
            raise UsageError(
                "c", c, f"makes {alphabet}^{c - 1} queries, at most {MOST_LISTED}", "take a smaller"
            )
        self.n = self.length = n
        self.c, self.symbols = c, alphabet
        self.queries, self.alphabet = alphabet ** (c - 1), alphabet + 1

    @property
    def structure(self) -> Structure:
        """No wall is proved."""
        return no_wall(self.alphabet, REASON)

    @property
    def least_messages(self) -> int | None:
        """How many answer tables there are, where that is known."""
        if self.n == self.c:  # one gram and its successor: a table tells both
            return int(self.symbols**self.c)
        return recall_tables(self.n, self.symbols) if self.c == 2 else self.counted_rows

    def answers(self, x: Symbols) -> Symbols:
        """Return what follows the last occurrence of every gram, first symbol lowest."""
        found = np.full((len(x), self.queries), self.symbols, np.uint8)
        rows = np.arange(len(x))
        powers = self.symbols ** np.arange(self.c - 1)
        for a in range(self.length - self.c + 1):
            gram = x[:, a : a + self.c - 1] @ powers
            found[rows, gram] = x[:, a + self.c - 1]
        return found

    def spell(self, query: Counts) -> Symbols:
        """Return the gram."""
        return digits(query.astype(np.uint64), self.symbols, self.c - 1)

    def read_query(self, text: str) -> int:
        """Read after=GRAM."""
        gram = named(text, "after")
        parts = gram.split(",") if self.symbols > 36 else list(gram)
        if len(parts) != self.c - 1:
            raise ValueError(text)
        return sum(symbol_of(p, self.symbols) * self.symbols**i for i, p in enumerate(parts))

    def query_text(self, query: int) -> str:
        """Write after=GRAM."""
        return f"after={spelled(self.spell(np.array([query]))[0], self.symbols)}"


PROBLEM = CGram
