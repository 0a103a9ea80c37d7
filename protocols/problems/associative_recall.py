"""associative_recall: the token that follows the last occurrence of a queried one.

x is a string of n tokens over an alphabet; the query is a token q, and the answer the
token right after the last q among the first n - 1 tokens, or "none", which is numbered
last. The answers depend on one another: what follows q occurs itself, so one table entry
tells about others. The exact number of answer tables is derived in `_tables`.

Index maps to it (write each position's token, then its value), so with as many keys as
Index has bits it needs as many bits: Wen, Dang and Lyu (2024).
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from statebound.errors import UsageError
from statebound.protocols.problem import (
    Counts,
    Problem,
    Structure,
    Symbols,
    named,
    no_wall,
    require,
    spelled,
    symbol_of,
)
from statebound.protocols.problems._tables import recall_tables

REASON = "what follows one token tells what others occur, so the answers are not independent"


class AssociativeRecall(Problem):
    """Associative recall over n tokens.

    Parameters
    ----------
    n
        Number of tokens, at least 2.
    alphabet
        How many tokens there are to choose from, 2 to 255.

    Examples
    --------
    >>> problem = AssociativeRecall(5, alphabet=3)
    >>> problem.answers(problem.parse("01020")).tolist()  # 3 is none
    [[2, 0, 0]]
    """

    name: ClassVar[str] = "associative_recall"
    cost: ClassVar[str] = "ceil(log2 of a sum over trees), see docs"
    query_form: ClassVar[str] = "after=TOKEN"

    def __init__(self, n: int, alphabet: int = 4) -> None:
        if n < 2:
            raise UsageError("n", n, "associative_recall needs at least 2 tokens", "pass n >= 2")
        require("alphabet", alphabet, 2, 255, "tokens to choose from")
        self.n = self.length = n
        self.symbols = self.queries = alphabet
        self.alphabet = alphabet + 1

    @property
    def structure(self) -> Structure:
        """No wall is proved."""
        return no_wall(self.alphabet, REASON)

    @property
    def least_messages(self) -> int | None:
        """How many answer tables there are."""
        return recall_tables(self.n, self.symbols)

    def answers(self, x: Symbols) -> Symbols:
        """Return what follows the last occurrence of every token."""
        found = np.full((len(x), self.queries), self.symbols, np.uint8)
        rows = np.arange(len(x))
        for a in range(self.length - 1):
            found[rows, x[:, a]] = x[:, a + 1]
        return found

    def spell(self, query: Counts) -> Symbols:
        """Return the token itself."""
        return query[:, None].astype(np.uint8)

    def read_query(self, text: str) -> int:
        """Read after=TOKEN."""
        return symbol_of(named(text, "after"), self.symbols)

    def query_text(self, query: int) -> str:
        """Write after=TOKEN."""
        return f"after={spelled(np.array([query], np.uint8), self.symbols)}"


PROBLEM = AssociativeRecall
