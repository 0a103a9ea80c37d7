"""Intervals and tests for success measured on a sample, and the bits it certifies.

Two kinds of sample occur. One query per fresh x gives independent right-or-wrong
outcomes: Clopper-Pearson is exact. All queries of each fresh x give dependent outcomes
inside a block, but the block means are independent numbers in [0, 1] with one common
mean: the betting interval holds for them whatever their law.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statebound.errors import UsageError

Values = NDArray[np.float64]

CAP = 0.75
"""Largest part of the capital that one value may cost a bettor."""

FIRST = 1024
"""How many values the first epoch of a confidence sequence has."""

_HALVINGS = 44
"""Bisection steps: an end is found to within 2^-44."""


@dataclass(frozen=True)
class Interval:
    """An estimate with its two-sided confidence interval.

    Attributes
    ----------
    low, best, high
        ``low <= best <= high``; exact engines put one value into all three.
    level
        The probability with which [low, high] covers the truth, at least.
    """

    low: float
    best: float
    high: float
    level: float


def clopper_pearson(successes: int, trials: int, level: float = 0.95) -> Interval:
    """Return the exact interval for a probability from independent trials.

    The ends are the p at which the tail probabilities P(X >= successes) and
    P(X <= successes) of a binomial X equal (1 - level) / 2, as quantiles of beta laws
    (Clopper and Pearson, Biometrika 26, 1934). Coverage is at least `level` for every p;
    the numerical error of an end is about 1e-14.

    Raises
    ------
    UsageError
        When the counts or the level make no sense.

    Examples
    --------
    >>> found = clopper_pearson(0, 10)
    >>> found.low, round(found.high, 6)
    (0.0, 0.308497)
    """
    from scipy.special import betainccinv, betaincinv

    if trials < 1:
        raise UsageError("trials", trials, "must be at least 1", "draw a sample first")
    if not 0 <= successes <= trials:
        raise UsageError(
            "successes", successes, f"must be in 0..{trials}", "count successes among the trials"
        )
    tail = (1.0 - _checked_level(level)) / 2.0
    wrong = trials - successes
    low = float(betaincinv(successes, wrong + 1, tail)) if successes else 0.0
    high = float(betainccinv(successes + 1, wrong, tail)) if wrong else 1.0
    return Interval(low, successes / trials, high, level)


def betting_interval(values: ArrayLike, level: float = 0.95) -> Interval:
    """Return the hedged betting interval for the mean of independent values in [0, 1].

    Against each candidate mean m two bettors play, one on "more than m", one on "less":
    their capitals after t values are

        K+_t(m) = prod_{i<=t} (1 + min(L_i, c/m) (X_i - m)),
        K-_t(m) = prod_{i<=t} (1 - min(L_i, c/(1-m)) (X_i - m)),

    with c = `CAP`, so that neither is ever negative. The stake L_i may depend on
    X_1 .. X_(i-1) alone: L_i = sqrt(2 ln(2/a) / (n v_(i-1))), a = 1 - level, v the running
    variance (1/4 + sum_{j<=i} (X_j - mu_j)^2) / (i + 1) and mu the running mean
    (1/2 + sum_{j<=i} X_j) / (i + 1) (Waudby-Smith and Ramdas, "Estimating means of bounded
    random variables by betting", JRSS-B 86, 2024).

    Validity: at the true mean each factor has conditional mean 1, so both capitals are
    nonnegative martingales that start at 1, and so is their half-and-half mixture. By Ville's
    inequality the mixture ever reaches 1/a with probability at most a; each half of it
    being no larger, so does max(K+, K-) with 2/a. The interval holds the m for which neither
    capital has reached 2/a at any t <= n. In m, every factor of K+ falls (1 + L (X - m)
    where m <= c/L, 1 - c + c X / m beyond) and every factor of K- rises, so the set is an
    interval and bisection finds its ends. It is widened where needed to hold the sample
    mean, which can only raise the coverage.

    Only a common conditional mean given the past is needed. The values count in the order
    given, which must be fixed beforehand: sorting them would break the proof.

    Parameters
    ----------
    values
        (n,) numbers in [0, 1], such as the success of each block, in block order.
    level
        The coverage, in (0, 1).

    Returns
    -------
    The interval about the sample mean; ends are rounded outwards to within 2^-44.

    Examples
    --------
    >>> found = betting_interval([0.5, 1.0, 0.75, 0.5] * 64)
    >>> round(found.low, 3), found.best, round(found.high, 3)
    (0.654, 0.6875, 0.723)
    """
    return _interval(values, level, watched=False)


def confidence_sequence(values: ArrayLike, level: float = 0.95) -> Interval:
    """Return an interval that holds however the number of values was decided on.

    Numbers of values fall into epochs: up to n_0 = `FIRST`, then up to n_1 = 2 n_0, n_2 = 4 n_0,
    and so on. In epoch j the bettors of `betting_interval` play for n_j values, whatever comes of
    it, at a_j = (1 - level) 6 / (pi^2 (j + 1)^2). By Ville's inequality the truth is refuted at
    any time by those of epoch j with probability at most a_j, and the a_j add up to 1 - level: so
    the intervals at all times hold at once (a union over epochs, as where boundaries are
    stitched: Howard, Ramdas, McAuliffe and Sekhon, Annals of Statistics 49, 2021). One may thus
    look at the width after every block, and stop when it is narrow enough. The price is a width
    that grows with sqrt(ln(2 / a_j)): a tenth more at 1,024 values, two thirds at a million.

    Examples
    --------
    >>> found = confidence_sequence([0.5, 1.0, 0.75, 0.5] * 1024)
    >>> round(found.low, 4), found.best, round(found.high, 4)
    (0.6761, 0.6875, 0.6991)
    """
    return _interval(values, level, watched=True)


def _epoch(n: int, error: float) -> tuple[int, float]:
    """Return for how many values one plays who stops at n of them, and at which error."""
    j = (-(-n // FIRST) - 1).bit_length()
    return FIRST << j, error * 6.0 / (math.pi * (j + 1)) ** 2


def _interval(values: ArrayLike, level: float, *, watched: bool) -> Interval:
    x = _checked_values(values)
    planned, error = len(x), 1.0 - _checked_level(level)
    if watched:
        planned, error = _epoch(planned, error)
    goal = math.log(2.0 / error)
    stakes = _stakes(x, goal, planned)
    mean = float(x.mean())
    low = _end(lambda m: _reaches(x, m, stakes, goal), mean)
    # the other bettor is the first one playing on 1 - X
    high = 1.0 - _end(lambda m: _reaches(1.0 - x, m, stakes, goal), 1.0 - mean)
    return Interval(min(low, mean), mean, max(high, mean), level)


def student_interval(values: ArrayLike, level: float = 0.95) -> Interval:
    """Return Student's interval for a mean: approximate, and exact for normal values.

    Raises
    ------
    UsageError
        When there are fewer than two values.

    Examples
    --------
    >>> found = student_interval([1.0, 3.0])
    >>> round(found.low, 3), found.best
    (-10.706, 2.0)
    """
    from scipy.special import stdtrit

    x = np.asarray(values, np.float64)
    if len(x) < 2:
        raise UsageError("values", len(x), "must be at least 2", "measure more pieces")
    tail = float(stdtrit(len(x) - 1, (1.0 + _checked_level(level)) / 2.0))
    mean, off = float(x.mean()), tail * float(x.std(ddof=1)) / math.sqrt(len(x))
    return Interval(mean - off, mean, mean + off, level)


def exceeds(
    values: ArrayLike, wall: float | Fraction, error: float, *, watched: bool = False
) -> bool:
    """Whether the values prove that their mean is above `wall`.

    A bettor on "more" plays against `wall` with the stakes of `betting_interval` at
    ln(1/error). Where the conditional mean of each value is at most `wall`, his
    capital is a nonnegative supermartingale that starts at 1, so by Ville's inequality it
    reaches 1/error with probability at most `error`. To test R rows at once pass error / R.

    Parameters
    ----------
    values
        (n,) numbers in [0, 1], in an order fixed beforehand.
    wall
        The claimed largest mean, in [0, 1].
    error
        The probability of a false alarm, in (0, 1).
    watched
        Whether the number of values was decided on while they came: stakes and error are then
        those of an epoch of `confidence_sequence`.

    Returns
    -------
    True only if the capital ever reached 1/error.

    Examples
    --------
    >>> exceeds([1.0] * 64, 0.5, 1e-6), exceeds([1.0] * 64, 1, 1e-6)
    (True, False)
    """
    x = _checked_values(values)
    bar = float(wall)
    if not 0.0 <= bar <= 1.0:
        raise UsageError("wall", wall, "must be in [0, 1]", "pass a probability")
    if not 0.0 < error < 1.0:
        raise UsageError("error", error, "must be in (0, 1)", "pass a false-alarm rate like 1e-6")
    planned = len(x)
    if watched:
        planned, error = _epoch(planned, error)
    goal = -math.log(error)
    return _reaches(x, bar, _stakes(x, goal, planned), goal)


def binary_entropy(p: float) -> float:
    """Return h(p) = -p log2 p - (1 - p) log2(1 - p), with h(0) = h(1) = 0.

    Examples
    --------
    >>> binary_entropy(0.5), binary_entropy(1.0)
    (1.0, 0.0)
    """
    if not 0.0 <= p <= 1.0:
        raise UsageError("p", p, "must be in [0, 1]", "pass a probability")
    if p in (0.0, 1.0):
        return 0.0
    return -(p * math.log2(p) + (1.0 - p) * math.log1p(-p) / math.log(2.0))


def certified_bits(low_average: float, n: int) -> float:
    """Return the bits that an average success over n independent fair answers proves.

    I(x; message) >= sum_k I(A_k; message) >= sum_k (1 - h(s_k)) >= n (1 - h(s)) for
    independent fair bits A_k, success s_k on query k and s = average of the s_k >= 1/2
    (Fano's inequality per query, then concavity of h). A lower end below 1/2 certifies nothing.

    Parameters
    ----------
    low_average
        Lower end of an interval for the success under uniform queries.
    n
        How many independent fair answers the problem has.

    Examples
    --------
    >>> certified_bits(1.0, 12), certified_bits(0.3, 12)
    (12.0, 0.0)
    """
    if n < 0:
        raise UsageError("n", n, "must be at least 0", "pass the number of answers")
    return n * max(0.0, 1.0 - binary_entropy(max(0.5, low_average)))


def certified_bits_by_query(lows: Sequence[float]) -> float:
    """Return the bits that success on each of n independent fair answers proves.

    sum_k (1 - h(max(1/2, low_k))), see `certified_bits`. All lower ends must hold at once:
    for certainty 1 - a make each at level 1 - a / n (Bonferroni).

    Examples
    --------
    >>> certified_bits_by_query([1.0, 0.5, 0.2])
    1.0
    """
    return math.fsum(certified_bits(low, 1) for low in lows)


def _checked_level(level: float) -> float:
    if not 0.0 < level < 1.0:
        raise UsageError("level", level, "must be in (0, 1)", "pass a coverage like 0.95")
    return level


def _checked_values(values: ArrayLike) -> Values:
    x = np.asarray(values, np.float64)
    if x.ndim != 1 or not x.size:
        raise UsageError("values", x.shape, "must be a list of numbers", "pass one value a block")
    if not bool(((x >= 0.0) & (x <= 1.0)).all()):
        raise UsageError("values", "numbers", "must all be in [0, 1]", "pass success rates")
    return x


def _stakes(x: Values, goal: float, planned: int) -> Values:
    """Return L_1 .. L_n, each a function of the values before it and of how many are planned."""
    n = len(x)
    seen = np.arange(2.0, n + 2.0)
    centre = (0.5 + np.cumsum(x)) / seen
    variance = np.empty(n)
    variance[0] = 0.25
    variance[1:] = ((0.25 + np.cumsum((x - centre) ** 2)) / seen)[:-1]
    stakes: Values = np.sqrt(2.0 * goal / (planned * variance))
    return stakes


def _reaches(x: Values, m: float, stakes: Values, goal: float) -> bool:
    """Whether the capital bet on "more than m" ever reaches exp(goal)."""
    played = np.minimum(stakes, CAP / m) if m > 0.0 else stakes
    return bool(np.cumsum(np.log1p(played * (x - m))).max() >= goal)


def _end(refuted: Callable[[float], bool], mean: float) -> float:
    """Return the largest refuted m in [0, mean] to 2^-44, or 0 where 0 is not refuted."""
    if mean <= 0.0 or not refuted(0.0):
        return 0.0
    low, high = 0.0, mean
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        if refuted(middle):
            low = middle
        else:
            high = middle
    return low
