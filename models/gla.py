"""Gated linear attention: every key channel forgets at a rate that the input decides.

    S' = diag(a) S + k v^T,    a = sigmoid(W_2 W_1 x + b)^(1/16),    o = q S' / sqrt(K)
    y  = W_o (norm(o) * silu(W_g x))

H heads, K key and V value channels, D the width, r the rank of the gate. Parameters:
``q_proj.weight``, ``k_proj.weight`` (H K, D), ``v_proj.weight``, ``g_proj.weight``
(H V, D), ``gk_proj.0.weight`` (r, D), ``gk_proj.1.weight`` (H K, r), ``gk_proj.1.bias``
(H K), ``g_norm_swish_gate.weight`` (V), ``o_proj.weight`` (D, H V); norm divides by the
root mean square of a head. State: S, H K V numbers.

Yang, Wang, Shen, Panda and Kim (2024), "Gated linear attention transformers with
hardware-efficient training".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from statebound.models._cell import Array, Field, State, Tokens, Weights
from statebound.models._dual import Terms, by_head
from statebound.models._heads import HeadsConfig, dense, parts, positive
from statebound.models._layer import Layer, LayerCell
from statebound.models._linear import linear
from statebound.models._matrix_state import decay_scan, read
from statebound.models._pointwise import exponential, rms, silu, softplus
from statebound.models._published import Published

GATE_ROOT = 16.0
RANK = 16


@dataclass(frozen=True)
class GLAConfig(HeadsConfig):
    """H heads of K by V, in a layer of width D with a gate of rank r."""

    rank: int

    @classmethod
    def of(cls, numbers: int, settings: Mapping[str, int]) -> Self:
        """One head with V = 1, D = H max(K, V) and r = 16, unless set."""
        cls.check_settings(settings)
        heads, d_key, d_value = cls.sizes(numbers, settings)
        width = cls.wide(settings, heads, d_key, d_value)
        return cls(heads, d_key, d_value, width, positive(settings, "rank", RANK))


class GLALayer(Layer):
    """The layer of gated linear attention; streams k, v, a, q and the output gate."""

    Config = GLAConfig

    def __init__(self, config: GLAConfig, weights: Weights, dtype: np.dtype[Any]) -> None:
        self.config, self.width = config, config.width
        self.fields = (Field("S", (config.heads, config.d_key, config.d_value)),)
        self._w = {name: np.ascontiguousarray(weights[name], dtype) for name in self.shapes(config)}

    @classmethod
    def shapes(cls, config: GLAConfig) -> dict[str, tuple[int, ...]]:
        """Return the shapes under the authors' names."""
        D, HK, HV = config.width, config.heads * config.d_key, config.heads * config.d_value
        return {
            "q_proj.weight": (HK, D),
            "k_proj.weight": (HK, D),
            "v_proj.weight": (HV, D),
            "g_proj.weight": (HV, D),
            "gk_proj.0.weight": (config.rank, D),
            "gk_proj.1.weight": (HK, config.rank),
            "gk_proj.1.bias": (HK,),
            "g_norm_swish_gate.weight": (config.d_value,),
            "o_proj.weight": (D, HV),
        }

    @classmethod
    def config_of(cls, weights: Weights, settings: Mapping[str, int]) -> GLAConfig:
        """Read V off the norm, and H, K, D and r off the maps."""
        GLAConfig.check_settings(settings)
        V = weights["g_norm_swish_gate.weight"].shape[0]
        heads = parts(weights["v_proj.weight"].shape[0], V)
        HK, D = weights["k_proj.weight"].shape
        return GLAConfig(heads, parts(HK, heads), V, D, weights["gk_proj.0.weight"].shape[0])

    @classmethod
    def random(cls, config: GLAConfig, generator: np.random.Generator) -> Weights:
        """Draw the maps as torch's linear layers do; the norm's weights are 1."""
        drawn: Weights = {}
        for name, shape in cls.shapes(config).items():
            if len(shape) == 2:
                drawn[name] = dense(generator, *shape)
        bound = config.rank**-0.5
        drawn["gk_proj.1.bias"] = generator.uniform(-bound, bound, config.heads * config.d_key)
        drawn["g_norm_swish_gate.weight"] = np.ones(config.d_value)
        return drawn

    def project(self, inputs: Array) -> Array:
        """Return k, v, a, q / sqrt(K) and the output gate: (H (3 K + 2 V), R)."""
        w = self._w
        low = linear(w["gk_proj.0.weight"], inputs)
        gate = linear(w["gk_proj.1.weight"], low, w["gk_proj.1.bias"])
        root = gate.dtype.type(-1 / GATE_ROOT)
        q = linear(w["q_proj.weight"], inputs) * gate.dtype.type(self.config.d_key**-0.5)
        return np.concatenate(
            [
                linear(w["k_proj.weight"], inputs),
                linear(w["v_proj.weight"], inputs),
                exponential(softplus(-gate) * root),
                q,
                linear(w["g_proj.weight"], inputs),
            ]
        )

    def _split(self, streams: Array) -> list[Array]:
        HK, HV = len(self._w["k_proj.weight"]), len(self._w["v_proj.weight"])
        return np.split(streams, np.cumsum([HK, HV, HK, HK]))

    def advance(self, state: State, streams: Array, which: Tokens) -> State:
        """Go through a sequence."""
        k, v, a, _, _ = self._split(streams)
        S = state[0].copy()
        decay_scan(S, self.config.heads, k, v, a, which, which)
        return (S,)

    def read(self, old: State, new: State, streams: Array, which: Tokens) -> Array:
        """Return o, (tiles, H V, LANES)."""
        q = self._split(streams)[3]
        return read(new[0], self.config.heads, self.config.d_value, q, which)

    def dual(self, streams: Array) -> Terms:
        """Return the attention form of a sequence, one column an input."""
        k, v, a, q, _ = (by_head(part, self.config.heads) for part in self._split(streams))
        return Terms(q, k, v, log_decay=np.log(a))

    def emit(self, reads: Array, streams: Array) -> Array:
        """Return W_o (norm(o) * silu(gate))."""
        scale = np.tile(self._w["g_norm_swish_gate.weight"], self.config.heads)[:, None]
        normed = rms(reads, self.config.heads) * scale
        return linear(self._w["o_proj.weight"], normed * silu(self._split(streams)[4]))


class GLA(LayerCell):
    """Gated linear attention."""

    name: ClassVar[str] = "gla"
    summary: ClassVar[str] = "gated linear attention: a decay a key channel"
    layer = GLALayer
    Config = GLAConfig
    published = (
        Published("gla-1.3b", 24, {"heads": 4, "d_key": 256, "d_value": 512, "width": 2048}),
    )


CELL = GLA
