"""The walk over all codes of four words behind `two_bit.exhaustive`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from statebound.jit import kernel

Counts = NDArray[np.int64]

# Sign of word m (row) in a column of each type: word t apart for t < 4, then 01|23,
# 02|13 and 03|12.
_SIGNS = np.array(
    [
        [-1, 1, 1, 1, 1, 1, 1],
        [1, -1, 1, 1, 1, -1, -1],
        [1, 1, -1, 1, -1, 1, -1],
        [1, 1, 1, -1, -1, -1, 1],
    ],
    np.int64,
)


@kernel
def _value(counts: Counts, signs: Counts, pascal: Counts, low: Counts) -> int:
    """Return 2^n E max_m <y_m, x> for these column counts (7,); `low` is scratch (7,)."""
    low[:] = 0
    total = 0
    while True:
        ways = 1
        m0 = m1 = m2 = m3 = 0
        for t in range(7):
            ways *= pascal[counts[t], low[t]]
            s = counts[t] - 2 * low[t]
            m0 += signs[0, t] * s
            m1 += signs[1, t] * s
            m2 += signs[2, t] * s
            m3 += signs[3, t] * s
        total += ways * max(m0, m1, m2, m3)
        t = 0
        while t < 7 and low[t] == counts[t]:
            low[t] = 0
            t += 1
        if t == 7:
            return total
        low[t] += 1


@kernel
def _walk(n: int, signs: Counts, pascal: Counts) -> int:
    """Return the greatest `_value`; renaming words sorts the first four counts."""
    counts = np.zeros(7, np.int64)
    low = np.zeros(7, np.int64)
    best = 0
    for a in range(n + 1):
        for b in range(min(a, n - a) + 1):
            for c in range(min(b, n - a - b) + 1):
                for d in range(min(c, n - a - b - c) + 1):
                    rest = n - a - b - c - d
                    for e in range(rest + 1):
                        for f in range(rest - e + 1):
                            counts[0], counts[1], counts[2], counts[3] = a, b, c, d
                            counts[4], counts[5], counts[6] = e, f, rest - e - f
                            best = max(best, _value(counts, signs, pascal, low))
    return best


def best(n: int) -> int:
    """Return 2^n max E max_m <y_m, x> over all codes of four words of n bits, n <= 24."""
    pascal = np.zeros((n + 1, n + 1), np.int64)
    for i in range(n + 1):
        pascal[i, 0] = 1
        for j in range(1, i + 1):
            pascal[i, j] = pascal[i - 1, j - 1] + pascal[i - 1, j]
    return int(_walk(n, _SIGNS, pascal))
