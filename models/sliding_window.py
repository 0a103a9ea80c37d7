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
from statebound.models._cache import (
    CacheCell,
    bits_only,
    distance_bias,
    newest,
    push,
    signed_values,
)
from statebound.models._cell import Array, Config, State, Tokens, Weights, multiple_of
from statebound.models._vocabulary import Vocabulary


@dataclass(frozen=True)
class SlidingWindowConfig(Config):
    """W kept positions with K key and V value numbers each."""

    window: int
    d_key: int
    d_value: int

    @property
    def positions(self) -> int:
        """W."""
        return self.window

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


class SlidingWindow(CacheCell):
    """Attention over the last W tokens."""

    name: ClassVar[str] = "sliding_window"
    summary: ClassVar[str] = "attention over a bounded key-value cache"
    biased: ClassVar[bool] = True
    Config = SlidingWindowConfig

    def __init__(
        self,
        config: SlidingWindowConfig,
        weights: Weights,
        vocabulary: Vocabulary,
        dtype: str = "float32",
    ) -> None:
        super().__init__(config, weights, vocabulary, dtype)
        self.fields = self.entries(config.window)

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
    def constructed(
        cls,
        config: SlidingWindowConfig,
        vocabulary: Vocabulary,
        generator: np.random.Generator,
    ) -> Weights:
        """Return parameters that keep and read the last W bits."""
        fits = (config.d_key, config.d_value) == (0, 1)
        bits_only(vocabulary, fits, "sliding_window", "d_key = 0 and d_value = 1")
        W, n = config.window, vocabulary.length
        distances = {position: n - position for position in range(max(0, n - W), n)}
        bias = distance_bias(vocabulary, W, distances)
        return {"v_proj.weight": signed_values(vocabulary)} | bias

    def scan(self, state: State, tokens: Tokens) -> State:
        """Read tokens from `state`."""
        pairs = zip(state, self._tables, strict=True)
        return tuple(push(part, table, tokens) for part, table in pairs)

    def kept(self, state: State) -> list[Array]:
        """Return the entries that have been written."""
        fill = min(self.config.window, self.vocabulary.length)
        widths = [self.config.d_value, self.config.d_key][: len(state)]
        return [newest(part, width, fill) for part, width in zip(state, widths, strict=True)]


CELL = SlidingWindow
