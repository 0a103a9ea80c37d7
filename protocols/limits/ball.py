"""The ball-filling bound: the sharpest simple wall on the average success.

N messages give Bob N words in [q]^n (private and public coins cannot help: success is
linear in them, so some fixed coins do as well). An error pattern e stands for at most
N (q-1)^|e| of the q^n equally likely answer vectors, each of which is answered wrongly
with probability c(e) = sum_k w_k e_k. Whatever Alice does, she places all q^n vectors,
so the expected error is at least that of filling the cheapest patterns first::

    s <= 1 - (1 / q^n) min { sum_e c(e) a_e : 0 <= a_e <= N (q-1)^|e|, sum_e a_e = q^n }

For equal weights and q = 2 this is 1 - (1/n) sum_t max(0, 1 - N V(n, t) / 2^n) with
V(n, t) = sum_{j<=t} C(n, j), the fair-coin converse of Kostina and Verdu (2012)
averaged over the distortion level; it is met exactly by perfect and quasi-perfect
codes. If x determines the answers many to one, with equally large fibres, both sides
scale alike.

The minimum is a linear programme, and its dual gives the inverse in closed form. With
C_i and S_i the count and the total cost of the layers up to i::

    minimum = max_i (c_i q^n - N G_i),   G_i = sum_{j<i} n_j (c_i - c_j)
                                             = c_i C_(i-1) - S_(i-1)

so an error d = 1 - s is allowed exactly when N >= (c_i - d) q^n / G_i for all i. The
binding i is the first layer whose ball has mean cost S_i / C_i >= d: the sign of
(minimum at N = q^n / C_i) - d q^n is that of S_i / C_i - d.

Everything is integers and fractions: no rounding, no underflow.
"""

from __future__ import annotations

from fractions import Fraction
from math import log2

from statebound.protocols.limits.patterns import Profile


def ball(costs: Profile, messages: int) -> Fraction:
    """Return the greatest success that the ball bound allows.

    Parameters
    ----------
    costs
        The cost profile of the query law.
    messages
        N >= 1, the number of possible messages, not necessarily a power of two.

    Examples
    --------
    >>> from statebound.protocols.limits.patterns import uniform
    >>> print(ball(uniform(23), 2**12))
    897/1024
    """
    needed = -(-costs.total // messages)
    inside = spent = 0
    for cost, count in costs.layers():
        if inside + count >= needed:
            error = cost * costs.total - messages * (cost * inside - spent)
            return 1 - Fraction(error, costs.unit * costs.total)
        inside += count
        spent += cost * count
    raise AssertionError("the layers hold every vector")


def needed_messages(costs: Profile, success: Fraction) -> int:
    """Return the least N whose ball reaches `success`, at most 1.

    It is 1 at or below chance. Where the wall is flat (queries of weight zero), the
    least N is returned; under rounded costs it is a lower bound of the exact one.
    """
    error = 1 - success
    if success <= costs.chance:
        return 1
    inside = spent = 0
    small = costs.unit.bit_length() < 1000  # else it does not fit a float
    clear = float(error * costs.unit) * (1 - 1e-9) if small else 0.0  # below: surely not enough
    for cost, count in costs.layers():
        ball_size, ball_cost = inside + count, spent + cost * count
        if small and ball_cost / ball_size < clear:
            inside, spent = ball_size, ball_cost
            continue
        if ball_cost * error.denominator >= error.numerator * costs.unit * ball_size:
            if not inside:
                return -(-costs.total // count)
            over = cost * error.denominator - error.numerator * costs.unit
            below = (cost * inside - spent) * error.denominator
            return max(1, -(-over * costs.total // below))
        inside, spent = ball_size, ball_cost
    return 1


def needed_bits(messages: int) -> float:
    """Return log2 of a number of messages, however long the integer is."""
    return log2(messages)
