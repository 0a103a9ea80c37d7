"""Words of digits: what phonebook and copy share.

x is `words` strings of `width` uniform symbols. A query asks for a whole word, which is
right or wrong as a whole, or for one symbol. Both are independent uniform answers: words
of an alphabet of symbols^width, or symbols; so all walls of Index apply, in either unit.
The stream, the machine and its messages are the same for both, only Bob's task differs.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from statebound.errors import UsageError
from statebound.protocols.problem import (
    Answers,
    Problem,
    Structure,
    Symbols,
    query_weights,
    require,
)

MOST_ANSWERS = 1 << 62


class Words(Problem):
    """A problem whose input is words; subclasses set `n`, `law` and call `_set`."""

    words: int
    width: int
    whole: bool

    def _set(self, words: int, width: int, symbols: int, whole: bool, law: str) -> None:
        require("alphabet", symbols, 2, 256, "symbols to choose from")
        self.words, self.width, self.whole, self.law = words, width, whole, law
        self.symbols, self.length = symbols, words * width
        if whole and symbols**width > MOST_ANSWERS:
            raise UsageError(
                "credit",
                "whole words",
                f"of {width} symbols are more than 2^62 answers",
                "take shorter ones, or credit by symbol",
            )
        self.queries = words if whole else self.length
        self.alphabet = symbols**width if whole else symbols
        self._by_word: tuple[Fraction, ...] = query_weights(law, words)

    @property
    def weights(self) -> tuple[Fraction, ...]:
        """The law of the word, each of its symbols being equally likely."""
        if self.whole:
            return self._by_word
        return tuple(w / self.width for w in self._by_word for _ in range(self.width))

    @property
    def structure(self) -> Structure:
        """Words, or symbols, are independent and uniform."""
        plain = not self.whole or self.width == 1
        bits = plain and self.symbols == 2
        return Structure(
            self.alphabet,
            self.queries,
            self.weights,
            independent=True,
            index_stream=plain,
            parities=tuple((k,) for k in range(self.length)) if bits else (),
        )

    @property
    def least_messages(self) -> int:
        """One for each x."""
        return int(self.symbols**self.length)

    def answers(self, x: Symbols) -> Answers:
        """Return the words as numbers, first symbol highest, or the symbols."""
        if not self.whole:
            return x
        powers = self.symbols ** np.arange(self.width - 1, -1, -1, dtype=np.int64)
        found = x.reshape(len(x), self.words, self.width).astype(np.int64) @ powers
        return np.asarray(found, self.answer_type)
