"""Gated DeltaNet: the delta rule on a memory that forgets at a rate that the input decides.

    S' = a (S - b k (k^T S)) + b k v^T,    a = exp(-exp(A_log) softplus(W_a x + dt_bias))
    y  = W_o (norm(o) * silu(W_g x)),      o = q S' / sqrt(K)

k, v, q, b and the convolutions are those of DeltaNet, and so are the names of their
parameters; further ``a_proj.weight`` (H, D), ``A_log``, ``dt_bias`` (H) and
``g_proj.weight`` (H V, D). State: S, H K V numbers, and the convolutions' last d_conv - 1
inputs, (d_conv - 1) H (2 K + V).

Initialised as the authors do: exp(A_log) uniform in (0, 16], softplus(dt_bias) log-uniform
in [1e-3, 1e-1].

Yang, Kautz and Hatamizadeh (2024), "Gated delta networks: improving Mamba2 with delta rule".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from statebound.models._cell import Array, Weights
from statebound.models._delta import DeltaLayer, drawn, taps_of
from statebound.models._heads import ConvConfig, parts, step_biases
from statebound.models._layer import LayerCell
from statebound.models._linear import linear
from statebound.models._pointwise import forget, rms, silu, softplus


class GatedDeltaNetConfig(ConvConfig):
    """H heads of K by V, in a layer of width D, with convolutions of d_conv taps."""


class GatedDeltaNetLayer(DeltaLayer):
    """The layer of Gated DeltaNet; a last stream is the output gate."""

    Config = GatedDeltaNetConfig

    @classmethod
    def shapes(cls, config: Any) -> dict[str, tuple[int, ...]]:
        """Return DeltaNet's shapes and those of the two gates."""
        H, D = config.heads, config.width
        return super().shapes(config) | {
            "a_proj.weight": (H, D),
            "A_log": (H,),
            "dt_bias": (H,),
            "g_proj.weight": (H * config.d_value, D),
        }

    @classmethod
    def config_of(cls, weights: Weights, settings: Mapping[str, int]) -> GatedDeltaNetConfig:
        """Read H off A_log, V off the norm, K and D off the key map, d_conv off its taps."""
        GatedDeltaNetConfig.check_settings(settings)
        heads, V = weights["A_log"].shape[0], weights["o_norm.weight"].shape[0]
        HK, D = weights["k_proj.weight"].shape
        return GatedDeltaNetConfig(heads, parts(HK, heads), V, D, taps_of(weights, settings))

    @classmethod
    def random(cls, config: GatedDeltaNetConfig, generator: np.random.Generator) -> Weights:
        """Draw maps and taps as torch's layers do, and the authors' gate."""
        weights = drawn(cls.shapes(config), generator)
        weights["A_log"] = np.log(16 * (1 - generator.random(config.heads)))
        weights["dt_bias"] = step_biases(generator, config.heads)
        return weights

    def decay(self, inputs: Array) -> Array:
        """Return a, (H, R)."""
        step = softplus(linear(self._w["a_proj.weight"], inputs, self._w["dt_bias"]))
        return forget(self._w["A_log"], step)

    def more(self, inputs: Array) -> list[Array]:
        """Return the output gate, (H V, R)."""
        return [linear(self._w["g_proj.weight"], inputs)]

    def emit(self, reads: Array, streams: Array) -> Array:
        """Return W_o (norm(o) * silu(gate))."""
        scale = np.tile(self._w["o_norm.weight"], self.config.heads)[:, None]
        normed = rms(reads, self.config.heads) * scale
        return linear(self._w["o_proj.weight"], normed * silu(self.split(streams)[5]))


class GatedDeltaNet(LayerCell):
    """The gated delta rule."""

    name: ClassVar[str] = "gated_deltanet"
    summary: ClassVar[str] = "delta rule on a memory with an input-dependent decay a head"
    layer = GatedDeltaNetLayer
    Config = GatedDeltaNetConfig


CELL = GatedDeltaNet
