"""Upper bounds on the average success of a 0/1 problem given by its distinct answer rows.

Inputs (rows) and queries (columns) are uniform and independent; nothing else is assumed. N is
the number of possible messages, and Bob may know everything but x. Coins, private or
shared, do not raise the average: the best outcome of the coins does as well.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statebound.errors import UsageError
from statebound.protocols.limits.ball import ball as sphere
from statebound.protocols.limits.matrix_measures import Matrix
from statebound.protocols.limits.patterns import uniform

MOST_INPUTS = 1 << 20
"""Largest number of rows."""

MOST_BALL_QUERIES = 20
"""Largest number of columns for which all 2^|Y| centres of a ball are tried."""

_SLACK = 1e-12
"""Added to bounds that are computed in floats, above their rounding errors."""


@dataclass(frozen=True)
class Rows:
    """The distinct rows of an answer matrix with their multiplicities.

    Attributes
    ----------
    rows
        (R, |Y|) zeros and ones, all different.
    counts
        (R,) how many inputs have each row.
    """

    rows: Matrix
    counts: NDArray[np.int64]

    @property
    def inputs(self) -> int:
        """The number |X| of inputs."""
        return int(self.counts.sum())

    @property
    def queries(self) -> int:
        """The number |Y| of queries."""
        return int(self.rows.shape[1])


def distinct_rows(matrix: Matrix) -> Rows:
    """Group equal rows; the rows come out in a fixed order.

    Raises
    ------
    UsageError
        When the matrix is empty, too large or not 0/1.
    """
    checked = np.asarray(matrix)
    if checked.ndim != 2 or not checked.size:
        raise UsageError(
            "matrix", checked.shape, "must have rows and columns", "pass an (X, Y) array"
        )
    if len(checked) > MOST_INPUTS:
        raise UsageError("matrix", checked.shape, "has more than 2^20 rows", "pass fewer inputs")
    if not bool(((checked == 0) | (checked == 1)).all()):
        raise UsageError("matrix", "entries", "must all be 0 or 1", "pass the answers as 0 and 1")
    bits = np.ascontiguousarray(checked, np.uint8)
    packed = np.packbits(bits, axis=1)
    if packed.shape[1] <= 8:
        wide = np.zeros((len(packed), 8), np.uint8)
        wide[:, 8 - packed.shape[1] :] = packed
        keys: NDArray[Any] = wide.view(">u8")[:, 0].astype(np.uint64)
    else:
        keys = packed.view(np.dtype((np.void, packed.shape[1])))[:, 0]
    _, first, counts = np.unique(keys, return_index=True, return_counts=True)
    return Rows(bits[first], counts.astype(np.int64))


def one_way_cost(rows: Rows) -> int:
    """Return the deterministic one-way cost ceil(log2 #distinct rows), exactly.

    Two inputs with different rows need different messages, and the number of the row is
    enough (Yao 1979; Kushilevitz and Nisan, "Communication Complexity", section 4.2).
    """
    return (len(rows.rows) - 1).bit_length()


def row_entropy(rows: Rows) -> float:
    """Return H(Z) in bits, Z the answer row of a uniform input."""
    p = rows.counts / rows.inputs
    return math.log2(rows.inputs) - float((p * np.log2(rows.counts)).sum())


def chance(rows: Rows) -> Fraction:
    """Return the best success without a message: the commoner answer to each query."""
    ones = rows.counts @ rows.rows.astype(np.int64)
    best = int(np.maximum(ones, rows.inputs - ones).sum())
    return Fraction(best, rows.inputs * rows.queries)


def all_correct(rows: Rows, messages: int) -> Fraction:
    """Return the best probability that all queries are right at once, exactly.

    A message fixes one vector of answers, so N messages serve at best the N commonest rows.
    """
    best = np.sort(rows.counts)[::-1][: min(messages, len(rows.counts))]
    return Fraction(int(best.sum()), rows.inputs)


def fano(rows: Rows, messages: int) -> float:
    """Return the Fano bound on the average success, rounded up.

    log2 N >= I(Z; message) = H(Z) - H(Z | message) >= H(Z) - sum_y H(Z_y | message)
    >= H(Z) - sum_y h(e_y) >= H(Z) - |Y| h(e), e the average error, by Fano's inequality for one
    bit and concavity. So h(e) >= (H(Z) - log2 N) / |Y|, which bounds e from below.
    """
    need = (row_entropy(rows) - math.log2(messages)) / rows.queries - _SLACK
    return min(1.0, 1.0 - _least_error(need))


def ball(rows: Rows, messages: int) -> Fraction | None:
    """Return the ball bound on the average success, exactly; None beyond 20 queries.

    Bob's best answers to message m are one vector g_m, so x has error d(row_x, g_m) / |Y|.
    At most B(t) = max_g #{x : d(row_x, g) <= t} inputs are within t of one g, hence at most
    N B(t) within t of any, and E[d] = sum_{t < |Y|} P(d > t)
    >= sum_t max(0, 1 - N B(t) / |X|). For independent fair answers the rows fill the cube
    evenly, B(t) / |X| is the share of a Hamming ball, and this is the limit of Index.
    """
    if rows.queries > MOST_BALL_QUERIES:
        return None
    within = _largest_balls(rows)
    missed = sum(
        max(Fraction(0), 1 - Fraction(messages * size, rows.inputs))
        for size in within[: rows.queries]
    )
    return 1 - Fraction(missed) / rows.queries


def spectral(rows: Rows, messages: int, norm: float) -> float:
    """Return the spectral bound on the average success, rounded up.

    With S = (-1)^f and message classes X_m, the advantage is
    2 s - 1 = sum_m 1_(X_m)' S b_m / (|X| |Y|) with b_m in {-1, 1}^Y, each term at most
    sqrt(|X_m|) ||S|| sqrt|Y|, and sum_m sqrt|X_m| <= sqrt(N |X|) by Cauchy-Schwarz: so
    s <= 1/2 + sqrt(N) ||S|| / (2 sqrt(|X| |Y|)), Lindsey's lemma summed over messages.

    Parameters
    ----------
    rows, messages
        The problem and N.
    norm
        ||S|| or anything larger, see `matrix_measures.spectral_norm`.
    """
    # beyond the number of inputs more messages cannot help
    share = math.sqrt(min(messages, rows.inputs)) * norm / math.sqrt(rows.inputs * rows.queries)
    return min(1.0, 0.5 + 0.5 * share + _SLACK)


def index_ball(n: int, messages: int) -> Fraction:
    """Return the ball bound of Index on n bits, exactly; 1 for n = 0.

    Where n columns are shattered, the problem contains Index_n: for every x in {0, 1}^n some
    row spells x there. The worst-case success with shared coins is at most the average
    success on those inputs and columns, hence at most what the ball allows on Index_n. The
    link with VC dimension: Kremer, Nisan and Ron, Computational Complexity 8, 1999.
    """
    return sphere(uniform(n), messages) if n else Fraction(1)


def two_way_randomised(discrepancy: float | None, error: Fraction) -> float | None:
    """Return the discrepancy bound log2((1 - 2 e) / disc) on two-way cost with shared coins.

    A protocol of c bits splits the matrix into 2^c rectangles, and its advantage 1 - 2 e is
    at most the sum of their biases, 2^c disc (Kushilevitz and Nisan, section 3.5). An upper
    bound on the discrepancy keeps this valid; a negative value is raised to 0.
    """
    if discrepancy is None:
        return None
    return max(0.0, math.log2(float(1 - 2 * error) / discrepancy) - _SLACK)


def _least_error(need: float) -> float:
    """Return an e in [0, 1/2] with h(e) <= need, the largest such to 2^-50."""
    low, high = 0.0, 0.5
    for _ in range(50):
        e = (low + high) / 2
        entropy = -(e * math.log2(e) + (1 - e) * math.log1p(-e) / math.log(2))
        low, high = (e, high) if entropy <= need else (low, e)
    return low


def _largest_balls(rows: Rows) -> list[int]:
    """Return B(t) for t = 0 .. |Y|.

    Layer j holds, for every centre g, the number of inputs at distance j, built one
    coordinate at a time: agreeing there leaves the layer, differing raises it by one.
    Exact integers, O(|Y|^2 2^|Y|) additions.
    """
    n = rows.queries
    place = rows.rows.astype(np.int64) @ (np.int64(1) << np.arange(n, dtype=np.int64))
    layers = np.zeros((n + 1, 1 << n), np.int32)
    layers[0, place] = rows.counts
    for i in range(n):
        cube = layers.reshape(n + 1, -1, 2, 1 << i)
        for j in range(i + 1, 0, -1):
            cube[j] += cube[j - 1, :, ::-1]
    within = np.zeros(1 << n, np.int32)
    best = []
    for layer in layers:
        within += layer
        best.append(int(within.max()))
    return best
