"""sparse_averaging: the sum of the signs in a set of q places.

x is n signs as bits (1 for +1), the query a set of q places, the answer how many of them
are 1; the sum of the signs is twice that, less q. One place is Index. With more, sets that
overlap have answers that depend on one another, and answers are not uniform.

For q < n never erring takes n bits: swapping one place for another tells whether the two
signs agree, for any two, and one sum more tells which is which. After Sanford, Hsu and
Telgarsky (2023).
"""

from __future__ import annotations

from fractions import Fraction
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
    query_weights,
    require,
)
from statebound.protocols.problems._tables import subset_number, subsets

REASON = "sums over sets that overlap are not independent, nor uniform"


class SparseAveraging(Problem):
    """Sums over q of n signs.

    Parameters
    ----------
    n
        Number of signs, at least 1.
    q
        Size of a set, 1 to n, with at most 4,096 sets.

    Examples
    --------
    >>> problem = SparseAveraging(3)
    >>> problem.answers(problem.parse("110")).tolist()  # places 1,2; 1,3; 2,3
    [[2, 1, 1]]
    """

    name: ClassVar[str] = "sparse_averaging"
    cost: ClassVar[str] = "n for q < n"
    query_form: ClassVar[str] = "1,3,5"

    def __init__(self, n: int, q: int = 2) -> None:
        if n < 1:
            raise UsageError("n", n, "sparse_averaging needs at least 1 sign", "pass n >= 1")
        require("q", q, 1, min(n, 255), "places of a set")
        if comb(n, q) > MOST_LISTED:
            raise UsageError("q", q, f"makes {comb(n, q)} queries, at most {MOST_LISTED}", "take 1")
        self.n = self.length = n
        self.q, self.symbols = q, 2
        self.queries, self.alphabet = comb(n, q), q + 1

    @property
    def structure(self) -> Structure:
        """Single places are Index."""
        if self.q > 1:
            return no_wall(self.alphabet, REASON)
        weights: tuple[Fraction, ...] = query_weights("uniform", self.n)
        return Structure(2, self.n, weights, True, True, tuple((k,) for k in range(self.n)))

    @property
    def least_messages(self) -> int:
        """One for each x, or each sum where there is one set."""
        return self.n + 1 if self.q == self.n else int(2**self.n)

    def answers(self, x: Symbols) -> Symbols:
        """Return the number of ones in every set."""
        return np.asarray(x[:, subsets(self.n, self.q)].sum(axis=2), np.uint8)

    def ask(self, x: Symbols, query: Counts) -> Symbols:
        """Return the number of ones in one set each."""
        asked = subsets(self.n, self.q)[query]
        return np.asarray(np.take_along_axis(x, asked, axis=1).sum(axis=1), np.uint8)

    def read_query(self, text: str) -> int:
        """Read 1,3,5: places from 1."""
        return subset_number(self.n, self.q, text)

    def query_text(self, query: int) -> str:
        """Write 1,3,5."""
        return ",".join(str(int(a) + 1) for a in subsets(self.n, self.q)[query])


PROBLEM = SparseAveraging
