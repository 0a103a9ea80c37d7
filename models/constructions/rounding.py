"""Arithmetic with t significand bits, every intermediate rounded to nearest even.

A number of t significand bits is an integer below 2^t times a power of two, the leading bit
counted: bfloat16 has 8, float16 has 11, float32 has 24. The exponent is not limited here.
Operations run in float64 and are rounded once more; for t <= 24 that gives the correctly
rounded sum, product and quotient, since 53 >= 2 t + 2 (Figueroa 1995). At t = 24 they run in
float32 itself, at t = 53 in float64.

The order of every sum is fixed: scalar products from the first coordinate to the last, sums
over positions as a balanced tree.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from statebound.errors import UsageError

Array = NDArray[Any]

FORMATS = {"bf16": 8, "fp16": 11, "fp32": 24, "fp64": 53}
LEAST, MOST = 2, 24


def round_to(x: Array, bits: int) -> Array:
    """Return float64 numbers rounded to `bits` significand bits, ties to even.

    Examples
    --------
    >>> round_to(np.array([257.0, 259.0, -0.1]), 8).tolist()
    [256.0, 260.0, -0.10009765625]
    """
    drop = np.uint64(53 - bits)
    if drop == 0:
        return x
    raw = np.ascontiguousarray(x, np.float64).view(np.uint64)
    last = (raw >> drop) & np.uint64(1)
    half = np.uint64((1 << (52 - bits)) - 1)
    kept = (raw + half + last) >> drop << drop  # a carry moves into the exponent, as it should
    rounded: Array = kept.view(np.float64).reshape(np.shape(x))
    return rounded


class Arithmetic:
    """Arithmetic at t significand bits.

    Parameters
    ----------
    bits
        t in 2..24, or 53; or a format's name.
    """

    def __init__(self, bits: int | str = 24) -> None:
        t = FORMATS.get(bits) if isinstance(bits, str) else bits
        if t is None or not (LEAST <= t <= MOST or t == 53):
            raise UsageError(
                "significand_bits",
                bits,
                f"must be {LEAST}..{MOST} or 53, or one of {', '.join(FORMATS)}",
                "pass 8, 11 or 24",
            )
        self.bits = t
        self.dtype = np.dtype(np.float32 if t == 24 else np.float64)

    def __call__(self, x: Array) -> Array:
        """Round."""
        x = np.asarray(x, np.float64)
        return x.astype(np.float32) if self.bits == 24 else round_to(x, self.bits)

    def _settle(self, x: Array) -> Array:
        return x if self.bits >= 24 else round_to(x, self.bits)

    def add(self, x: Array, y: Array) -> Array:
        """Return x + y."""
        return self._settle(x + y)

    def multiply(self, x: Array, y: Array) -> Array:
        """Return x y."""
        return self._settle(x * y)

    def divide(self, x: Array, y: Array) -> Array:
        """Return x / y."""
        return self._settle(x / y)

    def power(self, base: float, x: Array) -> Array:
        """Return base^x, by way of 2^(x log2 base)."""
        return self._settle(np.exp2(self._settle(x * self.dtype.type(np.log2(base)))))

    def dot(self, x: Array, y: Array) -> Array:
        """Sum x_r y_r over the first axis, r = 0, 1, ...; the other axes broadcast."""
        total = self.multiply(x[0], y[0])
        for r in range(1, len(x)):
            total = self.add(total, self.multiply(x[r], y[r]))
        return total

    def apply(self, x: Array, weight: Array) -> Array:
        """Return x W: (..., d) and (d, r) to (..., r), summed over d in order.

        Rows of W that are zero, or meet a zero of a single x, add nothing and are left out.
        """
        meets = weight.any(axis=1)
        rows = np.flatnonzero(meets & (x != 0) if x.ndim == 1 else meets)
        if not len(rows):
            return np.zeros((*x.shape[:-1], weight.shape[1]), self.dtype)
        weight = self(weight)
        total = self.multiply(x[..., rows[0], None], weight[rows[0]])
        for d in rows[1:]:
            total = self.add(total, self.multiply(x[..., d, None], weight[d]))
        return total

    def total(self, x: Array) -> Array:
        """Sum over the last axis as a balanced tree."""
        count = x.shape[-1]
        while count > 1:
            half = count // 2
            pairs = self.add(x[..., 0 : 2 * half : 2], x[..., 1 : 2 * half : 2])
            if count % 2:
                pairs = np.concatenate([pairs, x[..., count - 1 : count]], axis=-1)
            x, count = pairs, pairs.shape[-1]
        return x[..., 0]
