"""Linear attention as a layer: an associative memory that is a sum of outer products.

    q, k, v = W_q x, W_k x, W_v x
    S'      = S + k v^T,    o = q S' / sqrt(K)
    y       = W_o o

H heads, K key and V value channels, D the width. Parameters ``q_proj.weight``,
``k_proj.weight`` (H K, D), ``v_proj.weight`` (H V, D), ``o_proj.weight`` (D, H V). State:
S, H K V numbers. With the normaliser (normalise = 1) queries and keys pass elu + 1 and

    z' = z + k,    o = q S' / (q . z' + 1e-10)

which adds z, H K numbers.

Katharopoulos et al. (2020), "Transformers are RNNs"; without its feature map and
normaliser unless asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from statebound.errors import UsageError
from statebound.models._cell import Array, Field, State, Tokens, Weights
from statebound.models._diagonal import real_scan
from statebound.models._heads import HeadsConfig, dense, parts, positive, solve
from statebound.models._layer import Layer
from statebound.models._linear import linear
from statebound.models._matrix_state import decay_scan, read
from statebound.models._pointwise import exponential

EPSILON = 1e-10


@dataclass(frozen=True)
class LinearLayerConfig(HeadsConfig):
    """H heads of K by V, in a layer of width D, and whether there is a normaliser (0 or 1)."""

    normalise: int

    @property
    def numbers(self) -> int:
        """H K V, and H K for the normaliser."""
        return self.heads * self.d_key * (self.d_value + self.normalise)

    @classmethod
    def of(cls, numbers: int, settings: Mapping[str, int]) -> Self:
        """One head with V = 1, D = H max(K, V) and no normaliser, unless set; K follows."""
        cls.check_settings(settings)
        heads, d_value = positive(settings, "heads", 1), positive(settings, "d_value", 1)
        normalise = settings.get("normalise", 0)
        if normalise > 1:
            raise UsageError("set", f"normalise={normalise}", "must be 0 or 1", "pass 0 or 1")
        if "d_key" in settings:
            d_key = positive(settings, "d_key", 1)
        else:
            d_key = solve(numbers, heads * (d_value + normalise), 0, "linear_attention")
        return cls(heads, d_key, d_value, cls.wide(settings, heads, d_key, d_value), normalise)


class LinearLayer(Layer):
    """The layer of linear attention; streams k, v and q."""

    Config = LinearLayerConfig

    def __init__(self, config: LinearLayerConfig, weights: Weights, dtype: np.dtype[Any]) -> None:
        self.config, self.width = config, config.width
        H, K = config.heads, config.d_key
        self.fields: tuple[Field, ...] = (Field("S", (H, K, config.d_value)),)
        if config.normalise:
            self.fields = (*self.fields, Field("z", (H, K)))
        self._w = {name: np.ascontiguousarray(weights[name], dtype) for name in self.shapes(config)}
        self._keep = np.ones((H, 1), dtype)

    @classmethod
    def shapes(cls, config: LinearLayerConfig) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the four maps."""
        D, HK, HV = config.width, config.heads * config.d_key, config.heads * config.d_value
        return {
            "q_proj.weight": (HK, D),
            "k_proj.weight": (HK, D),
            "v_proj.weight": (HV, D),
            "o_proj.weight": (D, HV),
        }

    @classmethod
    def config_of(cls, weights: Weights, settings: Mapping[str, int]) -> LinearLayerConfig:
        """Read K, V and D off the maps; H and the normaliser are in the settings."""
        LinearLayerConfig.check_settings(settings)
        heads = positive(settings, "heads", 1)
        (HK, D), HV = weights["k_proj.weight"].shape, weights["v_proj.weight"].shape[0]
        normalise = settings.get("normalise", 0)
        return LinearLayerConfig(heads, parts(HK, heads), parts(HV, heads), D, normalise)

    @classmethod
    def random(cls, config: LinearLayerConfig, generator: np.random.Generator) -> Weights:
        """Draw the maps as torch's linear layers do."""
        return {name: dense(generator, *shape) for name, shape in cls.shapes(config).items()}

    def project(self, inputs: Array) -> Array:
        """Return k, v and q: (H (2 K + V), R)."""
        k, v, q = (linear(self._w[f"{name}_proj.weight"], inputs) for name in "kvq")
        if self.config.normalise:
            return np.concatenate([_features(k), v, _features(q)])
        return np.concatenate([k, v, q * q.dtype.type(self.config.d_key**-0.5)])

    def _split(self, streams: Array) -> list[Array]:
        HK, HV = len(self._w["k_proj.weight"]), len(self._w["v_proj.weight"])
        return np.split(streams, [HK, HK + HV])

    def advance(self, state: State, streams: Array, which: Tokens) -> State:
        """Go through a sequence."""
        k, v, _ = self._split(streams)
        S = state[0].copy()
        decay_scan(S, self.config.heads, k, v, self._keep, which, np.zeros_like(which))
        if not self.config.normalise:
            return (S,)
        z = np.empty_like(state[1])
        real_scan(state[1], which, np.ones(len(k), k.dtype), k, z)
        return S, z

    def read(self, old: State, new: State, streams: Array, which: Tokens) -> Array:
        """Return o, (tiles, H V, LANES)."""
        H, V = self.config.heads, self.config.d_value
        q = self._split(streams)[2]
        o = read(new[0], H, V, q, which)
        if not self.config.normalise:
            return o
        total = read(new[1], H, 1, q, which) + o.dtype.type(EPSILON)  # (tiles, H, LANES)
        mean: Array = o.reshape(len(o), H, V, -1) / total[:, :, None]
        return mean.reshape(o.shape)

    def emit(self, reads: Array, streams: Array) -> Array:
        """Return W_o o."""
        return linear(self._w["o_proj.weight"], reads)


def _features(x: Array) -> Array:
    """Return elu(x) + 1: x + 1 above 0 and exp(x) below."""
    one = x.dtype.type(1)
    above: Array = np.where(x > 0, x + one, exponential(np.minimum(x, 0)))
    return above
