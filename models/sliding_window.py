"""Sliding-window attention: a bounded key-value cache.

The state keeps the last W tokens, of each a value of V numbers and, where K > 0, a key
of K numbers: W (K + V) numbers, oldest first. A new token attends to itself and to the
W kept tokens:

    o_r = sum_j softmax_j(q_r . k_j / sqrt(K) + bias_r[token, age_j]) v_j

with ages 0 (itself) to W. k, v and q are columns of ``k_proj.weight`` (K, vocabulary),
``v_proj.weight`` (V, vocabulary) and ``q_proj.weight`` (R K, vocabulary); the relative
position bias is ``bias`` (R, vocabulary, W + 1). Entries not yet written are zeros,
and since the length of the stream is public they are masked by a public count.

Constructed parameters (K = 0, V = 1, bits): a bit b has the value 2b - 1, and a query
attends to the age of the bit it asks for, one head for each bit of its parity; a bit
that has left the window leaves the query with itself, whose value is 0. So exactly the
last W bits are kept: success 1/2 + W / (2n) on Index.

Beltagy et al. (2020), "Longformer", for windows; Shaw et al. (2018) for the bias.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from statebound.errors import UsageError
from statebound.models._cell import Array, Cell, Config, Field, State, Tokens, Weights, multiple_of
from statebound.models._vocabulary import Vocabulary

_FAR = -40.0  # exp(-40) is far below the rounding of float32 and of float64 sums of a window


@dataclass(frozen=True)
class SlidingWindowConfig(Config):
    """W kept positions with K key and V value numbers each."""

    window: int
    d_key: int
    d_value: int

    @property
    def numbers(self) -> int:
        """W (K + V)."""
        return self.window * (self.d_key + self.d_value)

    @classmethod
    def of(cls, numbers: int, settings: Mapping[str, int]) -> Self:
        """K is 0 and V is 1 unless set."""
        cls.check_settings(settings)
        d_key, d_value = settings.get("d_key", 0), settings.get("d_value", 1)
        if d_value < 1:
            raise UsageError("set", f"d_value={d_value}", "must be positive", "pass 1 or more")
        window = settings.get("window", multiple_of(numbers, d_key + d_value, "sliding_window"))
        return cls(window, d_key, d_value)


def _push(kept: Array, table: Array, tokens: Tokens) -> Array:
    """Append the tokens' columns of table (D, vocabulary) to kept (tiles, W D, LANES)."""
    size, width = kept.shape[1], table.shape[0]
    window = size // width
    fresh = table[:, tokens[:, max(0, tokens.shape[1] - window) :]]  # (D, tiles, T, LANES)
    rows = fresh.transpose(1, 2, 0, 3).reshape(len(kept), -1, kept.shape[2])
    both = np.concatenate([kept, rows], axis=1)
    return np.ascontiguousarray(both[:, both.shape[1] - size :])


