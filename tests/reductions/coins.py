"""The hash of the coins in plain Python, and the same over arrays."""

from __future__ import annotations

import struct

import numpy as np

WORD = 2**64


def absorb(h: int, word: int) -> int:
    z = ((h ^ word) + 0x9E3779B97F4A7C15) % WORD
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % WORD
    return z ^ (z >> 31)


def coin(*words: int) -> float:
    """Return the coin that has absorbed these words."""
    h = 0
    for word in words:
        h = absorb(h, word % WORD)
    return (h >> 11) / 2**53


def bits_of(value: float) -> int:
    """Return the bits of a float64 as a number, those of -0 as of 0."""
    return int.from_bytes(struct.pack("<d", value + 0.0), "little")


def absorb_all(h: np.ndarray, word: np.ndarray) -> np.ndarray:
    z = (h ^ word) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def coins(seed: int, field: int, time: int, values: np.ndarray, private: bool) -> np.ndarray:
    """Return the coins of numbers (tiles, C, lanes) that are rounded together."""
    start = 0
    for word in (seed, field, time):
        start = absorb(start, word)
    tiles, count, lanes = values.shape
    h = np.full((tiles, lanes), start, np.uint64)
    if private:
        words = (values.astype(np.float64) + 0.0).view(np.uint64)
        for c in range(count):
            h = absorb_all(h, words[:, c])
    places = np.arange(count, dtype=np.uint64)[:, None]
    return (absorb_all(h[:, None], places) >> np.uint64(11)) / 2.0**53
