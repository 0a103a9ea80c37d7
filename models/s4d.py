"""S4D: a diagonal state space model.

    x_n' = exp(dt A_n) x_n + u,    A_n = -exp(log_A_real_n) + i A_imag_n

H channels with N/2 complex modes each (their conjugates are not stored); dt = exp(
log_dt) a channel; zero-order hold with B = 1, whose input factor (exp(dt A) - 1)/A
belongs to the output map C, so that the state itself is driven by u. The input u of a
channel is a number a token, ``encoder.weight`` (H, vocabulary).

State: x, H N/2 complex = H N real numbers. Unbounded, so quantisers calibrate it.
Initialisation: dt log-uniform in [1e-3, 1e-1], u standard normal, and A_n, n = 0, 1, ..., as

* ``random``: S4D-Lin, A_n = -1/2 + i pi n;
* ``inv``: S4D-Inv, A_n = -1/2 + i (N / pi)(N / (2n + 1) - 1);
* ``legs``: S4D-LegS, the eigenvalues of the normal part of HiPPO-LegS of order N.

Gu, Goel, Gupta and Re (2022), "On the parameterization and initialization of diagonal
state space models".
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from statebound.models._cell import Array, Cell, Field, State, Tokens, Weights
from statebound.models._diagonal import ChannelsConfig, complex_scan, log_steps
from statebound.models._hippo import modes
from statebound.models._s4_block import S4DBlock
from statebound.models._vocabulary import Vocabulary


@dataclass(frozen=True)
class S4DConfig(ChannelsConfig):
    """H channels of N real numbers (N/2 complex modes)."""

    per_mode: ClassVar[int] = 2


class S4D(Cell):
    """The diagonal state space model."""

    name: ClassVar[str] = "s4d"
    summary: ClassVar[str] = "diagonal state space model: S4D-Lin, S4D-Inv or S4D-LegS"
    inits: ClassVar[tuple[str, ...]] = ("random", "inv", "legs")
    optional: ClassVar[tuple[str, ...]] = (
        "C",
        "D",
    )  # the authors' output map; the state ignores it
    Config = S4DConfig
    layer = S4DBlock

    def __init__(
        self, config: S4DConfig, weights: Weights, vocabulary: Vocabulary, dtype: str = "float32"
    ) -> None:
        super().__init__(config, weights, vocabulary, dtype)
        H, half = config.channels, config.d_state // 2
        self.fields = (Field("x", (H, half, 2)),)
        dt = np.exp(np.asarray(weights["log_dt"], np.float64))[:, None]
        A = -np.exp(np.asarray(weights["log_A_real"], np.float64)) + 1j * np.asarray(
            weights["A_imag"], np.float64
        )
        decay = np.exp(dt * A).reshape(-1)
        self._a: Array = np.stack([decay.real, decay.imag], 1).astype(self.dtype)
        self._u: Array = np.ascontiguousarray(np.repeat(self.table("encoder.weight"), half, axis=0))

    @classmethod
    def shapes(cls, config: S4DConfig, vocabulary: Vocabulary) -> dict[str, tuple[int, ...]]:
        """Return the shapes under the authors' names."""
        H, half = config.channels, config.d_state // 2
        return {
            "log_dt": (H,),
            "log_A_real": (H, half),
            "A_imag": (H, half),
            "encoder.weight": (H, vocabulary.size),
        }

    @classmethod
    def config_of(cls, weights: Weights, settings: Mapping[str, int]) -> S4DConfig:
        """Read the channels and modes off log_A_real."""
        S4DConfig.check_settings(settings)
        H, half = weights["log_A_real"].shape
        return S4DConfig(H, 2 * half)

    @classmethod
    def random(
        cls, config: S4DConfig, vocabulary: Vocabulary, generator: np.random.Generator
    ) -> Weights:
        """Draw dt and the inputs; A is S4D-Lin."""
        return cls._drawn("lin", config, vocabulary, generator)

    @classmethod
    def parameters(
        cls, init: str, config: S4DConfig, vocabulary: Vocabulary, generator: np.random.Generator
    ) -> Weights:
        """Draw dt and the inputs; A is of the form that `init` names."""
        form = "lin" if init == "random" else init
        return cls._drawn(form, config, vocabulary.without_queries(), generator)

    @staticmethod
    def _drawn(
        form: str, config: S4DConfig, vocabulary: Vocabulary, generator: np.random.Generator
    ) -> Weights:
        H, half = config.channels, config.d_state // 2
        return {
            "log_dt": log_steps(generator, H),
            "log_A_real": np.full((H, half), math.log(0.5)),
            "A_imag": np.tile(modes(form, half).imag, (H, 1)),
            "encoder.weight": generator.standard_normal((H, vocabulary.size)),
        }

    def scan(self, state: State, tokens: Tokens) -> State:
        """Read tokens from `state`."""
        out = np.empty_like(state[0])
        complex_scan(state[0], tokens, self._a, self._u, out)
        return (out,)


CELL = S4D
