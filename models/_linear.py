"""Matrix products whose arithmetic on a row does not depend on the other rows.

BLAS may sum in another order for another batch size, which would make a state depend on
who else is in the batch. Here every output is a chain of fused multiply-adds over the
inputs in their order, starting from the bias.
"""

from __future__ import annotations

import numpy as np

from statebound.jit import fma, kernel
from statebound.models._cell import Array

COLUMNS = 256  # that go through a product together: they stay in the nearest cache


@kernel
def _product(W: Array, b: Array, x: Array, out: Array) -> None:
    """Compute out (O, R) = W (O, I) x (I, R) + b (O), some columns after the others.

    Those columns of x are copied next to each other: rows of x may lie a power of two
    apart, which would crowd them into the same sets of the cache.
    """
    outputs, inputs = W.shape
    R = x.shape[1]
    near = np.empty((inputs, COLUMNS), x.dtype)
    for first in range(0, R, COLUMNS):
        width = min(COLUMNS, R - first)
        for i in range(inputs):
            for r in range(width):
                near[i, r] = x[i, first + r]
        for o in range(outputs):
            row = out[o, first : first + width]
            for r in range(width):
                row[r] = b[o]
            i = 0
            while i + 4 <= inputs:  # four at a time keeps sums in registers; the order is the same
                w0, w1, w2, w3 = W[o, i], W[o, i + 1], W[o, i + 2], W[o, i + 3]
                x0, x1, x2, x3 = near[i], near[i + 1], near[i + 2], near[i + 3]
                for r in range(width):
                    s = fma(w0, x0[r], row[r])
                    s = fma(w1, x1[r], s)
                    s = fma(w2, x2[r], s)
                    row[r] = fma(w3, x3[r], s)
                i += 4
            while i < inputs:
                w, one = W[o, i], near[i]
                for r in range(width):
                    row[r] = fma(w, one[r], row[r])
                i += 1


def linear(W: Array, x: Array, b: Array | None = None) -> Array:
    """Return W x + b for columns x: (O, I), (I, R) and (O) to (O, R), in W's dtype."""
    out = np.empty((len(W), x.shape[1]), W.dtype)
    bias = np.zeros(len(W), W.dtype) if b is None else np.ascontiguousarray(b, W.dtype)
    _product(np.ascontiguousarray(W), bias, np.ascontiguousarray(x, W.dtype), out)
    return out


def headwise(W: Array, x: Array, b: Array | None = None) -> Array:
    """Return a block-diagonal W x + b, a block a head.

    W (H, O, I), x (H I, R) and b (H, O) to (H O, R).
    """
    size = W.shape[2]
    parts = [
        linear(W[h], x[h * size : (h + 1) * size], None if b is None else b[h])
        for h in range(len(W))
    ]
    return np.concatenate(parts)
