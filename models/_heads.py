"""Sizes of layers whose state is a K by V matrix a head."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np

from statebound.errors import UsageError
from statebound.models._cell import Array, Config


def positive(settings: Mapping[str, int], name: str, default: int) -> int:
    """Return a setting that must be at least 1."""
    value = settings.get(name, default)
    if value < 1:
        raise UsageError("set", f"{name}={value}", "must be positive", "pass 1 or more")
    return value


def flag(settings: Mapping[str, int], name: str) -> int:
    """Return a setting that is 0, its default, or 1."""
    value = settings.get(name, 0)
    if value not in (0, 1):
        raise UsageError("set", f"{name}={value}", "must be 0 or 1", "pass 0 or 1")
    return value


def solve(numbers: int, step: int, offset: int, model: str) -> int:
    """Return the m >= 1 with ``step m + offset == numbers``, or refuse and name the nearest."""
    m, rest = divmod(numbers - offset, step)
    if rest == 0 and m >= 1:
        return m
    near = f"{step + offset}" if m < 1 else f"{m * step + offset} or {(m + 1) * step + offset}"
    kind = f"{offset} and a positive multiple" if offset else "a positive multiple"
    raise UsageError("numbers", numbers, f"{model} needs {kind} of {step}", f"pass {near}")


def parts(rows: int, size: int) -> int:
    """Return how many parts of `size` rows there are; a ValueError if they do not fill them."""
    if size < 1 or rows < size or rows % size:
        raise ValueError(f"{rows} rows are not a multiple of {size}")
    return rows // size


@dataclass(frozen=True)
class HeadsConfig(Config):
    """H heads of K by V numbers, in a layer of width D."""

    heads: int
    d_key: int
    d_value: int
    width: int

    @property
    def numbers(self) -> int:
        """H K V."""
        return self.heads * self.d_key * self.d_value

    @classmethod
    def of(cls, numbers: int, settings: Mapping[str, int]) -> Self:
        """One head with V = 1 and D = H max(K, V), unless set; K, or V, follows."""
        cls.check_settings(settings)
        heads, d_key, d_value = cls.sizes(numbers, settings)
        return cls(heads, d_key, d_value, cls.wide(settings, heads, d_key, d_value))

    @classmethod
    def sizes(cls, numbers: int, settings: Mapping[str, int]) -> tuple[int, int, int]:
        """Return H, K and V for H K V numbers."""
        model = cls.__name__.removesuffix("Config").lower()
        heads = positive(settings, "heads", 1)
        if "d_key" in settings and "d_value" not in settings:
            d_key = positive(settings, "d_key", 1)
            return heads, d_key, solve(numbers, heads * d_key, 0, model)
        d_value = positive(settings, "d_value", 1)
        if "d_key" in settings:
            return heads, positive(settings, "d_key", 1), d_value
        return heads, solve(numbers, heads * d_value, 0, model), d_value

    @staticmethod
    def wide(settings: Mapping[str, int], heads: int, d_key: int, d_value: int) -> int:
        """Return D: as wide as the keys or the values, whichever are more."""
        return positive(settings, "width", heads * max(d_key, d_value))


@dataclass(frozen=True)
class ConvConfig(HeadsConfig):
    """H heads of K by V numbers, behind convolutions of queries, keys and values."""

    d_conv: int

    @property
    def taps(self) -> int:
        """How many inputs of the convolutions are state: d_conv - 1, none without them."""
        return max(0, self.d_conv - 1)

    @property
    def numbers(self) -> int:
        """H K V + (d_conv - 1) H (2 K + V)."""
        channels = self.heads * (2 * self.d_key + self.d_value)
        return self.heads * self.d_key * self.d_value + self.taps * channels

    @classmethod
    def of(cls, numbers: int, settings: Mapping[str, int]) -> Self:
        """One head with V = 1, D = H max(K, V) and no convolutions, unless set."""
        cls.check_settings(settings)
        d_conv = settings.get("d_conv", 0)
        taps, heads = max(0, d_conv - 1), positive(settings, "heads", 1)
        model = cls.__name__.removesuffix("Config").lower()
        if "d_key" in settings and "d_value" not in settings:
            d_key = positive(settings, "d_key", 1)
            d_value = solve(numbers, heads * (d_key + taps), 2 * taps * heads * d_key, model)
        else:
            d_value = positive(settings, "d_value", 1)
            d_key = settings.get("d_key", 0)
            if "d_key" in settings:
                positive(settings, "d_key", 1)
            else:
                d_key = solve(numbers, heads * (d_value + 2 * taps), taps * heads * d_value, model)
        return cls(heads, d_key, d_value, cls.wide(settings, heads, d_key, d_value), d_conv)


def dense(generator: np.random.Generator, rows: int, columns: int) -> Array:
    """Draw a matrix as ``torch.nn.Linear`` does: uniform within 1/sqrt(columns)."""
    bound = columns**-0.5
    return generator.uniform(-bound, bound, (rows, columns))


def step_biases(generator: np.random.Generator, count: int) -> Array:
    """Draw biases whose softplus is log-uniform in [1e-3, 1e-1]: dt + log(1 - exp(-dt))."""
    dt = np.exp(generator.uniform(np.log(1e-3), np.log(1e-1), count))
    return dt + np.log(-np.expm1(-dt))
