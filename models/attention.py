"""Full attention: the contrast, whose state grows with what it has read.

The state keeps the values and keys of *every* token, K + V numbers a token: n (K + V)
after a stream of the public length n, and no fixed size that a limit could bound. The
size that is asked for is that of one token. Attention is by keys alone, q . k / sqrt(K),
over all tokens and the one that asks; past n tokens a token takes the place of the oldest.

Constructed parameters (K >= 2, V = 1, bits with positions): those of a cache that is
addressed by content, as in `kv_fifo`. It holds the whole stream, so every bit is found.

Vaswani et al. (2017), "Attention is all you need".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from statebound.errors import UsageError
from statebound.models._attention import AttentionLayer, of_length
from statebound.models._cache import CacheCell, addressed, checked_value, push
from statebound.models._cell import Array, Config, State, Tokens, Weights, multiple_of
from statebound.models._vocabulary import Vocabulary


@dataclass(frozen=True)
class AttentionConfig(Config):
    """K key and V value numbers a token, and n tokens: 0 while that is not known."""

    d_key: int
    d_value: int
    length: int

    @property
    def positions(self) -> int:
        """n, or 1 while it is not known."""
        return max(1, self.length)

    @property
    def growing(self) -> int:
        """K + V."""
        return self.d_key + self.d_value

    @property
    def numbers(self) -> int:
        """Count n (K + V)."""
        return self.positions * self.growing

    @classmethod
    def of(cls, numbers: int, settings: Mapping[str, int]) -> Self:
        """V is 1 unless set, and K what is left of a token's numbers."""
        cls.check_settings(settings)
        d_value, length = checked_value(settings, "d_value", 1), settings.get("length", 0)
        if "d_key" in settings:
            return cls(checked_value(settings, "d_key", 1), d_value, length)
        d_key = multiple_of(numbers, max(1, length), "attention") - d_value
        if d_key < 1:
            raise UsageError(
                "numbers",
                numbers,
                "attention needs a key and a value of each token",
                f"pass {(d_value + 1) * max(1, length)} or more",
            )
        return cls(d_key, d_value, length)

    def reaching(self, length: int) -> Self:
        """Return the config for a stream of this length."""
        made: Self = of_length(self, length)
        return made


class Attention(CacheCell):
    """Attention over everything."""

    name: ClassVar[str] = "attention"
    summary: ClassVar[str] = "full attention; the state grows, and its numbers are a token's"
    encoding: ClassVar[str] = "pairs"
    biased: ClassVar[bool] = False
    Config = AttentionConfig
    layer = AttentionLayer

    def __init__(
        self,
        config: AttentionConfig,
        weights: Weights,
        vocabulary: Vocabulary,
        dtype: str = "float32",
    ) -> None:
        super().__init__(config, weights, vocabulary, dtype)
        self.fields = self.entries(config.positions, grows=True)

    @classmethod
    def config_of(cls, weights: Weights, settings: Mapping[str, int]) -> AttentionConfig:
        """Read K and V off the maps."""
        AttentionConfig.check_settings(settings)
        d_key, d_value = weights["k_proj.weight"].shape[0], weights["v_proj.weight"].shape[0]
        return AttentionConfig(d_key, d_value, settings.get("length", 0))

    @classmethod
    def constructed(
        cls, config: AttentionConfig, vocabulary: Vocabulary, generator: np.random.Generator
    ) -> Weights:
        """Return keys on the unit sphere and the queries that find them."""
        return addressed(config.d_key, config.d_value, vocabulary, generator, cls.name)

    def scan(self, state: State, tokens: Tokens) -> State:
        """Read tokens from `state`."""
        pairs = zip(state, self._tables, strict=True)
        return tuple(push(part, table, tokens) for part, table in pairs)

    def kept(self, state: State) -> list[Array]:
        """Return everything."""
        return list(state)


CELL = Attention
