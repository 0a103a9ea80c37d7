"""LSTM, with the semantics and parameter names of ``torch.nn.LSTM``.

    i  = sigmoid(W_i x + b_ii + U_i h + b_hi)
    f  = sigmoid(W_f x + b_if + U_f h + b_hf)
    g  = tanh(W_g x + b_ig + U_g h + b_hg)
    o  = sigmoid(W_o x + b_io + U_o h + b_ho)
    c' = f * c + i * g
    h' = o * tanh(c')

B batch, T time, D input, H units. weight_ih (4H, D), weight_hh (4H, H), bias_ih (4H),
bias_hh (4H), gates in the order i, f, g, o. x is the one-hot token, or a row of
``embedding.weight`` (vocabulary, D) where given. State: h, H numbers in (-1, 1), and c,
H numbers without bound (a token changes c by less than 1 beyond the decay), so 2H.

Hochreiter and Schmidhuber (1997), with the forget gate of Gers et al. (2000).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from statebound.jit import fma, kernel
from statebound.models._activations import sigmoid, tanh
from statebound.models._cell import Array, Field, State, Tokens, Weights
from statebound.models._lanes import LANES
from statebound.models._torch import Square, TorchCell, TorchLayer, Units, input_table
from statebound.models._vocabulary import Vocabulary


@kernel
def _recur(
    h: Array, U: Array, b: Array, j: int, a0: Array, a1: Array, a2: Array, a3: Array
) -> None:
    """Rows i, f, g, o of unit j of U h + b, a chain of fused multiply-adds over k.

    h (H, LANES); U (H, H, 4); b (H, 4); the rows (LANES).
    """
    for i in range(LANES):
        a0[i], a1[i], a2[i], a3[i] = b[j, 0], b[j, 1], b[j, 2], b[j, 3]
    H = U.shape[1]
    k = 0
    while k + 4 <= H:  # four at a time keeps the sums in registers; the order is the same
        for i in range(LANES):
            h0, h1, h2, h3 = h[k, i], h[k + 1, i], h[k + 2, i], h[k + 3, i]
            s = fma(U[j, k, 0], h0, a0[i])
            s = fma(U[j, k + 1, 0], h1, s)
            s = fma(U[j, k + 2, 0], h2, s)
            a0[i] = fma(U[j, k + 3, 0], h3, s)
            s = fma(U[j, k, 1], h0, a1[i])
            s = fma(U[j, k + 1, 1], h1, s)
            s = fma(U[j, k + 2, 1], h2, s)
            a1[i] = fma(U[j, k + 3, 1], h3, s)
            s = fma(U[j, k, 2], h0, a2[i])
            s = fma(U[j, k + 1, 2], h1, s)
            s = fma(U[j, k + 2, 2], h2, s)
            a2[i] = fma(U[j, k + 3, 2], h3, s)
            s = fma(U[j, k, 3], h0, a3[i])
            s = fma(U[j, k + 1, 3], h1, s)
            s = fma(U[j, k + 2, 3], h2, s)
            a3[i] = fma(U[j, k + 3, 3], h3, s)
        k += 4
    while k < H:
        for i in range(LANES):
            a0[i] = fma(U[j, k, 0], h[k, i], a0[i])
            a1[i] = fma(U[j, k, 1], h[k, i], a1[i])
            a2[i] = fma(U[j, k, 2], h[k, i], a2[i])
            a3[i] = fma(U[j, k, 3], h[k, i], a3[i])
        k += 1


@kernel
def _memory(i: Any, f: Any, g: Any, c: Any) -> Any:
    """One unit's new c from its three gates before their activations."""
    return fma(sigmoid(f), c, sigmoid(i) * tanh(g))


@kernel
def _scan(
    h: Array, c: Array, tokens: Tokens, U: Array, b: Array, x: Array, h_out: Array, c_out: Array
) -> None:
    """h, c (tiles, H, LANES); tokens (tiles, T, LANES); U (H, H, 4); b (H, 4); x (H, 4, D)."""
    tiles, H, _ = h.shape
    steps, two = tokens.shape[1], x.shape[2] == 2
    a0, a1 = np.empty(LANES, h.dtype), np.empty(LANES, h.dtype)
    a2, a3 = np.empty(LANES, h.dtype), np.empty(LANES, h.dtype)
    buffer = np.empty((2, H, LANES), h.dtype)
    for tile in range(tiles):
        buffer[0] = h[tile]
        c_out[tile] = c[tile]
        for t in range(steps):
            old, new = buffer[t % 2], buffer[(t + 1) % 2]
            token = tokens[tile, t]
            for j in range(H):
                _recur(old, U, b, j, a0, a1, a2, a3)
                cell, out = c_out[tile, j], new[j]
                if two:  # a select vectorises, a gather does not
                    i0, f0, g0, o0 = x[j, 0, 0], x[j, 1, 0], x[j, 2, 0], x[j, 3, 0]
                    i1, f1, g1, o1 = x[j, 0, 1], x[j, 1, 1], x[j, 2, 1], x[j, 3, 1]
                    for i in range(LANES):
                        one = token[i] != 0
                        now = _memory(
                            a0[i] + (i1 if one else i0),
                            a1[i] + (f1 if one else f0),
                            a2[i] + (g1 if one else g0),
                            cell[i],
                        )
                        cell[i] = now
                        out[i] = sigmoid(a3[i] + (o1 if one else o0)) * tanh(now)
                else:
                    for i in range(LANES):
                        v = token[i]
                        now = _memory(
                            a0[i] + x[j, 0, v], a1[i] + x[j, 1, v], a2[i] + x[j, 2, v], cell[i]
                        )
                        cell[i] = now
                        out[i] = sigmoid(a3[i] + x[j, 3, v]) * tanh(now)
        h_out[tile] = buffer[steps % 2]


