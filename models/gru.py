"""GRU, with the semantics and parameter names of ``torch.nn.GRU``.

    r  = sigmoid(W_r x + b_ir + U_r h + b_hr)
    z  = sigmoid(W_z x + b_iz + U_z h + b_hz)
    n  = tanh(W_n x + b_in + r * (U_n h + b_hn))
    h' = (1 - z) * n + z * h

B batch, T time, D input, H units. weight_ih (3H, D), weight_hh (3H, H), bias_ih (3H),
bias_hh (3H), gates in the order r, z, n. x is the one-hot token, or a row of
``embedding.weight`` (vocabulary, D) where given. State: h, H numbers in (-1, 1).

Cho et al. (2014), in the variant that applies r after the matrix product.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from statebound.jit import fma, kernel
from statebound.models._activations import sigmoid, tanh
from statebound.models._cell import Array, State, Tokens, Weights
from statebound.models._lanes import LANES
from statebound.models._torch import TorchCell, TorchLayer, Units, input_table
from statebound.models._vocabulary import Vocabulary


@kernel
def _recur(h: Array, U: Array, b: Array, j: int, r: Array, z: Array, n: Array) -> None:
    """Rows r, z, n of unit j of U h + b, a chain of fused multiply-adds over k."""
    for i in range(LANES):
        r[i], z[i], n[i] = b[j, 0], b[j, 1], b[j, 2]
    H = U.shape[1]
    k = 0
    while k + 4 <= H:  # four at a time keeps the sums in registers; the order is the same
        for i in range(LANES):
            h0, h1, h2, h3 = h[k, i], h[k + 1, i], h[k + 2, i], h[k + 3, i]
            s = fma(U[j, k, 0], h0, r[i])
            s = fma(U[j, k + 1, 0], h1, s)
            s = fma(U[j, k + 2, 0], h2, s)
            r[i] = fma(U[j, k + 3, 0], h3, s)
            s = fma(U[j, k, 1], h0, z[i])
            s = fma(U[j, k + 1, 1], h1, s)
            s = fma(U[j, k + 2, 1], h2, s)
            z[i] = fma(U[j, k + 3, 1], h3, s)
            s = fma(U[j, k, 2], h0, n[i])
            s = fma(U[j, k + 1, 2], h1, s)
            s = fma(U[j, k + 2, 2], h2, s)
            n[i] = fma(U[j, k + 3, 2], h3, s)
        k += 4
    while k < H:
        for i in range(LANES):
            r[i] = fma(U[j, k, 0], h[k, i], r[i])
            z[i] = fma(U[j, k, 1], h[k, i], z[i])
            n[i] = fma(U[j, k, 2], h[k, i], n[i])
        k += 1


@kernel
def _gate(r: Any, z: Any, n: Any, xr: Any, xz: Any, xn: Any, h: Any) -> Any:
    """One unit's new number from its recurrent rows and its input rows."""
    reset = sigmoid(r + xr)
    update = sigmoid(z + xz)
    new = tanh(fma(reset, n, xn))
    return fma(update, h - new, new)


@kernel
def _scan(h: Array, tokens: Tokens, U: Array, b: Array, x: Array, out: Array) -> None:
    """h, out (tiles, H, LANES); tokens (tiles, T, LANES); U (H, H, 3); b (H, 3); x (H, 3, D)."""
    tiles, H, _ = h.shape
    steps, two = tokens.shape[1], x.shape[2] == 2
    r, z, n = np.empty(LANES, h.dtype), np.empty(LANES, h.dtype), np.empty(LANES, h.dtype)
    buffer = np.empty((2, H, LANES), h.dtype)
    for tile in range(tiles):
        buffer[0] = h[tile]
        for t in range(steps):
            old, new = buffer[t % 2], buffer[(t + 1) % 2]
            token = tokens[tile, t]
            for j in range(H):
                _recur(old, U, b, j, r, z, n)
                if two:  # a select vectorises, a gather does not
                    r0, z0, n0 = x[j, 0, 0], x[j, 1, 0], x[j, 2, 0]
                    r1, z1, n1 = x[j, 0, 1], x[j, 1, 1], x[j, 2, 1]
                    for i in range(LANES):
                        one = token[i] != 0
                        new[j, i] = _gate(
                            r[i],
                            z[i],
                            n[i],
                            r1 if one else r0,
                            z1 if one else z0,
                            n1 if one else n0,
                            old[j, i],
                        )
                else:
                    for i in range(LANES):
                        v = token[i]
                        new[j, i] = _gate(
                            r[i], z[i], n[i], x[j, 0, v], x[j, 1, v], x[j, 2, v], old[j, i]
                        )
        out[tile] = buffer[steps % 2]


@kernel
def _branch(h: Array, tokens: Tokens, U: Array, b: Array, x: Array, out: Array) -> None:
    """The scan's step for every token at once: the matrix product is shared."""
    tiles, H, _ = h.shape
    r, z, n = np.empty(LANES, h.dtype), np.empty(LANES, h.dtype), np.empty(LANES, h.dtype)
    for tile in range(tiles):
        old = h[tile]
        for j in range(H):
            _recur(old, U, b, j, r, z, n)
            for v in range(len(tokens)):
                new = out[v * tiles + tile]
                xr, xz, xn = x[j, 0, tokens[v]], x[j, 1, tokens[v]], x[j, 2, tokens[v]]
                for i in range(LANES):
                    new[j, i] = _gate(r[i], z[i], n[i], xr, xz, xn, old[j, i])


class GRULayer(TorchLayer):
    """The gated recurrent unit as a layer."""

    gates: ClassVar[int] = 3

    def advance(self, state: State, streams: Array, which: Tokens) -> State:
        """Go through a sequence."""
        out = np.empty_like(state[0])
        x = streams.reshape(self.width, 3, -1)
        _scan(state[0], which, self._U, self._b, x, out)
        return (out,)


class GRU(TorchCell):
    """The gated recurrent unit."""

    name: ClassVar[str] = "gru"
    summary: ClassVar[str] = "gated recurrent unit, as torch.nn.GRU"
    gates: ClassVar[int] = 3
    layer = GRULayer

    def __init__(
        self, config: Units, weights: Weights, vocabulary: Vocabulary, dtype: str = "float32"
    ) -> None:
        super().__init__(config, weights, vocabulary, dtype)
        H = config.units
        self._U = np.ascontiguousarray(self.table("weight_hh").reshape(3, H, H).transpose(1, 2, 0))
        self._b = np.ascontiguousarray(self.table("bias_hh").reshape(3, H).T)
        x = input_table(weights).astype(self.dtype)  # (3H, vocabulary)
        self._x = np.ascontiguousarray(x.reshape(3, H, -1).transpose(1, 0, 2))

    def scan(self, state: State, tokens: Tokens) -> State:
        """Read tokens from `state`."""
        out = np.empty_like(state[0])
        _scan(state[0], tokens, self._U, self._b, self._x, out)
        return (out,)

    def branch(self, state: State, tokens: Tokens) -> State:
        """Read every token in every state."""
        h = state[0]
        out = np.empty((len(tokens) * len(h), *h.shape[1:]), h.dtype)
        _branch(h, tokens, self._U, self._b, self._x, out)
        return (out,)


CELL = GRU
