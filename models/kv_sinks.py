"""A key-value cache of the first tokens and the last ones: attention sinks.

The state keeps the first S tokens of the stream for ever and the last R, of each V value
and K key numbers: (S + R)(K + V). A full cache evicts the oldest entry that is no sink.
Places are counted *inside the cache*: with E entries, E = min(n, S + R), the newest is at
distance 1 from a query and the first sink at distance E, however far back it was read.

A token is a sink when fewer than S tokens came before it. The model learns that from the
token, which tells its position; so the count is as public as the length of the stream
and is no part of the state. The last R tokens are kept apart, oldest first, also while
some of them are sinks; what is not yet written, or is there twice, is masked by public
counts.

Constructed parameters (K = 0, V = 1, bits with positions): a bit b has the value 2b - 1,
and heads attend by distance, as in `sliding_window`. Exactly the first S and the last R
bits are kept: success 1/2 + min(n, S + R) / (2n) on Index.

Xiao et al. (2024), "Efficient streaming language models with attention sinks".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from statebound.errors import UsageError
from statebound.jit import kernel
from statebound.models._cache import (
    CacheCell,
    bits_only,
    checked_value,
    distance_bias,
    newest,
    places,
    push,
    signed_values,
)
from statebound.models._cell import Array, Config, State, Tokens, Weights, multiple_of
from statebound.models._vocabulary import Vocabulary


@dataclass(frozen=True)
class KvSinksConfig(Config):
    """S sinks and R recent positions with K key and V value numbers each."""

    sinks: int
    recent: int
    d_key: int
    d_value: int

    @property
    def positions(self) -> int:
        """S + R."""
        return self.sinks + self.recent

    @property
    def numbers(self) -> int:
        """(S + R)(K + V)."""
        return self.positions * (self.d_key + self.d_value)

    @classmethod
    def of(cls, numbers: int, settings: Mapping[str, int]) -> Self:
        """K is 0, V is 1 and S is 4, or less than R where there is little room."""
        cls.check_settings(settings)
        d_key, d_value = settings.get("d_key", 0), checked_value(settings, "d_value", 1)
        if "sinks" in settings and "recent" in settings:
            room = settings["sinks"] + settings["recent"]
        else:
            room = multiple_of(numbers, d_key + d_value, "kv_sinks")
        if "recent" in settings:
            sinks = settings.get("sinks", max(0, room - settings["recent"]))
        else:
            sinks = settings.get("sinks", min(4, room // 2))
        recent = settings.get("recent", room - sinks)
        if sinks < 1 or recent < 1:
            raise UsageError(
                "set" if settings else "numbers",
                f"sinks={sinks}, recent={recent}",
                "kv_sinks needs both",
                "pass at least 1 of each, or use kv_fifo or sliding_window",
            )
        return cls(sinks, recent, d_key, d_value)


@kernel
def _settle(kept: Array, tokens: Tokens, place: Tokens, table: Array) -> None:
    """Write the tokens of the first places into kept (tiles, S D, LANES), in place."""
    width = len(table)
    sinks = kept.shape[1] // width
    for tile in range(len(kept)):
        for t in range(tokens.shape[1]):
            for i in range(kept.shape[2]):
                token = tokens[tile, t, i]
                at = place[token]
                if at < sinks:
                    for d in range(width):
                        kept[tile, at * width + d, i] = table[d, token]


class KvSinks(CacheCell):
    """Attention over the first S and the last R tokens."""

    name: ClassVar[str] = "kv_sinks"
    summary: ClassVar[str] = "key-value cache of sinks and recent tokens"
    encoding: ClassVar[str] = "pairs"
    needs_positions: ClassVar[bool] = True
    biased: ClassVar[bool] = True
    Config = KvSinksConfig

    def __init__(
        self,
        config: KvSinksConfig,
        weights: Weights,
        vocabulary: Vocabulary,
        dtype: str = "float32",
    ) -> None:
        super().__init__(config, weights, vocabulary, dtype)
        self._place = places(vocabulary, self.name)
        sinks = self.entries(config.sinks, "sink_", cache=False)
        self.fields = (*sinks, *self.entries(config.recent))

    @classmethod
    def config_of(cls, weights: Weights, settings: Mapping[str, int]) -> KvSinksConfig:
        """Read K and V off the maps; S is in the settings, R there or in the bias."""
        KvSinksConfig.check_settings(settings)
        sinks, recent = settings.get("sinks"), settings.get("recent")
        if sinks is not None and "bias" in weights:
            recent = weights["bias"].shape[-1] - 1 - sinks
        if sinks is None or recent is None or sinks < 1 or recent < 1:
            raise UsageError(
                "weights",
                "kv_sinks",
                "do not tell the sizes of the cache",
                "pass --set sinks=S and --set recent=R",
            )
        d_key = weights["k_proj.weight"].shape[0] if "k_proj.weight" in weights else 0
        return KvSinksConfig(sinks, recent, d_key, weights["v_proj.weight"].shape[0])

    @classmethod
    def constructed(
        cls, config: KvSinksConfig, vocabulary: Vocabulary, generator: np.random.Generator
    ) -> Weights:
        """Return parameters that keep and read the first S and the last R bits."""
        fits = vocabulary.positional and (config.d_key, config.d_value) == (0, 1)
        bits_only(vocabulary, fits, "kv_sinks", "positions, d_key = 0 and d_value = 1")
        n, fill = vocabulary.length, min(vocabulary.length, config.positions)
        distances = {n - age: age for age in range(1, min(n, config.recent) + 1)}
        distances |= {place: fill - place for place in range(min(n, config.sinks))}
        bias = distance_bias(vocabulary, config.positions, distances)
        return {"v_proj.weight": signed_values(vocabulary)} | bias

    def scan(self, state: State, tokens: Tokens) -> State:
        """Read tokens from `state`."""
        half = len(state) // 2
        sinks = tuple(part.copy() for part in state[:half])
        for part, table in zip(sinks, self._tables, strict=True):
            _settle(part, tokens, self._place, table)
        recent = zip(state[half:], self._tables, strict=True)
        return (*sinks, *(push(part, table, tokens) for part, table in recent))

    def kept(self, state: State) -> list[Array]:
        """Return the sinks, then those of the last tokens that are none."""
        n, half, config = self.vocabulary.length, len(state) // 2, self.config
        sinks, recent = min(n, config.sinks), min(config.recent, max(0, n - config.sinks))
        widths = [config.d_value, config.d_key][:half]
        return [
            np.concatenate([first[:, : sinks * width], newest(last, width, recent)], axis=1)
            for first, last, width in zip(state[:half], state[half:], widths, strict=True)
        ]


CELL = KvSinks
