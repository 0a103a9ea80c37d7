"""RWKV-7: a matrix memory that the input decays, partly erases along a key, and writes.

With n and n' of this token and the one before (see `_rwkv`) and n_s = n + x_s (n' - n)
for s in r, w, k, v, a, g, in every head

    w  = exp(-exp(-1/2) sigmoid(w0 + tanh(n_w w1) w2)),    so between 0.545 and 1
    a  = sigmoid(a0 + n_a a1 a2),                          how much of the old is erased
    r, k, v = R n_r, K n_k, V n_v,    z = k k_k / |k k_k|,    k~ = k (1 + (a - 1) k_a)
    S' = S (diag(w) - z (z a)^T) + v k~^T
    o  = S' r
    time(n, n') = O ((ln_x(o) + (sum r k~ r_k) v) (sigmoid(n_g g1) g2))

ln_x being a norm of every head by itself, epsilon 64e-5. This is the first layer of a
model: in those above, v is mixed with the first layer's v at the same token, which links
layers and is not state; a file may hold v0, v1 and v2 of the first layer too, which no
implementation reads.

H heads of N, D = H N, F hidden channels. Parameters by the authors' names, without
``blocks.0.``: ``att.x_r`` ... ``x_g`` (1, 1, D), ``att.w0`` (1, 1, D), ``w1`` (D, rank) and
``w2`` (rank, D), ``a0``, ``a1``, ``a2`` likewise, ``g1``, ``g2``, ``att.k_k``, ``k_a``
(1, 1, D), ``r_k`` (H, N); ``att.receptance``, ``key``, ``value``, ``output`` (D, D),
``att.ln_x``, ``ffn.x_k``, ``ffn.key`` (F, D), ``ffn.value``, ``ln1``, ``ln2``.

State: S, index [value, key], H N N numbers, and the shifts n' and m', D each.

Initialisation: the authors', layer 0 of 1, except where they start at zero: the maps w1,
a1 and g1, without which decay, rate and gate would not depend on the data, are orthogonal,
and ``att.output`` and ``ffn.value``, without which no output would depend on the state,
orthogonal times 0.1. The ranks are theirs, a multiple of 32 near 2.5 sqrt(D) for w and a
and near 5 sqrt(D) for g, or D if that is less, and F is 4 D.

Peng et al. (2025), "RWKV-7 Goose with expressive dynamic state evolution".
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from statebound.jit import fma, kernel
from statebound.models._cell import Array, Field, State, Weights
from statebound.models._lanes import LANES
from statebound.models._linear import linear
from statebound.models._pointwise import exponential, logistic, squares, sums, tanh
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
)

HEAD_EPSILON = 64e-5
LEAST_NORM = 1e-12  # of z before its division
FASTEST = math.exp(-0.5)  # -log w stays below it
GAINS = dict.fromkeys(("att.key.weight", "att.output.weight", "ffn.value.weight"), QUIET)
POWERS = {"r": 0.2, "w": 0.9, "k": 0.7, "v": 0.7, "a": 0.9, "g": 0.2}


def _rank(width: int, factor: float) -> int:
    """Return the authors' rank for D channels, or D."""
    return min(width, max(32, 32 * round(factor * math.sqrt(width) / 32)))


@dataclass(frozen=True)
class Rwkv7Config(MatrixConfig):
    """H heads of N, F hidden channels and the ranks of decay, rate and gate."""

    decay_rank: int
    rate_rank: int
    gate_rank: int

    @classmethod
    def of(cls, numbers: int, settings: Mapping[str, int]) -> Self:
        """H (N + 2) N numbers; F = 4 D and the authors' ranks, at most D, unless set."""
        heads, size = cls.sizes(numbers, settings)
        D = heads * size
        return cls(
            heads,
            size,
            settings.get("hidden", 4 * D),
            settings.get("decay_rank", _rank(D, 2.5)),
            settings.get("rate_rank", _rank(D, 2.5)),
            settings.get("gate_rank", _rank(D, 5.0)),
        )


