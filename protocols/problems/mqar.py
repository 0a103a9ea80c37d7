"""mqar: multi-query associative recall, the value of a key that occurs.

x is n pairs of a key and a value: distinct keys in random order, values from an alphabet
of their own. Bob asks for a key that occurs, each of the n with equal probability, so the
law of his query depends on x. As in Arora et al. (Zoology, 2023) the values are distinct
too unless `replacement` is true; every key occurs once, nothing else looks like a key or a
value (distractors are tokens of their own), so no pair can be bound anew.

With replacement a wall holds. Tell both players the keys, in order, for nothing: that can
only help. Given them the n values are independent and uniform, Bob's query is one of n
slots, drawn independently of them, and N messages remain at most N messages. So for
every arrangement of keys, and hence on average, success is at most that of Index on n
symbols of the values' alphabet. Without replacement the values depend on one another.

The cost of never erring is known where all keys occur; else absent keys are never asked,
and two x need different messages only if a key that both have differs in value.
"""

from __future__ import annotations

from fractions import Fraction
from math import perm
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from statebound.errors import UsageError
from statebound.protocols.problem import (
    Counts,
    Problem,
    Structure,
    Symbols,
    named,
    no_wall,
    query_weights,
    require,
    spelled,
    symbol_of,
)

BASIS = "given which keys occur, values are independent and uniform and any is asked"
REASON = "values are drawn without repetition, so they depend on one another"


