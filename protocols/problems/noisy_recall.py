"""noisy_recall: the value of the key nearest to a corrupted one.

There are n public keys, codewords: key j is the binary number j with every bit repeated
2 flips + 1 times, so that keys differ in that many places at least. Alice holds a value
for each; Bob a word within `flips` of some key, all such words of a key being equally
likely, and must output the value of the nearest key.

With `credit` exact only the right value counts. Words of one key have the same answer, so
an optimal Bob answers them alike, and success is that of Index on the n values: the walls
apply to the law of the key. With near an answer counts 1 - |said - true| / (alphabet - 1):
those walls count right answers only, so none is given.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import comb
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
    no_wall,
    query_weights,
    require,
)

BASIS = "the values of keys are independent and uniform; words of one key share its answer"
REASON = "near misses count in part, and the walls count right answers only"


class NoisyRecall(Problem):
    """Recall of n values by corrupted keys.

    Parameters
    ----------
    n
        Number of keys, at least 1.
    alphabet
        Number of values, 2 to 256.
    flips
        How many bits of a key may be wrong, 0 or more.
    credit
        ``exact`` or ``near``.
    query_law
        The law of the key, see `query_weights`.

    Examples
    --------
    >>> problem = NoisyRecall(3)  # keys 000000, 111000, 000111
    >>> x = problem.parse("312")
    >>> problem.ask(x, np.array([problem.query("key=101000")])).tolist()
    [1]
    """

    name: ClassVar[str] = "noisy_recall"
    cost: ClassVar[str] = "ceil(n log2 alphabet)"
    query_form: ClassVar[str] = "key=BITS"

    def __init__(
        self,
        n: int,
        alphabet: int = 4,
        flips: int = 1,
        credit: str = "exact",
        query_law: str = "uniform",
    ) -> None:
        if n < 1:
            raise UsageError("n", n, "noisy_recall needs at least 1 key", "pass n >= 1")
        require("alphabet", alphabet, 2, 256, "values")
        require("flips", flips, 0, 8, "wrong bits")
        if credit not in ("exact", "near"):
            raise UsageError("credit", credit, "is not a credit", "choose exact or near")
        self.n = self.length = n
        self.symbols = self.alphabet = alphabet
        self.flips, self.credit, self.law = flips, credit, query_law
        bits = max(1, (n - 1).bit_length())
        self.copies = 2 * flips + 1
        self.key_bits = bits * self.copies
        self.words = sum(comb(self.key_bits, j) for j in range(flips + 1))
        self.queries = n * self.words
        if self.queries > 16 * MOST_LISTED:
            raise UsageError(
                "flips", flips, f"makes {self.queries} queries", "take fewer flips or keys"
            )
        self._by_key: tuple[Fraction, ...] = query_weights(query_law, n)
        if credit == "near":
            value = np.arange(alphabet)
            self.credit_unit = alphabet - 1
            self.credits = alphabet - 1 - np.abs(value[:, None] - value)

    @property
    def structure(self) -> Structure:
        """The walls of Index on n values where only right answers count."""
        if self.credit == "near":
            return no_wall(self.alphabet, REASON)
        plain = self.flips == 0
        return Structure(
            self.alphabet,
            self.n,
            self._by_key,
            independent=plain,
            index_stream=plain,
            parities=tuple((k,) for k in range(self.n)) if plain and self.symbols == 2 else (),
            basis="" if plain else BASIS,
        )

    @property
    def weights(self) -> tuple[Fraction, ...]:
        """The law of the key, its words being equally likely."""
        return tuple(w / self.words for w in self._by_key for _ in range(self.words))

    @property
    def least_messages(self) -> int:
        """One for each x."""
        return int(self.symbols**self.n)

    def answers(self, x: Symbols) -> Symbols:
        """Return the value of the key that each word is nearest to."""
        return np.repeat(x, self.words, axis=1)

    def ask(self, x: Symbols, query: Counts) -> Symbols:
        """Return the value of the key of one word each."""
        return np.take_along_axis(x, (query // self.words)[:, None], axis=1)[:, 0]

    def spell(self, query: Counts) -> Symbols:
        """Return the corrupted keys: (B,) -> (B, key_bits)."""
        key = query // self.words
        bits = (key[:, None] >> np.arange(self.key_bits // self.copies)) & 1
        word = np.repeat(bits, self.copies, axis=1).astype(np.uint8)
        return word ^ self._patterns()[query % self.words]

    def _patterns(self) -> Symbols:
        """Return which bits are wrong, fewest first: (words, key_bits)."""
        found = np.zeros((self.words, self.key_bits), np.uint8)
        wrong = [c for j in range(self.flips + 1) for c in combinations(range(self.key_bits), j)]
        for row, places in zip(found, wrong, strict=True):
            row[list(places)] = 1
        return found

    def read_query(self, text: str) -> int:
        """Read key=BITS."""
        word = named(text, "key")
        if len(word) != self.key_bits or set(word) - {"0", "1"}:
            raise ValueError(text)
        bits = np.array([int(b) for b in word], np.uint8)
        ones = bits.reshape(-1, self.copies).sum(axis=1)
        key = sum(1 << i for i, count in enumerate(ones) if 2 * int(count) > self.copies)
        wrong = bits ^ self.spell(np.array([key * self.words]))[0]
        at = np.flatnonzero((self._patterns() == wrong).all(axis=1))
        if key >= self.n or not len(at):
            raise ValueError(text)
        return key * self.words + int(at[0])

    def query_text(self, query: int) -> str:
        """Write key=BITS."""
        return "key=" + "".join(str(int(b)) for b in self.spell(np.array([query]))[0])


PROBLEM = NoisyRecall
