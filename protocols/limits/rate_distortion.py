"""The rate-distortion wall: well known, and never sharper than the ball.

Let e_k be the error on query k. By Fano's inequality and independence, M message bits
obey (Nayak 1999 for equal weights and bits)::

    M >= I(x; message) >= sum_k I(answer_k; message)
      >= sum_k r(e_k),   r(e) = log2 q - h(e) - e log2(q - 1),  0 <= e <= 1 - 1/q

The least average error sum_k w_k e_k under sum_k r(e_k) <= M is a convex problem. Its
stationary point, with t_k = lambda w_k and lambda chosen so that the bits are spent::

    e_k = (q - 1) / (q - 1 + exp(t_k))

and the wall is s <= 1 - sum_k w_k e_k. For q = 2 and equal weights it is the familiar
1 - hinv(1 - M/n). The same curve is Chernoff's relaxation of the ball: the dual of the
fill is max_tau [tau - N E(tau - c)^+] over a uniform vector, and bounding (u)^+ by
exp(lambda u - 1) / lambda leaves max_lambda -(ln N + sum_k ln E exp(-lambda w_k e_k))
/ lambda, whose optimum is the point above. Hence ball <= rate-distortion for every N,
law and alphabet, and the wall holds with log2 N in place of M, or with the entropy of
the message.

Where few bits are spent every r(e_k) is a small difference of large terms: log1p and
expm1 keep its digits, and the gain 1 - 1/q - e_k is computed as such.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import fsum, log, log2

import numpy as np
from numpy.typing import NDArray

from statebound.protocols.limits.patterns import grouped

Vector = NDArray[np.float64]

_LOG_LAMBDA = (-80.0, 700.0)


class _Law:
    """The positive weights of a query law, scaled so that the greatest is 1."""

    def __init__(self, weights: Sequence[Fraction], alphabet: int) -> None:
        groups = [(w, m) for w, m in grouped(weights) if w > 0]
        self.top = float(groups[0][0])
        self.w: Vector = np.array([float(w / groups[0][0]) for w, _ in groups])
        self.m: Vector = np.array([float(m) for _, m in groups])
        self.live = sum(m for _, m in groups)
        self.p, self.r = (alphabet - 1) / alphabet, 1 / alphabet

    def sum(self, values: Vector) -> float:
        return fsum((self.m * values).tolist())

    def whole(self, t: Vector) -> Vector:
        """Return 1 - p + p exp(-t), (groups,), to full precision for any q and t."""
        less = self.p * np.expm1(-t)
        if self.p <= 0.5:
            return 1 + less
        return np.where(less > -0.5, 1 + less, self.r + self.p * np.exp(-t))

    def error(self, t: Vector) -> Vector:
        """Return e_k, (groups,)."""
        return self.p * np.exp(-t) / self.whole(t)

    def wrong(self, scale: float) -> float:
        """Return the average error."""
        return self.top * self.sum(self.w * self.error(scale * self.w))

    def gain(self, scale: float) -> float:
        """Return the average of 1 - 1/q - e_k, exact for small t."""
        t = scale * self.w
        each = -self.p * self.r * np.expm1(-t) / self.whole(t)
        return self.top * self.sum(self.w * each)

    def spent(self, scale: float) -> float:
        """Return sum_k r(e_k) in nats."""
        t = scale * self.w
        less, whole = self.p * np.expm1(-t), self.whole(t)
        logs = np.where(less > -0.5, np.log1p(np.maximum(less, -0.5)), np.log(whole))
        return self.sum(-logs - t * self.error(t))

    def solve(self, function: Callable[[float], float], target: float, rising: bool) -> float:
        """Return the lambda (in units of 1/top) at which a monotone function is `target`."""
        low, high = _LOG_LAMBDA
        while True:
            middle = (low + high) / 2
            if not low < middle < high:
                return float(np.exp(middle))
            if (function(float(np.exp(middle))) < target) == rising:
                low = middle
            else:
                high = middle


def rate_distortion(weights: Sequence[Fraction], alphabet: int, bits: float) -> float:
    """Return the greatest success at M = `bits` (any real number >= 0).

    Parameters
    ----------
    weights
        The law of the query, (n,), fractions that sum to 1.
    alphabet
        q >= 2.
    bits
        M, in bits; log2 N for N messages.

    Examples
    --------
    >>> round(rate_distortion([Fraction(1, 16)] * 16, 2, 8), 10)
    0.8899721356
    """
    law = _Law(weights, alphabet)
    if bits <= 0:
        return 1 / alphabet
    if bits >= law.live * log2(alphabet):
        return 1.0
    scale = law.solve(law.spent, bits * log(2), rising=True)
    return min(1.0, 1 / alphabet + law.gain(scale))


def needed_bits(weights: Sequence[Fraction], alphabet: int, success: Fraction) -> float:
    """Return the bits below which this wall forbids `success` (0 at or below chance)."""
    law = _Law(weights, alphabet)
    gain = success - Fraction(1, alphabet)
    if gain <= 0:
        return 0.0
    if success >= 1:
        return law.live * log2(alphabet)
    if gain < (1 - success):
        scale = law.solve(law.gain, float(gain), rising=True)
    else:
        scale = law.solve(law.wrong, float(1 - success), rising=False)
    return law.spent(scale) / log(2)
