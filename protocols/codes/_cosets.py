"""Optimal quantising with a systematic linear code by a table of coset leaders.

A word of L places is r check places followed by K = L - r information places. Check place
j has the j-th unit vector as its column, information place i an arbitrary column below
2^r; a codeword is a word whose columns add up to 0. A word's sum (its syndrome) names the
coset it lies in; taking away the lightest word of that coset gives a nearest codeword,
so the code loses exactly the mean weight of the leaders (MacWilliams and Sloane, 1977).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from statebound.protocols.problem import Symbols

Columns = NDArray[np.int64]


class Cosets:
    """A systematic code with its table of leaders.

    Parameters
    ----------
    checks
        r, 0 to about 20: the table has 2^r entries.
    columns
        (K,) columns of the information places, each below 2^r.

    Attributes
    ----------
    weight
        (2^r,) weight of the leader of each coset.
    """

    def __init__(self, checks: int, columns: Columns) -> None:
        self.checks = checks
        self.columns: Columns = np.concatenate(
            [np.int64(1) << np.arange(checks, dtype=np.int64), columns.astype(np.int64)]
        )
        self.length = len(self.columns)
        self.weight, self._place = self._leaders()

    def _leaders(self) -> tuple[NDArray[np.int16], NDArray[np.int32]]:
        """Search breadth first from syndrome 0: leader weight, and a place to change."""
        weight = np.full(1 << self.checks, -1, np.int16)
        place = np.full(1 << self.checks, -1, np.int32)
        weight[0] = 0
        edge = np.zeros(1, np.int64)
        left = len(weight) - 1
        level = 0
        while left:
            level += 1
            reached = []
            for a, column in enumerate(self.columns):
                found = edge ^ column
                found = found[weight[found] < 0]
                weight[found] = level
                place[found] = a
                reached.append(found)
                left -= len(found)
                if not left:
                    break
            edge = np.concatenate(reached)
        return weight, place

    def syndrome(self, word: Symbols) -> NDArray[np.int64]:
        """Return the sums (...,) of the columns of words (..., L)."""
        total = np.zeros(word.shape[:-1], np.int64)
        for a, column in enumerate(self.columns):
            total ^= column * word[..., a]
        return total

    def quantise(self, word: Symbols) -> Symbols:
        """Return the information places (..., K) of codewords nearest to words (..., L)."""
        near = word.reshape(word.size // self.length, self.length).copy()
        rest = self.syndrome(near)
        rows = np.flatnonzero(rest)
        while len(rows):
            at = self._place[rest[rows]]
            near[rows, at] ^= 1
            rest[rows] ^= self.columns[at]
            rows = rows[rest[rows] != 0]
        return near.reshape(word.shape)[..., self.checks :]

    def complete(self, info: Symbols) -> Symbols:
        """Return the codewords (..., L) with these information places (..., K)."""
        word = np.zeros((*info.shape[:-1], self.length), np.uint8)
        word[..., self.checks :] = info
        rest = self.syndrome(word)
        word[..., : self.checks] = (rest[..., None] >> np.arange(self.checks)) & 1
        return word

    def errors(self) -> list[Fraction]:
        """Return how often each place is wrong for fair words, exactly.

        The error is the leader of a uniform coset: place a is wrong in as many of the
        2^r cosets as have a in their leader.
        """
        hits = np.zeros(self.length, np.int64)
        rest = np.arange(1 << self.checks)
        rest = rest[rest != 0]
        while len(rest):
            at = self._place[rest]
            hits += np.bincount(at, minlength=self.length)
            rest = rest ^ self.columns[at]
            rest = rest[rest != 0]
        return [Fraction(int(h), 1 << self.checks) for h in hits]
