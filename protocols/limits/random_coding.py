"""The existence bound: what an average random code does, so some code does too.

Draw N words independently and uniformly from [q]^n and let Alice send the word whose
error pattern costs least. With costs c_0 = 0 < c_1 < ... and F_i the share of answer
vectors that lie within cost c_i of a word, the least of N independent costs exceeds
c_i with probability (1 - F_i)^N, so the mean success is exactly

    1 - sum_i (c_(i+1) - c_i) (1 - F_i)^N

and the best code is at least as good. For equal weights and bits this is 1 - (1/n)
sum_{t<n} (1 - V(n, t) / 2^n)^N (the random-coding side of Kostina and Verdu, 2012).

(1 - F)^N is exp(-N |ln(1 - F)|) with F and N F taken from exact integers, so that
neither a tiny F nor a huge N is lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import exp, fsum, inf, log, log1p

from statebound.protocols.limits.patterns import Profile

# Every term x -> exp(-x) is off by at most a few units of 2^-53 (x exp(-x) < 1/2), and
# the terms' factors sum to at most 1, so this margin is a thousand times what is needed.
ROUNDING = Fraction(1, 2**40)


def _steps(costs: Profile) -> Iterator[tuple[int, int]]:
    """Yield (c_(i+1) - c_i, vectors within c_i) for each layer but the last."""
    before, inside = 0, 0
    for cost, count in costs.layers():
        if inside:
            yield cost - before, inside
        before, inside = cost, inside + count


def random_coding_exact(costs: Profile, messages: int) -> Fraction:
    """Return the mean success of N random words as a fraction (for small N log q^n)."""
    total = costs.total
    error = sum(step * (total - inside) ** messages for step, inside in _steps(costs))
    return 1 - Fraction(error, costs.unit * total**messages)


def random_coding(costs: Profile, messages: int) -> float:
    """Return the mean success of N random words, within `ROUNDING` of the exact value.

    Parameters
    ----------
    costs
        An exact cost profile (rounded-down costs would promise too much).
    messages
        N >= 1.
    """
    total, unit = costs.total, costs.unit
    terms = []
    for step, inside in _steps(costs):
        if messages * inside >= total << 10:
            break  # from here on exp(-1024) and less
        terms.append(step / unit * exp(-_exponent(inside, total, messages)))
    return 1 - fsum(terms)


def _exponent(inside: int, total: int, messages: int) -> float:
    """Return -N ln(1 - inside / total)."""
    if 2 * inside > total:
        outside = (total - inside) / total
        return -messages * log(outside) if outside else inf
    share = inside / total
    ratio = -log1p(-share) / share if share > 1e-300 else 1.0
    return messages * inside / total * ratio
