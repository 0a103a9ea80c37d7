"""RetNet: linear attention whose heads forget and turn at fixed rates.

    o_t = sum_(s <= t) g^(t-s) (R(t) q_t) . (R(s) k_s / sqrt(K)) v_s
    y   = W_o (norm(o) * silu(W_g x)),    g = 1 - 2^(-5-i) for head i = 0..H-1

R(t) turns the channels 2j, 2j+1 by the angle t theta_j, with theta_j = 10000^(-j/(K/2-1))
(theta_0 = 1; an odd last channel stays). Written with R(t) the recurrence counts tokens.
Only t - s matters though: R(t) q . R(s) k = q . R(s-t) k, so that the state can be kept
in the frame that turns with the newest token,

    S_t = sum_s g^(t-s) R(s-t) k_s v_s^T,    S' = g R(-1) S + k v^T,    o = q S'

which has no counter and equals the usual state up to the turn R(-t) that both sides know.

H heads, K key and V value channels, D the width. Parameters ``q_proj.weight``,
``k_proj.weight`` (H K, D), ``v_proj.weight``, ``g_proj.weight`` (H V, D),
``out_proj.weight`` (D, H V); norm divides by the root mean square of a head. State: S,
H K V numbers. The authors divide S by the root of sum g^j, which norm undoes up to its
epsilon; here that is left out.

Sun et al. (2023), "Retentive network: a successor to transformer for large language models".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from statebound.jit import fma, kernel
from statebound.models._cell import Array, Field, State, Tokens, Weights
from statebound.models._dual import Terms, by_head
from statebound.models._heads import HeadsConfig, parts, positive
from statebound.models._lanes import LANES
from statebound.models._layer import Layer, LayerCell
from statebound.models._linear import linear
from statebound.models._matrix_state import read
from statebound.models._pointwise import rms, silu

EPSILON = 1e-6  # of the norm, as the authors'


class RetNetConfig(HeadsConfig):
    """H heads of K by V, in a layer of width D."""


@kernel
def _turning_scan(S: Array, k: Array, v: Array, turn: Array, which: Tokens) -> None:
    """Run S' = g R(-1) S + k v^T in place.

    S (tiles, H K V, LANES); k (H K, columns), v (H V, columns); turn (H, K, 2), g cos
    and g sin of each key channel; which (tiles, T, LANES).
    """
    H, K, _ = turn.shape
    V = v.shape[0] // H
    key = np.empty((2, LANES), S.dtype)
    value = np.empty((V, LANES), S.dtype)
    for tile in range(S.shape[0]):
        for t in range(which.shape[1]):
            at = which[tile, t]
            for h in range(H):
                for j in range(V):
                    for i in range(LANES):
                        value[j, i] = v[h * V + j, at[i]]
                for c in range(0, K, 2):
                    for i in range(LANES):
                        key[0, i] = k[h * K + c, at[i]]
                        key[1, i] = k[h * K + min(c + 1, K - 1), at[i]]
                    p, q = turn[h, c, 0], turn[h, c, 1]
                    for j in range(V):
                        x = S[tile, (h * K + c) * V + j]
                        w = value[j]
                        if c + 1 < K:
                            y = S[tile, (h * K + c + 1) * V + j]
                            for i in range(LANES):
                                a, b = x[i], y[i]
                                x[i] = fma(p, a, fma(q, b, key[0, i] * w[i]))
                                y[i] = fma(p, b, fma(-q, a, key[1, i] * w[i]))
                        else:
                            for i in range(LANES):
                                x[i] = fma(p, x[i], key[0, i] * w[i])


def angles(d_key: int) -> Array:
    """Return theta a key channel, (K), in float64."""
    pairs = d_key // 2
    theta = 10000.0 ** -np.linspace(0, 1, pairs)
    return np.concatenate([np.repeat(theta, 2), np.zeros(d_key % 2)])


def decays(heads: int) -> Array:
    """Return g a head, (H), in float64."""
    return 1 - 2.0 ** (-5 - np.arange(heads))


class RetNetLayer(Layer):
    """The layer of retention; streams k, v, q and the output gate."""

    Config = RetNetConfig

    def __init__(self, config: RetNetConfig, weights: Weights, dtype: np.dtype[Any]) -> None:
        self.config, self.width = config, config.width
        self.fields = (Field("S", (config.heads, config.d_key, config.d_value)),)
        self._w = {name: np.ascontiguousarray(weights[name], dtype) for name in self.shapes(config)}
        theta = angles(config.d_key)
        circle = np.stack([np.cos(theta), np.sin(theta)], axis=1)
        self._turn: Array = (decays(config.heads)[:, None, None] * circle).astype(dtype)

    @classmethod
    def shapes(cls, config: RetNetConfig) -> dict[str, tuple[int, ...]]:
        """Return the shapes under the authors' names."""
        D, HK, HV = config.width, config.heads * config.d_key, config.heads * config.d_value
        return {
            "q_proj.weight": (HK, D),
            "k_proj.weight": (HK, D),
            "v_proj.weight": (HV, D),
            "g_proj.weight": (HV, D),
            "out_proj.weight": (D, HV),
        }

    @classmethod
    def config_of(cls, weights: Weights, settings: Mapping[str, int]) -> RetNetConfig:
        """Read D, H K and H V off the maps; H is 1 unless set."""
        RetNetConfig.check_settings(settings)
        heads = positive(settings, "heads", 1)
        HK, D = weights["k_proj.weight"].shape
        V = parts(weights["v_proj.weight"].shape[0], heads)
        return RetNetConfig(heads, parts(HK, heads), V, D)

    @classmethod
    def random(cls, config: RetNetConfig, generator: np.random.Generator) -> Weights:
        """Draw every map as Glorot does, with the authors' gains: 2^-2.5, and 1 for out_proj."""
        drawn: Weights = {}
        for name, (rows, columns) in cls.shapes(config).items():
            gain = 1.0 if name == "out_proj.weight" else 2**-2.5
            bound = gain * (6 / (rows + columns)) ** 0.5
            drawn[name] = generator.uniform(-bound, bound, (rows, columns))
        return drawn

    def project(self, inputs: Array) -> Array:
        """Return k / sqrt(K), v, q and the output gate: (H (2 K + 2 V), R)."""
        w = self._w
        k = linear(w["k_proj.weight"], inputs)
        return np.concatenate(
            [
                k * k.dtype.type(self.config.d_key**-0.5),
                linear(w["v_proj.weight"], inputs),
                linear(w["q_proj.weight"], inputs),
                linear(w["g_proj.weight"], inputs),
            ]
        )

    def _split(self, streams: Array) -> list[Array]:
        HK, HV = len(self._w["k_proj.weight"]), len(self._w["v_proj.weight"])
        return np.split(streams, np.cumsum([HK, HV, HK]))

    def advance(self, state: State, streams: Array, which: Tokens) -> State:
        """Go through a sequence."""
        k, v, _, _ = self._split(streams)
        S = state[0].copy()
        _turning_scan(S, k, v, self._turn, which)
        return (S,)

    def read(self, old: State, new: State, streams: Array, which: Tokens) -> Array:
        """Return o, (tiles, H V, LANES)."""
        q = self._split(streams)[2]
        return read(new[0], self.config.heads, self.config.d_value, q, which)

    def dual(self, streams: Array) -> Terms:
        """Return the attention form of a sequence, one column an input."""
        heads, d_key = self.config.heads, self.config.d_key
        k, v, q, _ = (by_head(part, heads) for part in self._split(streams))
        g = np.broadcast_to(np.log(decays(heads)), k.shape[:2])
        return Terms(q, k, v, log_decay=g, angles=angles(d_key)[: d_key // 2 * 2 : 2])

    def emit(self, reads: Array, streams: Array) -> Array:
        """Return W_o (norm(o) * silu(gate))."""
        gated = rms(reads, self.config.heads, EPSILON) * silu(self._split(streams)[3])
        return linear(self._w["out_proj.weight"], gated)


class RetNet(LayerCell):
    """Retention."""

    name: ClassVar[str] = "retnet"
    summary: ClassVar[str] = "retention: linear attention with fixed decay and rotation"
    layer = RetNetLayer
    Config = RetNetConfig


CELL = RetNet