@kernel
def _scan(S: Array, heads: int, k: Array, v: Array, w: Array, z: Array, b: Array) -> None:
    """Run S' = S (diag(w) - z b^T) + v k^T in place.

    S (tiles, H N N, LANES), keys innermost; the others (H N, tiles T LANES).
    """
    tiles = S.shape[0]
    N = len(k) // heads
    steps = k.shape[1] // (tiles * LANES)
    erased = np.empty(LANES, S.dtype)
    for tile in range(tiles):
        for row in range(heads * N):
            first = row // N * N
            s = S[tile, row * N : (row + 1) * N]
            for t in range(steps):
                at = (tile * steps + t) * LANES
                value = v[row, at : at + LANES]
                for i in range(LANES):
                    erased[i] = 0
                for c in range(N):
                    now, unit = s[c], z[first + c, at : at + LANES]
                    for i in range(LANES):
                        erased[i] = fma(now[i], unit[i], erased[i])
                for c in range(N):
                    now, key = s[c], k[first + c, at : at + LANES]
                    decay, rate = w[first + c, at : at + LANES], b[first + c, at : at + LANES]
                    for i in range(LANES):
                        kept = fma(-rate[i], erased[i], decay[i] * now[i])
                        now[i] = fma(value[i], key[i], kept)


