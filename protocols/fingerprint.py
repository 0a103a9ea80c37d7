"""Public-coin fingerprints for equality: M random parities of a string of bits.

Alice sends the parities of x over M public random subsets of places, Bob compares them
with those of y. Equal strings always agree. If x and y differ, the difference d = x + y
is not zero and a uniform subset meets it in an odd number of places with probability
exactly 1/2: fix all choices but that of one place in d. So Bob wrongly says "equal" with
probability exactly 2^-M over the coins, whatever n is (Kushilevitz and Nisan, 1997,
section 3.2). For fixed coins the map is linear, so the number of wrong pairs depends only
on its rank; see `collisions`.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from statebound.errors import UsageError
from statebound.protocols.message import Bytes, check, from_bits
from statebound.protocols.problem import Symbols


def subsets(n: int, state_bits: int, seed: int) -> Symbols:
    """Return M uniform subsets of n places as rows of 0 and 1: (M, n).

    Drawn from the raw stream of PCG64, which is the same in every version of numpy.

    Raises
    ------
    UsageError
        When n, M or the seed is out of range.
    """
    for argument, value, least in (("n", n, 1), ("state_bits", state_bits, 0), ("seed", seed, 0)):
        if value < least:
            raise UsageError(
                argument, value, f"must be at least {least}", f"pass {argument} {least}"
            )
    words = -(-n // 64)
    raw = np.random.PCG64(seed).random_raw(state_bits * words).astype("<u8")
    rows = raw.view(np.uint8).reshape(state_bits, words * 8)
    return np.unpackbits(rows, axis=1, count=n, bitorder="little")


def fingerprint(x: Symbols, state_bits: int, seed: int) -> Bytes:
    """Return the M parities of each x: (B, n) bits to (B, ceil(M/8)) messages."""
    chosen = subsets(x.shape[1], state_bits, seed)
    parity = (x.astype(np.int64) @ chosen.T.astype(np.int64)) & 1
    return from_bits(parity.astype(np.uint8)).reshape(len(x), -(-state_bits // 8))


def agrees(message: Bytes, y: Symbols, state_bits: int, seed: int) -> NDArray[np.bool_]:
    """Return whether Bob says "equal": (B, bytes) messages and (B, n) his own strings.

    Raises
    ------
    MessageError
        When the bytes are not messages of M bits.
    """
    check(message, state_bits)
    same: NDArray[np.bool_] = (message == fingerprint(y, state_bits, seed)).all(axis=1)
    return same


def false_equal(state_bits: int) -> Fraction:
    """Return the chance over the coins that different strings agree: 2^-M.

    Examples
    --------
    >>> str(false_equal(3))
    '1/8'
    """
    return Fraction(1, 1 << state_bits)


def rank(rows: Symbols) -> int:
    """Return the rank over GF(2) of rows of 0 and 1."""
    basis: dict[int, int] = {}
    for row in rows:
        value = int("0" + "".join(map(str, row.tolist())), 2)
        while value and value.bit_length() in basis:
            value ^= basis[value.bit_length()]
        if value:
            basis[value.bit_length()] = value
    return len(basis)


def collisions(n: int, state_bits: int, seed: int) -> int:
    """Return how many strings other than x share x's fingerprint under this seed.

    The same for every x: the kernel of the parities has 2^(n - rank) members, one of
    them zero. Averaged over all subsets it is (2^n - 1) 2^-M.
    """
    return (1 << (n - rank(subsets(n, state_bits, seed)))) - 1
