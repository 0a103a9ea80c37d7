"""S4: a state space model with the dense HiPPO-LegS matrix.

    x' = F x + G u,    F, G by the bilinear rule from dx/dt = A x + B u and the step dt

H channels of N real numbers each with one A (N, N) and B (N) and a dt of its own, exp of
``log_dt`` (H). A is lower triangular. The published model has the same matrix in a
diagonal-plus-low-rank form, which is a change of basis made for its convolutions; step by
step the state is the same up to that basis. The input u of a channel is a number a token,
``encoder.weight`` (H, vocabulary).

State: x, H N numbers without bound. Initialisation: A and B are HiPPO-LegS, dt
log-uniform in [1e-3, 1e-1], u standard normal.

Gu, Goel and Re (2022), "Efficiently modeling long sequences with structured state spaces".
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from statebound.errors import UsageError
from statebound.jit import fma, kernel
from statebound.models._cell import Array, Cell, Config, Field, State, Tokens, Weights, multiple_of
from statebound.models._hippo import bilinear, legs
from statebound.models._lanes import LANES
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


class S4(Cell):
    """The state space model with a dense matrix."""

    name: ClassVar[str] = "s4"
    summary: ClassVar[str] = "state space model with the HiPPO-LegS matrix"
    Config = S4Config

    def __init__(
        self, config: S4Config, weights: Weights, vocabulary: Vocabulary, dtype: str = "float32"
    ) -> None:
        super().__init__(config, weights, vocabulary, dtype)
        A, B = (np.asarray(weights[name], np.float64) for name in ("A", "B"))
        if np.triu(A, 1).any():
            raise UsageError(
                "weights", "A", "must be lower triangular, as HiPPO-LegS is", "change the basis"
            )
        self.fields = (Field("x", (config.channels, config.d_state)),)
        steps = np.exp(np.asarray(weights["log_dt"], np.float64))
        discrete = [bilinear(A, B, float(dt)) for dt in steps]
        self._F = np.stack([F for F, _ in discrete]).astype(self.dtype)
        G = np.stack([G for _, G in discrete])
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
            "log_dt": generator.uniform(math.log(1e-3), math.log(1e-1), config.channels),
            "encoder.weight": generator.standard_normal((config.channels, vocabulary.size)),
        }

    def scan(self, state: State, tokens: Tokens) -> State:
        """Read tokens from `state`."""
        out = np.empty_like(state[0])
        _scan(state[0], tokens, self._F, self._u, out)
        return (out,)


CELL = S4
