"""The diagonal recurrences x' = a x + u(token), real and complex, as kernels.

Linear attention with a tabulated k v^T and the diagonal state space models are of this
form: a is fixed, and the input of a token is a column of a table.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from statebound.errors import UsageError
from statebound.jit import fma, kernel
from statebound.models._cell import Array, Config, Tokens, multiple_of
from statebound.models._lanes import LANES


@dataclass(frozen=True)
class ChannelsConfig(Config):
    """H channels of N real numbers; a mode takes `per_mode` of them."""

    per_mode: ClassVar[int] = 1
    channels: int
    d_state: int

    @property
    def numbers(self) -> int:
        """H times N."""
        return self.channels * self.d_state

    @classmethod
    def of(cls, numbers: int, settings: Mapping[str, int]) -> Self:
        """N is 4 unless set, which with complex modes is the least without a dead half."""
        cls.check_settings(settings)
        model, per = cls.__name__.removesuffix("Config").lower(), cls.per_mode
        if "channels" in settings and "d_state" not in settings:
            channels = settings["channels"]
            if channels < 1:
                raise UsageError(
                    "set", f"channels={channels}", "must be positive", "pass 1 or more"
                )
            count = multiple_of(numbers, per * channels, f"{model} with these channels")
            return cls(channels, per * count)
        d_state = settings.get("d_state", 4)
        if d_state < per or d_state % per:
            rule = "must be even and positive" if per == 2 else "must be positive"
            raise UsageError("set", f"d_state={d_state}", rule, "pass 4")
        return cls(multiple_of(numbers, d_state, model), d_state)


def log_steps(generator: np.random.Generator, count: int) -> Array:
    """Draw logarithms of steps dt that are log-uniform in [1e-3, 1e-1]."""
    return generator.uniform(math.log(1e-3), math.log(1e-1), count)


@kernel
def real_scan(x: Array, tokens: Tokens, a: Array, u: Array, out: Array) -> None:
    """Run C independent real recurrences over the tokens.

    x, out (tiles, C, LANES); tokens (tiles, T, LANES); a (C); u (C, vocabulary).
    """
    tiles, count, _ = x.shape
    for tile in range(tiles):
        for c in range(count):
            now = out[tile, c]
            for i in range(LANES):
                now[i] = x[tile, c, i]
            for t in range(tokens.shape[1]):
                for i in range(LANES):
                    now[i] = fma(a[c], now[i], u[c, tokens[tile, t, i]])


@kernel
def complex_scan(x: Array, tokens: Tokens, a: Array, u: Array, out: Array) -> None:
    """Run C independent complex recurrences over the tokens.

    x, out (tiles, 2C, LANES), real and imaginary parts next to each other;
    tokens (tiles, T, LANES); a (C, 2) real and imaginary parts; u (C, vocabulary), or
    (2C, vocabulary) like x for complex inputs.
    """
    tiles, count = x.shape[0], a.shape[0]
    per = u.shape[0] // count
    re, im = np.empty(LANES, x.dtype), np.empty(LANES, x.dtype)
    for tile in range(tiles):
        for c in range(count):
            for i in range(LANES):
                re[i], im[i] = x[tile, 2 * c, i], x[tile, 2 * c + 1, i]
            p, q = a[c, 0], a[c, 1]
            for t in range(tokens.shape[1]):
                for i in range(LANES):
                    r = fma(p, re[i], fma(-q, im[i], u[per * c, tokens[tile, t, i]]))
                    im[i] = fma(p, im[i], q * re[i])
                    re[i] = r
                if per == 2:
                    for i in range(LANES):
                        im[i] += u[2 * c + 1, tokens[tile, t, i]]
            for i in range(LANES):
                out[tile, 2 * c, i], out[tile, 2 * c + 1, i] = re[i], im[i]