class Rwkv7Layer(RwkvLayer):
    """The block."""

    Config = Rwkv7Config

    def __init__(self, config: Rwkv7Config, weights: Weights, dtype: np.dtype[Any]) -> None:
        H, N = config.heads, config.head_size
        super().__init__(config, weights, dtype, [Field("S", (H, N, N))])
        self._maps = {
            gate: (self._w[f"att.{gate}1"].T.copy(), self._w[f"att.{gate}2"].T.copy())
            for gate in "wag"
        }

    @classmethod
    def shapes(cls, config: Rwkv7Config) -> dict[str, tuple[int, ...]]:
        """Return the shapes under the authors' names."""
        D, F = config.width, config.hidden
        shapes: dict[str, tuple[int, ...]] = {}
        for norm in ("ln1", "ln2", "att.ln_x"):
            shapes |= {f"{norm}.weight": (D,), f"{norm}.bias": (D,)}
        vectors = [*(f"x_{part}" for part in POWERS), "w0", "a0", "k_k", "k_a"]
        shapes |= {f"att.{name}": (1, 1, D) for name in vectors}
        shapes |= {"att.r_k": (config.heads, config.head_size)}
        ranks = {"w": config.decay_rank, "a": config.rate_rank, "g": config.gate_rank}
        for gate, rank in ranks.items():
            shapes |= {f"att.{gate}1": (D, rank), f"att.{gate}2": (rank, D)}
        for name in ("receptance", "key", "value", "output"):
            shapes[f"att.{name}.weight"] = (D, D)
        shapes |= {"ffn.x_k": (1, 1, D), "ffn.key.weight": (F, D), "ffn.value.weight": (D, F)}
        return shapes

    @classmethod
    def config_of(cls, weights: Weights, settings: Mapping[str, int]) -> Rwkv7Config:
        """Read H and N off the bonus, F off the channel mixing, the ranks off their maps."""
        Rwkv7Config.check_settings(settings)
        H, N = weights["att.r_k"].shape
        F = weights["ffn.key.weight"].shape[0]
        return Rwkv7Config(H, N, F, *(weights[f"att.{gate}2"].shape[0] for gate in "wag"))

    @classmethod
    def random(cls, config: Rwkv7Config, generator: np.random.Generator) -> Weights:
        """Draw maps; mixings, decays, rates and the bonus are set channel by channel."""
        D, N = config.width, config.head_size
        line = np.arange(D) / (D - 1)
        bend = np.tile(np.linspace(-1, 1, N), config.heads)
        bend = bend * np.abs(bend)
        made = {
            "att.w0": -5.5 + 6 * line + 2.5 * bend,
            "att.a0": -0.19 + 0.3 * bend + 0.4 * (line - 0.5),
            "att.k_k": 0.71 - 0.1 * (line - 0.5),
            "att.k_a": np.full(D, 1.02),
            "att.r_k": np.full(D, -0.04),
            "ffn.x_k": 1 - ramp(D),
        }
        made |= {f"att.x_{part}": 1 - ramp(D) ** power for part, power in POWERS.items()}
        weights: Weights = {}
        for name, shape in cls.shapes(config).items():
            if "ln" in name:
                weights[name] = np.full(shape, float(name.endswith("weight")))
            elif name in made:
                weights[name] = made[name].reshape(shape)
            else:
                gain = QUIET if name[-1] == "2" else GAINS.get(name, 1.0)
                weights[name] = orthogonal(shape, generator, gain)
        return weights

    def channel(self) -> ChannelMixing:
        """Return the channel mixing, which has no gate."""
        maps = self._w["ffn.key.weight"], self._w["ffn.value.weight"]
        return ChannelMixing(self.share("ffn.x_k"), *maps)

    def _input(self, part: str, now: Array, before: Array) -> Array:
        return blend(now, before, self.share(f"att.x_{part}"))

    def write(self, now: Array, before: Array) -> tuple[Array, ...]:
        """Return k~, v, w, z and z a, (D, R) each."""
        H, N = self.config.heads, self.config.head_size
        first, second = self._maps["w"]
        low = tanh(linear(first, self._input("w", now, before)))
        pace = logistic(self.share("att.w0") + linear(second, low))
        w = exponential(pace * pace.dtype.type(-FASTEST))
        first, second = self._maps["a"]
        a = linear(second, linear(first, self._input("a", now, before)))
        a = logistic(self.share("att.a0") + a)
        k = linear(self._w["att.key.weight"], self._input("k", now, before))
        v = linear(self._w["att.value.weight"], self._input("v", now, before))
        z = k * self.share("att.k_k")
        norm = np.maximum(np.sqrt(squares(z, H)), z.dtype.type(LEAST_NORM))
        z = z / np.repeat(norm, N, axis=0)
        return k * (1 + (a - 1) * self.share("att.k_a")), v, w, z, z * a

    def update(self, core: State, written: tuple[Array, ...]) -> State:
        """Return S after all columns."""
        S = core[0].copy()
        _scan(S, self.config.heads, *written)
        return (S,)

    def hear(
        self, old: State, new: State, written: tuple[Array, ...], now: Array, before: Array
    ) -> Array:
        """Read S as it is after the token, and the token itself through the bonus."""
        H, N = self.config.heads, self.config.head_size
        k, v, *_ = written
        r = linear(self._w["att.receptance.weight"], self._input("r", now, before))
        first, second = self._maps["g"]
        gate = linear(second, logistic(linear(first, self._input("g", now, before))))
        S = new[0].reshape(-1, H, N, N, LANES).transpose(1, 2, 3, 0, 4)  # value, then key
        o = np.zeros((H, N, r.shape[1]), r.dtype)
        for c in range(N):
            o = o + S[:, :, c].reshape(o.shape) * r.reshape(H, 1, N, -1)[:, :, c]
        norm = self._w["att.ln_x.weight"], self._w["att.ln_x.bias"]
        bonus = np.repeat(sums(r * k * self.share("att.r_k"), H), N, axis=0) * v
        y = scaled(o.reshape(r.shape), H, HEAD_EPSILON, *norm) + bonus
        return linear(self._w["att.output.weight"], y * gate)


class Rwkv7(RwkvCell):
    """An RWKV-7 block."""

    name: ClassVar[str] = "rwkv7"
    summary: ClassVar[str] = "RWKV-7 block: delta rule with decay and rate a key channel"
    optional: ClassVar[tuple[str, ...]] = ("att.v0", "att.v1", "att.v2")
    Config = Rwkv7Config
    layer = Rwkv7Layer


CELL = Rwkv7
