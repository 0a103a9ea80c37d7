"""Mamba: a selective state space layer (S6).

    x, z    = in_proj u
    x       = silu(causal depthwise convolution of x over c tokens, with bias)
    dt,B,C  = x_proj x
    dt      = softplus(dt_proj dt + bias)
    h'      = exp(dt A) h + dt B x,    A = -exp(A_log)
    y       = out_proj((h' C + D x) silu(z))

D model numbers u in and out, E = d_inner channels of N numbers each, c the length of the
convolution. Parameters by the authors' names: in_proj.weight (2E, D), conv1d.weight
(E, 1, c), conv1d.bias (E), x_proj.weight (R + 2N, E), dt_proj.weight (E, R), dt_proj.bias
(E), A_log (E, N), D (E), out_proj.weight (D, E).

State: h, E N numbers without bound, and for c > 1 the last c - 1 inputs of the
convolution, *before* it, E numbers each, oldest first. Implementations often keep c
columns, of which the oldest is never read again; only live ones are here. The columns
are a shift register, written once each, so they make a cache; before c - 1 tokens have
been read its oldest columns are the zeros that pad the convolution.

Initialisation: A_log = log(1..N), D = 1, dt log-uniform in [1e-3, 1e-1] at zero input,
dt_proj within 1/sqrt(R), everything else torch's default for linear maps.

Gu and Dao (2023), "Mamba: linear-time sequence modeling with selective state spaces".
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from statebound.errors import UsageError
from statebound.jit import fma, kernel
from statebound.models._activations import exp, silu, softplus
from statebound.models._cell import Array, Config, Field, State, Tokens, Weights, multiple_of
from statebound.models._lanes import LANES
from statebound.models._layer import Layer, LayerCell
from statebound.models._linear import linear
from statebound.models._published import Published


@dataclass(frozen=True)
class MambaConfig(Config):
    """E channels of N numbers, a convolution over c tokens, D inputs, rank R of dt."""

    d_inner: int
    d_state: int
    d_conv: int
    d_model: int
    dt_rank: int

    @property
    def numbers(self) -> int:
        """E (N + c - 1)."""
        return self.d_inner * (self.d_state + self.d_conv - 1)

    @property
    def width(self) -> int:
        """D."""
        return self.d_model

    @classmethod
    def of(cls, numbers: int, settings: Mapping[str, int]) -> Self:
        """N = 3 and c = 2 unless set (the authors': 16 and 4), D = E/2 and R = D/16, rounded up."""
        cls.check_settings(settings)
        for name, value in settings.items():
            if value < 1:
                raise UsageError("set", f"{name}={value}", "must be positive", "pass 1 or more")
        d_state, d_conv = settings.get("d_state", 3), settings.get("d_conv", 2)
        if "d_inner" in settings:
            d_inner = settings["d_inner"]
        else:
            d_inner = multiple_of(numbers, d_state + d_conv - 1, "mamba with these sizes")
        d_model = settings.get("d_model", -(-d_inner // 2))
        return cls(d_inner, d_state, d_conv, d_model, settings.get("dt_rank", -(-d_model // 16)))


@kernel
def _select(
    conv: Array,
    streams: Array,
    column: Tokens,
    taps: Array,
    bias: Array,
    x_proj: Array,
    dt_proj: Array,
    dt_bias: Array,
    x: Array,
    mixed: Array,
    dt: Array,
) -> None:
    """Compute what one tile's tokens select: x after the convolution, (dt, B, C) and dt.

    conv ((c - 1) E, LANES); streams (2E, R); column (LANES); taps (E, c); x, dt (E, LANES);
    mixed (rank + 2N, LANES).
    """
    E, c = taps.shape
    rank = dt_proj.shape[1]
    for e in range(E):
        row = x[e]
        for i in range(LANES):
            row[i] = bias[e]
        for k in range(c - 1):
            tap, kept = taps[e, k], conv[k * E + e]
            for i in range(LANES):
                row[i] = fma(tap, kept[i], row[i])
        tap = taps[e, c - 1]
        for i in range(LANES):
            row[i] = fma(tap, streams[e, column[i]], row[i])
        for i in range(LANES):
            row[i] = silu(row[i])
    mixed[:] = 0
    for o in range(len(mixed)):
        row = mixed[o]
        for e in range(E):
            w, one = x_proj[o, e], x[e]
            for i in range(LANES):
                row[i] = fma(w, one[i], row[i])
    for e in range(E):
        row = dt[e]
        for i in range(LANES):
            row[i] = dt_bias[e]
        for r in range(rank):
            w, one = dt_proj[e, r], mixed[r]
            for i in range(LANES):
                row[i] = fma(w, one[i], row[i])
        for i in range(LANES):
            row[i] = softplus(row[i])


@kernel
def _scan(
    h: Array,
    conv: Array,
    tokens: Tokens,
    streams: Array,
    A: Array,
    taps: Array,
    bias: Array,
    x_proj: Array,
    dt_proj: Array,
    dt_bias: Array,
    h_out: Array,
    conv_out: Array,
) -> None:
    """Scan with h (tiles, E N, LANES), conv (tiles, (c - 1) E, LANES), tokens (tiles, T, LANES)."""
    tiles, kept = len(h), conv.shape[1]
    E, N = A.shape
    rank = dt_proj.shape[1]
    x, dt = np.empty((E, LANES), h.dtype), np.empty((E, LANES), h.dtype)
    mixed = np.empty((len(x_proj), LANES), h.dtype)
    drive = np.empty(LANES, h.dtype)
    for tile in range(tiles):
        h_out[tile], conv_out[tile] = h[tile], conv[tile]
        before = conv_out[tile]
        for t in range(tokens.shape[1]):
            column = tokens[tile, t]
            _select(before, streams, column, taps, bias, x_proj, dt_proj, dt_bias, x, mixed, dt)
            for e in range(E):
                for i in range(LANES):
                    drive[i] = dt[e, i] * x[e, i]
                for n in range(N):
                    row, a, b, d = h_out[tile, e * N + n], A[e, n], mixed[rank + n], dt[e]
                    for i in range(LANES):
                        row[i] = fma(exp(d[i] * a), row[i], drive[i] * b[i])
            if kept:
                for k in range(kept - E):
                    before[k] = before[k + E]
                for e in range(E):
                    newest = before[kept - E + e]
                    for i in range(LANES):
                        newest[i] = streams[e, column[i]]


@kernel
def _read(
    h: Array,
    conv: Array,
    tokens: Tokens,
    streams: Array,
    D: Array,
    taps: Array,
    bias: Array,
    x_proj: Array,
    dt_proj: Array,
    dt_bias: Array,
    out: Array,
) -> None:
    """Write h' C + D x to out (tiles, E, LANES); conv from before the token, h from after."""
    E, rank = len(D), dt_proj.shape[1]
    N = h.shape[1] // E
    x, dt = np.empty((E, LANES), h.dtype), np.empty((E, LANES), h.dtype)
    mixed = np.empty((len(x_proj), LANES), h.dtype)
    for tile in range(len(h)):
        column = tokens[tile, 0]
        _select(conv[tile], streams, column, taps, bias, x_proj, dt_proj, dt_bias, x, mixed, dt)
        for e in range(E):
            row = out[tile, e]
            for i in range(LANES):
                row[i] = D[e] * x[e, i]
            for n in range(N):
                now, c = h[tile, e * N + n], mixed[rank + N + n]
                for i in range(LANES):
                    row[i] = fma(now[i], c[i], row[i])


@kernel
def _gated(reads: Array, z: Array) -> Array:
    """Return reads silu(z), both (E, R)."""
    out = np.empty_like(reads)
    for e in range(len(reads)):
        for i in range(reads.shape[1]):
            out[e, i] = reads[e, i] * silu(z[e, i])
    return out


class MambaLayer(Layer):
    """The selective layer, without the norm and the sum around it."""

    Config = MambaConfig

    def __init__(self, config: MambaConfig, weights: Weights, dtype: np.dtype[Any]) -> None:
        E, N, c = config.d_inner, config.d_state, config.d_conv
        self.config, self.width = config, config.d_model
        self._dtype = dtype
        conv = (Field("conv", (c - 1, E), cache=True),) if c > 1 else ()
        self.fields = (Field("h", (E, N)), *conv)

        def table(name: str) -> Array:
            return np.ascontiguousarray(weights[name], dtype)

        self._in, self._out = table("in_proj.weight"), table("out_proj.weight")
        A = -np.exp(np.asarray(weights["A_log"], np.float64))
        self._A, self._D = A.astype(dtype), table("D")
        self._selection = (
            table("conv1d.weight").reshape(E, c),
            table("conv1d.bias"),
            table("x_proj.weight"),
            table("dt_proj.weight"),
            table("dt_proj.bias"),
        )

    @classmethod
    def shapes(cls, config: MambaConfig) -> dict[str, tuple[int, ...]]:
        """Return the shapes under the authors' names."""
        E, N, R = config.d_inner, config.d_state, config.dt_rank
        return {
            "in_proj.weight": (2 * E, config.d_model),
            "conv1d.weight": (E, 1, config.d_conv),
            "conv1d.bias": (E,),
            "x_proj.weight": (R + 2 * N, E),
            "dt_proj.weight": (E, R),
            "dt_proj.bias": (E,),
            "A_log": (E, N),
            "D": (E,),
            "out_proj.weight": (config.d_model, E),
        }

    @classmethod
    def config_of(cls, weights: Weights, settings: Mapping[str, int]) -> MambaConfig:
        """Read every size off the parameters."""
        MambaConfig.check_settings(settings)
        E, N = weights["A_log"].shape
        c, R = weights["conv1d.weight"].shape[-1], weights["dt_proj.weight"].shape[-1]
        return MambaConfig(E, N, c, weights["out_proj.weight"].shape[0], R)

    @classmethod
    def random(cls, config: MambaConfig, generator: np.random.Generator) -> Weights:
        """Draw parameters as the authors do."""
        E, N, R, D = config.d_inner, config.d_state, config.dt_rank, config.d_model
        shapes = cls.shapes(config)

        def within(name: str, fan_in: int) -> Array:
            drawn: Array = generator.uniform(-(fan_in**-0.5), fan_in**-0.5, shapes[name])
            return drawn

        dt = np.exp(generator.uniform(math.log(1e-3), math.log(1e-1), E))
        return {
            "in_proj.weight": within("in_proj.weight", D),
            "conv1d.weight": within("conv1d.weight", config.d_conv),
            "conv1d.bias": within("conv1d.bias", config.d_conv),
            "x_proj.weight": within("x_proj.weight", E),
            "dt_proj.weight": within("dt_proj.weight", R),
            "dt_proj.bias": dt + np.log(-np.expm1(-dt)),  # softplus of this is dt
            "A_log": np.tile(np.log(np.arange(1.0, N + 1)), (E, 1)),
            "D": np.ones(E),
            "out_proj.weight": within("out_proj.weight", E),
        }

    def project(self, inputs: Array) -> Array:
        """Return x before its convolution and z, 2E rows."""
        return linear(self._in, inputs)

    def _conv(self, state: State) -> Array:
        """Return the inputs kept for the convolution, none for c = 1."""
        if len(state) == 2:
            return state[1]
        return np.empty((len(state[0]), 0, LANES), self._dtype)

    def advance(self, state: State, streams: Array, which: Tokens) -> State:
        """Take `state` through a sequence."""
        conv = self._conv(state)
        new = np.empty_like(state[0]), np.empty_like(conv)
        _scan(state[0], conv, which, streams, self._A, *self._selection, *new)
        return new[: len(state)]

    def read(self, old: State, new: State, streams: Array, which: Tokens) -> Array:
        """Return h' C + D x, E rows."""
        out = np.empty((len(which), self.config.d_inner, LANES), self._dtype)
        _read(new[0], self._conv(old), which, streams, self._D, *self._selection, out)
        return out

    def emit(self, reads: Array, streams: Array) -> Array:
        """Return out_proj(reads silu(z))."""
        return linear(self._out, _gated(reads, streams[self.config.d_inner :]))


class Mamba(LayerCell):
    """A selective state space layer between an embedding and a readout."""

    name: ClassVar[str] = "mamba"
    summary: ClassVar[str] = "selective state space layer (S6)"
    Config = MambaConfig
    layer = MambaLayer
    published = (
        Published("mamba-130m", 24, {"d_inner": 1536, "d_state": 16, "d_conv": 4, "d_model": 768}),
        Published("mamba-2.8b", 64, {"d_inner": 5120, "d_state": 16, "d_conv": 4, "d_model": 2560}),
    )


CELL = Mamba
