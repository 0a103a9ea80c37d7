"""Index: Alice holds x, Bob holds k and must output x_k.

The canonical one-way problem: n fair bits (or symbols of an alphabet of q) need n
log2 q message bits for certainty. See Kremer, Nisan and Ron (1999); Nayak (1999).
"""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

from statebound.errors import UsageError
from statebound.protocols.problem import Problem, Structure, Symbols, query_weights


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

    Examples
    --------
    >>> problem = Index(3)
    >>> problem.answers(problem.parse("101")).tolist()
    [[1, 0, 1]]
    """

    name: ClassVar[str] = "index"

    def __init__(self, n: int, alphabet: int = 2, query_law: str = "uniform") -> None:
        if n < 1:
            raise UsageError("n", n, "index needs at least 1 symbol", "pass n >= 1")
        if not 2 <= alphabet <= 36:
            raise UsageError("alphabet", alphabet, "must be in 2..36", "pass alphabet 2 for bits")
        self.n = self.length = self.queries = n
        self.symbols = self.alphabet = alphabet
        self.law = query_law
        self._weights: tuple[Fraction, ...] = query_weights(query_law, n)

    @property
    def structure(self) -> Structure:
        """The n answers are the n independent uniform symbols themselves."""
        bits = tuple((k,) for k in range(self.n)) if self.alphabet == 2 else ()
        return Structure(
            self.alphabet,
            self.n,
            self._weights,
            independent=True,
            index_stream=True,
            parities=bits,
        )

    def answers(self, x: Symbols) -> Symbols:
        """Return x: query k asks symbol k."""
        return x

    def options(self) -> dict[str, int | str]:
        """Return n, the alphabet and the query law."""
        return {"n": self.n, "alphabet": self.alphabet, "query_law": self.law}


PROBLEM = Index
