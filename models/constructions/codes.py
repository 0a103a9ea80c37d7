"""Codes of addresses: vectors whose scalar product tells equal addresses from others.

For whole numbers i, j below `size`, q(i) . k(j) = `top` where i = j and at most
`top` - `gap` elsewhere. The gap is proved for each code:

* *binary*: the digits as +-1. Each differing digit costs 2.
* *frequencies*: cos and sin of 2 pi j / 2^r, r = 1..b. The product is the sum of
  cos 2 pi (i - j) / 2^r; with i - j = 2^v odd, v < b, the term r = v + 1 is -1, and the
  others are at most 1: gap 2. A shift of j is a rotation of each pair.
* *one_hot*: gap 1, width `size`.
* *residues*: one-hot residues modulo 3, 5, 7, 11, ... up to a product of at least `size`.
  Two addresses differ in some residue: gap 1. A shift of j permutes the coordinates.
* *quadratic*: (2 i, 1, -i^2) . (j, -j^2, 1) = -(i - j)^2: gap 1 with three numbers, of
  which two grow as size^2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from statebound.errors import UsageError
from statebound.models.constructions.ledger import bits_for
from statebound.models.constructions.rounding import Array

Coder = Callable[[Array], Array]


@dataclass(frozen=True)
class Code:
    """An address code.

    Attributes
    ----------
    name, size, width
        Its name, the number of addresses 0..size-1, and the numbers of one vector.
    top, gap
        The product at equality, and by how much every other one is smaller at least.
    key, query
        Addresses (...) to vectors (..., width), in float64.
    """

    name: str
    size: int
    width: int
    top: int
    gap: int
    key: Coder
    query: Coder


def binary(size: int) -> Code:
    """Return the +-1 digits, lowest first; one digit at least."""
    width = max(bits_for(size), 1)

    def digits(j: Array) -> Array:
        return 2.0 * ((np.asarray(j)[..., None] >> np.arange(width)) & 1) - 1

    return Code("binary", size, width, width, 2, digits, digits)


def frequencies(size: int) -> Code:
    """Return cosines and sines of periods 2, 4, ..., 2^b >= size, pair by pair."""
    b = max(bits_for(size), 1)
    angle = 2 * np.pi / 2.0 ** np.arange(1, b + 1)

    def circle(j: Array) -> Array:
        # reduced first, so that the least digits of large addresses are not lost
        turn = np.mod(np.asarray(j)[..., None], 2 ** np.arange(1, b + 1)) * angle
        pairs = np.stack([np.cos(turn), np.sin(turn)], axis=-1)
        return pairs.reshape(*pairs.shape[:-2], 2 * b)

    return Code("frequencies", size, 2 * b, b, 2, circle, circle)


def one_hot(size: int) -> Code:
    """Return unit vectors."""

    def unit(j: Array) -> Array:
        hot: Array = np.asarray(j)[..., None] == np.arange(size)
        return hot.astype(np.float64)

    return Code("one_hot", size, size, 1, 1, unit, unit)


def moduli(size: int) -> tuple[int, ...]:
    """Return odd primes 3, 5, 7, ... whose product is at least `size`.

    Examples
    --------
    >>> moduli(106)
    (3, 5, 7, 11)
    """
    found: list[int] = []
    product, candidate = 1, 3
    while product < size or not found:
        if all(candidate % p for p in found):
            found.append(candidate)
            product *= candidate
        candidate += 2
    return tuple(found)


def residues(size: int) -> Code:
    """Return one-hot residues, modulus by modulus."""
    primes = moduli(size)

    def hot(j: Array) -> Array:
        parts = [np.mod(np.asarray(j), p)[..., None] == np.arange(p) for p in primes]
        return 1.0 * np.concatenate(parts, axis=-1)

    return Code("residues", size, sum(primes), len(primes), 1, hot, hot)


def quadratic(size: int) -> Code:
    """Return the code of three numbers; addresses may be negative."""

    def key(j: Array) -> Array:
        j = np.asarray(j, np.float64)
        return np.stack([j, -j * j, np.ones_like(j)], axis=-1)

    def query(i: Array) -> Array:
        i = np.asarray(i, np.float64)
        return np.stack([2 * i, np.ones_like(i), -i * i], axis=-1)

    return Code("quadratic", size, 3, 0, 1, key, query)


CODES: dict[str, Callable[[int], Code]] = {
    "binary": binary,
    "frequencies": frequencies,
    "one_hot": one_hot,
    "residues": residues,
    "quadratic": quadratic,
}


def make_code(name: str, size: int) -> Code:
    """Return a code by name for `size` addresses."""
    if name not in CODES:
        raise UsageError("code", name, "is not an address code", f"choose from {', '.join(CODES)}")
    if size < 1:
        raise UsageError("size", size, "must be at least 1", "pass a number of addresses")
    return CODES[name](size)
