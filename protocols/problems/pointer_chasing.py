"""pointer_chasing: where a number of hops through a table lead.

x is a table f from n vertices to n vertices, the query a vertex s, the answer f applied
`hops` times to s. One hop is Index on n symbols of an alphabet of n, with its walls. With
more hops the answers depend on one another (two starts that meet stay together), and no
wall is proved here; Index maps to it all the same, so n - 2 bits are needed at least.
"""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

import numpy as np

from statebound.errors import UsageError
from statebound.protocols.problem import (
    Problem,
    Structure,
    Symbols,
    no_wall,
    query_weights,
    require,
)

REASON = "walks that meet stay together, so the answers are not independent"


class PointerChasing(Problem):
    """Chasing pointers through a table of n vertices.

    Parameters
    ----------
    n
        Number of vertices, 2 to 256.
    hops
        How often the table is applied, at least 1.

    Examples
    --------
    >>> problem = PointerChasing(4)
    >>> problem.answers(problem.parse("1230")).tolist()
    [[2, 3, 0, 1]]
    """

    name: ClassVar[str] = "pointer_chasing"
    cost: ClassVar[str] = "ceil(n log2 n) for 1 hop, else counted to n = 6"

    def __init__(self, n: int, hops: int = 2) -> None:
        if not 2 <= n <= 256:
            raise UsageError("n", n, "there must be 2 to 256 vertices", "pass n in that range")
        require("hops", hops, 1, 1 << 12, "hops")
        self.n = self.length = self.symbols = self.queries = self.alphabet = n
        self.hops = hops

    @property
    def structure(self) -> Structure:
        """One hop reads the table itself."""
        if self.hops > 1:
            return no_wall(self.alphabet, REASON)
        weights: tuple[Fraction, ...] = query_weights("uniform", self.n)
        bits = tuple((k,) for k in range(self.n)) if self.n == 2 else ()
        return Structure(self.n, self.n, weights, True, True, bits)

    @property
    def least_messages(self) -> int | None:
        """One for each table with one hop; else as many as there are powers of tables."""
        return int(self.n**self.n) if self.hops == 1 else self.counted_rows

    def answers(self, x: Symbols) -> Symbols:
        """Return where every start leads."""
        at = x
        for _ in range(self.hops - 1):
            at = np.take_along_axis(x, at.astype(np.int64), axis=1)
        return at


PROBLEM = PointerChasing
