"""What the blocks of S4 and S4D share, and the block of S4D.

A channel's input u drives its state x, and a block mixes what is read from all channels:

    y = C x' + D u,    z = a * sigmoid(b),    (a, b) = W gelu(y) + bias

D channels; gelu(y) = y Phi(y), Phi the normal distribution function. ``D`` (D),
``output_linear.0.weight`` (2 D, D, 1) and ``output_linear.0.bias`` (2 D), with a the first
half of the rows.

S4D has N/2 complex modes a channel, of which y takes twice the real part:
``kernel.log_dt`` (D), ``kernel.log_A_real``, ``kernel.A_imag`` (D, N/2) and ``kernel.C``
(D, N/2, 2), real and imaginary parts; the input factor (exp(dt A) - 1)/A of the
zero-order hold belongs to C.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from statebound.errors import UsageError
from statebound.jit import kernel
from statebound.models._cell import Array, Config, Field, State, Tokens, Weights, multiple_of
from statebound.models._diagonal import complex_scan, log_steps
from statebound.models._heads import positive
from statebound.models._layer import Layer
from statebound.models._linear import linear
from statebound.models._pointwise import logistic


@kernel
def _gelu(y: Array) -> Array:
    """Return y Phi(y) of (C, R)."""
    out = np.empty_like(y)
    half, root = y.dtype.type(0.5), y.dtype.type(math.sqrt(0.5))
    one = y.dtype.type(1)
    for c in range(y.shape[0]):
        for r in range(y.shape[1]):
            out[c, r] = half * y[c, r] * (one + math.erf(root * y[c, r]))
    return out


class S4Block(Layer):
    """A state space model a channel, and the map that mixes channels; the streams are u."""

    def __init__(self, config: Any, weights: Weights, dtype: np.dtype[Any]) -> None:
        self.config, self.width = config, config.width

        def table(name: str) -> Array:
            return np.ascontiguousarray(weights[name], dtype)

        self._skip = table("D")
        self._out = table("output_linear.0.weight").reshape(2 * self.width, self.width)
        self._bias = table("output_linear.0.bias")

    @classmethod
    def shapes(cls, config: Any) -> dict[str, tuple[int, ...]]:
        """Return the shapes of what is behind the state."""
        D = config.width
        return {
            "D": (D,),
            "output_linear.0.weight": (2 * D, D, 1),
            "output_linear.0.bias": (2 * D,),
        }

    @classmethod
    def random(cls, config: Any, generator: np.random.Generator) -> Weights:
        """Draw a standard normal D, and the map as torch's convolutions are drawn."""
        D = config.width
        bound = D**-0.5
        return {
            "D": generator.standard_normal(D),
            "output_linear.0.weight": generator.uniform(-bound, bound, (2 * D, D, 1)),
            "output_linear.0.bias": generator.uniform(-bound, bound, 2 * D),
        }

    def project(self, inputs: Array) -> Array:
        """Return the inputs."""
        return inputs

    @abstractmethod
    def observe(self, x: Array) -> Array:
        """Return C x, (tiles, D, LANES), of the state x."""

    def read(self, old: State, new: State, streams: Array, which: Tokens) -> Array:
        """Return y."""
        u = streams[:, which[:, 0]].transpose(1, 0, 2)
        y: Array = self.observe(new[0]) + self._skip[:, None] * u
        return y

    def emit(self, reads: Array, streams: Array) -> Array:
        """Return a * sigmoid(b)."""
        a, b = np.split(linear(self._out, _gelu(reads), self._bias), 2)
        z: Array = a * logistic(b)
        return z