class SlidingWindow(Cell):
    """Attention over the last W tokens."""

    name: ClassVar[str] = "sliding_window"
    summary: ClassVar[str] = "attention over a bounded key-value cache"
    inits: ClassVar[tuple[str, ...]] = ("constructed", "random")
    Config = SlidingWindowConfig

    def __init__(
        self,
        config: SlidingWindowConfig,
        weights: Weights,
        vocabulary: Vocabulary,
        dtype: str = "float32",
    ) -> None:
        super().__init__(config, weights, vocabulary, dtype)
        W = config.window
        v = self.table("v_proj.weight")
        tables = [v]
        bounded = bool((np.abs(v) <= 1).all())
        low, high = (-1.0, 1.0) if bounded else (None, None)
        parts = [Field("values", (W, config.d_value), low, high, cache=True)]
        if config.d_key:
            tables.append(self.table("k_proj.weight"))
            parts.append(Field("keys", (W, config.d_key), cache=True))
        self.fields, self._tables = tuple(parts), tables

    @classmethod
    def shapes(
        cls, config: SlidingWindowConfig, vocabulary: Vocabulary
    ) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the value map and, where there are keys, of the key map."""
        shapes: dict[str, tuple[int, ...]] = {"v_proj.weight": (config.d_value, vocabulary.size)}
        if config.d_key:
            shapes["k_proj.weight"] = (config.d_key, vocabulary.size)
        return shapes

    @classmethod
    def readout_shapes(
        cls, config: SlidingWindowConfig, vocabulary: Vocabulary
    ) -> dict[str, tuple[int | None, ...]]:
        """Return the shapes of the bias and the query map: any number of heads."""
        return {
            "bias": (None, vocabulary.size, config.window + 1),
            "q_proj.weight": (None, vocabulary.size),
        }

    @classmethod
    def config_of(cls, weights: Weights, settings: Mapping[str, int]) -> SlidingWindowConfig:
        """Read K and V off the maps; W is in the bias or in the settings."""
        SlidingWindowConfig.check_settings(settings)
        if "bias" in weights:
            window = weights["bias"].shape[-1] - 1
        elif "window" in settings:
            window = settings["window"]
        else:
            raise UsageError(
                "weights",
                "sliding_window",
                "weights without a bias do not tell the window",
                "pass --set window=W",
            )
        d_key = weights["k_proj.weight"].shape[0] if "k_proj.weight" in weights else 0
        return SlidingWindowConfig(window, d_key, weights["v_proj.weight"].shape[0])

    @classmethod
    def random(
        cls,
        config: SlidingWindowConfig,
        vocabulary: Vocabulary,
        generator: np.random.Generator,
    ) -> Weights:
        """Draw standard normal keys and values for every token."""
        shapes = cls.shapes(config, vocabulary)
        return {name: generator.standard_normal(shape) for name, shape in shapes.items()}

    @classmethod
    def constructed(
        cls,
        config: SlidingWindowConfig,
        vocabulary: Vocabulary,
        generator: np.random.Generator,
    ) -> Weights:
        """Return parameters that keep and read the last W bits."""
        if vocabulary.symbols != 2 or (config.d_key, config.d_value) != (0, 1):
            raise UsageError(
                "init",
                "constructed",
                "sliding_window is constructed for bits, one number each",
                "use a problem of bits with d_key = 0 and d_value = 1, or init random",
            )
        W, n, stream = config.window, vocabulary.length, vocabulary.stream_tokens
        v = np.zeros((1, vocabulary.size))
        v[0, :stream] = np.tile([-1.0, 1.0], stream // 2)
        weights: Weights = {"v_proj.weight": v}
        if vocabulary.parities:
            heads = max(len(p) for p in vocabulary.parities)
            bias = np.full((heads, vocabulary.size, W + 1), _FAR)
            bias[:, :, 0] = 0.0
            for query, positions in enumerate(vocabulary.parities):
                for head, position in enumerate(positions):
                    age = n - position
                    if age <= W:
                        bias[head, stream + query, 0] = _FAR
                        bias[head, stream + query, age] = 0.0
            weights["bias"] = bias
        return weights

    def scan(self, state: State, tokens: Tokens) -> State:
        """Read tokens from `state`."""
        pairs = zip(state, self._tables, strict=True)
        return tuple(_push(part, table, tokens) for part, table in pairs)

    @property
    def has_readout(self) -> bool:
        """Whether there is a bias, queries for the keys, and values of one dimension."""
        keyed = self.config.d_key == 0 or "q_proj.weight" in self.weights
        return (
            "bias" in self.weights
            and keyed
            and self.config.d_value == 1
            and self.vocabulary.queries > 0
        )

    def logits(self, old: State, new: State, tokens: Tokens) -> Array:
        """Return (0, -prod_r(-o_r))."""
        W, K = self.config.window, self.config.d_key
        fill = min(W, self.vocabulary.length)
        token = tokens[:, 0]
        own = [table[:, token].transpose(1, 0, 2) for table in self._tables]  # (tiles, D, LANES)
        v = np.concatenate([old[0], own[0]], axis=1)[:, W - fill :]  # (tiles, fill + 1, LANES)
        bias = self.table("bias")[:, :, fill::-1]
        sign = np.full(token.shape, -1.0, v.dtype)
        for head in range(len(bias)):
            score = bias[head][token].transpose(0, 2, 1)
            if K:
                k = np.concatenate([old[1], own[1]], axis=1)[:, (W - fill) * K :]
                q = self.table("q_proj.weight").reshape(-1, K, self.vocabulary.size)[head]
                k = k.reshape(len(k), fill + 1, K, -1)
                score = score + np.einsum("ktl,twkl->twl", q[:, token], k) / np.sqrt(K)
            weight = np.exp(score - score.max(axis=1, keepdims=True))
            o = (weight * v).sum(axis=1) / weight.sum(axis=1)
            sign = sign * -o
        return np.stack([np.zeros_like(sign), sign], axis=1)


CELL = SlidingWindow
