"""disjointness: whether Alice's and Bob's sets have nothing in common.

x and y are sets of n elements as bits; the answer is 1 where no element is in both. y is
uniform over all sets, or over those of `ones` elements. Single elements (ones = 1) ask
"is k not in x": Index negated, with all its walls. Otherwise answers depend on one another:
y and a larger y are disjoint from x together or not.

Randomised one-way protocols need a constant share of n bits, and even two-way ones
(Kalyanasundaram and Schnitger 1992; Razborov 1992), for a law of pairs harder than this.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb
from typing import ClassVar

import numpy as np

from statebound.errors import UsageError
from statebound.protocols.problem import (
    MOST_LISTED,
    Answers,
    Counts,
    Structure,
    Symbols,
    no_wall,
    query_weights,
    require,
)
from statebound.protocols.problems._strings import Strings
from statebound.protocols.problems._tables import subset_number, subsets

REASON = "larger sets meet x if smaller ones do, so the answers are not independent"


class Disjointness(Strings):
    """Disjointness of two sets of n elements, n at most 62.

    Parameters
    ----------
    n
        Number of elements.
    ones
        Size of Bob's set, at most 4,096 sets; 0 for any set.

    Examples
    --------
    >>> problem = Disjointness(4, ones=1)
    >>> problem.answers(problem.parse("0110")).tolist()
    [[1, 0, 0, 1]]
    """

    name: ClassVar[str] = "disjointness"
    cost: ClassVar[str] = "n for ones = 0, ceil(log2(1 + sum over j >= ones of C(n, j))) else"
    query_form: ClassVar[str] = "y=BITS, or 1,3,5 with ones"

    def __init__(self, n: int, ones: int = 0) -> None:
        self._set(n)
        require("ones", ones, 0, n, "elements of Bob's set")
        self.ones = ones
        if ones:
            self.queries, self.listed = comb(n, ones), True
            if self.queries > MOST_LISTED:
                raise UsageError(
                    "ones", ones, f"makes {self.queries} queries, at most {MOST_LISTED}", "take 1"
                )

    @property
    def structure(self) -> Structure:
        """Single elements are independent fair bits."""
        if self.ones != 1:
            return no_wall(2, REASON)
        weights: tuple[Fraction, ...] = query_weights("uniform", self.n)
        return Structure(2, self.n, weights, independent=True, index_stream=False)

    @property
    def least_messages(self) -> int:
        """One for each x that is disjoint from a set, and one for all others.

        The union of all y of `ones` elements that are disjoint from x is what is not in x,
        if that has `ones` elements at least; else no y is disjoint from x.
        """
        if not self.ones:
            return 1 << self.n
        return 1 + sum(comb(self.n, j) for j in range(self.ones, self.n + 1))

    def compare(self, x: Counts, y: Counts) -> Answers:
        """Return whether they are disjoint."""
        return np.asarray((x & y) == 0, np.uint8)

    def answers(self, x: Symbols) -> Answers:
        """Return the answer for every y."""
        if not self.ones:
            return super().answers(x)
        sets = subsets(self.n, self.ones)
        return np.asarray((x[:, sets] == 0).all(axis=2), np.uint8)

    def ask(self, x: Symbols, query: Counts) -> Answers:
        """Return the answer for one y each."""
        if not self.ones:
            return super().ask(x, query)
        held = np.take_along_axis(x, subsets(self.n, self.ones)[query], axis=1)
        return np.asarray((held == 0).all(axis=1), np.uint8)

    def spell(self, query: Counts) -> Symbols:
        """Return y as bits."""
        if not self.ones:
            return super().spell(query)
        y = np.zeros((len(query), self.n), np.uint8)
        np.put_along_axis(y, subsets(self.n, self.ones)[query], 1, axis=1)
        return y

    def read_query(self, text: str) -> int:
        """Read y=BITS, or the elements."""
        if not self.ones:
            return super().read_query(text)
        if "=" in text:
            bits = text.partition("=")[2]
            text = ",".join(str(i + 1) for i, b in enumerate(bits) if b == "1")
        return subset_number(self.n, self.ones, text)


PROBLEM = Disjointness
