"""word_problem: where a product of permutations sends a point.

x is n elements of a group of permutations, applied one after the other, first one first;
the query is a point, the answer where the product sends it. The product is one element of
the group, so ceil(log2 |G|) bits suffice however long x is, and a finite automaton keeps
them: a fixed state does not collapse here. A control, and a serial one: for the symmetric
group on five points the problem is complete for NC1 (Barrington 1989), so that it is hard
for shallow circuits, not for small memory.
"""

from __future__ import annotations

import re
from itertools import permutations
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from statebound.errors import UsageError
from statebound.protocols.problem import Problem, Structure, Symbols, no_wall

REASON = "the product is one group element: log2 of the group's order suffices for any n"


class WordProblem(Problem):
    """Products of n permutations.

    Parameters
    ----------
    n
        Number of factors, at least 1.
    group
        ``sM``, all permutations of M points in lexicographic order, M from 2 to 5; or
        ``zM``, the rotations of M points, M from 2 to 256.

    Examples
    --------
    >>> problem = WordProblem(2, group="z5")
    >>> problem.answers(problem.parse("34")).tolist()
    [[2, 3, 4, 0, 1]]
    """

    name: ClassVar[str] = "word_problem"
    cost: ClassVar[str] = "ceil(log2 of the group's order)"

    def __init__(self, n: int, group: str = "s3") -> None:
        if n < 1:
            raise UsageError("n", n, "word_problem needs at least 1 factor", "pass n >= 1")
        self.n, self.group = n, group
        self.length = n
        self.elements = _elements(group)
        self.symbols = len(self.elements)
        self.queries = self.alphabet = self.elements.shape[1]

    @property
    def structure(self) -> Structure:
        """No wall: images of points under one permutation, and few products."""
        return no_wall(self.alphabet, REASON)

    @property
    def least_messages(self) -> int:
        """One for each group element."""
        return self.symbols

    def answers(self, x: Symbols) -> Symbols:
        """Return the images of all points."""
        at = np.tile(np.arange(self.queries), (len(x), 1))
        for a in range(self.length):
            at = np.take_along_axis(self.elements[x[:, a]], at, axis=1)
        return at.astype(np.uint8)


def _elements(group: str) -> NDArray[np.int64]:
    """Return the permutations of a group: (order, points)."""
    found = re.fullmatch(r"([sz])(\d{1,3})", group, re.ASCII)
    kind, points = (found[1], int(found[2])) if found else ("", 0)
    if kind == "s" and 2 <= points <= 5:
        return np.array(list(permutations(range(points))), np.int64)
    if kind == "z" and 2 <= points <= 256:
        every = np.arange(points)
        return (every[:, None] + every) % points
    raise UsageError("group", group, "is not a known group", "choose s2 .. s5 or z2 .. z256")


PROBLEM = WordProblem
