"""equality: whether Alice's and Bob's strings are the same.

With `pairs` balanced half of the probability lies on equal pairs, spread evenly, and half
on all others: w(x, y) is 2^n - 1 where x = y and 1 elsewhere. With uniform pairs a Bob who
always says "different" is nearly always right.

Never erring takes n bits, since no two x have the same answers. But with shared coins a
few bits of a hash let Bob err rarely, whatever n is, so no wall on success grows with n:
a state may be much smaller than the input here, and this is a control for that.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from statebound.errors import UsageError
from statebound.protocols.problem import Answers, Counts, Structure, Symbols, no_wall
from statebound.protocols.problems._strings import Strings

REASON = "a hash of few bits lets Bob err rarely, whatever n is"


class Equality(Strings):
    """Equality of two strings of n bits, n at most 62.

    Examples
    --------
    >>> problem = Equality(3)
    >>> problem.ask(problem.parse("011"), np.array([problem.query("y=011")])).tolist()
    [1]
    """

    name: ClassVar[str] = "equality"
    cost: ClassVar[str] = "n"

    def __init__(self, n: int, pairs: str = "balanced") -> None:
        self._set(n)
        if pairs not in ("balanced", "uniform"):
            raise UsageError("pairs", pairs, "is not a law", "choose balanced or uniform")
        self.pairs, self.joint = pairs, pairs == "balanced"

    @property
    def structure(self) -> Structure:
        """No wall is proved."""
        return no_wall(2, REASON)

    @property
    def least_messages(self) -> int:
        """One for each x: x is the only string equal to it."""
        return self.queries

    def compare(self, x: Counts, y: Counts) -> Answers:
        """Return whether they are equal."""
        return np.asarray(x == y, np.uint8)

    def multiplicities(self, x: Symbols) -> Counts | None:
        """Return 2^n - 1 for y = x, else 1."""
        if not self.joint:
            return None
        self.refuse_unlisted()
        held = np.ones((len(x), self.queries), np.int64)
        held[np.arange(len(x)), self.number(x)] = self.queries - 1
        return held

    def draw(self, generator: np.random.Generator, x: Symbols, count: int) -> Counts:
        """Draw x itself or, as likely, one of the others."""
        if not self.joint:
            return super().draw(generator, x, count)
        other = generator.integers(1, self.queries, (len(x), count))
        apart = generator.integers(0, 2, (len(x), count))
        return self.number(x)[:, None] ^ (other * apart)


PROBLEM = Equality
