"""S5: one diagonal state space model for all channels.

    x' = exp(dt L) x + (exp(dt L) - 1) / L B u,    y = 2 Re(C x') + D * u
    out = g * sigmoid(W_2 g + b_2),    g = gelu(y)

P complex modes L, each with a step dt of its own, whose conjugates are not stored (hence the
2 Re); zero-order hold; the activation is the authors' half_glu1. E the width. Parameters by
the authors' names, complex numbers as pairs on the last axis: ``Lambda_re``, ``Lambda_im``
(P), ``B`` (P, E, 2), ``C`` (E, P, 2), ``D`` (E), ``log_step`` (P, 1), and ``out2.weight``
(E, E), ``out2.bias`` (E) for the activation.

State: x, P complex numbers = 2P real ones without bound.

Initialised as the authors do it: L the eigenvalues of the normal part of HiPPO-LegS of order
2P, dt log-uniform in [1e-3, 1e-1], D standard normal, C complex normal of variance 1. B is V* G
for G real (2P, E), normal of variance 1/(2P), and orthonormal eigenvectors V of a real normal
matrix, one of each conjugate pair: v = (p + i q) / sqrt(2) with orthonormal real p and q, so
that real and imaginary parts of B are independent and normal of variance 1/(4P), whatever V
is, and are drawn as such. The activation's map is normal of variance 1/E, its bias 0.

Smith, Warrington and Linderman (2023), "Simplified state space layers for sequence modeling".
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from statebound.models._cell import Array, Config, Field, State, Tokens, Weights
from statebound.models._diagonal import complex_scan
from statebound.models._heads import positive, solve
from statebound.models._hippo import modes
from statebound.models._layer import Layer, LayerCell
from statebound.models._linear import linear
from statebound.models._pointwise import gelu, logistic


@dataclass(frozen=True)
class S5Config(Config):
    """P complex modes in a layer of width E."""

    modes: int
    width: int

    @property
    def numbers(self) -> int:
        """2P."""
        return 2 * self.modes

    @classmethod
    def of(cls, numbers: int, settings: Mapping[str, int]) -> Self:
        """E = P unless set."""
        cls.check_settings(settings)
        count = (
            positive(settings, "modes", 1) if "modes" in settings else solve(numbers, 2, 0, "s5")
        )
        return cls(count, positive(settings, "width", count))


def _complex(weights: Weights, name: str) -> Array:
    pair = np.asarray(weights[name], np.float64)
    number: Array = pair[..., 0] + 1j * pair[..., 1]
    return number


class S5Layer(Layer):
    """The layer; streams B u, real and imaginary parts next to each other, and u."""

    Config = S5Config

    def __init__(self, config: S5Config, weights: Weights, dtype: np.dtype[Any]) -> None:
        self.config, self.width = config, config.width
        P, E = config.modes, config.width
        self.fields = (Field("x", (P, 2)),)
        L = np.asarray(weights["Lambda_re"], np.float64) + 1j * np.asarray(
            weights["Lambda_im"], np.float64
        )
        dt = np.exp(np.asarray(weights["log_step"], np.float64)[:, 0])
        decay, C = np.exp(dt * L), _complex(weights, "C")
        B = _complex(weights, "B") * (np.expm1(dt * L) / L)[:, None]
        self._a: Array = np.stack([decay.real, decay.imag], 1).astype(dtype)
        self._B = np.stack([B.real, B.imag], 1).reshape(2 * P, E).astype(dtype)
        self._C = np.stack([2 * C.real, -2 * C.imag], 2).reshape(E, 2 * P).astype(dtype)
        self._D, self._W2, self._b2 = (
            np.ascontiguousarray(weights[name], dtype) for name in ("D", "out2.weight", "out2.bias")
        )

    @classmethod
    def shapes(cls, config: S5Config) -> dict[str, tuple[int, ...]]:
        """Return the shapes under the authors' names."""
        P, E = config.modes, config.width
        return {
            "Lambda_re": (P,),
            "Lambda_im": (P,),
            "B": (P, E, 2),
            "C": (E, P, 2),
            "D": (E,),
            "log_step": (P, 1),
            "out2.weight": (E, E),
            "out2.bias": (E,),
        }

    @classmethod
    def config_of(cls, weights: Weights, settings: Mapping[str, int]) -> S5Config:
        """Read P and E off B."""
        S5Config.check_settings(settings)
        P, E, _ = weights["B"].shape
        return S5Config(P, E)

    @classmethod
    def random(cls, config: S5Config, generator: np.random.Generator) -> Weights:
        """Draw parameters as the authors do."""
        P, E = config.modes, config.width
        eigenvalues = modes("legs", P)
        return {
            "Lambda_re": eigenvalues.real,
            "Lambda_im": eigenvalues.imag,
            "B": generator.standard_normal((P, E, 2)) * (4 * P) ** -0.5,
            "C": generator.standard_normal((E, P, 2)) * 0.5**0.5,
            "D": generator.standard_normal(E),
            "log_step": generator.uniform(math.log(1e-3), math.log(1e-1), (P, 1)),
            "out2.weight": generator.standard_normal((E, E)) * E**-0.5,
            "out2.bias": np.zeros(E),
        }

    def project(self, inputs: Array) -> Array:
        """Return B u and u: (2P + E, R)."""
        return np.concatenate([linear(self._B, inputs), inputs])

    def advance(self, state: State, streams: Array, which: Tokens) -> State:
        """Go through a sequence."""
        out = np.empty_like(state[0])
        complex_scan(state[0], which, self._a, streams[: 2 * self.config.modes], out)
        return (out,)

    def read(self, old: State, new: State, streams: Array, which: Tokens) -> Array:
        """Return x', (tiles, 2P, LANES)."""
        return new[0]

    def emit(self, reads: Array, streams: Array) -> Array:
        """Return g * sigmoid(W_2 g + b_2), g = gelu(2 Re(C x') + D * u)."""
        y = linear(self._C, reads) + self._D[:, None] * streams[2 * self.config.modes :]
        g = gelu(y)
        out: Array = g * logistic(linear(self._W2, g, self._b2))
        return out


class S5(LayerCell):
    """The state space model with one state for all channels."""

    name: ClassVar[str] = "s5"
    summary: ClassVar[str] = "diagonal state space model with one state for all channels"
    layer = S5Layer
    Config = S5Config


CELL = S5
