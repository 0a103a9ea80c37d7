"""A key-value cache of fixed size, first in first out, addressed by content.

The state keeps the keys and values of the last P tokens, P (K + V) numbers, oldest
first: appending an entry to a full cache evicts the oldest. Attention is by keys alone,
with no bias, so that a query must find its entry by content. Entries not yet written are
zeros, and since the length of the stream is public they are masked by a public count.

Constructed parameters (K >= 2, V = 1, bits with positions): bit b at position a has the
value s = 2b - 1 and the key s phi_a, with unit vectors phi_a no two of which are parallel.
A query for position a scores beta for the entry of a one, -beta for that of a zero, at
most beta (1 - g) for all others and beta (1 - g/2) for itself, whose value is -1; beta is
so large that the best score takes all. So a one is found where it is kept, and everything
else reads as zero: success 1/2 + P / (2n) on Index. A cache thus stores a bit K + 1 times;
the same P by age alone costs one number a bit (`sliding_window`).

Shazeer (2019) for decoding with a cache; first in, first out is the plainest eviction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from statebound.errors import UsageError
from statebound.models._cache import CacheCell, addressed, checked_value, newest, push
from statebound.models._cell import Array, Config, State, Tokens, Weights, multiple_of
from statebound.models._vocabulary import Vocabulary


@dataclass(frozen=True)
class KvFifoConfig(Config):
    """P kept positions with K key and V value numbers each."""

    positions: int
    d_key: int
    d_value: int

    @property
    def numbers(self) -> int:
        """P (K + V)."""
        return self.positions * (self.d_key + self.d_value)

    @classmethod
    def of(cls, numbers: int, settings: Mapping[str, int]) -> Self:
        """K is 3 and V is 1 unless set."""
        cls.check_settings(settings)
        d_key, d_value = checked_value(settings, "d_key", 3), checked_value(settings, "d_value", 1)
        if "positions" in settings:
            return cls(settings["positions"], d_key, d_value)
        return cls(multiple_of(numbers, d_key + d_value, "kv_fifo"), d_key, d_value)


class KvFifo(CacheCell):
    """Attention by content over the last P tokens."""

    name: ClassVar[str] = "kv_fifo"
    summary: ClassVar[str] = "key-value cache, first in first out"
    encoding: ClassVar[str] = "pairs"
    biased: ClassVar[bool] = False
    Config = KvFifoConfig

    def __init__(
        self, config: KvFifoConfig, weights: Weights, vocabulary: Vocabulary, dtype: str = "float32"
    ) -> None:
        super().__init__(config, weights, vocabulary, dtype)
        self.fields = self.entries(config.positions)

    @classmethod
    def config_of(cls, weights: Weights, settings: Mapping[str, int]) -> KvFifoConfig:
        """Read K and V off the maps; P is in the settings."""
        KvFifoConfig.check_settings(settings)
        if "positions" not in settings:
            raise UsageError(
                "weights", "kv_fifo", "do not tell the size of the cache", "pass --set positions=P"
            )
        d_key, d_value = weights["k_proj.weight"].shape[0], weights["v_proj.weight"].shape[0]
        return KvFifoConfig(settings["positions"], d_key, d_value)

    @classmethod
    def constructed(
        cls, config: KvFifoConfig, vocabulary: Vocabulary, generator: np.random.Generator
    ) -> Weights:
        """Return keys on the unit sphere and the queries that find them."""
        return addressed(config.d_key, config.d_value, vocabulary, generator, cls.name)

    def scan(self, state: State, tokens: Tokens) -> State:
        """Read tokens from `state`."""
        pairs = zip(state, self._tables, strict=True)
        return tuple(push(part, table, tokens) for part, table in pairs)

    def kept(self, state: State) -> list[Array]:
        """Return the last entries."""
        fill = min(self.config.positions, self.vocabulary.length)
        widths = (self.config.d_value, self.config.d_key)
        return [newest(part, width, fill) for part, width in zip(state, widths, strict=True)]


CELL = KvFifo
