"""A key-value cache that keeps heavy hitters: what has drawn the most attention.

The state keeps the last R tokens, and of all older ones H that attention has cared for
most. An entry has K key and V value numbers and its score: (H + R)(K + V + 1) numbers.
With one head, a token attends by its query q to all entries kept and to itself,

    p_j = softmax_j(q . k_j / sqrt(K)),    score_j' = score_j + p_j,

and enters with its own p as score. Then, if more than R tokens are recent, the oldest of
them becomes a candidate: it takes the next free heavy slot, or else the place of the
heavy entry with the least score if that does not exceed its own, or else it is dropped.
Among equal scores the heavy entry in the lowest slot goes, and the candidate stays. So a
token is never dropped while it is one of the last R; entries are dropped, not masked, and
the budgets are numbers of positions. A heavy entry never changes its slot.

The model learns from a token, which tells its position, how many came before it; so what
is written is known from public counts and no counter is part of the state. Keys carry no
positions but what the token says, so nothing goes out of step when an entry is dropped.

k, v, q: columns of ``k_proj.weight`` (K, vocabulary), ``v_proj.weight`` (V, vocabulary)
and ``q_proj.weight`` (K, vocabulary). Zhang et al. (2023), "H2O: heavy-hitter oracle".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from statebound.errors import UsageError
from statebound.jit import fma, kernel
from statebound.models._activations import exp
from statebound.models._cache import CacheCell, checked_value, newest, places
from statebound.models._cell import Array, Config, Field, State, Tokens, Weights, multiple_of
from statebound.models._lanes import LANES
from statebound.models._vocabulary import Vocabulary


@dataclass(frozen=True)
class KvH2OConfig(Config):
    """H heavy and R recent positions with K key and V value numbers and a score each."""

    heavy: int
    recent: int
    d_key: int
    d_value: int

    @property
    def positions(self) -> int:
        """H + R."""
        return self.heavy + self.recent

    @property
    def numbers(self) -> int:
        """(H + R)(K + V + 1)."""
        return self.positions * (self.d_key + self.d_value + 1)

    @classmethod
    def of(cls, numbers: int, settings: Mapping[str, int]) -> Self:
        """K is 2, V is 1, and H is half of the positions, unless set."""
        cls.check_settings(settings)
        d_key, d_value = checked_value(settings, "d_key", 2), checked_value(settings, "d_value", 1)
        heavy, recent = settings.get("heavy"), settings.get("recent")
        if heavy is None or recent is None:
            room = multiple_of(numbers, d_key + d_value + 1, "kv_h2o")
            if room < 2:
                least = 2 * (d_key + d_value + 1)
                raise UsageError(
                    "numbers", numbers, "kv_h2o keeps at least two tokens", f"pass {least}"
                )
            if recent is None:
                recent = room - (room // 2 if heavy is None else heavy)
            heavy = room - recent if heavy is None else heavy
        for name, value in (("heavy", heavy), ("recent", recent)):
            if value < 1:
                raise UsageError(
                    "set", f"{name}={value}", "must be at least 1", "or take kv_fifo, all recent"
                )
        return cls(heavy, recent, d_key, d_value)


@kernel
def _attend(keys: Array, k: Array, q: Array, heavy: int, recent: int, p: Array) -> None:
    """Write to p the softmax over the entries and, last, the token itself.

    keys (H + R, K), heavy slots first; k, q (K), q over sqrt(K); p (H + R + 1). Entries
    not yet written, all but the first `heavy` and the last `recent`, get 0.
    """
    count = len(keys)
    p[:] = 0
    for d in range(len(q)):
        p[count] = fma(q[d], k[d], p[count])
    top = p[count]
    for j in range(count):
        if j < heavy or j >= count - recent:
            for d in range(len(q)):
                p[j] = fma(q[d], keys[j, d], p[j])
            top = max(top, p[j])
    p[count] = exp(p[count] - top)
    total = p[count]
    for j in range(count):
        if j < heavy or j >= count - recent:
            p[j] = exp(p[j] - top)
            total += p[j]
    for j in range(count + 1):
        p[j] /= total


@kernel
def _evict(entries: Array, H: int, heavy: int) -> None:
    """Let the oldest recent entry, in row H, take a heavy slot or none.

    entries (H + R, K + V + 1), the score last; `heavy` slots are written.
    """
    score = entries.shape[1] - 1
    slot = heavy
    if heavy == H:
        slot = 0
        for j in range(1, H):
            if entries[j, score] < entries[slot, score]:
                slot = j
        if H == 0 or entries[slot, score] > entries[H, score]:
            return
    entries[slot] = entries[H]


@kernel
def _scan(
    entries: Array, tokens: Tokens, place: Tokens, k: Array, q: Array, v: Array, H: int
) -> None:
    """Read tokens (tiles, T, LANES) into entries (tiles, H + R, K + V + 1, LANES), in place.

    k, q (vocabulary, K); v (vocabulary, V).
    """
    count, width = entries.shape[1], entries.shape[2]
    R, K, V = count - H, k.shape[1], v.shape[1]
    now = np.empty((count, width), entries.dtype)
    p = np.empty(count + 1, entries.dtype)
    for tile in range(len(entries)):
        for i in range(LANES):
            now[:] = entries[tile, :, :, i]
            for t in range(tokens.shape[1]):
                token = tokens[tile, t, i]
                before = place[token]
                heavy, recent = min(max(before - R, 0), H), min(before, R)
                _attend(now[:, :K], k[token], q[token], heavy, recent, p)
                for j in range(count):
                    now[j, width - 1] += p[j]
                if recent == R:
                    _evict(now, H, heavy)
                for j in range(H, count - 1):
                    now[j] = now[j + 1]
                for d in range(K):
                    now[count - 1, d] = k[token, d]
                for d in range(V):
                    now[count - 1, K + d] = v[token, d]
                now[count - 1, width - 1] = p[count]
            entries[tile, :, :, i] = now


class KvH2O(CacheCell):
    """Attention over heavy hitters and the last R tokens."""

    name: ClassVar[str] = "kv_h2o"
    summary: ClassVar[str] = "key-value cache of heavy hitters and recent tokens"
    encoding: ClassVar[str] = "pairs"
    needs_positions: ClassVar[bool] = True
    inits: ClassVar[tuple[str, ...]] = ("random",)
    biased: ClassVar[bool] = False
    Config = KvH2OConfig

    def __init__(
        self, config: KvH2OConfig, weights: Weights, vocabulary: Vocabulary, dtype: str = "float32"
    ) -> None:
        super().__init__(config, weights, vocabulary, dtype)
        self._place = places(vocabulary, self.name)
        heavy = self.entries(config.heavy, "heavy_", cache=False)
        scores = Field("scores", (config.positions,), low=0.0)
        self.fields = (*heavy, *self.entries(config.recent), scores)
        q = np.asarray(weights["q_proj.weight"], np.float64) / np.sqrt(config.d_key)
        v, k = self._tables
        self._k, self._q, self._v = (np.ascontiguousarray(part.T, self.dtype) for part in (k, q, v))

    @classmethod
    def shapes(cls, config: KvH2OConfig, vocabulary: Vocabulary) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the three maps: every token asks."""
        return super().shapes(config, vocabulary) | {
            "q_proj.weight": (config.d_key, vocabulary.size)
        }

    @classmethod
    def config_of(cls, weights: Weights, settings: Mapping[str, int]) -> KvH2OConfig:
        """Read K and V off the maps; H and R are in the settings."""
        KvH2OConfig.check_settings(settings)
        if not {"heavy", "recent"} <= set(settings):
            raise UsageError(
                "weights",
                "kv_h2o",
                "do not tell the sizes of the cache",
                "pass --set heavy=H and --set recent=R",
            )
        d_key, d_value = weights["k_proj.weight"].shape[0], weights["v_proj.weight"].shape[0]
        heavy, recent = (checked_value(settings, name, 1) for name in ("heavy", "recent"))
        return KvH2OConfig(heavy, recent, d_key, d_value)

    def scan(self, state: State, tokens: Tokens) -> State:
        """Read tokens from `state`."""
        H, K, V = self.config.heavy, self.config.d_key, self.config.d_value
        parts = [part.reshape(len(part), -1, width, LANES) for part, width in self._shaped(state)]
        values, keys = (np.concatenate(parts[kind:-1:2], axis=1) for kind in (0, 1))
        entries = np.concatenate([keys, values, parts[-1]], axis=2)
        _scan(entries, tokens, self._place, self._k, self._q, self._v, H)
        values, keys, score = entries[:, :, K : K + V], entries[:, :, :K], entries[:, :, K + V :]
        every = [values[:, :H], keys[:, :H], values[:, H:], keys[:, H:], score]
        return tuple(np.ascontiguousarray(p).reshape(len(p), -1, LANES) for p in every)

    def _shaped(self, state: State) -> list[tuple[Array, int]]:
        """Return every part with the numbers that an entry has in it."""
        widths = [self.config.d_value, self.config.d_key] * (len(state) // 2) + [1]
        return list(zip(state, widths, strict=True))

    def kept(self, state: State) -> list[Array]:
        """Return the heavy entries, in the order of their slots, and the recent ones."""
        n, H, R = self.vocabulary.length, self.config.heavy, self.config.recent
        heavy, recent = min(max(n - R, 0), H), min(n, R)
        *parts, _ = self._shaped(state)
        last = [newest(part, width, recent) for part, width in parts[-2:]]
        first = [part[:, : heavy * width] for part, width in parts[:2]]
        return [np.concatenate(pair, axis=1) for pair in zip(first, last, strict=True)]


CELL = KvH2O
