"""S4D-Real: a diagonal state space model whose modes are real.

    x_n' = exp(dt A_n) x_n + u,    A_n = -exp(log_A_real_n)

As S4D, but a mode is one real number that never turns: H channels with N modes each, dt =
exp(log_dt) a channel, u a number a token and channel, ``encoder.weight`` (H, vocabulary).

State: x, H N real numbers without bound. Initialisation: A_n = -(n + 1), n = 0..N-1, dt
log-uniform in [1e-3, 1e-1], u standard normal.

Gu, Goel, Gupta and Re (2022), "On the parameterization and initialization of diagonal
state space models".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from statebound.models._cell import Array, Cell, Field, State, Tokens, Weights
from statebound.models._diagonal import ChannelsConfig, log_steps, real_scan
from statebound.models._vocabulary import Vocabulary


@dataclass(frozen=True)
class S4DRealConfig(ChannelsConfig):
    """H channels of N real modes."""


class S4DReal(Cell):
    """The diagonal state space model with real modes."""

    name: ClassVar[str] = "s4d_real"
    summary: ClassVar[str] = "diagonal state space model with real modes, S4D-Real"
    optional: ClassVar[tuple[str, ...]] = (
        "C",
        "D",
    )  # the authors' output map; the state ignores it
    Config = S4DRealConfig

    def __init__(
        self,
        config: S4DRealConfig,
        weights: Weights,
        vocabulary: Vocabulary,
        dtype: str = "float32",
    ) -> None:
        super().__init__(config, weights, vocabulary, dtype)
        H, N = config.channels, config.d_state
        self.fields = (Field("x", (H, N)),)
        dt = np.exp(np.asarray(weights["log_dt"], np.float64))[:, None]
        rate = np.exp(np.asarray(weights["log_A_real"], np.float64))
        self._a: Array = np.exp(-dt * rate).reshape(-1).astype(self.dtype)
        self._u: Array = np.ascontiguousarray(np.repeat(self.table("encoder.weight"), N, axis=0))

    @classmethod
    def shapes(cls, config: S4DRealConfig, vocabulary: Vocabulary) -> dict[str, tuple[int, ...]]:
        """Return the shapes under the authors' names."""
        H, N = config.channels, config.d_state
        return {"log_dt": (H,), "log_A_real": (H, N), "encoder.weight": (H, vocabulary.size)}

    @classmethod
    def config_of(cls, weights: Weights, settings: Mapping[str, int]) -> S4DRealConfig:
        """Read the channels and modes off log_A_real."""
        S4DRealConfig.check_settings(settings)
        H, N = weights["log_A_real"].shape
        return S4DRealConfig(H, N)

    @classmethod
    def random(
        cls, config: S4DRealConfig, vocabulary: Vocabulary, generator: np.random.Generator
    ) -> Weights:
        """Draw dt and the inputs."""
        H, N = config.channels, config.d_state
        return {
            "log_dt": log_steps(generator, H),
            "log_A_real": np.tile(np.log(np.arange(1.0, N + 1)), (H, 1)),
            "encoder.weight": generator.standard_normal((H, vocabulary.size)),
        }

    def scan(self, state: State, tokens: Tokens) -> State:
        """Read tokens from `state`."""
        out = np.empty_like(state[0])
        real_scan(state[0], tokens, self._a, self._u, out)
        return (out,)


CELL = S4DReal
