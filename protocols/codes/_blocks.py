"""Copies of one block code side by side, what remains sent raw or not at all."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from statebound.protocols.codes._cosets import Cosets
from statebound.protocols.codes._word import WordCode, lightest_first, no_such_size
from statebound.protocols.problem import Problem, Symbols


def most_blocks(length: int, state_bits: int, places: int, info: int) -> int:
    """Return how many [places, info] blocks fit into n answers and M bits.

    After b blocks the M - b info bits that are left are raw answers, and there must be
    as many answers left: b info <= M and b (places - info) <= n - M.

    Examples
    --------
    >>> most_blocks(23, 12, 23, 12), most_blocks(50, 26, 23, 12), most_blocks(23, 13, 23, 12)
    (1, 2, 0)
    """
    if not 0 <= state_bits <= length:
        return 0
    return min(state_bits // info, (length - state_bits) // (places - info))


class BlockCode(WordCode):
    """As many copies of a block code as fit; the bits left over are raw answers.

    In order of rising weight (under a uniform law: in order of time) come the answers that
    are not sent and read as 0, then the blocks, then the raw answers.
    """

    def arrange(self, cosets: Cosets) -> None:
        """Fix the number of blocks and the places; refuse sizes without a block."""
        self.cosets = cosets
        places, checks = cosets.length, cosets.checks
        self.blocks = most_blocks(self.length, self.state_bits, places, places - checks)
        if not self.blocks:
            raise no_such_size(
                self.name,
                self.length,
                self.state_bits,
                f"holds no block of {places} answers in {places - checks} bits",
                _sizes(self.length, places, places - checks),
            )
        self._raw = self.state_bits - self.blocks * (places - checks)
        self._skipped = self.length - self._raw - self.blocks * places
        self._order = lightest_first(self.problem)

    def compress(self, word: Symbols) -> Symbols:
        """Return the blocks' information bits, then the raw answers."""
        ordered = word[:, self._order]
        end = self.length - self._raw
        shape = (len(word), self.blocks, self.cosets.length)
        blocks = ordered[:, self._skipped : end].reshape(shape)
        info = self.cosets.quantise(blocks).reshape(len(word), self.state_bits - self._raw)
        return np.concatenate([info, ordered[:, end:]], axis=1)

    def expand(self, bits: Symbols) -> Symbols:
        """Return the codewords and raw answers in their places, 0 elsewhere."""
        coded = self.state_bits - self._raw
        per_block = self.cosets.length - self.cosets.checks
        info = bits[:, :coded].reshape(len(bits), self.blocks, per_block)
        word = np.zeros((len(bits), self.length), np.uint8)
        end = self.length - self._raw
        coded_places = self._order[self._skipped : end]
        word[:, coded_places] = self.cosets.complete(info).reshape(len(bits), len(coded_places))
        word[:, self._order[end:]] = bits[:, coded:]
        return word

    def errors(self) -> list[Fraction]:
        """Return 1/2 where nothing is sent, the code's rate in blocks, 0 where raw."""
        ordered = [Fraction(1, 2)] * self._skipped
        ordered += self.cosets.errors() * self.blocks + [Fraction(0)] * self._raw
        wrong = [Fraction(0)] * self.length
        for place, e in zip(self._order, ordered, strict=True):
            wrong[place] = e
        return wrong

    def facts(self) -> dict[str, Any]:
        """Return the block's size, how many there are, and what is left over."""
        return {
            "block": [self.cosets.length, self.cosets.length - self.cosets.checks],
            "blocks": self.blocks,
            "raw": self._raw,
            "unsent": self._skipped,
        }


def _sizes(length: int, places: int, info: int) -> list[int]:
    return [m for m in range(length + 1) if most_blocks(length, m, places, info)]


def block_success(problem: Problem, state_bits: int, places: int, info: int) -> Fraction:
    """Return how many answers are right on average with perfect one-error blocks."""
    b = most_blocks(problem.queries, state_bits, places, info)
    raw = state_bits - b * info
    unsent = problem.queries - raw - b * places
    return raw + Fraction(unsent, 2) + b * (places - Fraction(places, places + 1))
