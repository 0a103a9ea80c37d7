"""Matrix products whose arithmetic on a row does not depend on the other rows.

BLAS may sum in another order for another batch size, which would make a state depend on
who else is in the batch. Here every output is a chain of fused multiply-adds over the
inputs in their order, starting from the bias.
"""

from __future__ import annotations

import numpy as np

from statebound.jit import fma, kernel
from statebound.models._cell import Array


@kernel
def _product(W: Array, b: Array, x: Array, out: Array) -> None:
    """Compute out (O, R) = W (O, I) x (I, R) + b (O)."""
    for o in range(W.shape[0]):
        row = out[o]
        for r in range(x.shape[1]):
            row[r] = b[o]
        for i in range(W.shape[1]):
            w = W[o, i]
            column = x[i]
            for r in range(x.shape[1]):
                row[r] = fma(w, column[r], row[r])


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
