"""What the recurrent cells with torch's parameters share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from statebound.models._cell import Array, Cell, Config, Field, State, Tokens, Weights, multiple_of
from statebound.models._layer import Layer
from statebound.models._linear import linear
from statebound.models._vocabulary import Vocabulary


@dataclass(frozen=True)
class Units(Config):
    """H, the number of units, each with `per_unit` state numbers."""

    per_unit: ClassVar[int] = 1
    units: int

    @property
    def numbers(self) -> int:
        """H times the numbers of a unit."""
        return self.per_unit * self.units

    @classmethod
    def of(cls, numbers: int, settings: Mapping[str, int]) -> Self:
        """Any positive number of units."""
        cls.check_settings(settings)
        return cls(settings.get("units", multiple_of(numbers, cls.per_unit, "the cell")))


class TorchCell(Cell):
    """A cell whose state begins with h, H numbers in (-1, 1), with torch's parameters.

    x is the one-hot token, or a row of ``embedding.weight`` (vocabulary, D) where
    given; ``readout.weight`` (answers, H) and ``readout.bias`` make a readout from h. A
    subclass whose state is larger adds to `fields` and says so in its config.
    """

    gates: ClassVar[int]
    layer: ClassVar[type[TorchLayer]]
    optional: ClassVar[tuple[str, ...]] = ("embedding.weight",)
    Config: ClassVar[type[Units]] = Units

    def __init__(
        self, config: Units, weights: Weights, vocabulary: Vocabulary, dtype: str = "float32"
    ) -> None:
        super().__init__(config, weights, vocabulary, dtype)
        self.fields = (Field("h", (config.units,), -1.0, 1.0),)

    @classmethod
    def shapes(cls, config: Units, vocabulary: Vocabulary) -> dict[str, tuple[int, ...]]:
        """Return torch's shapes."""
        return gate_shapes(cls.gates, config.units, vocabulary.size)

    @classmethod
    def readout_shapes(
        cls, config: Units, vocabulary: Vocabulary
    ) -> dict[str, tuple[int | None, ...]]:
        """Return a linear readout's shapes."""
        answers = vocabulary.answers
        return {"readout.weight": (answers, config.units), "readout.bias": (answers,)}

    @classmethod
    def config_of(cls, weights: Weights, settings: Mapping[str, int]) -> Units:
        """Read H off the recurrent matrix."""
        cls.Config.check_settings(settings)
        return cls.Config(weights["weight_hh"].shape[-1])

    @classmethod
    def random(
        cls, config: Units, vocabulary: Vocabulary, generator: np.random.Generator
    ) -> Weights:
        """Draw every parameter uniformly within 1/sqrt(H), as torch does."""
        return uniform_gates(cls.gates, config.units, vocabulary.size, generator)

    @property
    def has_readout(self) -> bool:
        """Whether the weights hold ``readout.weight`` and the queries are read."""
        return "readout.weight" in self.weights and self.vocabulary.queries > 0

    def logits(self, old: State, new: State, tokens: Tokens) -> Array:
        """Return readout.weight h' + readout.bias."""
        return readout_logits(self.weights, new[0])


@dataclass(frozen=True)
class Square(Config):
    """D, the width and the number of units, each with `per_unit` state numbers."""

    per_unit: ClassVar[int] = 1
    width: int

    @property
    def numbers(self) -> int:
        """D times the numbers of a unit."""
        return self.per_unit * self.width

    @classmethod
    def of(cls, numbers: int, settings: Mapping[str, int]) -> Self:
        """Any positive number of units; the width decides it."""
        cls.check_settings(settings)
        return cls(settings.get("width") or multiple_of(numbers, cls.per_unit, "the layer"))


class TorchLayer(Layer):
    """A recurrent layer of D units on D inputs, whose output is its new h.

    The streams are W x + b_ih, the rows of a unit's gates next to each other. A subclass
    takes its cell's kernel through them, and adds to `fields` what it holds beside h.
    """

    gates: ClassVar[int]
    Config: ClassVar[type[Square]] = Square

    def __init__(self, config: Square, weights: Weights, dtype: np.dtype[Any]) -> None:
        self.config, self.width = config, config.width
        self.fields: tuple[Field, ...] = (Field("h", (self.width,), -1.0, 1.0),)

        def by_unit(name: str) -> Array:
            gates = np.asarray(weights[name], dtype).reshape(self.gates, self.width, -1)
            return np.ascontiguousarray(gates.transpose(1, 0, 2))  # (D, gates, columns)

        self._W = by_unit("weight_ih").reshape(-1, self.width)
        self._b_in = by_unit("bias_ih").reshape(-1)
        self._U = np.ascontiguousarray(by_unit("weight_hh").transpose(0, 2, 1))
        self._b = by_unit("bias_hh").reshape(self.width, self.gates)

    @classmethod
    def shapes(cls, config: Square) -> dict[str, tuple[int, ...]]:
        """Return torch's shapes."""
        return gate_shapes(cls.gates, config.width, config.width)

    @classmethod
    def config_of(cls, weights: Weights, settings: Mapping[str, int]) -> Square:
        """Read D off the recurrent matrix."""
        cls.Config.check_settings(settings)
        return cls.Config(weights["weight_hh"].shape[-1])

    @classmethod
    def random(cls, config: Square, generator: np.random.Generator) -> Weights:
        """Draw every parameter uniformly within 1/sqrt(D), as torch does."""
        return uniform_gates(cls.gates, config.width, config.width, generator)

    def project(self, inputs: Array) -> Array:
        """Return W x + b_ih."""
        return linear(self._W, inputs, self._b_in)

    def read(self, old: State, new: State, streams: Array, which: Tokens) -> Array:
        """Return h'."""
        return new[0]

    def emit(self, reads: Array, streams: Array) -> Array:
        """Return what was read."""
        return reads


def gate_shapes(gates: int, units: int, inputs: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes of torch's recurrent parameters for one-hot inputs."""
    rows = gates * units
    return {
        "weight_ih": (rows, inputs),
        "weight_hh": (rows, units),
        "bias_ih": (rows,),
        "bias_hh": (rows,),
    }


def uniform_gates(gates: int, units: int, inputs: int, generator: np.random.Generator) -> Weights:
    """Draw all parameters from U(-1/sqrt(units), 1/sqrt(units)), torch's default."""
    bound = units**-0.5
    return {
        name: generator.uniform(-bound, bound, shape)
        for name, shape in gate_shapes(gates, units, inputs).items()
    }


def input_table(weights: Weights) -> Array:
    """Return W x + b_ih for every token x as columns: (rows, vocabulary), float64.

    x is the one-hot token, or a row of ``embedding.weight``. Summed in a fixed order,
    not by BLAS, so that two processes agree on every bit.
    """
    W = np.asarray(weights["weight_ih"], np.float64)
    if "embedding.weight" in weights:
        W = np.einsum("rd,vd->rv", W, np.asarray(weights["embedding.weight"], np.float64))
    table: Array = W + np.asarray(weights["bias_ih"], np.float64)[:, None]
    return table


def readout_logits(weights: Weights, h: Array) -> Array:
    """Return the linear readout of h (tiles, H, LANES): (tiles, answers, LANES)."""
    W = np.asarray(weights["readout.weight"], h.dtype)
    logits: Array = np.einsum("qh,thl->tql", W, h)
    if "readout.bias" in weights:
        logits = logits + np.asarray(weights["readout.bias"], h.dtype)[:, None]
    return logits
