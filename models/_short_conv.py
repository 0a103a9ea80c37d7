"""Short causal convolutions, a channel at a time, whose last inputs are state.

    y_t = silu(bias + sum_j w_j x_(t - c + 1 + j)),    j = 0..c-1,

or without the silu.

A kernel of c taps needs the last c - 1 inputs, before any activation: c - 1 numbers a
channel. They start as zeros, which the sum reads, so they are ordinary state numbers and
not a cache with entries to be masked.
"""

from __future__ import annotations

import numpy as np

from statebound.jit import fma, kernel
from statebound.models._cell import Array, Field, Tokens
from statebound.models._lanes import LANES
from statebound.models._pointwise import silu

BLOCK = 1 << 22  # numbers convolved at once, so that memory does not grow with the length


@kernel
def _convolve(
    kept: Array, x: Array, which: Tokens, w: Array, bias: Array, y: Array, left: Array
) -> None:
    """Convolve C channels.

    kept, left (tiles, (c - 1) C, LANES), oldest first; x (C, columns); which (tiles, T,
    LANES); w (C, c); bias (C); y (C, tiles T LANES).
    """
    tiles, T = which.shape[0], which.shape[1]
    C, taps = w.shape
    line = np.empty((taps - 1 + T, LANES), x.dtype)
    for tile in range(tiles):
        for c in range(C):
            for j in range(taps - 1):
                for i in range(LANES):
                    line[j, i] = kept[tile, j * C + c, i]
            for t in range(T):
                for i in range(LANES):
                    line[taps - 1 + t, i] = x[c, which[tile, t, i]]
            for t in range(T):
                first = (tile * T + t) * LANES
                out = y[c, first : first + LANES]
                for i in range(LANES):
                    out[i] = bias[c]
                for j in range(taps):
                    tap, past = w[c, j], line[t + j]
                    for i in range(LANES):
                        out[i] = fma(tap, past[i], out[i])
            for j in range(taps - 1):
                for i in range(LANES):
                    left[tile, j * C + c, i] = line[T + j, i]


class ShortConv:
    """C convolutions of c taps; with one tap there is no state.

    Parameters
    ----------
    weight
        (C, c), the newest input last, as in ``torch.nn.Conv1d`` with groups.
    bias
        (C).
    activate
        Whether the outputs pass silu.
    """

    def __init__(self, weight: Array, bias: Array, activate: bool = True) -> None:
        self._weight, self._bias = np.ascontiguousarray(weight), np.ascontiguousarray(bias)
        self._activate = activate

    def field(self) -> Field:
        """Return the state: c - 1 inputs, oldest first."""
        C, taps = self._weight.shape
        return Field("conv", (taps - 1, C), cache=True)

    def __call__(self, kept: Array, x: Array, which: Tokens) -> tuple[Array, Array]:
        """Convolve inputs x (C, columns), fetched by `which` (tiles, T, LANES).

        Returns
        -------
        The outputs, (C, tiles T LANES), and the new state.
        """
        y = np.empty((len(x), which.size), x.dtype)
        left = np.empty_like(kept)
        _convolve(kept, x, which, self._weight, self._bias, y, left)
        return silu(y) if self._activate else y, left

    def whole(self, x: Array) -> Array:
        """Return the outputs of one sequence x (C, T) from the start."""
        taps, T = self._weight.shape[1], x.shape[1]
        line = np.pad(x, ((0, 0), (taps - 1, 0)))
        y = sum(self._weight[:, j, None] * line[:, j : j + T] for j in range(taps))
        out = np.ascontiguousarray(y + self._bias[:, None], x.dtype)
        return silu(out) if self._activate else out

    def block(self, tiles: int) -> int:
        """Return how many tokens of this many tiles to convolve at once."""
        return max(1, BLOCK // (len(self._weight) * tiles * LANES))


def serial(which: Tokens) -> Tokens:
    """Return the column numbers of outputs that stand in the order of `which`."""
    return np.arange(which.size, dtype=np.int32).reshape(which.shape)
