"""S4: a state space model with the dense HiPPO-LegS matrix.

    x' = F x + G u,    F, G by the bilinear rule from dx/dt = A x + B u and the step dt

H channels of N real numbers each with one A (N, N) and B (N) and a dt of its own, exp of
``log_dt`` (H). A is lower triangular. The published model has the same matrix in a
diagonal-plus-low-rank form, which is a change of basis made for its convolutions; step by
step the state is the same up to that basis. The input u of a channel is a number a token,
``encoder.weight`` (H, vocabulary). As a layer it has an input a channel, and reads y = C x +
D u with ``C`` (H, N).

State: x, H N numbers without bound. Initialisation: A and B are HiPPO-LegS, dt
log-uniform in [1e-3, 1e-1], u standard normal.

Gu, Goel and Re (2022), "Efficiently modeling long sequences with structured state spaces".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from statebound.errors import UsageError
from statebound.jit import fma, kernel
from statebound.models._cell import Array, Cell, Config, Field, State, Tokens, Weights, multiple_of
from statebound.models._diagonal import log_steps
from statebound.models._heads import positive
from statebound.models._hippo import bilinear, legs
from statebound.models._lanes import LANES
from statebound.models._s4_block import S4Block
from statebound.models._vocabulary import Vocabulary


@dataclass(frozen=True)
class S4Config(Config):
    """H channels of N real numbers."""

    channels: int
    d_state: int

    @property
    def numbers(self) -> int:
        """H times N."""
        return self.channels * self.d_state

    @classmethod
    def of(cls, numbers: int, settings: Mapping[str, int]) -> Self:
        """One channel unless set."""
        cls.check_settings(settings)
        for name, value in settings.items():
            if value < 1:
                raise UsageError("set", f"{name}={value}", "must be positive", "pass 1 or more")
        if "d_state" in settings:
            d_state = settings["d_state"]
            channels = settings.get("channels") or multiple_of(numbers, d_state, "s4")
            return cls(channels, d_state)
        channels = settings.get("channels", 1)
        return cls(channels, multiple_of(numbers, channels, "s4 with these channels"))


@kernel
def _scan(x: Array, tokens: Tokens, F: Array, u: Array, out: Array) -> None:
    """x, out (tiles, H N, LANES); F (H, N, N), lower triangular; u (H, N, vocabulary) is G u."""
    H, N, _ = F.shape
    for tile in range(len(x)):
        out[tile] = x[tile]
        for h in range(H):
            now = out[tile, h * N : (h + 1) * N]
            for t in range(tokens.shape[1]):
                for back in range(N):
                    n = N - 1 - back  # from the last row on, what is still needed is still old
                    row, f = now[n], F[h, n, n]
                    for i in range(LANES):
                        row[i] = fma(f, row[i], u[h, n, tokens[tile, t, i]])
                    for k in range(n):
                        f, other = F[h, n, k], now[k]
                        for i in range(LANES):
                            row[i] = fma(f, other[i], row[i])


def _discrete(weights: Weights) -> tuple[Array, Array]:
    """Return F (H, N, N) and G (H, N), float64."""
    A, B = (np.asarray(weights[name], np.float64) for name in ("A", "B"))
    if np.triu(A, 1).any():
        raise UsageError(
            "weights", "A", "must be lower triangular, as HiPPO-LegS is", "change the basis"
        )
    steps = np.exp(np.asarray(weights["log_dt"], np.float64))
    made = [bilinear(A, B, float(dt)) for dt in steps]
    return np.stack([F for F, _ in made]), np.stack([G for _, G in made])


@dataclass(frozen=True)
class S4LayerConfig(Config):
    """D channels of N real numbers."""

    width: int
    d_state: int

    @property
    def numbers(self) -> int:
        """D times N."""
        return self.width * self.d_state

    @classmethod
    def of(cls, numbers: int, settings: Mapping[str, int]) -> Self:
        """One channel unless set, or as many as a width tells, of 2 or more numbers each."""
        cls.check_settings(settings)
        if "d_state" in settings:
            N = positive(settings, "d_state", 1)
            width = settings.get("width") or multiple_of(numbers, N, "s4 with this d_state")
            return cls(width, N)
        width = positive(settings, "width", 1)
        N = multiple_of(numbers, width, "s4 with this width")
        if N < 2 <= width:
            raise UsageError(
                "numbers", numbers, "s4 needs 2 or more for each channel", f"pass {2 * width}"
            )
        return cls(width, N)


class S4Layer(S4Block):
    """The state space model with a dense matrix as a layer."""

    Config = S4LayerConfig

    def __init__(self, config: S4LayerConfig, weights: Weights, dtype: np.dtype[Any]) -> None:
        super().__init__(config, weights, dtype)
        self.fields = (Field("x", (config.width, config.d_state)),)
        F, G = _discrete(weights)
        self._F, self._G = F.astype(dtype), G.astype(dtype)
        self._C = np.asarray(weights["C"], dtype)

    @classmethod
    def shapes(cls, config: S4LayerConfig) -> dict[str, tuple[int, ...]]:
        """Return the shapes."""
        D, N = config.width, config.d_state
        return {"A": (N, N), "B": (N,), "log_dt": (D,), "C": (D, N)} | super().shapes(config)

    @classmethod
    def config_of(cls, weights: Weights, settings: Mapping[str, int]) -> S4LayerConfig:
        """Read the sizes off C."""
        S4LayerConfig.check_settings(settings)
        return S4LayerConfig(*weights["C"].shape)

    @classmethod
    def random(cls, config: S4LayerConfig, generator: np.random.Generator) -> Weights:
        """Draw dt and a normal C over sqrt(N); A and B are HiPPO-LegS."""
        D, N = config.width, config.d_state
        A, B = legs(N)
        own = {
            "A": A,
            "B": B,
            "log_dt": log_steps(generator, D),
            "C": generator.standard_normal((D, N)) * N**-0.5,
        }
        return own | super().random(config, generator)

    def advance(self, state: State, streams: Array, which: Tokens) -> State:
        """Go through a sequence."""
        out = np.empty_like(state[0])
        _scan(state[0], which, self._F, self._G[:, :, None] * streams[:, None], out)
        return (out,)

    def observe(self, x: Array) -> Array:
        """Return C x."""
        rows = x.reshape(len(x), self.width, -1, x.shape[-1])
        y = np.zeros((len(x), self.width, x.shape[-1]), x.dtype)
        for n in range(rows.shape[2]):
            y = y + self._C[:, n, None] * rows[:, :, n]
        return y


class S4(Cell):
    """The state space model with a dense matrix."""

    name: ClassVar[str] = "s4"
    summary: ClassVar[str] = "state space model with the HiPPO-LegS matrix"
    Config = S4Config
    layer = S4Layer

    def __init__(
        self, config: S4Config, weights: Weights, vocabulary: Vocabulary, dtype: str = "float32"
    ) -> None:
        super().__init__(config, weights, vocabulary, dtype)
        self.fields = (Field("x", (config.channels, config.d_state)),)
        F, G = _discrete(weights)
        self._F = F.astype(self.dtype)
        drive = G[:, :, None] * np.asarray(weights["encoder.weight"], np.float64)[:, None]
        self._u: Array = np.ascontiguousarray(drive, self.dtype)

    @classmethod
    def shapes(cls, config: S4Config, vocabulary: Vocabulary) -> dict[str, tuple[int, ...]]:
        """Return the shapes."""
        H, N = config.channels, config.d_state
        return {"A": (N, N), "B": (N,), "log_dt": (H,), "encoder.weight": (H, vocabulary.size)}

    @classmethod
    def config_of(cls, weights: Weights, settings: Mapping[str, int]) -> S4Config:
        """Read the sizes off B and log_dt."""
        S4Config.check_settings(settings)
        return S4Config(weights["log_dt"].shape[0], weights["B"].shape[0])

    @classmethod
    def random(
        cls, config: S4Config, vocabulary: Vocabulary, generator: np.random.Generator
    ) -> Weights:
        """Draw dt and the inputs; A and B are HiPPO-LegS."""
        A, B = legs(config.d_state)
        return {
            "A": A,
            "B": B,
            "log_dt": log_steps(generator, config.channels),
            "encoder.weight": generator.standard_normal((config.channels, vocabulary.size)),
        }

    def scan(self, state: State, tokens: Tokens) -> State:
        """Read tokens from `state`."""
        out = np.empty_like(state[0])
        _scan(state[0], tokens, self._F, self._u, out)
        return (out,)


CELL = S4
