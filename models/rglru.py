"""RG-LRU: the recurrent block of Griffin and RecurrentGemma.

    x  = convolution of (W_x u + b_x) over c tokens, causal, a channel at a time
    r  = sigmoid(W_a x + b_a),    i = sigmoid(W_i x + b_i),    W_a, W_i block-diagonal
    a  = exp(-8 softplus(L) r),   h' = a h + sqrt(1 - a^2) (i * x)
    y  = W_out (h' * gelu(W_y u + b_y)) + b_out

W channels in H heads, D the width. Parameters by the names of transformers: ``linear_x.weight``,
``linear_y.weight`` (W, D), ``linear_out.weight`` (D, W), their biases, ``conv_1d.weight`` (W, 1,
c), ``conv_1d.bias``, ``rg_lru.recurrent_param`` (W), which is L, ``rg_lru.input_gate_weight``,
``rg_lru.recurrent_gate_weight`` (H, W/H in, W/H out) and their biases (H, W/H).

State: h, W numbers without bound, and for c > 1 the last c - 1 inputs of the convolution, W
numbers each, oldest first.

The published model takes the token at position 0 for the first of a document: there it puts
1 in the place of sqrt(1 - a^2), and forgets h. A position is public, but it is no part of
this state nor of the tokens; here every token takes sqrt(1 - a^2), so a run from the start
agrees with the published model at positions 1, 2, ... after a state of zeros.

Initialised as the authors do it: maps normal of variance 1/D, the output's of 2/W, taps and
gates of variance 0.01 over c and W/H, biases 0, and exp(-2 softplus(L)) uniform in [0.9^2,
0.999^2]. The default c = 2 suits small states; the authors use 4.

De, Smith, Fernando et al. (2024), "Griffin: mixing gated linear recurrences with local
attention for efficient language models".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from statebound.errors import UsageError
from statebound.jit import kernel
from statebound.models._activations import exp, expm1, sigmoid
from statebound.models._cell import Array, Config, Field, State, Tokens, Weights
from statebound.models._heads import positive, solve
from statebound.models._lanes import LANES
from statebound.models._layer import Layer, LayerCell
from statebound.models._linear import headwise, linear
from statebound.models._matrix_state import decay_scan
from statebound.models._pointwise import gelu
from statebound.models._published import Published
from statebound.models._short_conv import ShortConv, serial

SHARPNESS = 8.0
DECAYS = 0.9, 0.999
SMALL_VARIANCE = 0.01


@dataclass(frozen=True)
class RGLRUConfig(Config):
    """W channels in H heads, a convolution over c tokens, width D."""

    lru_width: int
    heads: int
    d_conv: int
    width: int

    @property
    def numbers(self) -> int:
        """W c: W numbers of h and W (c - 1) of the convolution."""
        return self.lru_width * self.d_conv

    @classmethod
    def of(cls, numbers: int, settings: Mapping[str, int]) -> Self:
        """One head, c = 2 and D = W, unless set."""
        cls.check_settings(settings)
        heads, d_conv = positive(settings, "heads", 1), positive(settings, "d_conv", 2)
        if "lru_width" in settings:
            lru_width = positive(settings, "lru_width", 1)
            if lru_width % heads:
                raise UsageError(
                    "set", f"heads={heads}", f"must divide lru_width={lru_width}", "pass a divisor"
                )
        else:
            lru_width = heads * solve(numbers, heads * d_conv, 0, "rglru")
        return cls(lru_width, heads, d_conv, positive(settings, "width", lru_width))


@kernel
def _gate(x: Array, i: Array, r: Array, rate: Array, a: Array, u: Array) -> None:
    """Compute the decays a and the inputs u of h, (W, R).

    x, i and r, the gates before their sigmoids, (W, R); rate (W) is -8 softplus(L).
    """
    for c in range(x.shape[0]):
        for column in range(x.shape[1]):
            log_a = rate[c] * sigmoid(r[c, column])
            a[c, column] = exp(log_a)
            u[c, column] = np.sqrt(-expm1(log_a + log_a)) * (sigmoid(i[c, column]) * x[c, column])


class RGLRULayer(Layer):
    """The recurrent block; streams x before its convolution, and gelu of the gate."""

    Config = RGLRUConfig

    def __init__(self, config: RGLRUConfig, weights: Weights, dtype: np.dtype[Any]) -> None:
        self.config, self.width = config, config.width
        w = {name: np.ascontiguousarray(weights[name], dtype) for name in self.shapes(config)}
        self._w = w
        L = np.asarray(weights["rg_lru.recurrent_param"], np.float64)
        self._rate = (-SHARPNESS * np.logaddexp(L, 0)).astype(dtype)
        self._gates = [
            (np.ascontiguousarray(w[f"rg_lru.{g}_weight"].transpose(0, 2, 1)), f"rg_lru.{g}_bias")
            for g in ("input_gate", "recurrent_gate")
        ]
        self._conv = ShortConv(w["conv_1d.weight"][:, 0], w["conv_1d.bias"], activate=False)
        self.fields: tuple[Field, ...] = (Field("h", (config.lru_width,)),)
        if config.d_conv > 1:
            self.fields = (*self.fields, self._conv.field())

    @classmethod
    def shapes(cls, config: RGLRUConfig) -> dict[str, tuple[int, ...]]:
        """Return the shapes under the names of transformers."""
        W, H, D = config.lru_width, config.heads, config.width
        size = W // H
        return {
            "linear_x.weight": (W, D),
            "linear_x.bias": (W,),
            "linear_y.weight": (W, D),
            "linear_y.bias": (W,),
            "linear_out.weight": (D, W),
            "linear_out.bias": (D,),
            "conv_1d.weight": (W, 1, config.d_conv),
            "conv_1d.bias": (W,),
            "rg_lru.recurrent_param": (W,),
            "rg_lru.input_gate_weight": (H, size, size),
            "rg_lru.input_gate_bias": (H, size),
            "rg_lru.recurrent_gate_weight": (H, size, size),
            "rg_lru.recurrent_gate_bias": (H, size),
        }

    @classmethod
    def config_of(cls, weights: Weights, settings: Mapping[str, int]) -> RGLRUConfig:
        """Read every size off the parameters."""
        RGLRUConfig.check_settings(settings)
        heads, size = weights["rg_lru.input_gate_bias"].shape
        c, D = weights["conv_1d.weight"].shape[-1], weights["linear_out.weight"].shape[0]
        return RGLRUConfig(heads * size, heads, c, D)

    @classmethod
    def random(cls, config: RGLRUConfig, generator: np.random.Generator) -> Weights:
        """Draw parameters as the authors do."""
        W, D = config.lru_width, config.width
        variances = {
            "linear_x.weight": 1 / D,
            "linear_y.weight": 1 / D,
            "linear_out.weight": 2 / W,
            "conv_1d.weight": SMALL_VARIANCE / config.d_conv,
            "rg_lru.input_gate_weight": SMALL_VARIANCE * config.heads / W,
            "rg_lru.recurrent_gate_weight": SMALL_VARIANCE * config.heads / W,
        }
        drawn: Weights = {
            name: generator.standard_normal(shape) * variances.get(name, 0.0) ** 0.5
            for name, shape in cls.shapes(config).items()
        }
        low, high = DECAYS
        half_log = -0.5 * np.log(generator.uniform(low**2, high**2, W))  # softplus(L)
        drawn["rg_lru.recurrent_param"] = np.log(np.expm1(half_log))
        return drawn

    def project(self, inputs: Array) -> Array:
        """Return x before its convolution and gelu(W_y u + b_y), 2W rows."""
        w = self._w
        gate = linear(w["linear_y.weight"], inputs, w["linear_y.bias"])
        x = linear(w["linear_x.weight"], inputs, w["linear_x.bias"])
        return np.concatenate([x, gelu(gate)])

    def advance(self, state: State, streams: Array, which: Tokens) -> State:
        """Take `state` through a sequence."""
        W, tiles = self.config.lru_width, len(which)
        h = state[0].copy()
        kept = state[1] if len(state) == 2 else np.empty((tiles, 0, LANES), h.dtype)
        block = self._conv.block(tiles)
        for t in range(0, which.shape[1], block):
            now = np.ascontiguousarray(which[:, t : t + block])
            x, kept = self._conv(kept, streams[:W], now)
            i, r = (headwise(weight, x, self._w[bias]) for weight, bias in self._gates)
            a, u = np.empty_like(x), np.empty_like(x)
            _gate(x, i, r, self._rate, a, u)
            ones, at = np.ones((1, now.size), h.dtype), serial(now)
            decay_scan(h, W, ones, u, a, at, at)  # W heads of one key channel that is 1
        return (h, kept.copy())[: len(state)]

    def read(self, old: State, new: State, streams: Array, which: Tokens) -> Array:
        """Return h', (tiles, W, LANES)."""
        return new[0]

    def emit(self, reads: Array, streams: Array) -> Array:
        """Return W_out (h' * gate) + b_out."""
        gated = reads * streams[self.config.lru_width :]
        return linear(self._w["linear_out.weight"], gated, self._w["linear_out.bias"])


class RGLRU(LayerCell):
    """The recurrent block of RecurrentGemma."""

    name: ClassVar[str] = "rglru"
    summary: ClassVar[str] = "real-gated linear recurrent unit, as in RecurrentGemma"
    layer = RGLRULayer
    Config = RGLRUConfig
    published = (
        Published(
            "recurrentgemma-2b, recurrent layers",
            18,
            {"lru_width": 2560, "heads": 10, "d_conv": 4, "width": 2560},
        ),
    )


CELL = RGLRU
