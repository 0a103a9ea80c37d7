"""counting: whether a symbol occurs more than t times.

x is a string of n symbols; the query is a symbol and a threshold t, numbered 0, 1, ...;
the answer is 1 where the symbol occurs strictly more often than t. Answers are thresholds
of counts that sum to n, so they depend on one another, and with all thresholds only the
counts matter: log2 C(n + V - 1, V - 1) bits, which for few symbols is far less than n.

Index maps to it with as many symbols as bits: write symbol a once, or twice if x_a = 1.
"""

from __future__ import annotations

from math import comb
from typing import ClassVar

import numpy as np

from statebound.errors import UsageError
from statebound.protocols.problem import (
    MOST_LISTED,
    Counts,
    Problem,
    Structure,
    Symbols,
    no_wall,
    require,
    spelled,
    symbol_of,
)

REASON = "counts sum to n and thresholds of one count are ordered, so answers are not independent"
_MOST_WORK = 1 << 22


class Counting(Problem):
    """Counting in a string of n symbols.

    Parameters
    ----------
    n
        Length of the string, at least 1.
    alphabet
        Symbols, 2 to 256.
    thresholds
        How many thresholds are asked, 0 .. thresholds - 1; 0 for all n.

    Examples
    --------
    >>> problem = Counting(4, alphabet=2)
    >>> problem.answers(problem.parse("1101")).tolist()  # 0 once, 1 three times
    [[1, 0, 0, 0, 1, 1, 1, 0]]
    """

    name: ClassVar[str] = "counting"
    cost: ClassVar[str] = "ceil(log2 C(n + alphabet - 1, n)) with all thresholds"
    query_form: ClassVar[str] = "SYMBOL,T"

    def __init__(self, n: int, alphabet: int = 2, thresholds: int = 0) -> None:
        if n < 1:
            raise UsageError("n", n, "counting needs at least 1 symbol", "pass n >= 1")
        require("alphabet", alphabet, 2, 256, "symbols to choose from")
        require("thresholds", thresholds, 0, n, "thresholds")
        self.n = self.length = n
        self.symbols, self.alphabet = alphabet, 2
        self.thresholds = thresholds
        self.steps = thresholds or n
        self.queries = alphabet * self.steps
        if self.queries > 16 * MOST_LISTED:
            raise UsageError(
                "n", n, f"makes {self.queries} queries", "ask fewer thresholds or symbols"
            )

    @property
    def structure(self) -> Structure:
        """No wall is proved."""
        return no_wall(2, REASON)

    @property
    def least_messages(self) -> int | None:
        """How many vectors of counts, cut off at `steps`, there are.

        A vector b of cut-off counts occurs if either no count is cut off and they sum to n,
        or j >= 1 are cut off and all together sum to at most n. None where summing that up
        would take long.
        """
        n, V, T = self.n, self.symbols, self.steps
        if n <= T:
            return comb(n + V - 1, V - 1)
        if n * V > _MOST_WORK // 64:
            return None
        below = [1] + [0] * n  # how many vectors of counts below T have each sum, 0 symbols yet
        found = 0
        for uncut in range(V + 1):
            cut = V - uncut
            if cut == 0:
                found += below[n]
            elif n >= cut * T:
                found += comb(V, cut) * sum(below[: n - cut * T + 1])
            window, grown = 0, []
            for s in range(n + 1):
                window += below[s] - (below[s - T] if s >= T else 0)
                grown.append(window)
            below = grown
        return found

    def answers(self, x: Symbols) -> Symbols:
        """Return whether each symbol occurs more often than each threshold."""
        counts = np.stack([(x == v).sum(axis=1) for v in range(self.symbols)], axis=1)
        above = counts[:, :, None] > np.arange(self.steps)
        return np.asarray(above.reshape(len(x), -1), np.uint8)

    def ask(self, x: Symbols, query: Counts) -> Symbols:
        """Count one symbol of each x."""
        symbol, t = query // self.steps, query % self.steps
        return np.asarray((x == symbol[:, None]).sum(axis=1) > t, np.uint8)

    def read_query(self, text: str) -> int:
        """Read SYMBOL,T."""
        symbol, _, t = text.partition(",")
        if not 0 <= int(t) < self.steps:
            raise ValueError(text)
        return symbol_of(symbol, self.symbols) * self.steps + int(t)

    def query_text(self, query: int) -> str:
        """Write SYMBOL,T."""
        symbol = spelled(np.array([query // self.steps], np.int64).astype(np.uint8), self.symbols)
        return f"{symbol},{query % self.steps}"


PROBLEM = Counting