@dataclass(frozen=True)
class S4DBlockConfig(Config):
    """D channels of N real numbers (N/2 complex modes)."""

    width: int
    d_state: int

    @property
    def numbers(self) -> int:
        """D times N."""
        return self.width * self.d_state

    @classmethod
    def of(cls, numbers: int, settings: Mapping[str, int]) -> Self:
        """N is 4 unless set, or what a width leaves, at least 4: of 2 half are dead."""
        cls.check_settings(settings)
        if "d_state" in settings:
            N = settings["d_state"]
            if N < 2 or N % 2:
                raise UsageError("set", f"d_state={N}", "must be even and positive", "pass 4")
        elif "width" in settings:
            width = positive(settings, "width", 1)
            N = 2 * multiple_of(numbers, 2 * width, "s4d with this width")
            if N < 4:
                raise UsageError(
                    "numbers", numbers, "s4d needs 4 or more for each channel", f"pass {4 * width}"
                )
        else:
            N = 4
        width = positive(settings, "width", 0) if "width" in settings else 0
        return cls(width or multiple_of(numbers, N, "s4d"), N)


class S4DBlock(S4Block):
    """The diagonal state space model and its map."""

    Config = S4DBlockConfig

    def __init__(self, config: S4DBlockConfig, weights: Weights, dtype: np.dtype[Any]) -> None:
        super().__init__(config, weights, dtype)
        D, half = config.width, config.d_state // 2
        self.fields = (Field("x", (D, half, 2)),)
        dt = np.exp(np.asarray(weights["kernel.log_dt"], np.float64))[:, None]
        turn = np.asarray(weights["kernel.A_imag"], np.float64)
        A = -np.exp(np.asarray(weights["kernel.log_A_real"], np.float64)) + 1j * turn
        decay = np.exp(dt * A)
        self._a: Array = np.stack([decay.real, decay.imag], -1).reshape(-1, 2).astype(dtype)
        C = np.asarray(weights["kernel.C"], np.float64)
        C_bar = 2 * (C[..., 0] + 1j * C[..., 1]) * (decay - 1) / A
        self._C: Array = np.stack([C_bar.real, -C_bar.imag], -1).astype(dtype)

    @classmethod
    def shapes(cls, config: S4DBlockConfig) -> dict[str, tuple[int, ...]]:
        """Return the shapes under the authors' names."""
        D, half = config.width, config.d_state // 2
        own = {
            "kernel.log_dt": (D,),
            "kernel.log_A_real": (D, half),
            "kernel.A_imag": (D, half),
            "kernel.C": (D, half, 2),
        }
        return own | super().shapes(config)

    @classmethod
    def config_of(cls, weights: Weights, settings: Mapping[str, int]) -> S4DBlockConfig:
        """Read the channels and modes off log_A_real."""
        S4DBlockConfig.check_settings(settings)
        D, half = weights["kernel.log_A_real"].shape
        return S4DBlockConfig(D, 2 * half)

    @classmethod
    def random(cls, config: S4DBlockConfig, generator: np.random.Generator) -> Weights:
        """Draw dt log-uniform in [1e-3, 1e-1] and a complex normal C; A is S4D-Lin."""
        D, half = config.width, config.d_state // 2
        own = {
            "kernel.log_dt": log_steps(generator, D),
            "kernel.log_A_real": np.full((D, half), math.log(0.5)),
            "kernel.A_imag": np.tile(math.pi * np.arange(half), (D, 1)),
            "kernel.C": generator.standard_normal((D, half, 2)) * math.sqrt(0.5),
        }
        return own | super().random(config, generator)

    def advance(self, state: State, streams: Array, which: Tokens) -> State:
        """Go through a sequence."""
        out = np.empty_like(state[0])
        u = np.repeat(streams, self.config.d_state // 2, axis=0)
        complex_scan(state[0], which, self._a, u, out)
        return (out,)

    def observe(self, x: Array) -> Array:
        """Return 2 Re(C x), mode by mode."""
        modes = x.reshape(len(x), self.width, -1, 2, x.shape[-1])
        y = np.zeros((len(x), self.width, x.shape[-1]), x.dtype)
        for n in range(modes.shape[2]):
            for part in range(2):
                y = y + self._C[:, n, part, None] * modes[:, :, n, part]
        return y
