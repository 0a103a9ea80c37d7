"""Mamba-2: a selective state space model with one decay a head.

    z, (x, B, C), dt = W_in u;    x, B, C = silu(convolution of them)
    dt = softplus(dt + dt_bias);  a = exp(-exp(A_log) dt)
    S' = a S + B (dt x)^T;        y = C S' + D x;    out = W_out norm(y * silu(z))

H heads of P channels with N numbers each, B and C shared by the H/G heads of a group, a
causal depthwise convolution of c = d_conv taps, E the width. norm divides by the root mean
square of a group's channels. Parameters: ``in_proj.weight`` (2 H P + 2 G N + H, E),
``conv1d.weight`` (H P + 2 G N, 1, c), ``conv1d.bias``, ``dt_bias``, ``A_log``, ``D`` (H),
``norm.weight`` (H P), ``out_proj.weight`` (E, H P). Without convolution (c < 2, the
default here, since a convolution is costly in small states; the authors use 4) its
parameters are absent.

State: S, H N P numbers, and the last c - 1 inputs of the convolution, (c - 1)(H P + 2 G N):
implementations store c of them, but the oldest is never read again.

Initialised as the authors do: exp(A_log) uniform in [1, 16], softplus(dt_bias) log-uniform
in [1e-3, 1e-1], D = 1.

Dao and Gu (2024), "Transformers are SSMs".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from statebound.errors import UsageError
from statebound.models._cell import Array, Config, Field, State, Tokens, Weights
from statebound.models._dual import Terms, by_head
from statebound.models._heads import dense, parts, positive, solve, step_biases
from statebound.models._layer import Layer, LayerCell
from statebound.models._linear import linear
from statebound.models._matrix_state import decay_scan, read
from statebound.models._pointwise import forget, rms, silu, softplus
from statebound.models._published import Published
from statebound.models._short_conv import ShortConv, serial


@dataclass(frozen=True)
class Mamba2Config(Config):
    """H heads of P channels with N numbers each, G groups, c taps, width E."""

    heads: int
    d_state: int
    head_dim: int
    groups: int
    d_conv: int
    width: int

    @property
    def taps(self) -> int:
        """How many inputs of the convolution are state: c - 1, none without it."""
        return max(0, self.d_conv - 1)

    @property
    def inner(self) -> int:
        """H P."""
        return self.heads * self.head_dim

    @property
    def channels(self) -> int:
        """How many channels the convolution has: H P + 2 G N."""
        return self.inner + 2 * self.groups * self.d_state

    @property
    def numbers(self) -> int:
        """H N P + (c - 1)(H P + 2 G N)."""
        return self.inner * self.d_state + self.taps * self.channels

    @classmethod
    def of(cls, numbers: int, settings: Mapping[str, int]) -> Self:
        """One head, P = 1, one group, no convolution, E = max(H P, G N), unless set."""
        cls.check_settings(settings)
        heads, groups = positive(settings, "heads", 1), positive(settings, "groups", 1)
        if heads % groups:
            raise UsageError(
                "set", f"groups={groups}", f"must divide heads={heads}", "pass a divisor"
            )
        d_conv = settings.get("d_conv", 0)
        taps = max(0, d_conv - 1)
        if "d_state" in settings and "head_dim" not in settings:
            N = positive(settings, "d_state", 1)
            P = solve(numbers, heads * (N + taps), 2 * taps * groups * N, "mamba2")
        else:
            P = positive(settings, "head_dim", 1)
            N = (
                positive(settings, "d_state", 1)
                if "d_state" in settings
                else solve(numbers, heads * P + 2 * taps * groups, taps * heads * P, "mamba2")
            )
        width = positive(settings, "width", max(heads * P, groups * N))
        return cls(heads, N, P, groups, d_conv, width)


class Mamba2Layer(Layer):
    """The layer of Mamba-2; streams x, B, C, dt, a and z.

    x, B and C are those before the convolution where there is one, else after silu.
    """

    Config = Mamba2Config

    def __init__(self, config: Mamba2Config, weights: Weights, dtype: np.dtype[Any]) -> None:
        self.config, self.width = config, config.width
        self._w = {name: np.ascontiguousarray(weights[name], dtype) for name in self.shapes(config)}
        self._skip = np.repeat(self._w["D"], config.head_dim)[:, None]
        S = Field("S", (config.heads, config.d_state, config.head_dim))
        self.fields: tuple[Field, ...] = (S,)
        self._conv: ShortConv | None = None
        if config.taps:
            self._conv = ShortConv(self._w["conv1d.weight"][:, 0], self._w["conv1d.bias"])
            self.fields = (S, self._conv.field())

    @classmethod
    def shapes(cls, config: Mamba2Config) -> dict[str, tuple[int, ...]]:
        """Return the shapes under the authors' names."""
        H, E = config.heads, config.width
        shapes: dict[str, tuple[int, ...]] = {
            "in_proj.weight": (config.inner + config.channels + H, E),
            "dt_bias": (H,),
            "A_log": (H,),
            "D": (H,),
            "norm.weight": (config.inner,),
            "out_proj.weight": (E, config.inner),
        }
        if config.taps:
            shapes["conv1d.weight"] = (config.channels, 1, config.d_conv)
            shapes["conv1d.bias"] = (config.channels,)
        return shapes

    @classmethod
    def config_of(cls, weights: Weights, settings: Mapping[str, int]) -> Mamba2Config:
        """Read H, H P, G N, c and E off the shapes; G is 1 unless set."""
        Mamba2Config.check_settings(settings)
        groups = positive(settings, "groups", 1)
        heads, inner = weights["A_log"].shape[0], weights["norm.weight"].shape[0]
        rows, E = weights["in_proj.weight"].shape
        d_conv = min(1, settings.get("d_conv", 0))
        if "conv1d.weight" in weights:
            d_conv = weights["conv1d.weight"].shape[2]
        N = parts(rows - 2 * inner - heads, 2 * groups)
        return Mamba2Config(heads, N, parts(inner, heads), groups, d_conv, E)

    @classmethod
    def random(cls, config: Mamba2Config, generator: np.random.Generator) -> Weights:
        """Draw maps and convolution as torch's layers do, and the authors' gate."""
        rows, E = cls.shapes(config)["in_proj.weight"]
        weights = {
            "in_proj.weight": dense(generator, rows, E),
            "dt_bias": step_biases(generator, config.heads),
            "A_log": np.log(generator.uniform(1, 16, config.heads)),
            "D": np.ones(config.heads),
            "norm.weight": np.ones(config.inner),
            "out_proj.weight": dense(generator, E, config.inner),
        }
        if config.taps:
            taps = dense(generator, config.channels, config.d_conv)
            bound = config.d_conv**-0.5
            weights["conv1d.weight"] = taps[:, None]
            weights["conv1d.bias"] = generator.uniform(-bound, bound, config.channels)
        return weights

    def project(self, inputs: Array) -> Array:
        """Return x, B, C, dt, a and z: (2 H P + 2 G N + 2 H, R)."""
        inner, channels = self.config.inner, self.config.channels
        z, xBC, dt = np.split(linear(self._w["in_proj.weight"], inputs), [inner, inner + channels])
        if self._conv is None:
            xBC = silu(xBC)
        dt = softplus(dt + self._w["dt_bias"][:, None])
        return np.concatenate([xBC, dt, forget(self._w["A_log"], dt), z])

    def _split(self, streams: Array) -> list[Array]:
        sizes = [self.config.channels, self.config.heads, self.config.heads]
        return np.split(streams, np.cumsum(sizes))

    def _parts(self, xBC: Array) -> list[Array]:
        inner, shared = self.config.inner, self.config.groups * self.config.d_state
        return np.split(xBC, [inner, inner + shared])

    def _driven(self, x: Array, dt: Array) -> Array:
        driven: Array = x * np.repeat(dt, self.config.head_dim, axis=0)
        return driven

    def advance(self, state: State, streams: Array, which: Tokens) -> State:
        """Go through a sequence."""
        heads = self.config.heads
        xBC, dt, a, _ = self._split(streams)
        S = state[0].copy()
        if self._conv is None:
            x, B, _ = self._parts(xBC)
            decay_scan(S, heads, B, self._driven(x, dt), a, which, which)
            return (S,)
        kept = state[1].copy()
        block = self._conv.block(len(which))
        for t in range(0, which.shape[1], block):
            now = np.ascontiguousarray(which[:, t : t + block])
            y, kept = self._conv(kept, xBC, now)
            x, B, _ = self._parts(y)
            v = self._driven(x, dt[:, now.reshape(-1)])
            decay_scan(S, heads, B, v, a, serial(now), now)
        return (S, kept)

    def read(self, old: State, new: State, streams: Array, which: Tokens) -> Array:
        """Return C S' + D x, (tiles, H P, LANES)."""
        xBC, at = self._split(streams)[0], which
        if self._conv is not None:
            xBC, _ = self._conv(old[1], xBC, which)
            at = serial(which)
        x, _, C = self._parts(xBC)
        skip = (self._skip * x[:, at[:, 0].reshape(-1)]).reshape(len(x), len(at), -1)
        y = read(new[0], self.config.heads, self.config.head_dim, C, at)
        total: Array = y + skip.transpose(1, 0, 2)
        return total

    def dual(self, streams: Array) -> Terms:
        """Return the attention form of a sequence from the start, one column an input."""
        heads, groups = self.config.heads, self.config.groups
        xBC, dt, a, _ = self._split(streams)
        if self._conv is not None:
            xBC = self._conv.whole(xBC)
        x, B, C = self._parts(xBC)
        k, q = (np.repeat(by_head(m, groups), heads // groups, axis=1) for m in (B, C))
        v, skip = by_head(self._driven(x, dt), heads), by_head(self._skip * x, heads)
        return Terms(q, k, v, log_decay=np.log(a.T.astype(float)), skip=skip, groups=groups)

    def emit(self, reads: Array, streams: Array) -> Array:
        """Return W_out norm(y * silu(z))."""
        normed = rms(reads * silu(self._split(streams)[3]), self.config.groups)
        return linear(self._w["out_proj.weight"], normed * self._w["norm.weight"][:, None])


class Mamba2(LayerCell):
    """The state space dual model."""

    name: ClassVar[str] = "mamba2"
    summary: ClassVar[str] = "selective state space model with one decay a head (SSD)"
    layer = Mamba2Layer
    published = (
        Published(
            "mamba2-130m",
            24,
            {"heads": 24, "head_dim": 64, "d_state": 128, "d_conv": 4, "width": 768},
        ),
    )
    Config = Mamba2Config


CELL = Mamba2
