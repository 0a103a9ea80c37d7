"""Keep whole answers and forget the rest: what a window does.

Success 1/2 + M / 2n for bits under a uniform law: the line that any real code must
beat, and the best possible in log loss.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from statebound.protocols.codes._word import (
    WordCode,
    lightest_first,
    no_such_size,
    symbol_bits,
)
from statebound.protocols.problem import Problem, Symbols


class Truncation(WordCode):
    """The heaviest queries' answers, of equal weights the last; the others read as 0.

    Parameters
    ----------
    problem
        Any alphabet of q answers; one takes ceil(log2 q) bits.
    state_bits
        M, a multiple of ceil(log2 q) up to all answers.
    """

    name: ClassVar[str] = "truncation"
    binary: ClassVar[bool] = False

    def __init__(self, problem: Problem, state_bits: int) -> None:
        super().__init__(problem, state_bits)
        self.symbol_bits = symbol_bits(problem.alphabet)
        most = self.length * self.symbol_bits
        if not 0 <= state_bits <= most or state_bits % self.symbol_bits:
            down = min(max(state_bits, 0), most) // self.symbol_bits * self.symbol_bits
            sizes = [down, min(most, down + self.symbol_bits)]
            raise no_such_size(
                self.name,
                self.length,
                state_bits,
                f"keeps whole symbols of {self.symbol_bits} bits, at most {most} bits",
                sizes,
            )
        kept = state_bits // self.symbol_bits
        order = lightest_first(problem)
        self._kept = np.sort(order[self.length - kept :])

    def compress(self, word: Symbols) -> Symbols:
        """Return the kept answers, least significant bit first."""
        kept = word[:, self._kept, None] >> np.arange(self.symbol_bits, dtype=np.uint8)
        return (kept & 1).astype(np.uint8).reshape(len(word), self.state_bits)

    def expand(self, bits: Symbols) -> Symbols:
        """Return the kept answers in their places; codes beyond the alphabet read as 0."""
        symbols = bits.reshape(len(bits), len(self._kept), self.symbol_bits)
        value = (symbols << np.arange(self.symbol_bits, dtype=np.uint8)).sum(2, dtype=np.uint8)
        word = np.zeros((len(bits), self.length), np.uint8)
        word[:, self._kept] = np.where(value < self.problem.alphabet, value, 0)
        return word

    def errors(self) -> list[Fraction]:
        """Return 0 where kept and 1 - 1/q elsewhere."""
        kept = set(self._kept.tolist())
        lost = 1 - Fraction(1, self.problem.alphabet)
        return [Fraction(0) if k in kept else lost for k in range(self.length)]

    def facts(self) -> dict[str, Any]:
        """Return how many answers are kept and their bits."""
        return {"kept": len(self._kept), "symbol_bits": self.symbol_bits}


PROTOCOL = Truncation
