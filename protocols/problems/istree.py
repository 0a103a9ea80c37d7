"""IsTree on two stars: whether the graph of Alice's and Bob's edges is a tree.

Alice holds x in {0, 1}^(n-2) and joins vertex a in 1..n-2 to the hub n-1+x_a; Bob
adds the edge k - (k+1), k in 1..n-3. There are always n-1 edges.

The graph is a tree exactly when x_k != x_(k+1). If the two bits are equal, Bob's edge
closes the triangle k, k+1, hub, so n-1 edges hold a cycle and it is no tree. If they
differ, Bob's edge joins the two stars, and two disjoint stars that cover all n
vertices plus one edge between them are a tree.

The n-3 answers x_k xor x_(k+1) are independent fair bits (x -> answers is 2-to-1 onto
{0, 1}^(n-3)), so effective n is n-3. The reduction from Index in the spirit of Wen,
Dang and Lyu (2024).
"""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

from statebound.errors import UsageError
from statebound.protocols.problem import Problem, Structure, Symbols, query_weights


class IsTree(Problem):
    """IsTree on n vertices, n at least 4.

    Examples
    --------
    >>> problem = IsTree(5)
    >>> problem.answers(problem.parse("011")).tolist()
    [[1, 0]]
    >>> problem.edges(problem.parse("011")[0]), problem.bob_edge(0)
    ([(1, 4), (2, 5), (3, 5)], (1, 2))
    """

    name: ClassVar[str] = "istree"
    cost: ClassVar[str] = "n - 3"

    def __init__(self, n: int, query_law: str = "uniform") -> None:
        if n < 4:
            raise UsageError("n", n, "istree needs at least 4 vertices", "pass n >= 4")
        self.n, self.length, self.queries = n, n - 2, n - 3
        self.symbols = self.alphabet = 2
        self.law = query_law
        self._weights: tuple[Fraction, ...] = query_weights(query_law, self.queries)

    @property
    def structure(self) -> Structure:
        """The answers are n-3 independent fair bits."""
        return Structure(
            2,
            self.n - 3,
            self._weights,
            independent=True,
            index_stream=False,
            parities=tuple((k, k + 1) for k in range(self.queries)),
        )

    @property
    def weights(self) -> tuple[Fraction, ...]:
        """The law of the query."""
        return self._weights

    @property
    def least_messages(self) -> int:
        """One for each vector of n-3 answers."""
        return int(2**self.queries)

    def answers(self, x: Symbols) -> Symbols:
        """Return 1 where Bob's edge makes a tree."""
        return x[:, :-1] ^ x[:, 1:]

    def edges(self, x: Symbols) -> list[tuple[int, int]]:
        """Return Alice's n-2 edges for one x (length,), vertices from 1."""
        return [(a + 1, self.n - 1 + int(bit)) for a, bit in enumerate(x)]

    def bob_edge(self, query: int) -> tuple[int, int]:
        """Return Bob's edge for the query numbered from 0, vertices from 1."""
        return query + 1, query + 2


PROBLEM = IsTree
