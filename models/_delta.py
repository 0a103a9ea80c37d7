"""The layer that DeltaNet and Gated DeltaNet share.

Streams: without convolutions k, v and q are finished in `project`; with them they are
finished token by token, since they then depend on earlier inputs too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from statebound.models._cell import Array, Field, State, Tokens, Weights
from statebound.models._heads import ConvConfig, dense
from statebound.models._layer import Layer
from statebound.models._linear import linear
from statebound.models._matrix_state import delta_scan, read
from statebound.models._pointwise import logistic, silu, unit
from statebound.models._short_conv import ShortConv, serial

CONVOLVED = ("k", "v", "q")


def taps_of(weights: Weights, settings: Mapping[str, int]) -> int:
    """Return d_conv: of the weights, or where they have no convolutions, 0 or 1."""
    if "k_conv1d.weight" in weights:
        return int(weights["k_conv1d.weight"].shape[2])
    return min(1, settings.get("d_conv", 0))


def drawn(shapes: Mapping[str, tuple[int, ...]], generator: np.random.Generator) -> Weights:
    """Draw maps and taps as torch's layers do; vectors, which are scales of norms, are 1."""
    weights: Weights = {}
    for name, shape in shapes.items():
        rows, fan = shape[0], shape[-1]  # of a convolution every channel has its own taps
        weights[name] = (
            np.ones(shape) if len(shape) == 1 else dense(generator, rows, fan).reshape(shape)
        )
    return weights


class DeltaLayer(Layer):
    """S' = a (S - b k (k^T S)) + b k v^T with unit keys and queries.

    Streams: k, v, q, b and a, and then those of the subclass.
    """

    Config = ConvConfig

    def __init__(self, config: ConvConfig, weights: Weights, dtype: np.dtype[Any]) -> None:
        self.config, self.width = config, config.width
        H, K, V = config.heads, config.d_key, config.d_value
        self._w = {name: np.ascontiguousarray(weights[name], dtype) for name in self.shapes(config)}
        self._sizes = (H * K, H * V, H * K, H, H)
        self.fields: tuple[Field, ...] = (Field("S", (H, K, V)),)
        self._conv: ShortConv | None = None
        if config.taps:
            taps = np.concatenate([self._w[f"{name}_conv1d.weight"][:, 0] for name in CONVOLVED])
            self._conv = ShortConv(taps, np.zeros(len(taps), dtype))
            self.fields = (*self.fields, self._conv.field())

    @classmethod
    def shapes(cls, config: Any) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the maps, the steps and the convolutions."""
        D, HK, HV = config.width, config.heads * config.d_key, config.heads * config.d_value
        shapes: dict[str, tuple[int, ...]] = {
            "q_proj.weight": (HK, D),
            "k_proj.weight": (HK, D),
            "v_proj.weight": (HV, D),
            "b_proj.weight": (config.heads, D),
            "o_norm.weight": (config.d_value,),
            "o_proj.weight": (D, HV),
        }
        if config.taps:
            for name, rows in zip(CONVOLVED, (HK, HV, HK), strict=True):
                shapes[f"{name}_conv1d.weight"] = (rows, 1, config.d_conv)
        return shapes

    def decay(self, inputs: Array) -> Array:
        """Return a, (H, R)."""
        return np.ones((self.config.heads, inputs.shape[1]), inputs.dtype)

    def more(self, inputs: Array) -> list[Array]:
        """Return further streams, for `emit`."""
        return []

    def project(self, inputs: Array) -> Array:
        """Return k, v, q, b, a and further streams, (P, R)."""
        k, v, q = (linear(self._w[f"{name}_proj.weight"], inputs) for name in CONVOLVED)
        if self._conv is None:
            k, v, q = self._finish(silu(k), silu(v), silu(q))
        b = logistic(linear(self._w["b_proj.weight"], inputs))
        return np.concatenate([k, v, q, b, self.decay(inputs), *self.more(inputs)])

    def _finish(self, k: Array, v: Array, q: Array) -> tuple[Array, Array, Array]:
        heads, scale = self.config.heads, q.dtype.type(self.config.d_key**-0.5)
        return unit(k, heads), v, unit(q, heads) * scale

    def split(self, streams: Array) -> list[Array]:
        """Return k, v, q, b, a and the rest."""
        return np.split(streams, np.cumsum(self._sizes))

    def _convolved(
        self, kept: Array, streams: Array, which: Tokens
    ) -> tuple[tuple[Array, Array, Array], Array]:
        assert self._conv is not None
        HK, HV = self._sizes[:2]
        y, left = self._conv(kept, streams[: 2 * HK + HV], which)
        k, v, q = np.split(y, [HK, HK + HV])
        return self._finish(k, v, q), left

    def advance(self, state: State, streams: Array, which: Tokens) -> State:
        """Go through a sequence."""
        heads = self.config.heads
        k, v, _, b, a, _ = self.split(streams)
        S = state[0].copy()
        if self._conv is None:
            delta_scan(S, heads, k, v, a, b, which, which)
            return (S,)
        kept = state[1].copy()
        block = self._conv.block(len(which))
        for t in range(0, which.shape[1], block):
            now = np.ascontiguousarray(which[:, t : t + block])
            (k, v, _), kept = self._convolved(kept, streams, now)
            delta_scan(S, heads, k, v, a, b, serial(now), now)
        return (S, kept)

    def read(self, old: State, new: State, streams: Array, which: Tokens) -> Array:
        """Return o = q S' / sqrt(K), (tiles, H V, LANES)."""
        q, at = self.split(streams)[2], which
        if self._conv is not None:
            (_, _, q), _ = self._convolved(old[1], streams, which)
            at = serial(which)
        return read(new[0], self.config.heads, self.config.d_value, q, at)