class MQAR(Problem):
    """Recall of one of n key-value pairs.

    Parameters
    ----------
    n
        Number of pairs, at least 1.
    keys, values
        How many keys and values there are to choose from; 0 for 2n each. Together at most
        256.
    replacement
        Whether a value may occur twice.
    distractors
        How many filler tokens follow the pairs.

    Examples
    --------
    >>> problem = MQAR(2, keys=3, values=2)  # keys 0, 1, 2 and values 3, 4
    >>> x = problem.parse("2403")
    >>> problem.answers(x).tolist(), problem.multiplicities(x).tolist()
    ([[0, 0, 1]], [[1, 0, 1]])
    """

    name: ClassVar[str] = "mqar"
    cost: ClassVar[str] = "ceil(log2 values!/(values - n)!) where all keys occur"
    query_form: ClassVar[str] = "key=TOKEN"
    remedy: ClassVar[str] = "write n pairs of a key and a value, none twice"
    product = False
    joint = True

    def __init__(
        self,
        n: int,
        keys: int = 0,
        values: int = 0,
        replacement: bool = False,
        distractors: int = 0,
    ) -> None:
        if n < 1:
            raise UsageError("n", n, "mqar needs at least 1 pair", "pass n >= 1")
        self.n, self.length = n, 2 * n
        self.keys, self.values = keys or 2 * n, values or 2 * n
        self.replacement = replacement
        require("keys", self.keys, n, 254, "keys to choose from")
        require(
            "values", self.values, 2 if replacement else max(2, n), 254, "values to choose from"
        )
        self.symbols = self.keys + self.values
        if self.symbols > 256:
            raise UsageError(
                "keys", self.keys, f"and {self.values} values are more than 256", "choose fewer"
            )
        require("distractors", distractors, 0, 1 << 16, "filler tokens")
        self.distractors = self.filler = distractors
        self.queries, self.alphabet = self.keys, self.values

    @property
    def structure(self) -> Structure:
        """With replacement the walls of Index on n values hold, by the argument above."""
        if not self.replacement:
            return no_wall(self.alphabet, REASON)
        weights: tuple[Fraction, ...] = query_weights("uniform", self.n)
        return Structure(
            self.alphabet, self.n, weights, independent=False, index_stream=False, basis=BASIS
        )

    @property
    def _value_lists(self) -> int:
        n, V = self.n, self.values
        return int(V**n) if self.replacement else perm(V, n)

    @property
    def least_messages(self) -> int | None:
        """One for each list of values where all keys occur; else unknown."""
        return self._value_lists if self.keys == self.n else None

    @property
    def inputs(self) -> int:
        """Arrangements of keys times lists of values."""
        return perm(self.keys, self.n) * self._value_lists

    def strings(self, numbers: NDArray[np.uint64]) -> Symbols:
        """Return the inputs with these numbers: the keys are the low part."""
        lists = np.uint64(perm(self.keys, self.n))
        x = np.empty((len(numbers), self.n, 2), np.uint8)
        x[:, :, 0] = _arrangements(numbers % lists, self.keys, self.n)
        rest = numbers // lists
        if self.replacement:
            for i in range(self.n):
                x[:, i, 1] = rest % np.uint64(self.values)
                rest = rest // np.uint64(self.values)
        else:
            x[:, :, 1] = _arrangements(rest, self.values, self.n)
        x[:, :, 1] += np.uint8(self.keys)
        return x.reshape(len(numbers), -1)

    def sample(self, generator: np.random.Generator, count: int) -> Symbols:
        """Draw keys without, and values with or without replacement."""
        x = np.empty((count, self.n, 2), np.uint8)
        every = np.arange(self.symbols, dtype=np.uint8)
        keys = np.broadcast_to(every[: self.keys], (count, self.keys))
        values = np.broadcast_to(every[self.keys :], (count, self.values))
        x[:, :, 0] = generator.permuted(keys, axis=1)[:, : self.n]
        if self.replacement:
            x[:, :, 1] = generator.integers(self.keys, self.symbols, (count, self.n))
        else:
            x[:, :, 1] = generator.permuted(values, axis=1)[:, : self.n]
        return x.reshape(count, -1)

    def contains(self, x: Symbols) -> NDArray[np.bool_]:
        """Return whether keys and values alternate and none comes twice that must not."""
        keys, values = x[:, ::2], x[:, 1::2]
        fits = (keys < self.keys).all(axis=1) & (values >= self.keys).all(axis=1)
        for part in (keys,) if self.replacement else (keys, values):
            ordered = np.sort(part, axis=1)
            fits &= (ordered[:, 1:] != ordered[:, :-1]).all(axis=1)
        return np.asarray(fits, np.bool_)

    def answers(self, x: Symbols) -> Symbols:
        """Return the value of every key, 0 for those that are never asked."""
        found = np.zeros((len(x), self.keys), np.uint8)
        np.put_along_axis(found, x[:, ::2].astype(np.int64), x[:, 1::2] - self.keys, axis=1)
        return found

    def multiplicities(self, x: Symbols) -> Counts:
        """Return 1 for the keys that occur."""
        held = np.zeros((len(x), self.keys), np.int64)
        np.put_along_axis(held, x[:, ::2].astype(np.int64), 1, axis=1)
        return held

    def spell(self, query: Counts) -> Symbols:
        """Return the key."""
        return query[:, None].astype(np.uint8)

    def read_query(self, text: str) -> int:
        """Read key=TOKEN."""
        key = symbol_of(named(text, "key"), self.symbols)
        if key >= self.keys:
            raise ValueError(text)
        return key

    def query_text(self, query: int) -> str:
        """Write key=TOKEN."""
        return f"key={spelled(np.array([query], np.uint8), self.symbols)}"


def _arrangements(numbers: NDArray[np.uint64], things: int, count: int) -> Symbols:
    """Return arrangements of `count` of `things` by number: (B,) -> (B, count).

    One swap a place, as a shuffle makes them: each choice of swaps gives another one.
    """
    pool = np.tile(np.arange(things, dtype=np.uint8), (len(numbers), 1))
    rows, rest = np.arange(len(numbers)), numbers
    for i in range(count):
        left = np.uint64(things - i)
        at = i + (rest % left).astype(np.int64)
        rest = rest // left
        pool[rows, i], pool[rows, at] = pool[rows, at], pool[rows, i].copy()
    return pool[:, :count]


PROBLEM = MQAR
