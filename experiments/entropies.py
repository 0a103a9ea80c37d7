"""Entropy from counts: five closed-form estimators, in bits.

For samples only. Where all inputs are enumerated the plug-in value is the entropy itself.
Every estimator is badly biased where samples are few against the number of values (the
plug-in value never exceeds log2 N), so these describe; they certify nothing.

Estimators take the counts of the values seen, zeros allowed, and depend on the counts
only through how often each count occurs, so they work on that.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statebound.errors import UsageError

Estimator = Callable[[ArrayLike], float]


def plug_in(counts: ArrayLike) -> float:
    """Return -sum p log2 p for the observed frequencies p: the maximum-likelihood value.

    Biased downwards, by about (K - 1) / (2 N ln 2) bits for K values and N samples.

    Examples
    --------
    >>> plug_in([2, 1, 1])
    1.5
    """
    c, times, n = _profile(counts)
    return max(0.0, math.log2(n) - float((times * c * np.log2(c)).sum()) / n)


def miller_madow(counts: ArrayLike) -> float:
    """Return the plug-in value plus (K_seen - 1) / (2 N) nats (Miller 1955).

    Examples
    --------
    >>> round(miller_madow([2, 1, 1]) - 1.5, 6) == round(0.25 / math.log(2), 6)
    True
    """
    _, times, n = _profile(counts)
    return plug_in(counts) + (int(times.sum()) - 1) / (2 * n * math.log(2))


def chao_shen(counts: ArrayLike) -> float:
    """Return the coverage-adjusted Horvitz-Thompson value (Chao and Shen 2003).

    -sum q log2 q / (1 - (1 - q)^N) over the values seen, with q = C c / N and the coverage
    C = 1 - f_1 / N, f_1 the number of values seen once. If all were seen once, C would be 0;
    f_1 = N - 1 is then taken.
    """
    c, times, n = _profile(counts)
    once = int(times[c == 1].sum())
    coverage = 1.0 - (once - (once == n)) / n
    q = coverage * c / n
    # a q of 1 means that one value is all there is
    seen = -np.expm1(n * np.log1p(-np.minimum(q, 1.0 - 1e-16)))
    return float(abs((times * q * np.log2(q) / seen).sum()))


def grassberger(counts: ArrayLike) -> float:
    """Return log2 N - (1/N) sum c G(c) / ln 2 (Grassberger, arXiv:physics/0307138).

    G(c) = psi(c) + (-1)^c (psi((c+1)/2) - psi(c/2)) / 2, which is -gamma - ln 2 at 1, adds
    2 / (2 m + 1) from 2 m to 2 m + 2, and is the same at 2 m + 1 as at 2 m.
    """
    from scipy.special import digamma

    c, times, n = _profile(counts)
    sign = 1.0 - 2.0 * (c % 2)
    g = digamma(c) + sign * (digamma((c + 1) / 2) - digamma(c / 2)) / 2
    return math.log2(n) - float((times * c * g).sum()) / (n * math.log(2))


def jackknife(counts: ArrayLike) -> float:
    """Return N H - (N - 1) mean of H with one sample left out, H the plug-in value.

    Leaving out a sample turns one count c into c - 1; there are c such samples for
    each value. Removes the bias of order 1/N (Quenouille 1956; Zahl 1977).
    """
    c, times, n = _profile(counts)
    if n == 1:
        return 0.0
    total = float((times * _c_log_c(c)).sum())
    changed = total - _c_log_c(c) + _c_log_c(c - 1)
    left_out = math.log2(n - 1) - changed / (n - 1)
    mean = float((times * c * left_out).sum()) / n
    return n * (math.log2(n) - total / n) - (n - 1) * mean


ESTIMATORS: dict[str, Estimator] = {
    "plug_in": plug_in,
    "miller_madow": miller_madow,
    "chao_shen": chao_shen,
    "grassberger": grassberger,
    "jackknife": jackknife,
}
"""Every estimator by name."""


def mutual_information(table: ArrayLike, estimator: Estimator = plug_in) -> float:
    """Return H(rows) + H(columns) - H(cells) of a contingency table, in bits.

    Only the plug-in value is never negative. Subtracting estimates adds up their biases: at
    few samples a table of independent variables shows many bits.

    Parameters
    ----------
    table
        (A, B) counts.
    estimator
        Used for all three entropies.

    Examples
    --------
    >>> mutual_information([[5, 0], [0, 5]])
    1.0
    """
    cells = np.asarray(table)
    if cells.ndim != 2:
        raise UsageError("table", cells.shape, "must have two axes", "pass counts (A, B)")
    return estimator(cells.sum(axis=1)) + estimator(cells.sum(axis=0)) - estimator(cells.ravel())


def _c_log_c(c: NDArray[np.float64]) -> NDArray[np.float64]:
    result: NDArray[np.float64] = c * np.log2(np.maximum(c, 1.0))
    return result


def _profile(counts: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.int64], int]:
    """Return the distinct positive counts, how often each occurs, and their total N."""
    c = np.asarray(counts)
    if c.ndim != 1 or not np.issubdtype(c.dtype, np.integer) or bool((c < 0).any()):
        raise UsageError("counts", c.shape, "must be whole numbers >= 0", "pass a list of counts")
    values, times = np.unique(c[c > 0], return_counts=True)
    if not len(values):
        raise UsageError("counts", "all zero", "hold no sample", "count at least one sample")
    return values.astype(np.float64), times, int((values * times).sum())
