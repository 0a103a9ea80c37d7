"""Softmax attention as a layer, over everything or over a window.

    q, k, v = W_q x, W_k x, W_v x
    o       = sum_j softmax_j(q . k_j / sqrt(K)) v_j        for each of H heads
    y       = W_o o

H heads of K numbers, D the width. Parameters ``q_proj.weight``, ``k_proj.weight``,
``v_proj.weight`` (H K, D), ``o_proj.weight`` (D, H K), without biases. There are no
positions, rotary or other: a sequence model has them in its embedding, and the layer
needs no counter.

State: the keys and values of earlier tokens, oldest first, 2 H K numbers each. With a
window of W a token sees itself and the W - 1 before it, which are kept: the state has a
fixed size. Without, W = 0, all n tokens of the stream are kept: the state grows. Past n
tokens a token takes the place of the oldest, so a question of one token sees everything.

How many entries have been written is public, and shows in the state: those that lead it
and are all zeros have not been, and get no attention. (So does the oldest of all, should a
quantiser round it to zeros.)

Vaswani et al. (2017), "Attention is all you need"; Beltagy et al. (2020), "Longformer",
for windows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from statebound.errors import UsageError
from statebound.jit import fma, kernel
from statebound.models._activations import exp
from statebound.models._cache import push
from statebound.models._cell import Array, Config, Field, State, Tokens, Weights
from statebound.models._heads import dense, parts, positive, solve
from statebound.models._lanes import LANES
from statebound.models._layer import Layer
from statebound.models._linear import linear


def of_length(config: Any, length: int) -> Any:
    """Return a config for a stream of this length, or refuse if it has another one."""
    if config.length not in (0, length):
        raise UsageError(
            "set",
            f"length={config.length}",
            f"contradicts the length of the stream, {length}",
            "drop the setting",
        )
    return replace(config, length=length)


@dataclass(frozen=True)
class AttentionLayerConfig(Config):
    """H heads of K numbers, the width D, W (0 for no window), n (0 while it is not known)."""

    heads: int
    d_key: int
    width: int
    window: int
    length: int

    @property
    def entries(self) -> int:
        """How many tokens are kept: W - 1, or n, or 1 while that is not known."""
        return self.window - 1 if self.window else max(1, self.length)

    @property
    def numbers(self) -> int:
        """2 H K for each."""
        return 2 * self.heads * self.d_key * self.entries

    @property
    def growing(self) -> int:
        """2 H K without a window."""
        return 0 if self.window else 2 * self.heads * self.d_key

    @classmethod
    def of(cls, numbers: int, settings: Mapping[str, int]) -> Self:
        """One head, no window and D = H K, unless set; K follows."""
        cls.check_settings(settings)
        heads, window = positive(settings, "heads", 1), settings.get("window", 0)
        length = settings.get("length", 0)
        if window == 1:
            raise UsageError("set", "window=1", "keeps nothing", "pass 2 or more, or 0 for none")
        if "d_key" in settings:
            d_key = positive(settings, "d_key", 1)
        else:
            entries = window - 1 if window else max(1, length)
            d_key = solve(numbers, 2 * heads * entries, 0, "attention")
        return cls(heads, d_key, positive(settings, "width", heads * d_key), window, length)

    def reaching(self, length: int) -> Self:
        """Return the config for a stream of this length."""
        made: Self = of_length(self, length)
        return made


@kernel
def _attend(
    keys: Array, values: Array, own: Array, query: Array, which: Tokens, heads: int, out: Array
) -> None:
    """Attend to the entries written and to the own one, a lane at a time.

    keys, values, out (tiles, E H K, LANES), (tiles, E H K, LANES) and (tiles, H K, LANES);
    own (2, tiles, H K, LANES), the token's key and value; query (H K, columns), already
    over sqrt(K); which (tiles, LANES).
    """
    tiles, kept, _ = keys.shape
    width = out.shape[1]
    entries, size = kept // width, width // heads
    score = np.empty((entries + 1, LANES), keys.dtype)
    written = np.empty((entries, LANES), np.bool_)
    seen, q = np.empty(LANES, np.bool_), np.empty((size, LANES), keys.dtype)
    most, total = np.empty(LANES, keys.dtype), np.empty(LANES, keys.dtype)
    zero = keys.dtype.type(0)
    for tile in range(tiles):
        seen[:] = False
        for e in range(entries):
            for d in range(width):
                key, value = keys[tile, e * width + d], values[tile, e * width + d]
                for i in range(LANES):
                    seen[i] |= (key[i] != 0) | (value[i] != 0)
            written[e] = seen
        for h in range(heads):
            for d in range(size):
                row = query[h * size + d]
                for i in range(LANES):
                    q[d, i] = row[which[tile, i]]
            for e in range(entries + 1):
                row = score[e]
                row[:] = 0
                for d in range(size):
                    at = h * size + d
                    key = keys[tile, e * width + at] if e < entries else own[0, tile, at]
                    for i in range(LANES):
                        row[i] = fma(q[d, i], key[i], row[i])
            most[:] = score[entries]
            for e in range(entries):
                for i in range(LANES):
                    most[i] = max(most[i], score[e, i] if written[e, i] else most[i])
            total[:] = 0
            for e in range(entries + 1):
                row = score[e]
                for i in range(LANES):
                    row[i] = exp(row[i] - most[i])
                    if e < entries:
                        row[i] = row[i] if written[e, i] else zero
                    total[i] += row[i]
            for d in range(size):
                at = h * size + d
                mean = out[tile, at]
                mean[:] = 0
                for e in range(entries + 1):
                    value = values[tile, e * width + at] if e < entries else own[1, tile, at]
                    row = score[e]
                    for i in range(LANES):
                        mean[i] = fma(row[i], value[i], mean[i])
                for i in range(LANES):
                    mean[i] = mean[i] / total[i]


class AttentionLayer(Layer):
    """Attention over the tokens kept and the token itself; streams k, v and q / sqrt(K)."""

    Config = AttentionLayerConfig

    def __init__(
        self, config: AttentionLayerConfig, weights: Weights, dtype: np.dtype[Any]
    ) -> None:
        self.config, self.width = config, config.width
        HK = config.heads * config.d_key
        self.fields = tuple(
            Field(name, (config.entries, HK), cache=True, grows=not config.window)
            for name in ("keys", "values")
        )
        self._w = {name: np.ascontiguousarray(weights[name], dtype) for name in self.shapes(config)}

    @classmethod
    def shapes(cls, config: AttentionLayerConfig) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the four maps."""
        HK = config.heads * config.d_key
        shapes: dict[str, tuple[int, ...]] = {"o_proj.weight": (config.width, HK)}
        return {f"{name}_proj.weight": (HK, config.width) for name in "qkv"} | shapes

    @classmethod
    def config_of(cls, weights: Weights, settings: Mapping[str, int]) -> AttentionLayerConfig:
        """Read H K and D off the maps; H, W and n are in the settings."""
        AttentionLayerConfig.check_settings(settings)
        heads = positive(settings, "heads", 1)
        HK, D = weights["k_proj.weight"].shape
        window, length = settings.get("window", 0), settings.get("length", 0)
        return AttentionLayerConfig(heads, parts(HK, heads), D, window, length)

    @classmethod
    def random(cls, config: AttentionLayerConfig, generator: np.random.Generator) -> Weights:
        """Draw the maps as torch's linear layers do."""
        return {name: dense(generator, *shape) for name, shape in cls.shapes(config).items()}

    def project(self, inputs: Array) -> Array:
        """Return k, v and q / sqrt(K)."""
        k, v, q = (linear(self._w[f"{name}_proj.weight"], inputs) for name in "kvq")
        return np.concatenate([k, v, q * q.dtype.type(self.config.d_key**-0.5)])

    def advance(self, state: State, streams: Array, which: Tokens) -> State:
        """Append the keys and values; the oldest leave."""
        k, v, _ = np.split(streams, 3)
        return push(state[0], k, which), push(state[1], v, which)

    def read(self, old: State, new: State, streams: Array, which: Tokens) -> Array:
        """Return o, H K rows: over what was kept, and the newest entry, the token's own."""
        HK = self.config.heads * self.config.d_key
        own = np.stack([part[:, -HK:] for part in new])
        out = np.empty((len(which), HK, LANES), own.dtype)
        query = np.split(streams, 3)[2]
        at = np.ascontiguousarray(which[:, 0])
        _attend(old[0], old[1], own, query, at, self.config.heads, out)
        return out

    def emit(self, reads: Array, streams: Array) -> Array:
        """Return W_o o."""
        return linear(self._w["o_proj.weight"], reads)
