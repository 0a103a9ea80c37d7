"""RWKV-6: a matrix memory whose decay and whose mixing with the past the input decides.

With n and n' of this token and the one before (see `_rwkv`), each of w, k, v, r and g
has an input of its own, mixed by the input itself,

    n_s = n + (maa_s + tanh((n + maa_x (n' - n)) W1_s) W2_s) (n' - n)

and so has the decay; in every head

    w  = exp(-exp(time_decay + tanh(n_w D1) D2)),    k, v, r = K n_k, V n_v, R n_r
    o  = S^T r + (sum r u k) v          reads S *before* this token; u weighs the token itself
    S' = diag(w) S + k v^T
    time(n, n') = O (ln_x(o) silu(G n_g))

ln_x being a norm of every head by itself, epsilon 64e-5.

H heads of N, D = H N, F hidden channels, r and q the ranks of W and D. Parameters by the
authors' names, without ``blocks.0.``: ``att.time_maa_x``, ``_w``, ``_k``, ``_v``, ``_r``,
``_g`` (1, 1, D), ``att.time_maa_w1`` (D, 5 r) and ``w2`` (5, r, D), ``att.time_decay``
(1, 1, D), ``att.time_decay_w1`` (D, q) and ``w2`` (q, D), ``att.time_faaaa`` (H, N), u;
``att.receptance``, ``key``, ``value``, ``gate``, ``output`` (D, D), ``att.ln_x``,
``ffn.time_maa_k``, ``_r``, ``ffn.key`` (F, D), ``value``, ``receptance``, ``ln1``, ``ln2``.

State: S, index [key, value], H N N numbers, and the shifts n' and m', D each.

Initialisation: the authors', layer 0 of 1, except for what they start at zero. The first
maps W1 and D1, without which nothing would depend on the data, are orthogonal;
``att.output`` and ``ffn.value``, without which no output would depend on the state, and
``ffn.receptance`` are orthogonal times 0.1. The ranks are theirs, 32 and 64, or D if that
is less, and F is 3.5 D.

Peng et al. (2024), "Eagle and Finch: RWKV with matrix-valued states and dynamic recurrence".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from statebound.models._cell import Array, Field, State, Weights
from statebound.models._lanes import LANES
from statebound.models._linear import linear
from statebound.models._matrix_state import decay_scan, read
from statebound.models._pointwise import exponential, silu, sums, tanh
from statebound.models._rwkv import (
    QUIET,
    ChannelMixing,
    MatrixConfig,
    RwkvCell,
    RwkvLayer,
    blend,
    orthogonal,
    ramp,
    scaled,
    to_columns,
    zigzag,
)
from statebound.models._short_conv import serial

WRITTEN, HEARD = "wkv", "rg"  # in the order of the authors' joint map
HEAD_EPSILON = 64e-5
GAINS = {
    "att.key.weight": QUIET,
    "att.gate.weight": QUIET,
    "att.output.weight": QUIET,
    "ffn.value.weight": QUIET,
    "ffn.receptance.weight": QUIET,
}


@dataclass(frozen=True)
class Rwkv6Config(MatrixConfig):
    """H heads of N, F hidden channels and the ranks of what mixes and of the decay."""

    mix_rank: int
    decay_rank: int

    @classmethod
    def of(cls, numbers: int, settings: Mapping[str, int]) -> Self:
        """H (N + 2) N numbers; F = 3.5 D and ranks 32 and 64, at most D, unless set."""
        heads, size = cls.sizes(numbers, settings)
        D = heads * size
        return cls(
            heads,
            size,
            settings.get("hidden", 7 * D // 2),
            settings.get("mix_rank", min(32, D)),
            settings.get("decay_rank", min(64, D)),
        )


class Rwkv6Layer(RwkvLayer):
    """The block."""

    Config = Rwkv6Config

    def __init__(self, config: Rwkv6Config, weights: Weights, dtype: np.dtype[Any]) -> None:
        H, N = config.heads, config.head_size
        super().__init__(config, weights, dtype, [Field("S", (H, N, N))])
        first, r = self._w["att.time_maa_w1"].T, config.mix_rank
        self._first = {WRITTEN: first[: 3 * r].copy(), HEARD: first[3 * r :].copy()}
        second = self._w["att.time_maa_w2"]
        self._second = {part: second[i].T.copy() for i, part in enumerate(WRITTEN + HEARD)}
        self._decay = [self._w[f"att.time_decay_w{i}"].T.copy() for i in (1, 2)]

    @classmethod
    def shapes(cls, config: Rwkv6Config) -> dict[str, tuple[int, ...]]:
        """Return the shapes under the authors' names."""
        D, F, r, q = config.width, config.hidden, config.mix_rank, config.decay_rank
        shapes: dict[str, tuple[int, ...]] = {}
        for norm in ("ln1", "ln2", "att.ln_x"):
            shapes |= {f"{norm}.weight": (D,), f"{norm}.bias": (D,)}
        shapes |= {f"att.time_maa_{part}": (1, 1, D) for part in "x" + WRITTEN + HEARD}
        shapes |= {"att.time_maa_w1": (D, 5 * r), "att.time_maa_w2": (5, r, D)}
        shapes |= {"att.time_decay": (1, 1, D)}
        shapes |= {"att.time_decay_w1": (D, q), "att.time_decay_w2": (q, D)}
        shapes |= {"att.time_faaaa": (config.heads, config.head_size)}
        for name in ("receptance", "key", "value", "gate", "output"):
            shapes[f"att.{name}.weight"] = (D, D)
        shapes |= {f"ffn.time_maa_{part}": (1, 1, D) for part in "kr"}
        shapes |= {"ffn.key.weight": (F, D), "ffn.value.weight": (D, F)}
        return shapes | {"ffn.receptance.weight": (D, D)}

    @classmethod
    def config_of(cls, weights: Weights, settings: Mapping[str, int]) -> Rwkv6Config:
        """Read H and N off the bonus, F off the channel mixing, the ranks off their maps."""
        Rwkv6Config.check_settings(settings)
        H, N = weights["att.time_faaaa"].shape
        F = weights["ffn.key.weight"].shape[0]
        ranks = weights["att.time_maa_w2"].shape[1], weights["att.time_decay_w2"].shape[0]
        return Rwkv6Config(H, N, F, *ranks)

    @classmethod
    def random(cls, config: Rwkv6Config, generator: np.random.Generator) -> Weights:
        """Draw maps; mixings, decays and the bonus are set channel by channel."""
        D = config.width
        weights: Weights = {}
        for name, shape in cls.shapes(config).items():
            last = name.rpartition(".")[2]
            if "ln" in name:
                drawn: Array = np.full(shape, float(last == "weight"))
            elif last == "time_decay":
                drawn = -6 + 5 * (np.arange(D) / (D - 1)) ** 0.7
            elif last == "time_faaaa":
                drawn = 0.1 * zigzag(D)
            elif last.endswith("_w2"):
                drawn = generator.uniform(-0.01, 0.01, shape)
            elif last.endswith("_w1") or last == "weight":
                drawn = orthogonal(shape, generator, GAINS.get(name, 1.0))
            else:
                root = name in ("att.time_maa_r", "att.time_maa_g")
                drawn = 1 - ramp(D) ** (0.5 if root else 1.0)
            weights[name] = drawn.reshape(shape)
        return weights

    def channel(self) -> ChannelMixing:
        """Return the channel mixing."""
        key, value, gate = (self._w[f"ffn.{g}.weight"] for g in ("key", "value", "receptance"))
        shares = self.share("ffn.time_maa_k"), self.share("ffn.time_maa_r")
        return ChannelMixing(shares[0], key, value, shares[1], gate)

    def _inputs(self, parts: str, now: Array, before: Array) -> list[Array]:
        """Return n_s for each of `parts`, WRITTEN or HEARD."""
        base = blend(now, before, self.share("att.time_maa_x"))
        low = np.split(tanh(linear(self._first[parts], base)), len(parts))
        return [
            blend(
                now,
                before,
                self.share(f"att.time_maa_{part}") + linear(self._second[part], one),
            )
            for part, one in zip(parts, low, strict=True)
        ]

    def write(self, now: Array, before: Array) -> tuple[Array, ...]:
        """Return k, v and w, (D, R) each."""
        xw, xk, xv = self._inputs(WRITTEN, now, before)
        first, second = self._decay
        rate = exponential(self.share("att.time_decay") + linear(second, tanh(linear(first, xw))))
        k, v = linear(self._w["att.key.weight"], xk), linear(self._w["att.value.weight"], xv)
        return k, v, exponential(-rate)

    def update(self, core: State, written: tuple[Array, ...]) -> State:
        """Return S after all columns."""
        k, v, w = written
        S = core[0].copy()
        which = serial(np.empty((len(S), k.shape[1] // (len(S) * LANES), LANES), np.int32))
        decay_scan(S, self.config.heads, k, v, w, which, which)
        return (S,)

    def hear(
        self, old: State, new: State, written: tuple[Array, ...], now: Array, before: Array
    ) -> Array:
        """Read S as it was before the token, and the token itself through the bonus."""
        H, N = self.config.heads, self.config.head_size
        k, v, _ = written
        xr, xg = self._inputs(HEARD, now, before)
        r, g = (
            linear(self._w[f"att.{m}.weight"], x) for m, x in (("receptance", xr), ("gate", xg))
        )
        which = serial(np.empty((len(old[0]), 1, LANES), np.int32))
        bonus = sums(r * self.share("att.time_faaaa") * k, H)
        o = to_columns(read(old[0], H, N, r, which)) + np.repeat(bonus, N, axis=0) * v
        norm = self._w["att.ln_x.weight"], self._w["att.ln_x.bias"]
        return linear(self._w["att.output.weight"], scaled(o, H, HEAD_EPSILON, *norm) * silu(g))


class Rwkv6(RwkvCell):
    """An RWKV-6 block."""

    name: ClassVar[str] = "rwkv6"
    summary: ClassVar[str] = "RWKV-6 block: decay and token mixing decided by the input"
    Config = Rwkv6Config
    layer = Rwkv6Layer


CELL = Rwkv6
