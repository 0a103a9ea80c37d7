"""augmented_index: Index where Bob also knows the symbols before the one asked.

Alice holds x in [q]^n; Bob holds k and x_1 .. x_(k-1), and must output x_k. A query is the
place and the prefix, so its law depends on x.

The ball and the rate-distortion walls of Index still hold. Fix a message m; Bob's answer
to place k is then a function g_k of the prefix. Let e_k = x_k - g_k(x_1 .. x_(k-1)) modulo
q. From e one finds x symbol by symbol, so x -> e is a bijection of [q]^n: every vector of
errors e belongs to exactly one x. So among N messages each e is used by at most N of the
x, and those with a given pattern of wrong places by at most N (q-1)^(wrong places): what
the ball wall fills. It follows likewise that all places are right for at most N of the q^n
inputs. The information bound is the chain rule: I(x; m) = sum_k I(x_k; m | prefix).

What is *not* kept: the exact optimum for Index of a search over all codes can be passed
here, as feeding Bob the true prefix is more than Index gives; and the streaming wall.

That no two x may share a message if Bob never errs: their first difference is at a place
which is asked with the same prefix of both.
"""

from __future__ import annotations

from fractions import Fraction
from math import lcm
from typing import ClassVar

import numpy as np

from statebound.errors import UsageError
from statebound.protocols.problem import (
    MOST_LISTED,
    Counts,
    Problem,
    Structure,
    Symbols,
    named,
    query_weights,
    require,
    spelled,
    symbol_of,
)

BASIS = "given the earlier symbols, which Bob knows, each asked symbol is uniform: a bijection"


class AugmentedIndex(Problem):
    """Augmented Index on n symbols, fewer than 2^62 prefixes.

    Parameters
    ----------
    n
        Number of symbols, at least 1.
    alphabet
        q, 2 to 36.
    query_law
        The law of the place, see `query_weights`.

    Examples
    --------
    >>> problem = AugmentedIndex(3)
    >>> x = problem.parse("101")
    >>> problem.ask(x, np.array([problem.query("prefix=10")])).tolist()
    [1]
    """

    name: ClassVar[str] = "augmented_index"
    cost: ClassVar[str] = "ceil(n log2 alphabet)"
    query_form: ClassVar[str] = "prefix=SYMBOLS"
    joint = True

    def __init__(self, n: int, alphabet: int = 2, query_law: str = "uniform") -> None:
        if n < 1:
            raise UsageError("n", n, "augmented_index needs at least 1 symbol", "pass n >= 1")
        require("alphabet", alphabet, 2, 36, "symbols to choose from")
        if n * (alphabet - 1).bit_length() > 62:
            raise UsageError("n", n, "makes 2^62 queries or more", "take a smaller n")
        self.n = self.length = n
        self.symbols = self.alphabet = alphabet
        self.law = query_law
        self.queries = (alphabet**n - 1) // (alphabet - 1)
        self.listed = self.queries <= MOST_LISTED
        self._places: tuple[Fraction, ...] = query_weights(query_law, n)
        self._first = np.array([(alphabet**k - 1) // (alphabet - 1) for k in range(n)], np.int64)

    @property
    def structure(self) -> Structure:
        """The upper walls of Index, by the bijection above."""
        return Structure(
            self.alphabet,
            self.n,
            self._places,
            independent=False,
            index_stream=False,
            basis=BASIS,
        )

    @property
    def weights(self) -> tuple[Fraction, ...]:
        """The law of place and prefix: all prefixes of a place are equally likely."""
        self.refuse_unlisted()
        return tuple(
            w / self.symbols**k for k, w in enumerate(self._places) for _ in range(self.symbols**k)
        )

    @property
    def least_messages(self) -> int:
        """One for each x."""
        return int(self.symbols**self.n)

    def prefixes(self, x: Symbols) -> Counts:
        """Return the number of the query for each place of each x: (B, n)."""
        powers = self.symbols ** np.arange(self.n, dtype=np.int64)
        before = np.cumsum(x * powers, axis=1) - x * powers  # first symbol lowest
        return np.asarray(self._first + before, np.int64)

    def place(self, query: Counts) -> Counts:
        """Return the place that each query asks, from 0."""
        return np.asarray(np.searchsorted(self._first, query, side="right") - 1, np.int64)

    def answers(self, x: Symbols) -> Symbols:
        """Return the symbol at the place of every query."""
        self.refuse_unlisted()
        return x[:, self.place(np.arange(self.queries))]

    def ask(self, x: Symbols, query: Counts) -> Symbols:
        """Return the symbol at the place of one query each."""
        return np.take_along_axis(x, self.place(query)[:, None], axis=1)[:, 0]

    def multiplicities(self, x: Symbols) -> Counts:
        """Return the law of the place at the true prefixes, 0 elsewhere."""
        self.refuse_unlisted()
        unit = lcm(*(w.denominator for w in self._places))
        if unit.bit_length() > 30:
            raise UsageError(
                "query_law", self.law, "has too long fractions to count with", "take the uniform"
            )
        held = np.zeros((len(x), self.queries), np.int64)
        times = np.array([int(w * unit) for w in self._places], np.int64)
        np.put_along_axis(held, self.prefixes(x), np.broadcast_to(times, x.shape), axis=1)
        return held

    def draw(self, generator: np.random.Generator, x: Symbols, count: int) -> Counts:
        """Draw a place; the prefix is that of x."""
        law = np.array([float(w) for w in self._places])
        place = generator.choice(self.n, (len(x), count), p=law / law.sum())
        return np.take_along_axis(self.prefixes(x), place, axis=1)

    def read_query(self, text: str) -> int:
        """Read prefix=SYMBOLS."""
        prefix = named(text, "prefix")
        number = int(self._first[len(prefix)])
        for i, c in enumerate(prefix):
            number += symbol_of(c, self.symbols) * int(self.symbols**i)
        return number

    def query_text(self, query: int) -> str:
        """Write prefix=SYMBOLS."""
        place = int(self.place(np.array([query]))[0])
        number, prefix = query - int(self._first[place]), []
        for _ in range(place):
            prefix.append(number % self.symbols)
            number //= self.symbols
        return f"prefix={spelled(np.array(prefix, np.uint8), self.symbols)}"


PROBLEM = AugmentedIndex
