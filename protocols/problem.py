"""The contract that every problem fills.

Alice holds x, Bob a query k, Bob must output f(x, k). A problem says how x is drawn,
the law of k, and what is known of the joint law of the answers; limits consume
nothing else. Queries and positions are numbered from 0 in code and from 1 on the
command line and in prose.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from inspect import signature
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from statebound import registry
from statebound.errors import UsageError

Symbols = NDArray[np.uint8]

MAX_N = 1 << 20  # every query has a weight in memory
MOST_LAW_BITS = 1 << 13


@dataclass(frozen=True)
class Structure:
    """What walls may use of a problem.

    Attributes
    ----------
    alphabet
        q, the number of possible answers; chance is 1/q.
    effective_n
        How many independent uniform answers f(x, .) carries.
    weights
        The law of the query, a fraction each, in order; they sum to 1.
    independent
        Whether the answers are independent and uniform and k is independent of x.
        Where this is false no wall here applies.
    index_stream
        Whether Alice's stream is x itself, a symbol a step in order, and query k asks
        symbol k: what the streaming wall assumes.
    parities
        Where every answer is the sum of some bits of x modulo 2: their positions, for
        each query; else empty.
    """

    alphabet: int
    effective_n: int
    weights: tuple[Fraction, ...]
    independent: bool
    index_stream: bool
    parities: tuple[tuple[int, ...], ...] = ()

    @property
    def uniform(self) -> bool:
        """Whether every query is equally likely."""
        return len(set(self.weights)) <= 1


class Problem(ABC):
    """One problem at one size, with x uniform over ``symbols ** length`` strings.

    Attributes
    ----------
    n
        The size as the user gives it.
    length, symbols
        x is a string of `length` symbols, each in ``range(symbols)``. The length is
        public.
    queries, alphabet
        The number of queries and of possible answers.
    law
        Name of the query law, as in ``--query-law``.
    """

    name: ClassVar[str]
    n: int
    length: int
    symbols: int
    queries: int
    alphabet: int
    law: str = "uniform"

    @property
    @abstractmethod
    def structure(self) -> Structure:
        """What the walls may use."""

    @abstractmethod
    def answers(self, x: Symbols) -> Symbols:
        """Return f(x, k) for every k: (B, length) -> (B, queries)."""

    @property
    def inputs(self) -> int:
        """How many x there are."""
        return int(self.symbols**self.length)

    @property
    def weights(self) -> tuple[Fraction, ...]:
        """The law of the query."""
        return self.structure.weights

    def sample(self, generator: np.random.Generator, count: int) -> Symbols:
        """Draw `count` independent x: (count, length)."""
        return generator.integers(0, self.symbols, (count, self.length), dtype=np.uint8)

    def enumerate(self, start: int, stop: int) -> Symbols:
        """Return the inputs numbered start..stop-1; symbol 1 is the least digit."""
        return self.strings(np.arange(start, stop, dtype=np.uint64))

    def strings(self, numbers: NDArray[np.uint64]) -> Symbols:
        """Return the inputs with these numbers: (B,) -> (B, length)."""
        number = numbers.copy()
        x = np.empty((len(number), self.length), np.uint8)
        base = np.uint64(self.symbols)
        for a in range(self.length):
            x[:, a] = number % base
            number //= base
        return x

    def options(self) -> dict[str, int | str]:
        """Return what identifies this problem among its kind, for headers and rows."""
        return {"n": self.n}

    def __repr__(self) -> str:
        """Return the name and the options."""
        return f"{self.name}({', '.join(f'{k}={v}' for k, v in self.options().items())})"

    def parse(self, text: str) -> Symbols:
        """Read one x written as digits, first symbol first: (1, length).

        Raises
        ------
        UsageError
            When the length or a digit does not fit.
        """
        if len(text) != self.length:
            raise UsageError(
                "x",
                text,
                f"has {len(text)} symbols where {self.name} with n = {self.n} needs {self.length}",
                f"write {self.length} digits",
            )
        try:
            if not text.isascii():
                raise ValueError(text)
            x = np.array([int(c, 36) for c in text], np.int64)
        except ValueError:
            x = np.array([-1])
        if ((x < 0) | (x >= self.symbols)).any():
            raise UsageError(
                "x",
                text,
                f"every symbol must be a digit in 0..{self.symbols - 1}",
                "write the input as a string of digits, first symbol first",
            )
        return x.astype(np.uint8)[None]

    def query(self, number: int) -> int:
        """Check a query given as 1..queries and return it as 0..queries-1."""
        if not 1 <= number <= self.queries:
            raise UsageError(
                "query",
                number,
                f"{self.name} with n = {self.n} has queries 1..{self.queries}",
                "choose a query in that range",
            )
        return number - 1


def query_weights(law: str, queries: int) -> tuple[Fraction, ...]:
    """Return the query law `law` over `queries` queries as exact fractions.

    ``uniform``; ``recency:r`` gives query k weight proportional to r^(queries - k),
    so that recent symbols are asked more often; ``zipf`` gives the j-th most recent
    weight proportional to 1/j.

    Examples
    --------
    >>> [str(w) for w in query_weights("recency:0.5", 3)]
    ['1/7', '2/7', '4/7']
    """
    kind, _, rate = law.partition(":")
    if kind == "uniform" and not rate:
        return (Fraction(1, queries),) * queries
    if kind == "zipf" and not rate:
        _refuse_long_fractions(law, queries, 1.5)
        raw = [Fraction(1, queries - k) for k in range(queries)]
    elif kind == "recency":
        plain = re.fullmatch(r"\d{1,9}(\.\d{1,12})?|\d{1,12}/\d{1,12}", rate, re.ASCII)
        r = Fraction(rate) if plain and not rate.endswith("/0") else Fraction(0)
        if not 0 < r <= 1:
            raise UsageError(
                "query_law", law, "the rate must be a number in (0, 1]", "write recency:0.9"
            )
        _refuse_long_fractions(law, queries, r.denominator.bit_length())
        raw = [r ** (queries - 1 - k) for k in range(queries)]
    else:
        raise UsageError(
            "query_law", law, "is not a known law", "choose uniform, zipf or recency:RATE"
        )
    total = sum(raw)
    return tuple(w / total for w in raw)


def _refuse_long_fractions(law: str, queries: int, bits: float) -> None:
    """Refuse a law whose exact weights would take too long; `bits` is what a query adds."""
    if queries * bits > MOST_LAW_BITS:
        raise UsageError(
            "query_law",
            law,
            f"makes fractions of more than {MOST_LAW_BITS} bits with {queries} queries",
            "take fewer queries, a simpler rate, or the uniform law",
        )


def make(name: str, n: int, options: dict[str, int | str] | None = None) -> Problem:
    """Return problem `name` at size n; options are those that its class takes.

    Raises
    ------
    UsageError
        When the name, the size or an option does not exist or fit.

    Examples
    --------
    >>> make("index", 5).queries
    5
    """
    kind: type[Problem] = registry.load("statebound.protocols.problems", name, "problem").PROBLEM
    if n > MAX_N:
        raise UsageError("n", n, f"must be at most {MAX_N}", "take a smaller n")
    options = options or {}
    known = [p for p in signature(kind).parameters if p != "n"]
    for option, value in options.items():
        if option not in known:
            raise UsageError(
                option,
                value,
                f"{name} has no such option",
                f"drop it; {name} takes {', '.join(known) or 'none'}",
            )
    return kind(n, **options)  # type: ignore[call-arg]
