"""Coins for stochastic rounding: a counter-based hash, and the choice that they make.

    absorb(h, w) = mix((h xor w) + 0x9E3779B97F4A7C15)    mod 2^64,

where mix is the finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014, "Fast splittable
pseudorandom number generators"). For a fixed h it is a bijection of w. A coin is
the upper 53 bits of what has absorbed, from 0 on, the seed, the number of the field, the
time, for private coins all numbers rounded together (their float64 bits, -0 as 0), and last
the number's place among these; over 2^53, so in [0, 1).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from statebound.jit import kernel
from statebound.reductions.quantiser import Codes, Lanes, Quantiser

Words = NDArray[np.uint64]
Coins = NDArray[np.float64]

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_WORD = 2**64 - 1


@kernel
def absorb(h: np.uint64, word: np.uint64) -> np.uint64:
    """Return a new hash of h and one more word."""
    z = (h ^ word) + _STEP
    z = (z ^ (z >> np.uint64(30))) * _FIRST
    z = (z ^ (z >> np.uint64(27))) * _SECOND
    return z ^ (z >> np.uint64(31))


@kernel
def _fill(keys: Words, words: Words, coins: Coins) -> None:
    """Fill coins (blocks, C, lanes) from keys (blocks,) and words (blocks, any, lanes)."""
    blocks, count, lanes = coins.shape
    lane_keys = np.empty(lanes, np.uint64)
    for block in range(blocks):
        for i in range(lanes):
            lane_keys[i] = keys[block]
        for c in range(words.shape[1]):
            for i in range(lanes):
                lane_keys[i] = absorb(lane_keys[i], words[block, c, i])
        for c in range(count):
            for i in range(lanes):
                h = absorb(lane_keys[i], np.uint64(c))
                coins[block, c, i] = np.float64(h >> np.uint64(11)) * 2.0**-53


@kernel
def _keys(seed: np.uint64, field: np.uint64, times: Words, keys: Words) -> None:
    start = absorb(absorb(np.uint64(0), seed), field)
    for block in range(times.shape[0]):
        keys[block] = absorb(start, times[block])


def coins(
    seed: int, field: int, times: NDArray[np.int64], count: int, known: Lanes | None = None
) -> Coins:
    """Return coins (blocks, count, 1); those of each lane by itself where numbers are known.

    Parameters
    ----------
    seed, field
        The machine's seed; the number of the field.
    times
        (blocks,) after how many tokens.
    count
        How many numbers are rounded.
    known
        (blocks, count, LANES) the numbers themselves, for private coins.
    """
    keys = np.empty(len(times), np.uint64)
    _keys(np.uint64(seed & _WORD), np.uint64(field), times.astype(np.uint64), keys)
    if known is None:
        words = np.empty((len(times), 0, 1), np.uint64)
    else:
        words = (np.ascontiguousarray(known, np.float64) + 0.0).view(np.uint64)
    drawn = np.empty((len(times), count, words.shape[2]))
    _fill(keys, words, drawn)
    return drawn


def between(quantiser: Quantiser, values: Lanes, drawn: Coins) -> Codes:
    """Return the codes of one of the two values around each number.

    The quantiser's own value and its neighbour on the other side of the number lie at a and
    b; the neighbour is taken where the coin is below |s - a| / |b - a|. The mean over coins
    is then s. A number beyond the outermost value gets that value.
    """
    codes = quantiser.encode(values)
    here = quantiser.decode(codes, values.dtype).astype(np.float64)
    other = quantiser.neighbour(codes, values > here)
    gap = quantiser.decode(other, values.dtype) - here
    share = np.divide(values - here, gap, out=np.zeros_like(gap), where=gap != 0)
    count = values.shape[1]
    codes[:, :count] = np.where(drawn < share, other[:, :count], codes[:, :count])
    return codes
