"""RWKV-4: a running average of values a channel, weighted by exponentials of keys.

With n and n' of this token and the one before (see `_rwkv`),

    k, v, r = K n_k, V n_v, R n_r,    n_s = mix_s n + (1 - mix_s) n'
    wkv     = (num + e^(first + k) v) / (den + e^(first + k))
    num'    = e^w num + e^k v,    den' = e^w den + e^k,    w = -exp(time_decay)
    time(n, n') = O (sigmoid(r) wkv)

and the channel mixing has a gate. D channels and F hidden ones. Implementations keep num
and den over a common factor e^p, and p, to stay within range, starting from p = -10^38:
with both shifts 5 D numbers, of which one in three of (num, den, p) is redundant, since
(num s, den s, p - ln s) is the same state. Kept here is what is left of the three:

    mean = num / den,    mass = log(1 + den),

den being the true one, so 4 D numbers in all. The mean is an average of values and has
their range; the mass is near den where that is small and near its logarithm where it is
large; it is never negative, and exactly 0 at the start, where nothing has been read: the
start state is all zeros and a quantiser meets no sentinel. A mass of 0 makes the next
value replace the mean, whatever the mean is. In this form

    mean' = mean + s (v - mean),  s = e^k / (e^w (e^mass - 1) + e^k),
    mass' = log(1 + e^w (e^mass - 1) + e^k),

where for exponents over 64 a factor is taken out of every sum.

Parameters by the names of the transformers library. Initialisation: theirs for layer 0,
except time_first, which is as in the original, log 0.3 + (-1/2, 0, 1/2, ...), and the maps
out of both mixings, which are a tenth of theirs. (The original starts them and most others
at zero, so that no output would depend on the state, nor the mass on the input.)

Peng et al. (2023), "RWKV: reinventing RNNs for the transformer era".
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from statebound.errors import UsageError
from statebound.jit import fma, kernel
from statebound.models._activations import exp, expm1, log1p
from statebound.models._cell import Array, Config, Field, State, Weights, multiple_of
from statebound.models._heads import positive
from statebound.models._lanes import LANES
from statebound.models._linear import linear
from statebound.models._pointwise import logistic
from statebound.models._published import Published
from statebound.models._rwkv import (
    LEAST,
    QUIET,
    ChannelMixing,
    RwkvCell,
    RwkvLayer,
    blend,
    normable,
    orthogonal,
    ramp,
    to_columns,
    zigzag,
)

GATES = ("key", "value", "receptance")
MOST_DECAY = 9.0  # exp(-e^9) is 0


@dataclass(frozen=True)
class Rwkv4Config(Config):
    """D channels and F hidden numbers of the channel mixing."""

    width: int
    hidden: int

    def __post_init__(self) -> None:
        """Check D."""
        normable("width", self.width)

    @property
    def numbers(self) -> int:
        """4 D: mean, mass and two shifts."""
        return 4 * self.width

    @classmethod
    def of(cls, numbers: int, settings: Mapping[str, int]) -> Self:
        """F is 4 D unless set."""
        cls.check_settings(settings)
        for name in settings:
            positive(settings, name, 1)
        if "width" in settings:
            width = settings["width"]
        elif numbers < 4 * LEAST:
            raise UsageError(
                "numbers",
                numbers,
                f"is too few: rwkv4 keeps 4 a channel, and needs {LEAST} channels for its norms",
                f"pass {4 * LEAST} or more",
            )
        else:
            width = multiple_of(numbers, 4, "rwkv4")
        return cls(width, settings.get("hidden", 4 * width))


@kernel
def _sums(mass: Any, w: Any, k: Any, zero: Any, most: Any) -> Any:
    """Return e^w (e^mass - 1) and e^k, both over e^shift, and shift; exponents up to `most`."""
    mass = max(mass, zero)
    shift = max(max(mass + w, k) - most, zero)
    part = min(mass, most)  # beyond it the 1 is lost anyway
    return exp(w + (mass - part) - shift) * expm1(part), exp(k - shift), shift


@kernel
def _share(past: Any, now: Any, zero: Any, one: Any) -> Any:
    """Return the share of the new value in an average."""
    total = past + now
    return now / total if total > zero else one


@kernel
def _scan(mean: Array, mass: Array, k: Array, v: Array, w: Array, constants: Array) -> None:
    """Take mean and mass (tiles, D, LANES) through columns k, v (D, tiles T LANES), in place.

    The constants are 0, 1 and 64 in the arithmetic's type.
    """
    tiles, D, _ = mean.shape
    steps = k.shape[1] // (tiles * LANES)
    zero, one, most = constants[0], constants[1], constants[2]
    for tile in range(tiles):
        for d in range(D):
            a, m, decay = mean[tile, d], mass[tile, d], w[d]
            for t in range(steps):
                at = (tile * steps + t) * LANES
                key, value = k[d, at : at + LANES], v[d, at : at + LANES]
                for i in range(LANES):
                    past, now, shift = _sums(m[i], decay, key[i], zero, most)
                    a[i] = fma(_share(past, now, zero, one), value[i] - a[i], a[i])
                    m[i] = shift + log1p(past + now)


@kernel
def _average(
    mean: Array, mass: Array, k: Array, v: Array, first: Array, constants: Array, out: Array
) -> None:
    """Write wkv to out (D, R) by columns; all arguments but first (D) are such columns too."""
    zero, one, most = constants[0], constants[1], constants[2]
    for d in range(k.shape[0]):
        bonus, a, m, key, value, row = first[d], mean[d], mass[d], k[d], v[d], out[d]
        for r in range(k.shape[1]):
            past, now, _ = _sums(m[r], zero, bonus + key[r], zero, most)
            row[r] = fma(_share(past, now, zero, one), value[r] - a[r], a[r])


class Rwkv4Layer(RwkvLayer):
    """The block."""

    Config = Rwkv4Config

    def __init__(self, config: Rwkv4Config, weights: Weights, dtype: np.dtype[Any]) -> None:
        core = Field("mean", (config.width,)), Field("mass", (config.width,), low=0.0)
        super().__init__(config, weights, dtype, core)
        decay = np.minimum(np.asarray(weights["attention.time_decay"], np.float64), MOST_DECAY)
        self._decay = (-np.exp(decay)).astype(dtype)
        self._constants = np.array([0.0, 1.0, 64.0], dtype)

    @classmethod
    def shapes(cls, config: Rwkv4Config) -> dict[str, tuple[int, ...]]:
        """Return the shapes under the names of the transformers library."""
        D, F = config.width, config.hidden
        shapes: dict[str, tuple[int, ...]] = {}
        for ln in ("ln1", "ln2"):
            shapes |= {f"{ln}.weight": (D,), f"{ln}.bias": (D,)}
        shapes |= {"attention.time_decay": (D,), "attention.time_first": (D,)}
        shapes |= {f"attention.time_mix_{gate}": (1, 1, D) for gate in GATES}
        shapes |= {f"attention.{gate}.weight": (D, D) for gate in (*GATES, "output")}
        shapes |= {f"feed_forward.time_mix_{gate}": (1, 1, D) for gate in ("key", "receptance")}
        shapes["feed_forward.key.weight"] = (F, D)
        shapes["feed_forward.receptance.weight"] = (D, D)
        shapes["feed_forward.value.weight"] = (D, F)
        return shapes

    @classmethod
    def config_of(cls, weights: Weights, settings: Mapping[str, int]) -> Rwkv4Config:
        """Read D and F off the channel mixing."""
        Rwkv4Config.check_settings(settings)
        F, D = weights["feed_forward.key.weight"].shape
        return Rwkv4Config(D, F)

    @classmethod
    def random(cls, config: Rwkv4Config, generator: np.random.Generator) -> Weights:
        """Draw orthogonal maps; decays, first weights and mixes are set channel by channel."""
        D = config.width
        weights: Weights = {}
        for name, shape in cls.shapes(config).items():
            if name.startswith("ln"):
                drawn: Array = np.full(shape, float(name.endswith("weight")))
            elif name.endswith("time_decay"):
                drawn = -5 + 8 * (np.arange(D) / (D - 1)) ** 0.7
            elif name.endswith("time_first"):
                drawn = math.log(0.3) + 0.5 * zigzag(D)
            elif "time_mix" in name:
                drawn = ramp(D) ** (0.5 if name == "attention.time_mix_receptance" else 1.0)
            else:
                out = name in ("attention.output.weight", "feed_forward.value.weight")
                gain = max(1.0, (shape[0] / shape[1]) ** 0.5) * (QUIET if out else 1.0)
                drawn = orthogonal(shape, generator, gain)
            weights[name] = drawn.reshape(shape)
        return weights

    def share(self, name: str) -> Array:
        """Return 1 - mix, the share of the token before, (D, 1)."""
        return 1 - super().share(name)

    def channel(self) -> ChannelMixing:
        """Return the channel mixing."""
        shares = [self.share(f"feed_forward.time_mix_{g}") for g in ("key", "receptance")]
        key, value, gate = (self._w[f"feed_forward.{g}.weight"] for g in GATES)
        return ChannelMixing(shares[0], key, value, shares[1], gate)

    def _map(self, gate: str, now: Array, before: Array) -> Array:
        mixed = blend(now, before, self.share(f"attention.time_mix_{gate}"))
        return linear(self._w[f"attention.{gate}.weight"], mixed)

    def write(self, now: Array, before: Array) -> tuple[Array, ...]:
        """Return k and v, (D, R) each."""
        return self._map("key", now, before), self._map("value", now, before)

    def update(self, core: State, written: tuple[Array, ...]) -> State:
        """Return mean and mass after all columns."""
        mean, mass = (part.copy() for part in core)
        k, v = written
        _scan(mean, mass, k, v, self._decay, self._constants)
        return mean, mass

    def hear(
        self, old: State, new: State, written: tuple[Array, ...], now: Array, before: Array
    ) -> Array:
        """Average what was kept before the token and the token itself."""
        mean, mass = (to_columns(part) for part in old)
        first = self._w["attention.time_first"]
        k, v = written
        wkv = np.empty_like(k)
        _average(mean, mass, k, v, first, self._constants, wkv)
        gate = logistic(self._map("receptance", now, before))
        return linear(self._w["attention.output.weight"], gate * wkv)


class Rwkv4(RwkvCell):
    """An RWKV-4 block between an embedding and a readout."""

    name: ClassVar[str] = "rwkv4"
    summary: ClassVar[str] = "RWKV-4 block in canonical form, both token shifts in the state"
    Config = Rwkv4Config
    layer = Rwkv4Layer
    published = (Published("rwkv-4-169m", 12, {"width": 768, "hidden": 3072}),)


CELL = Rwkv4
