"""Polar codes with successive-cancellation list encoding: near the wall at any M.

Korada and Urbanke (arXiv:0903.0307) showed that polar codes reach rate-distortion.
Alice seeks, with a list of paths, the word x = u F^(m) nearest to hers whose frozen
places of u are 0, and sends the M other places of u. Which places are free is fixed by
simulation over the test channel of rate-distortion, a binary symmetric channel of
crossover D with h(D) = 1 - M/n: the M places of u that are guessed best when those
before them are known. The simulation counts integers from a public seed with the
stable raw stream of PCG64, so all machines agree on the places.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from math import log2
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from statebound.errors import UsageError
from statebound.protocols.codes._polar_list import nearest
from statebound.protocols.codes._word import (
    WordCode,
    near_power_of_two,
    no_such_size,
    whole_option,
)
from statebound.protocols.problem import Problem, Symbols

_TRIAL_PLACES = 1 << 23  # trials times n: 8192 trials at n = 1024
_CHUNK_PLACES = 1 << 20


def crossover(rate: float) -> float:
    """Return the D in [0, 1/2] with h(D) = 1 - rate, by bisection.

    Examples
    --------
    >>> round(crossover(0.5), 6), crossover(0.0), crossover(1.0)
    (0.110028, 0.5, 0.0)
    """
    if rate <= 0:
        return 0.5
    if rate >= 1:
        return 0.0
    low, high = 0.0, 0.5
    for _ in range(60):
        d = (low + high) / 2
        if -d * log2(d) - (1 - d) * log2(1 - d) < 1 - rate:
            low = d
        else:
            high = d
    return low


def transform(word: Symbols) -> Symbols:
    """Return x = u F^(m) over GF(2) for rows u: (B, n), n a power of two; self-inverse."""
    x = word.copy()
    count, n = x.shape
    half = 1
    while half < n:
        pair = x.reshape(count, n // (2 * half), 2, half)
        pair[:, :, 0] ^= pair[:, :, 1]
        half *= 2
    return x


def _values(noise: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the min-sum value of every place of u from +-1 channel values (n, T).

    The sent word is zero and the earlier places are known (zero), so the tree needs no
    decisions: f(a, b) and a + b at every stage.
    """
    value = noise
    n, trials = value.shape
    half = n // 2
    while half:
        pair = value.reshape(n // (2 * half), 2, half, trials)
        a, b = pair[:, 0].copy(), pair[:, 1]
        least = np.minimum(np.abs(a), np.abs(b))
        pair[:, 0] = np.where((a < 0) != (b < 0), -least, least)
        pair[:, 1] += a
        half //= 2
    return value


@lru_cache(maxsize=32)
def information_places(n: int, count: int, seed: int) -> tuple[int, ...]:
    """Return the `count` places of u to leave free, in rising order.

    Ranked by simulated error (a value of 0 counts one half), of equals the later first.
    """
    if count in {0, n}:
        return tuple(range(count))
    trials = min(8192, max(256, _TRIAL_PLACES // n))
    chunk = max(1, min(trials, _CHUNK_PLACES // n))
    # 32 bits of D: far coarser than what libraries of logarithms may differ by.
    flip = np.uint64(int(crossover(count / n) * 2**32) << 32)
    source = np.random.PCG64(seed)
    wrong = np.zeros(n, np.int64)
    done = 0
    while done < trials:
        width = min(chunk, trials - done)
        raw = source.random_raw(n * width).reshape(n, width)
        value = _values(np.where(raw < flip, np.int32(-1), np.int32(1)))
        wrong += 2 * (value < 0).sum(1) + (value == 0).sum(1)
        done += width
    best = np.lexsort((-np.arange(n), wrong))[:count]
    return tuple(np.sort(best).tolist())


def frozen_groups(n: int, free: tuple[int, ...]) -> NDArray[np.int64]:
    """Return `skip` of the list search: -1 at free places, else the frozen group's size.

    Examples
    --------
    >>> frozen_groups(4, (3,)).tolist()
    [1, -2, 0, -1]
    """
    skip = np.full(n, -2, np.int64)
    skip[list(free)] = -1
    is_free = skip == -1
    at = 0
    while at < n:
        if is_free[at]:
            at += 1
            continue
        t = 0
        while at % (2 << t) == 0 and at + (2 << t) <= n and not is_free[at : at + (2 << t)].any():
            t += 1
        skip[at] = t
        at += 1 << t
    return skip


class Polar(WordCode):
    """A polar code of n = 2^m places and M free ones; frozen places are 0.

    Parameters
    ----------
    problem
        With a power of two of answers, at most 2^16.
    state_bits
        M, 0 to n.
    list_size
        How many paths Alice keeps, 1 (plain successive cancellation) to 1024.
    seed
        Public seed of the simulation that ranks the places.

    Notes
    -----
    Alice's list is workspace beyond M bits: this meets the message wall, not the
    streaming wall.
    """

    name: ClassVar[str] = "polar"

    def __init__(
        self, problem: Problem, state_bits: int, list_size: int = 32, seed: int = 0
    ) -> None:
        super().__init__(problem, state_bits)
        n = self.length
        if n & (n - 1) or not 0 < n <= 1 << 16:
            near = [p for p in near_power_of_two(n) if p <= 1 << 16] or [1 << 16]
            raise UsageError(
                "n",
                problem.n,
                f"polar needs a power of two of answers, not {n}",
                f"choose n so that there are {' or '.join(map(str, sorted(near)))} answers",
            )
        if not 0 <= state_bits <= n:
            raise no_such_size("polar", n, state_bits, "takes 0..n bits", [0, n])
        self.list_size = whole_option("list_size", list_size, 1, 1024)
        self.seed = whole_option("seed", seed, 0, 2**63)
        free = information_places(n, state_bits, seed)
        self.free = np.array(free, np.int64)
        self._skip = frozen_groups(n, free)

    def compress(self, word: Symbols) -> Symbols:
        """Return the free places of u of the nearest codewords found."""
        found = np.empty_like(word)
        nearest(word, self._skip, self.list_size, found)
        return transform(found)[:, self.free]

    def expand(self, bits: Symbols) -> Symbols:
        """Return the codewords with these free places."""
        u = np.zeros((len(bits), self.length), np.uint8)
        u[:, self.free] = bits
        return transform(u)

    def facts(self) -> dict[str, Any]:
        """Return the options and a digest of the free places."""
        digest = hashlib.sha256(self.free.astype("<i8").tobytes()).hexdigest()[:16]
        return {"list_size": self.list_size, "seed": self.seed, "free_places": digest}


PROTOCOL = Polar