@kernel
def _branch(
    h: Array, c: Array, tokens: Tokens, U: Array, b: Array, x: Array, h_out: Array, c_out: Array
) -> None:
    """The scan's step for every token at once: the matrix product is shared."""
    tiles, H, _ = h.shape
    a0, a1 = np.empty(LANES, h.dtype), np.empty(LANES, h.dtype)
    a2, a3 = np.empty(LANES, h.dtype), np.empty(LANES, h.dtype)
    for tile in range(tiles):
        for j in range(H):
            _recur(h[tile], U, b, j, a0, a1, a2, a3)
            old = c[tile, j]
            for v in range(len(tokens)):
                new, cell = h_out[v * tiles + tile, j], c_out[v * tiles + tile, j]
                x0, x1 = x[j, 0, tokens[v]], x[j, 1, tokens[v]]
                x2, x3 = x[j, 2, tokens[v]], x[j, 3, tokens[v]]
                for i in range(LANES):
                    now = _memory(a0[i] + x0, a1[i] + x1, a2[i] + x2, old[i])
                    cell[i] = now
                    new[i] = sigmoid(a3[i] + x3) * tanh(now)


@dataclass(frozen=True)
class LSTMConfig(Units):
    """H units, each with a number of h and one of c."""

    per_unit: ClassVar[int] = 2


@dataclass(frozen=True)
class LSTMLayerConfig(Square):
    """D units, each with a number of h and one of c."""

    per_unit: ClassVar[int] = 2


class LSTMLayer(TorchLayer):
    """The long short-term memory as a layer."""

    gates: ClassVar[int] = 4
    Config = LSTMLayerConfig

    def __init__(self, config: LSTMLayerConfig, weights: Weights, dtype: np.dtype[Any]) -> None:
        super().__init__(config, weights, dtype)
        self.fields = (*self.fields, Field("c", (self.width,)))

    def advance(self, state: State, streams: Array, which: Tokens) -> State:
        """Go through a sequence."""
        h, c = np.empty_like(state[0]), np.empty_like(state[1])
        x = streams.reshape(self.width, 4, -1)
        _scan(state[0], state[1], which, self._U, self._b, x, h, c)
        return h, c


class LSTM(TorchCell):
    """The long short-term memory."""

    name: ClassVar[str] = "lstm"
    summary: ClassVar[str] = "long short-term memory, as torch.nn.LSTM"
    gates: ClassVar[int] = 4
    layer = LSTMLayer
    Config = LSTMConfig

    def __init__(
        self, config: LSTMConfig, weights: Weights, vocabulary: Vocabulary, dtype: str = "float32"
    ) -> None:
        super().__init__(config, weights, vocabulary, dtype)
        H = config.units
        self.fields = (*self.fields, Field("c", (H,)))
        self._U = np.ascontiguousarray(self.table("weight_hh").reshape(4, H, H).transpose(1, 2, 0))
        self._b = np.ascontiguousarray(self.table("bias_hh").reshape(4, H).T)
        x = input_table(weights).astype(self.dtype)  # (4H, vocabulary)
        self._x = np.ascontiguousarray(x.reshape(4, H, -1).transpose(1, 0, 2))

    def scan(self, state: State, tokens: Tokens) -> State:
        """Read tokens from `state`."""
        h, c = np.empty_like(state[0]), np.empty_like(state[1])
        _scan(state[0], state[1], tokens, self._U, self._b, self._x, h, c)
        return h, c

    def branch(self, state: State, tokens: Tokens) -> State:
        """Read every token in every state."""
        shape = (len(tokens) * len(state[0]), *state[0].shape[1:])
        h, c = np.empty(shape, self.dtype), np.empty(shape, self.dtype)
        _branch(state[0], state[1], tokens, self._U, self._b, self._x, h, c)
        return h, c


CELL = LSTM
