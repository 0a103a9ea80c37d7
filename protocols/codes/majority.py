"""One majority bit for each of M blocks of answers.

The best code of one bit, and for small M / n the plainest that uses every answer. In a
block of b fair bits of which S are ones max(S, b - S) agree with it, whatever a tie sends,
and E|2S - b| = b C(b - 1, floor((b - 1) / 2)) / 2^(b - 1) (de Moivre's mean deviation), so
each agrees with probability 1/2 + C(b - 1, floor((b - 1) / 2)) / 2^b.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb
from typing import Any, ClassVar

import numpy as np

from statebound.protocols.codes._word import WordCode, no_such_size
from statebound.protocols.problem import Problem, Symbols


def agreement(size: int) -> Fraction:
    """Return how often one of `size` fair bits equals their majority.

    Examples
    --------
    >>> [str(agreement(b)) for b in (1, 2, 3, 4, 5)]
    ['1', '3/4', '3/4', '11/16', '11/16']
    """
    return Fraction(1, 2) + Fraction(comb(size - 1, (size - 1) // 2), 2**size)


class Majority(WordCode):
    """M blocks of neighbours, sizes as equal as can be; a tie sends 0.

    Parameters
    ----------
    problem, state_bits
        1 <= M <= number of answers.
    """

    name: ClassVar[str] = "majority"

    def __init__(self, problem: Problem, state_bits: int) -> None:
        super().__init__(problem, state_bits)
        n = self.length
        if not 1 <= state_bits <= n:
            raise no_such_size(self.name, n, state_bits, "sends 1..n bits", [1, n])
        edges = np.arange(state_bits + 1) * n // state_bits
        self._starts = edges[:-1]
        self._sizes = np.diff(edges)

    def compress(self, word: Symbols) -> Symbols:
        """Return 1 for blocks with more ones than zeros."""
        ones = np.add.reduceat(word, self._starts, axis=1, dtype=np.int64)
        return (2 * ones > self._sizes).astype(np.uint8)

    def expand(self, bits: Symbols) -> Symbols:
        """Return every block filled with its bit."""
        return np.repeat(bits, self._sizes, axis=1)

    def errors(self) -> list[Fraction]:
        """Return 1 - `agreement` of each place's block."""
        return [1 - agreement(int(b)) for b in self._sizes for _ in range(b)]

    def facts(self) -> dict[str, Any]:
        """Return the least and greatest block size."""
        return {"block_sizes": [int(self._sizes.min()), int(self._sizes.max())]}


PROTOCOL = Majority
