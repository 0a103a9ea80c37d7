"""Index: Alice holds x, Bob holds k and must output x_k.

The canonical one-way problem: n fair bits (or symbols of an alphabet of q) need n
log2 q message bits for certainty. See Kremer, Nisan and Ron (1999); Nayak (1999).

With `marked` = m only m positions, evenly spaced and public, are ever asked: query j asks
symbol floor(j n / m). Those m symbols are independent and uniform, the others are noise that
the stream goes through. `distractors` are public filler tokens between x and the question;
they hold nothing, but a model has to keep its state through them.
"""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

from statebound.errors import UsageError
from statebound.protocols.problem import Problem, Structure, Symbols, query_weights, require

MOST_FILLER = 1 << 16


class Index(Problem):
    """Index on n symbols.

    Parameters
    ----------
    n
        Number of symbols, at least 1.
    alphabet
        q, 2 to 36.
    query_law
        The law of k, see `query_weights`.
    marked
        How many positions are ever asked, 0 for all.
    distractors
        How many filler tokens follow x.

    Examples
    --------
    >>> problem = Index(3)
    >>> problem.answers(problem.parse("101")).tolist()
    [[1, 0, 1]]
    """

    name: ClassVar[str] = "index"
    cost: ClassVar[str] = "ceil(m log2 alphabet), m = marked or n"

    def __init__(
        self,
        n: int,
        alphabet: int = 2,
        query_law: str = "uniform",
        marked: int = 0,
        distractors: int = 0,
    ) -> None:
        if n < 1:
            raise UsageError("n", n, "index needs at least 1 symbol", "pass n >= 1")
        if not 2 <= alphabet <= 36:
            raise UsageError("alphabet", alphabet, "must be in 2..36", "pass alphabet 2 for bits")
        require("marked", marked, 0, n, "positions to ask")
        require("distractors", distractors, 0, MOST_FILLER, "filler tokens")
        self.n = self.length = n
        self.symbols = self.alphabet = alphabet
        self.law, self.marked = query_law, marked
        self.distractors = self.filler = distractors
        self.queries = marked or n
        self._weights: tuple[Fraction, ...] = query_weights(query_law, self.queries)

    @property
    def asked(self) -> list[int]:
        """The positions that queries ask, from 0, in order."""
        m = self.queries
        return [(j + 1) * self.n // m - 1 for j in range(m)]

    @property
    def structure(self) -> Structure:
        """The answers are independent uniform symbols themselves."""
        bits = tuple((k,) for k in self.asked) if self.alphabet == 2 else ()
        return Structure(
            self.alphabet,
            self.queries,
            self._weights,
            independent=True,
            index_stream=self.queries == self.n,
            parities=bits,
        )

    @property
    def weights(self) -> tuple[Fraction, ...]:
        """The law of the query."""
        return self._weights

    @property
    def least_messages(self) -> int:
        """One for each string of symbols that are ever asked."""
        return int(self.alphabet**self.queries)

    def answers(self, x: Symbols) -> Symbols:
        """Return the symbols asked: x itself where all are."""
        return x if self.queries == self.n else x[:, self.asked]


PROBLEM = Index
