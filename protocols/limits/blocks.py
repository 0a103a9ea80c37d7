"""Codes laid side by side: the best exact floor under the optimum of Index in bits.

Cut the n bits into blocks, give each a code and its share of the M message bits: mean
distances add. Blocks are the codes of `codes_known`, the same with a bit dropped,
majorities (one message bit), codes of four words (two), stored bits and guessed bits.
Dropping a bit of a code of n bits and mean distance d leaves, for the best choice of
the bit, a mean distance of at most d (n-1)/n: a word's bits are wrong d times in all on
average, so some bit is wrong d/n of the time or more, and without it the remaining bits
of the nearest word are still there.

The best division is found by dynamic programming over (bits, message bits) in floating
point, and its value is then added up as a fraction: a floor is a floor whichever
division was chosen. Beyond `TABLE` bits only copies of one code are tried.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from statebound.protocols.limits.codes_known import known_codes
from statebound.protocols.limits.one_bit import one_bit
from statebound.protocols.limits.two_bit import two_bit

TABLE = 64


@dataclass(frozen=True)
class Block:
    """A code of n bits with M = `bits` and its mean distance."""

    name: str
    n: int
    bits: int
    distance: Fraction


@lru_cache(maxsize=8)
def _blocks(longest: int) -> tuple[Block, ...]:
    """Return all blocks of at most `longest` bits; the first two store and guess a bit."""
    found = [Block("stored", 1, 1, Fraction(0)), Block("guessed", 1, 0, Fraction(1, 2))]
    for n in range(3, min(longest, TABLE) + 1):
        if n % 2:
            found.append(Block(f"majority [{n},1]", n, 1, n * (1 - one_bit(n))))
        found.append(Block(f"four words [{n},2]", n, 2, n * (1 - two_bit(n))))
    for code in known_codes(longest + 1):
        n, bits, distance = code.n, code.bits, code.distance
        if n <= longest:
            found.append(Block(code.name, n, bits, distance))
        found.append(Block(f"{code.name} less a bit", n - 1, bits, distance * (n - 1) / n))
    return tuple(found)


@lru_cache(maxsize=4)
def _choices(size: int) -> NDArray[np.int64]:
    """Return which block ends the best division of (n, M), (size + 1, size + 1)."""
    blocks = _blocks(size)
    length = np.array([b.n for b in blocks])
    bits = np.array([b.bits for b in blocks])
    cost = np.array([float(b.distance) for b in blocks])
    # Columns are shifted by `size`, so that M - bits < 0 reads infinity.
    best = np.full((size + 1, 2 * size + 1), np.inf)
    best[0, size] = 0.0
    choice = np.zeros((size + 1, size + 1), np.int64)
    column = size + np.arange(size + 1)
    for n in range(1, size + 1):
        fits = np.flatnonzero(length <= n)
        total = best[n - length[fits, None], column - bits[fits, None]] + cost[fits, None]
        first = total.argmin(axis=0)
        choice[n] = fits[first]
        best[n, size:] = total[first, np.arange(size + 1)]
    return choice


def _divide(n: int, bits: int) -> Counter[int]:
    """Return how often each block occurs in the best division, 0 <= M <= n."""
    blocks = _blocks(_size(n))
    used: Counter[int] = Counter()
    if n <= TABLE:
        choice = _choices(_size(n))
        while n:
            b = int(choice[n, bits])
            used[b] += 1
            n, bits = n - blocks[b].n, bits - blocks[b].bits
        return used
    saved, copies, chosen = 0.0, 0, 0
    for b, block in enumerate(blocks[2:], start=2):
        many = min(n // block.n, bits // block.bits, (n - bits) // (block.n - block.bits))
        gain = many * ((block.n - block.bits) / 2 - float(block.distance))
        if gain > saved:
            saved, copies, chosen = gain, many, b
    bits -= copies * blocks[chosen].bits
    n -= copies * blocks[chosen].n
    used.update({chosen: copies})
    used.update({0: bits, 1: n - bits})
    return used


def _size(n: int) -> int:
    return max(16, 1 << (n - 1).bit_length())


def best_blocks(n: int, bits: int) -> tuple[Fraction, str]:
    """Return the success of the best division found, and what it consists of.

    Parameters
    ----------
    n
        Bits of Index, at least 1.
    bits
        M, 0 to n.

    Examples
    --------
    >>> value, blocks = best_blocks(16, 9)
    >>> print(value, "=", blocks)
    901/1024 = punctured Nordstrom-Robinson [15,8] + 1 stored
    """
    blocks = _blocks(_size(n))
    used = _divide(n, bits)
    distance = sum((many * blocks[b].distance for b, many in used.items()), start=Fraction(0))
    parts = []
    for b, many in sorted(used.items(), reverse=True):
        if many and b > 1:
            parts.append(f"{many} x {blocks[b].name}" if many > 1 else blocks[b].name)
    parts += [f"{used[b]} {blocks[b].name}" for b in (0, 1) if used[b]]
    return 1 - distance / n, " + ".join(parts)
