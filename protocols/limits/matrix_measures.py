"""Structure of a 0/1 answer matrix: spectral norm, VC dimension, ranks.

Each function takes the distinct rows and returns a proved value or a proved bound, and says
which. Work is capped; beyond the caps the answer is a weaker bound or None.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.uint8]

_EIGEN_SIDE = 2048
_GRAM_SIDE = 4096
_RANK_SIDE = 1024
_RANK_WORK = 4e9
_VC_WORK = 6e8


@dataclass(frozen=True)
class Rank:
    """A rank over the rationals: proved, or (exact = False) a lower bound."""

    value: int
    exact: bool


@dataclass(frozen=True)
class Shattered:
    """A largest known shattered set of columns; `exact` when none larger exists."""

    columns: tuple[int, ...]
    exact: bool

    @property
    def value(self) -> int:
        """The VC dimension, or a lower bound on it."""
        return len(self.columns)


def spectral_norm(rows: Matrix, counts: NDArray[np.int64]) -> float | None:
    """Return an upper bound on ||S||, S = (-1)^f with row r repeated counts[r] times.

    The square of the norm is the largest eigenvalue of the Gram matrix of the shorter side.
    To side 2048 it is computed and the backward error of a symmetric eigensolver is
    added, taken as 16 side eps ||Gram||_F (the constant is generous; LAPACK Users' Guide,
    section 4.7); to side 4096 the largest absolute row sum bounds it. An iteration
    that approaches the norm from below would prove nothing, so none is used. None beyond.
    """
    side = min(rows.shape)
    if side > _GRAM_SIDE:
        return None
    gram = np.zeros((side, side))
    if rows.shape[1] == side:  # entries are integers below 2^53: exact
        for part in range(0, len(rows), 1 << 14):
            signs = 1.0 - 2.0 * rows[part : part + (1 << 14)]
            gram += signs.T @ (signs * counts[part : part + (1 << 14), None])
    else:
        signs = (1.0 - 2.0 * rows) * np.sqrt(counts.astype(np.float64))[:, None]
        gram += signs @ signs.T
    rounding = 16 * side * np.finfo(float).eps * float(np.linalg.norm(gram))
    if side <= _EIGEN_SIDE:
        square = float(np.linalg.eigvalsh(gram)[-1])
    else:
        square = float(np.abs(gram).sum(axis=1).max())
    return math.sqrt(square + rounding)


def vc_dimension(rows: Matrix) -> Shattered:
    """Return a largest shattered set of columns.

    Columns are shattered when all 2^d patterns occur in them among the rows. Subsets of a
    shattered set are shattered, so sets grow one column at a time; the rows are kept split by
    pattern, and a column may join when it takes both values in every part. A branch
    dies when a part has too few rows for one more column than the best set found,
    or too few columns remain; d <= log2 #rows ends the search early. Past a work cap
    the best set found stands as a lower bound.
    """
    top = len(rows).bit_length() - 1
    columns = np.ascontiguousarray(rows.T, np.int32)
    best: tuple[int, ...] = ()
    work = 0.0

    def grow(chosen: tuple[int, ...], order: NDArray[np.int64], starts: NDArray[np.int64]) -> bool:
        """Extend `chosen`; False when the work cap was hit."""
        nonlocal best, work
        if len(chosen) > len(best):
            best = chosen
        sizes = np.diff(np.append(starts, len(order)))
        after = chosen[-1] + 1 if chosen else 0
        if int(sizes.min()) < 1 << (len(best) + 1 - len(chosen)) or len(best) == top:
            return True
        work += (len(order) + 8 * len(starts)) * (rows.shape[1] - after) + 1e5
        if work > _VC_WORK:
            return False
        ones = np.add.reduceat(columns[after:, order], starts, axis=1)
        fits = ((ones > 0) & (ones < sizes)).all(axis=1)
        candidates = np.flatnonzero(fits) + after
        for position, column in enumerate(candidates.tolist()):
            if len(chosen) + len(candidates) - position <= len(best) or len(best) == top:
                break
            part = 2 * np.repeat(np.arange(len(starts)), sizes) + columns[column, order]
            if len(starts) < 1 << 15:
                part = part.astype(np.uint16)  # short keys sort faster
            again = np.argsort(part, kind="stable")
            split = np.concatenate([[0], np.flatnonzero(np.diff(part[again])) + 1])
            if not grow((*chosen, column), order[again], split.astype(np.int64)):
                return False
        return True

    exact = grow((), np.arange(len(rows)), np.zeros(1, np.int64))
    return Shattered(best, exact or len(best) == top)


def rank_gf2(rows: Matrix) -> int | None:
    """Return the rank over GF(2), exactly, by elimination on packed words; None when too large."""
    if not rows.size:
        return 0
    if not _affordable(rows.shape[0] * rows.shape[1] * min(rows.shape) / 64):
        return None
    slim = rows if rows.shape[0] <= rows.shape[1] else np.ascontiguousarray(rows.T)
    padded = np.zeros((len(slim), -(-slim.shape[1] // 64) * 8), np.uint8)
    packed = np.packbits(slim, axis=1, bitorder="little")
    padded[:, : packed.shape[1]] = packed
    words = padded.view(np.uint64)
    rank = 0
    for row in range(len(words)):
        alive = np.flatnonzero(words[row])
        if not len(alive):
            continue
        rank += 1
        word = int(alive[0])
        bit = words[row, word] & (~words[row, word] + np.uint64(1))
        below = row + 1 + np.flatnonzero(words[row + 1 :, word] & bit)
        words[below] ^= words[row]
    return rank


def rank_rationals(rows: Matrix) -> Rank:
    """Return the rank over the rationals.

    The rank modulo a prime is never larger, so the largest over some primes is a lower
    bound r. It is the rank when r is the largest that distinct nonzero rows and columns
    allow, or when the product of the primes exceeds Hadamard's bound for 0/1 minors,
    (k+1)^((k+1)/2) / 2^k at k = r + 1: every such minor is divisible by all the primes, hence
    zero. The prime 2 comes first, being the fastest. Beyond 1024 rows and columns only a
    corner of the matrix is looked at for other primes, so that a bound alone may be proved.
    """
    core = _core(rows)
    side = min(core.shape)
    binary = rank_gf2(core) or 0
    if binary == side:
        return Rank(side, True)
    primes = _primes()
    if side > _RANK_SIDE:
        corner = core[:_RANK_SIDE, :_RANK_SIDE]
        return Rank(max(binary, _rank_modulo(corner, next(primes))), False)
    thinned = core[:, :: max(1, core.shape[1] // (4 * side + 1))]
    if _rank_modulo(thinned, next(primes)) == side:
        return Rank(side, True)
    best, product, work = 0, 1, 0.0
    while True:
        prime = next(primes)
        best = max(best, _rank_modulo(core, prime))
        product *= prime
        k = best + 1
        # both sides squared, so that integers decide
        if best == side or (product << k) ** 2 > (k + 1) ** (k + 1):
            return Rank(best, True)
        work += 8.0 * core.size * best
        if not _affordable(work):
            return Rank(best, False)


def _affordable(work: float) -> bool:
    return work <= _RANK_WORK


def _core(rows: Matrix) -> Matrix:
    """Drop zero and repeated rows and columns, which leaves the rank; more columns than rows."""
    part = rows.T
    for _ in range(2):
        part = np.ascontiguousarray(part.T[part.any(axis=0)])
        if not part.size:
            return np.zeros((0, 0), np.uint8)
        packed = np.packbits(part, axis=1)
        keys = packed.view(np.dtype((np.void, packed.shape[1])))[:, 0]
        part = part[np.unique(keys, return_index=True)[1]]
    return part if part.shape[0] <= part.shape[1] else part.T


def _primes() -> Iterator[int]:
    """Yield the primes below 2^31, downwards: products of residues fit in int64."""
    small = np.ones(46_341, np.bool_)
    small[:2] = False
    for p in range(2, 216):
        small[p * p :: p] = False
    divisors = np.flatnonzero(small)
    for candidate in range((1 << 31) - 1, 46_341, -2):
        if (candidate % divisors).all():
            yield candidate


def _rank_modulo(rows: Matrix, prime: int) -> int:
    """Return the rank modulo a prime below 2^31 by elimination."""
    left = rows.astype(np.int64)
    rank = 0
    while len(left):
        pivots = left[0] != 0
        if not pivots.any():
            left = left[1:]
            continue
        column = int(np.argmax(pivots))
        top = left[0] * pow(int(left[0, column]), -1, prime) % prime
        # at most prime^2 < 2^62 below zero, so nothing overflows
        left = (left[1:] - left[1:, column : column + 1] * top) % prime
        left = np.delete(left, column, axis=1)
        rank += 1
    return rank
