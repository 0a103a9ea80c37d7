"""Two bits, M = 2, equal weights and answers in bits: the optimum.

Four messages give Bob four words. With independent fair signs x_k for Alice's bits the
success is 1/2 + E max_m <y_m, x> / 2n over the words' sign vectors y_m. Flipping a sign
x_k changes no expectation, so what counts of position k is the split of the four words
that its column makes: nobody apart (useless: by Jensen one more informative column
never hurts), one word apart (4 types), two against two (3 types). The optimum is a
maximum over how often each of the seven types occurs: C(n+6, 6) multisets, fewer up to
renaming the words. `exhaustive` walks them all.

For the three balanced types alone (linear codes) there is a closed form. With X, Y, Z
the sums of a, b, c signs, max(X+Y+Z, X-Y-Z, -X+Y-Z, -X-Y+Z) is |X| + |Y| + |Z|, less
twice the least of the three when their product is negative, which given the absolute
values happens half of the time::

    E max = E|X| + E|Y| + E|Z| - E min(|X|, |Y|, |Z|)

In every case walked, n <= `PROVED_TO`, the optimum is linear, and one of the best splits
is the most even one whose three parts are not all equal. Beyond, the same number is only
a floor.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import comb

PROVED_TO = 20


def linear(a: int, b: int, c: int) -> Fraction:
    """Return the success of the linear code with a, b, c columns of the balanced types.

    Examples
    --------
    >>> print(linear(2, 1, 1))
    13/16
    """
    n = a + b + c
    # tail(m)[t] = 2^m P(|sum of m signs| >= t), t = 1 .. m
    tails = [_tail(m) for m in (a, b, c)]
    mean = sum(sum(tail) << (n - m) for tail, m in zip(tails, (a, b, c), strict=True))
    least = sum(x * y * z for x, y, z in zip(*tails, strict=False))
    return Fraction(1, 2) + Fraction(mean - least, n << (n + 1))


def _tail(m: int) -> list[int]:
    found, above = [0] * m, 0
    for t in range(m, 0, -1):
        if (m + t) % 2 == 0:
            above += 2 * comb(m, (m + t) // 2)
        found[t - 1] = above
    return found


@lru_cache(maxsize=64)
def two_bit(n: int) -> Fraction:
    """Return the success of the most even split: the optimum for n <= `PROVED_TO`.

    Examples
    --------
    >>> [str(two_bit(n)) for n in (2, 3, 4, 5, 6)]
    ['1', '5/6', '13/16', '31/40', '3/4']
    """
    k, rest = divmod(n, 3)
    return linear(k + 1, k + (rest == 2), k - (rest == 0))


def exhaustive(n: int) -> Fraction:
    """Return the exact optimum by walking all codes of four words (numba; n <= 24)."""
    from statebound.protocols.limits.two_bit_search import best

    return Fraction(1, 2) + Fraction(best(n), n << (n + 1))
