"""Elman network, with the semantics and parameter names of ``torch.nn.RNN``.

    h' = tanh(W x + b_ih + U h + b_hh)

B batch, T time, D input, H units. weight_ih (H, D), weight_hh (H, H), bias_ih (H),
bias_hh (H). x is the one-hot token, or a row of ``embedding.weight`` (vocabulary, D)
where given. State: h, H numbers in (-1, 1).

Constructed parameters, for a stream of n bits: a shift register of the last H of them,

    h_1' = tanh(a u),    h_(i+1)' = tanh(a h_i),    u = -1 or 1, a = 2 max(n, 1).

A register that is written holds v or -v, where v > 0.95 because a >= 2. The gain is that
large for the regime in which every step is quantised: at one bit a code's level is the mean
of what it stands for, and if that includes the registers not yet written, which are 0, it can
be as small as v / (2n - 1) in size; tanh(a v / (2n - 1)) > tanh(v) > v/2 passes the next
threshold, which is at 0 or half-way to v. There is no readout for queries: it would have to
choose a register by the query, a product of the two, and the network only adds them.

Elman (1990).
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from statebound.errors import UsageError
from statebound.jit import fma, kernel
from statebound.models._activations import tanh
from statebound.models._cell import Array, State, Tokens, Weights
from statebound.models._lanes import LANES
from statebound.models._torch import TorchCell, TorchLayer, Units, input_table
from statebound.models._vocabulary import Vocabulary


@kernel
def _scan(h: Array, tokens: Tokens, U: Array, b: Array, x: Array, out: Array) -> None:
    """h, out (tiles, H, LANES); tokens (tiles, T, LANES); U (H, H); b (H); x (H, vocabulary)."""
    tiles, H, _ = h.shape
    steps = tokens.shape[1]
    row = np.empty(LANES, h.dtype)
    buffer = np.empty((2, H, LANES), h.dtype)
    for tile in range(tiles):
        buffer[0] = h[tile]
        for t in range(steps):
            old, new = buffer[t % 2], buffer[(t + 1) % 2]
            token = tokens[tile, t]
            for j in range(H):
                for i in range(LANES):
                    row[i] = b[j]
                for k in range(H):
                    for i in range(LANES):
                        row[i] = fma(U[j, k], old[k, i], row[i])
                for i in range(LANES):
                    new[j, i] = tanh(row[i] + x[j, token[i]])
        out[tile] = buffer[steps % 2]


class RNNLayer(TorchLayer):
    """The Elman network as a layer."""

    gates: ClassVar[int] = 1

    def advance(self, state: State, streams: Array, which: Tokens) -> State:
        """Go through a sequence."""
        out = np.empty_like(state[0])
        U, b = self._U.reshape(self.width, self.width), self._b.reshape(-1)
        _scan(state[0], which, U, b, streams, out)
        return (out,)


class RNN(TorchCell):
    """The Elman network."""

    name: ClassVar[str] = "rnn"
    summary: ClassVar[str] = "Elman network, as torch.nn.RNN"
    inits: ClassVar[tuple[str, ...]] = ("random", "constructed")
    gates: ClassVar[int] = 1
    layer = RNNLayer

    def __init__(
        self, config: Units, weights: Weights, vocabulary: Vocabulary, dtype: str = "float32"
    ) -> None:
        super().__init__(config, weights, vocabulary, dtype)
        self._U, self._b = self.table("weight_hh"), self.table("bias_hh")
        self._x = np.ascontiguousarray(input_table(weights), self.dtype)

    @classmethod
    def constructed(
        cls, config: Units, vocabulary: Vocabulary, generator: np.random.Generator
    ) -> Weights:
        """Return a shift register."""
        if vocabulary.symbols != 2:
            raise UsageError(
                "init",
                "constructed",
                "rnn is constructed for bits",
                "use a problem of bits, or init random",
            )
        H, tokens = config.units, vocabulary.stream_tokens
        gain = 2.0 * max(vocabulary.length, 1)
        W = np.zeros((H, tokens))
        W[0] = gain * (np.arange(tokens) % 2 * 2.0 - 1.0)
        return {
            "weight_ih": W,
            "weight_hh": gain * np.eye(H, k=-1),
            "bias_ih": np.zeros(H),
            "bias_hh": np.zeros(H),
        }

    def scan(self, state: State, tokens: Tokens) -> State:
        """Read tokens from `state`."""
        out = np.empty_like(state[0])
        _scan(state[0], tokens, self._U, self._b, self._x, out)
        return (out,)


CELL = RNN
