r"""The width-W ball: a proved wall on streaming success that needs no search over answers.

**Statement.** Read x in {0,1}^n once with at most W states after every step. With
A = sum_s sum_k |E[(-1)^{x_k} 1_s]| over the final states s (Bob answers best), success
is 1/2 + A / (2 n). Call an event *width-W* if such a machine can decide it by its last
state, and let

    J(lambda) = max over width-W events g of  sum_k |E[(-1)^{x_k} 1_g]| - lambda P(g).

Then A <= W J(lambda) + lambda for every lambda >= 0.

**Proof.** Being in final state s is a width-W event, so sum_k |E[(-1)^{x_k} 1_s]| <=
J(lambda) + lambda P(s). Sum over the W states; their probabilities sum to 1. QED.
(Without the limit on the width the same steps give the ball of all messages. At W = 2
the two events are complements and the best lambda gives the optimum itself.)

**J by a game in the plane.** As in the exact game, work backwards: a state is a point
(p, q), p the probability that the event will hold, q the sum over the symbols read
after it of |E[(-1)^{x_k} 1_g | state]| less lambda p. Final states are (0, 0) and
(1, -lambda); reading a symbol replaces the W points by W midpoints
((p_a + p_b)/2, (q_a + q_b)/2 + |p_a - p_b|/2): the sign of each symbol's term is free,
as it can be set by the order of a and b. J is the largest q of the start state after n
steps. For fixed pairs the last q is convex in every point and rises with q, so only
the vertices of the upper hull of the midpoints need be tried, and where fewer than W
remain, all. Mirroring p -> 1 - p changes no later q (lambda sits in q already). With m
symbols left and unlimited memory the value is at most

    U = E_x max_g [q_g + p_g (x_1 + ... + x_m)],  x uniform on {-1, 1}^m.

**Exactness.** lambda = L / 2^(r+1); then 2^(d+r) p and 2^(d+r+1) q after d steps are
integers, and so is U. The search drops a position where U is at most `slack` above the
best value reached, so J <= best + slack, and the bound returned is a Fraction without
rounding. lambda is found by bisection on a truncated search (where P(g) W < 1 at the
maximiser, the line above g rises with lambda); whatever lambda comes out is valid.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import comb

import numpy as np
from numpy.typing import NDArray

from statebound.errors import StateboundError, UsageError
from statebound.jit import kernel

Ints = NDArray[np.int64]

_DIGITS = 29  # n + r: products of two coordinates must fit 64 bits
_FINEST = 10
_STEEPEST = 4  # lambda stays below, so scaled 2 q stays within 14 units and products fit
_CHUNK = 256
_BEAM = 200
_LIMIT = 1_000_000


@kernel
def _plane(
    points: Ints, n: int, d: int, r: int, binom: Ints, reached: int, slack: int, out: Ints
) -> tuple[int, int, int]:
    """Expand positions (B, 2, W) of scaled p and q after d steps to out (., 2 W + 1).

    Returns the number of children, the best final value and the p of that state.
    """
    W = points.shape[2]
    K = W * (W + 1) // 2
    p = np.empty(K, np.int64)
    q = np.empty(K, np.int64)
    pick = np.empty(W, np.int64)
    m = n - d - 1
    whole = 1 << (d + 1 + r)
    count, chance = 0, -1
    for s in range(points.shape[0]):
        size = 0
        for a in range(W):
            for b in range(a, W):
                u = points[s, 0, a] + points[s, 0, b]
                gap = abs(points[s, 0, a] - points[s, 0, b])
                v = points[s, 1, a] + points[s, 1, b] + 2 * gap
                at = size
                while at > 0 and (p[at - 1] > u or (p[at - 1] == u and q[at - 1] < v)):
                    p[at], q[at] = p[at - 1], q[at - 1]
                    at -= 1
                p[at], q[at] = u, v
                size += 1
        hull = 0
        for i in range(size):
            u, v = p[i], q[i]
            if hull and p[hull - 1] == u:
                continue
            while hull >= 2:
                left, right = hull - 2, hull - 1
                rise = (q[right] - q[left]) * (u - p[left])
                if rise > (v - q[left]) * (p[right] - p[left]):
                    break
                hull -= 1
            p[hull], q[hull] = u, v
            hull += 1
        take = min(W, hull)
        for i in range(take):
            pick[i] = i
        at = 0
        while at >= 0:
            value = 0
            for j in range(m + 1):
                top = -(1 << 62)
                for i in range(take):
                    g = pick[i]
                    top = max(top, q[g] + (m - 2 * j) * (2 * p[g] - whole))
                value += binom[m, j] * top
            if value > reached + slack or (m == 0 and value > reached):
                if m == 0:
                    reached = value
                    for i in range(take):
                        if q[pick[i]] == value:
                            chance = p[pick[i]]
                else:
                    mirror = False
                    for i in range(take):
                        g, h = pick[i], pick[take - 1 - i]
                        u, v = p[g] - (whole - p[h]), q[g] - q[h]
                        if u != 0 or v != 0:
                            mirror = u > 0 or (u == 0 and v > 0)
                            break
                    for i in range(W):
                        g = pick[min(i, take - 1)]
                        if mirror:
                            g = pick[take - 1 - min(i, take - 1)]
                        out[count, i] = whole - p[g] if mirror else p[g]
                        out[count, W + i] = q[g]
                    out[count, 2 * W] = value
                    count += 1
            at = take - 1
            while at >= 0 and pick[at] == hull - take + at:
                at -= 1
            if at >= 0:
                pick[at] += 1
                for i in range(at + 1, take):
                    pick[i] = pick[i - 1] + 1
    return count, reached, chance


@dataclass(frozen=True)
class WidthBall:
    """The bound A <= W J + lambda at one lambda, with J in upper bound.

    Attributes
    ----------
    n, states
        The length of the strings and W.
    slope, value
        lambda, and a number that J(lambda) is proved not to exceed.
    """

    n: int
    states: int
    slope: Fraction
    value: Fraction

    @property
    def success(self) -> Fraction:
        """The wall on success."""
        return Fraction(1, 2) + (self.states * self.value + self.slope) / (2 * self.n)


def _search(
    n: int, states: int, slope: int, r: int, reached: int, slack: int, width: int | None
) -> tuple[int, int]:
    """Search the plane at 2^(r+1) lambda = `slope`; return 2^(n+r+1) J and 2^(n+r) p.

    With `width` only so many positions are kept a layer, which gives a lower value.
    """
    binom = np.array([[comb(a, j) for j in range(n + 1)] for a in range(n + 1)], np.int64)
    W = states
    layer = np.zeros((1, 2, W), np.int64)
    layer[0, 0, 1:], layer[0, 1, 1:] = 1 << r, -slope
    room = np.empty((_CHUNK * comb(W * (W + 1) // 2, W), 2 * W + 1), np.int64)
    chance = 0
    for d in range(n):
        parts = []
        for at in range(0, len(layer), _CHUNK):
            count, reached, p = _plane(
                layer[at : at + _CHUNK], n, d, r, binom, reached, slack, room
            )
            chance = p if p >= 0 else chance
            parts.append(room[:count].copy())
        rows = np.concatenate(parts)
        rows = rows[np.lexsort(rows.T)]
        rows = rows[np.append(True, (rows[1:] != rows[:-1]).any(axis=1))[: len(rows)]]
        if width is not None:
            rows = rows[np.argsort(-rows[:, -1], kind="stable")[:width]]
        elif len(rows) > _LIMIT:
            raise StateboundError(
                f"the width-{W} ball at n = {n} needs more than {_LIMIT} positions a step; "
                "pass a larger slack or a smaller n"
            )
        if not len(rows):
            break
        layer = np.ascontiguousarray(rows[:, :-1]).reshape(-1, 2, W)
    return reached, chance


def width_ball(n: int, states: int, slack: Fraction = Fraction(1, 2**20)) -> WidthBall:
    """Return the width-W ball, a proved upper bound on streaming success.

    Parameters
    ----------
    n
        Length of the strings, 1..26.
    states
        W, 2, 3 or 4.
    slack
        How much J may be overstated for the sake of speed, >= 0; success is then
        overstated by at most W slack / (2 n).

    Raises
    ------
    UsageError
        When an argument is out of range.
    StateboundError
        When the search grows too large.

    Examples
    --------
    >>> float(width_ball(6, 3).success) < 0.6953125
    False
    """
    if states not in (2, 3, 4):
        raise UsageError("states", states, "must be 2, 3 or 4", "pass one of them")
    if not 1 <= n <= _DIGITS - 3:
        raise UsageError("n", n, f"must be in 1..{_DIGITS - 3}", "pass a smaller n")
    if slack < 0:
        raise UsageError("slack", slack, "must not be negative", "pass 0 or more")
    r = min(_FINEST, _DIGITS - n)
    low, high = -1, _STEEPEST << (r + 1)
    tried: dict[int, int] = {}
    while high - low > 1:
        slope = (low + high) // 2 if tried else 0
        value, p = _search(n, states, slope, r, -(1 << 60), 0, _BEAM)
        tried[slope] = value
        if states * min(p, (1 << (n + r)) - p) > 1 << (n + r):
            low = slope
        else:
            high = slope
    slope = min(tried, key=lambda at: states * tried[at] + (at << n))
    allowed = int(slack * (1 << (n + r + 1)))
    value, _ = _search(n, states, slope, r, tried[slope], allowed, None)
    return WidthBall(
        n, states, Fraction(slope, 2 << r), Fraction(value + allowed, 1 << (n + r + 1))
    )
