"""The contract that every problem fills.

Alice holds x, Bob a query k, Bob must output f(x, k). A problem says how x is drawn,
the law of k, and what is known of the joint law of the answers; limits consume
nothing else. Queries and positions are numbered from 0 in code and from 1 on the
command line and in prose.

x is uniform over a public set: all strings of `length` symbols, or, where `product` is
False, some of them. The law of k may depend on x (`joint`): it is then given by whole
numbers w(x, k), `multiplicities`, whose sum over k is the same for every x, so that x
stays uniform. Where there are exponentially many queries, answers are asked one by one
(`ask`) and are no longer `listed`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from inspect import signature
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from statebound import registry
from statebound.errors import UsageError
from statebound.protocols.laws import query_weights as query_weights

Symbols = NDArray[np.uint8]
Answers = NDArray[np.integer[Any]]
Counts = NDArray[np.int64]
Option = int | str | bool

PACKAGE = "statebound.protocols.problems"
MAX_N = 1 << 20  # every query has a weight in memory
MOST_LISTED = 1 << 12
"""Exponentially many queries are listed up to so many."""
MOST_COUNTED = 1 << 20
"""Answers of all inputs that are looked at, where no formula tells how many rows differ."""

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class Structure:
    """What walls may use of a problem.

    Attributes
    ----------
    alphabet
        q, the number of possible answers; chance is 1/q where a wall applies.
    effective_n
        How many independent uniform answers x carries; 0 where that is not so.
    weights
        The law over these answers of which one is asked, a fraction each; they sum to 1.
    independent
        Whether there is one query for each of them, drawn independently of x, so that
        all answers f(x, .) together are independent and uniform.
    index_stream
        Whether Alice's stream is x itself, a symbol a step in order, and query k asks
        symbol k: what the streaming wall assumes.
    parities
        Where every answer is the sum of some bits of x modulo 2: their positions, for
        each query; else empty.
    basis
        Where not `independent`, why the upper walls hold all the same (what is proved in
        the problem's docstring), in half a sentence; empty where they do not.
    reason
        Why no wall applies, in half a sentence; empty where one does.
    """

    alphabet: int
    effective_n: int
    weights: tuple[Fraction, ...]
    independent: bool
    index_stream: bool
    parities: tuple[tuple[int, ...], ...] = ()
    basis: str = ""
    reason: str = ""

    @property
    def walled(self) -> bool:
        """Whether the upper walls on success apply."""
        return self.independent or bool(self.basis)

    @property
    def uniform(self) -> bool:
        """Whether every answer is equally likely to be asked."""
        return len(set(self.weights)) <= 1


def no_wall(alphabet: int, reason: str) -> Structure:
    """Return the structure of a problem for which no wall is proved."""
    return Structure(alphabet, 0, (), independent=False, index_stream=False, reason=reason)


class Problem(ABC):
    """One problem at one size, with x uniform over a public set.

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
    product
        Whether x may be any such string. Else a subclass says which by `inputs`,
        `strings`, `sample` and `contains`.
    joint
        Whether the law of the query depends on x, see `multiplicities`.
    listed
        Whether the queries are few enough for `answers`, `weights` and `multiplicities`.
    filler
        How many public filler tokens stand between x and the question.
    credits, credit_unit
        ``credits[said, true] / credit_unit`` is what an answer counts where near misses
        count in part; None where only right answers count.
    cost
        The exact cost of never erring, as a formula for people.
    """

    name: ClassVar[str]
    cost: ClassVar[str] = "not known"
    query_form: ClassVar[str] = "a number"
    n: int
    length: int
    symbols: int
    queries: int
    alphabet: int
    law: str = "uniform"
    product: bool = True
    joint: bool = False
    listed: bool = True
    filler: int = 0
    credits: Counts | None = None
    credit_unit: int = 1

    @property
    @abstractmethod
    def structure(self) -> Structure:
        """What the walls may use."""

    @abstractmethod
    def answers(self, x: Symbols) -> Answers:
        """Return f(x, k) for every k: (B, length) -> (B, queries)."""

    def ask(self, x: Symbols, query: Counts) -> Answers:
        """Return f(x, k) for one k each: (B, length), (B,) -> (B,)."""
        answers: Answers = self.answers(x)[np.arange(len(x)), query]
        return answers

    @property
    def least_messages(self) -> int | None:
        """The exact number of messages that a Bob who never errs needs, None if unknown.

        Where every query may be asked of every x: how many different rows of answers
        there are.
        """
        return None

    @cached_property
    def counted_rows(self) -> int | None:
        """How many different rows of answers there are, by all inputs; None where those are many.

        Means nothing where the query depends on x.
        """
        if self.inputs * self.queries > MOST_COUNTED:
            return None
        return len(np.unique(self.answers(self.enumerate(0, self.inputs)), axis=0))

    @property
    def deterministic_bits(self) -> int | None:
        """The exact one-way cost of never erring, in whole bits: ceil(log2) of the messages."""
        least = self.least_messages
        return None if least is None else (least - 1).bit_length()

    @property
    def inputs(self) -> int:
        """How many x there are."""
        return int(self.symbols**self.length)

    @property
    def weights(self) -> tuple[Fraction, ...]:
        """The law of the query, averaged over x where it depends on it."""
        return query_weights(self.law, self.queries)

    def multiplicities(self, x: Symbols) -> Counts | None:
        """Return w(x, k), (B, queries), the law of k given x up to a constant.

        None where the query does not depend on x.
        """
        return None

    def draw(self, generator: np.random.Generator, x: Symbols, count: int) -> Counts:
        """Draw `count` independent queries for each x from its law: (B, count).

        A subclass whose queries are not listed overrides this.
        """
        held = self.multiplicities(x)
        if held is None:
            law = np.array([float(w) for w in self.weights])
            return generator.choice(self.queries, (len(x), count), p=law / law.sum())
        edges = np.cumsum(held, axis=1)
        at = generator.random((len(x), count)) * edges[:, -1:]
        drawn: Counts = (edges[:, None, :] <= at[:, :, None]).sum(axis=2)
        return drawn

    @property
    def answer_type(self) -> type[np.integer[Any]]:
        """The dtype of answers: bytes where they fit."""
        return np.uint8 if self.alphabet <= 256 else np.int64

    def sample(self, generator: np.random.Generator, count: int) -> Symbols:
        """Draw `count` independent x: (count, length)."""
        return generator.integers(0, self.symbols, (count, self.length), dtype=np.uint8)

    def enumerate(self, start: int, stop: int) -> Symbols:
        """Return the inputs numbered start..stop-1; symbol 1 is the least digit."""
        return self.strings(np.arange(start, stop, dtype=np.uint64))

    def strings(self, numbers: NDArray[np.uint64]) -> Symbols:
        """Return the inputs with these numbers: (B,) -> (B, length)."""
        return digits(numbers, self.symbols, self.length)

    def contains(self, x: Symbols) -> NDArray[np.bool_]:
        """Return which strings (B, length) of symbols are inputs: (B,)."""
        return np.ones(len(x), np.bool_)

    def options(self) -> dict[str, Option]:
        """Return what identifies this problem among its kind, for headers and rows.

        The parameters of the class, kept as attributes of these names; the alphabet that a
        user chooses is that of x.
        """
        named = {"query_law": "law", "alphabet": "symbols"}
        return {p: getattr(self, named.get(p, p)) for p in signature(type(self)).parameters}

    def spell(self, query: Counts) -> Symbols | None:
        """Return queries spelled in symbols of x, (B,) -> (B, L), where that is natural."""
        return None

    def text(self, x: Symbols) -> str:
        """Write one x (length,) as `parse` reads it."""
        return spelled(x, self.symbols)

    def __repr__(self) -> str:
        """Return the name and the options."""
        return f"{self.name}({', '.join(f'{k}={v}' for k, v in self.options().items())})"

    def parse(self, text: str) -> Symbols:
        """Read one x written as digits, first symbol first: (1, length).

        Beyond 36 symbols as numbers with commas between them.

        Raises
        ------
        UsageError
            When the length or a digit does not fit, or no x is like this.
        """
        commas = self.symbols > len(_DIGITS)
        parts = (text.split(",") if text else []) if commas else list(text)
        unit = "numbers, with commas between them" if commas else "digits"
        if len(parts) != self.length:
            raise UsageError(
                "x",
                text,
                f"has {len(parts)} symbols where {self.name} with n = {self.n} needs {self.length}",
                f"write {self.length} {unit}",
            )
        try:
            if not text.isascii():
                raise ValueError(text)
            x = np.array([int(c, 10 if commas else 36) for c in parts], np.int64)
        except (ValueError, OverflowError):
            x = np.array([-1])
        if ((x < 0) | (x >= self.symbols)).any():
            raise UsageError(
                "x",
                text,
                f"every symbol must be a digit in 0..{self.symbols - 1}",
                f"write the input as a string of {unit}, first symbol first",
            )
        made = x.astype(np.uint8)[None]
        if not self.contains(made)[0]:
            raise UsageError("x", text, f"is not an input of {self.name}", self.remedy)
        return made

    remedy: ClassVar[str] = "write another string"

    def query(self, asked: int | str) -> int:
        """Check a query, given as 1..queries or in words, and return it from 0.

        Raises
        ------
        UsageError
            When there is no such query.
        """
        text = str(asked)
        if isinstance(asked, str) and not text.removeprefix("-").isdecimal():
            try:
                return self.read_query(text)
            except (ValueError, KeyError, IndexError):
                raise UsageError(
                    "query",
                    asked,
                    f"is not a query of {self.name}",
                    f"write a number in 1..{self.queries}"
                    + ("" if self.query_form == "a number" else f", or {self.query_form}"),
                ) from None
        number = int(text) if len(text) < 4000 else 0
        if not 1 <= number <= self.queries:
            raise UsageError(
                "query",
                asked,
                f"{self.name} with n = {self.n} has queries 1..{self.queries}",
                "choose a query in that range",
            )
        return number - 1

    def read_query(self, text: str) -> int:
        """Read a query that is written in words (`query_form`); invert `query_text`.

        Raises
        ------
        ValueError
            When it is none.
        """
        raise ValueError(text)

    def query_text(self, query: int) -> str:
        """Write a query (from 0) in the form that people read."""
        return str(query + 1)

    def refuse_unlisted(self) -> None:
        """Refuse what needs the answers to all queries, where they are too many."""
        if not self.listed:
            raise UsageError(
                "n",
                self.n,
                f"{self.name} has {self.queries} queries, too many to list their answers",
                f"take an n with at most {MOST_LISTED} queries, or a Bob of the protocol's own "
                "with --engine sample",
            )


def digits(numbers: NDArray[np.uint64], base: int, length: int) -> Symbols:
    """Return the digits of numbers, the least first: (B,) -> (B, length)."""
    number = numbers.copy()
    x = np.empty((len(number), length), np.uint8)
    step = np.uint64(base)
    for a in range(length):
        x[:, a] = number % step
        number //= step
    return x


def spelled(x: Symbols, symbols: int) -> str:
    """Write symbols (L,) as digits, or as numbers with commas beyond 36 symbols.

    Examples
    --------
    >>> spelled(np.array([1, 10], np.uint8), 12), spelled(np.array([1, 40], np.uint8), 60)
    ('1a', '1,40')
    """
    if symbols > len(_DIGITS):
        return ",".join(str(int(v)) for v in x)
    return "".join(_DIGITS[v] for v in x)


def bits_of(text: str, length: int) -> int:
    """Read `length` binary digits as a number, the first digit lowest.

    Raises
    ------
    ValueError
        When the text is something else.

    Examples
    --------
    >>> bits_of("110", 3)
    3
    """
    if len(text) != length or set(text) - {"0", "1"}:
        raise ValueError(text)
    return int(text[::-1] or "0", 2)


def symbol_of(text: str, symbols: int) -> int:
    """Read one symbol as `spelled` writes it.

    Raises
    ------
    ValueError
        When it is none.
    """
    if not text.isascii() or (symbols <= len(_DIGITS) and len(text) != 1):
        raise ValueError(text)
    value = int(text, 36 if symbols <= len(_DIGITS) else 10)
    if not 0 <= value < symbols:
        raise ValueError(text)
    return value


def named(text: str, name: str) -> str:
    """Return what stands after ``name=``.

    Raises
    ------
    ValueError
        When the text begins otherwise.
    """
    start, sign, rest = text.partition("=")
    if start != name or not sign:
        raise ValueError(text)
    return rest


def require(argument: str, value: int, least: int, most: int, what: str) -> None:
    """Refuse an option that is not in least..most; `what` says what it is.

    Raises
    ------
    UsageError
        When it is not.
    """
    if not least <= value <= most:
        raise UsageError(
            argument, value, f"{what} must be in {least}..{most}", f"pass {least} to {most}"
        )


def make(name: str, n: int, options: dict[str, Option] | None = None) -> Problem:
    """Return problem `name` at size n; options are those that its class takes.

    Text is read as the type that the class declares, so that options may come from a
    command line.

    Raises
    ------
    UsageError
        When the name, the size or an option does not exist or fit.

    Examples
    --------
    >>> make("index", 5).queries
    5
    >>> make("index", 3, {"alphabet": "4"}).symbols
    4
    """
    kind: type[Problem] = registry.load(PACKAGE, name, "problem").PROBLEM
    if n > MAX_N:
        raise UsageError("n", n, f"must be at most {MAX_N}", "take a smaller n")
    declared = parameters(kind)
    given: dict[str, Option] = {}
    for option, value in (options or {}).items():
        if option not in declared:
            raise UsageError(
                option,
                value,
                f"{name} has no such option",
                f"drop it; {name} takes {', '.join(declared) or 'none'}",
            )
        given[option] = _typed(option, value, declared[option])
    return kind(n, **given)  # type: ignore[call-arg]


def parameters(kind: type[Problem]) -> dict[str, type]:
    """Return the options of a problem's class and their types, n left out."""
    found = signature(kind, eval_str=True).parameters.values()
    return {p.name: p.annotation for p in found if p.name != "n"}


def _typed(option: str, value: Option, kind: type) -> Option:
    """Return a value as the declared type, reading it where it is text."""
    words = {"true": True, "1": True, "false": False, "0": False}
    if type(value) is kind:
        return value
    if isinstance(value, str):
        if kind is bool and value.lower() in words:
            return words[value.lower()]
        if kind is int and value.removeprefix("-").isascii() and len(value) <= 12:
            try:
                return int(value)
            except ValueError:
                pass
    shown = {int: "a whole number", bool: "true or false", str: "text"}[kind]
    raise UsageError(option, value, f"must be {shown}", f"write {option}=VALUE with {shown}")
