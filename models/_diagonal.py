"""The diagonal recurrences x' = a x + u(token), real and complex, as kernels.

Linear attention with a tabulated k v^T and the diagonal state space models are both
of this form: a is fixed, and the input of a token is a row of a table.
"""

from __future__ import annotations

import numpy as np

from statebound.jit import fma, kernel
from statebound.models._cell import Array, Tokens
from statebound.models._lanes import LANES


@kernel
def real_scan(x: Array, tokens: Tokens, a: Array, u: Array, out: Array) -> None:
    """Run C independent real recurrences over the tokens.

    x, out (tiles, C, LANES); tokens (tiles, T, LANES); a (C); u (C, vocabulary).
    """
    tiles, count, _ = x.shape
    for tile in range(tiles):
        for c in range(count):
            now = out[tile, c]
            for i in range(LANES):
                now[i] = x[tile, c, i]
            for t in range(tokens.shape[1]):
                for i in range(LANES):
                    now[i] = fma(a[c], now[i], u[c, tokens[tile, t, i]])


@kernel
def complex_scan(x: Array, tokens: Tokens, a: Array, u: Array, out: Array) -> None:
    """Run C independent complex recurrences with real inputs over the tokens.

    x, out (tiles, 2C, LANES), real and imaginary parts next to each other;
    tokens (tiles, T, LANES); a (C, 2) real and imaginary parts; u (C, vocabulary).
    """
    tiles, count = x.shape[0], a.shape[0]
    re, im = np.empty(LANES, x.dtype), np.empty(LANES, x.dtype)
    for tile in range(tiles):
        for c in range(count):
            for i in range(LANES):
                re[i], im[i] = x[tile, 2 * c, i], x[tile, 2 * c + 1, i]
            p, q = a[c, 0], a[c, 1]
            for t in range(tokens.shape[1]):
                for i in range(LANES):
                    r = fma(p, re[i], fma(-q, im[i], u[c, tokens[tile, t, i]]))
                    im[i] = fma(p, im[i], q * re[i])
                    re[i] = r
            for i in range(LANES):
                out[tile, 2 * c, i], out[tile, 2 * c + 1, i] = re[i], im[i]
