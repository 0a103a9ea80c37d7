"""The contract that every sequence model fills.

A cell turns (state, token) into a new state. It declares *all* that its state holds
as fields; the number of bits a state takes is derived from them, never typed. State
goes in and comes out: nothing hides on the cell, and what comes in is not changed.

A step is a scan of length one, so an unsplit run, Alice's part and Bob's part share
one code path.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from statebound.errors import UsageError
from statebound.models._dual import Terms
from statebound.models._lanes import LANES
from statebound.models._published import Published
from statebound.models._vocabulary import Vocabulary

Array = NDArray[Any]
State = tuple[Array, ...]
Tokens = NDArray[np.int32]
Weights = dict[str, Array]
Settle = Callable[[int, State], State]


@dataclass(frozen=True)
class Field:
    """One part of a state.

    Attributes
    ----------
    name, shape
        Its name and its shape for one sequence; (tiles, prod(shape), LANES) in a batch.
    low, high
        Bounds that its numbers never leave, where the recurrence has such; else None.
    cache
        Whether the first axis counts entries, oldest first and one a token, that are
        written once and never change: a quantiser treats all entries alike, and
        entries not yet written are sent as code 0.
    grows
        Whether the first axis is the length of the stream, so that the state has no fixed
        size.
    """

    name: str
    shape: tuple[int, ...]
    low: float | None = None
    high: float | None = None
    cache: bool = False
    grows: bool = False

    @property
    def numbers(self) -> int:
        """How many numbers the field holds."""
        return math.prod(self.shape)

    @property
    def growing(self) -> int:
        """How many numbers a token adds to the field, 0 where its size is fixed."""
        return self.numbers // self.shape[0] if self.grows else 0


@dataclass(frozen=True)
class Config:
    """The size of a cell: a frozen dataclass in each model file.

    Its fields are whole numbers, or text where they are annotated so. A setting is the
    name of a field with its value.
    """

    @property
    def numbers(self) -> int:
        """The total of numbers in the state.

        Where the state grows this is the total for a stream of the length in the config,
        which is one token until `reaching` tells it.
        """
        raise TypeError(f"{type(self).__name__} does not say its size")

    @property
    def growing(self) -> int:
        """How many numbers a token adds to the state, 0 where its size is fixed."""
        return 0

    @classmethod
    def of(cls, numbers: int, settings: Mapping[str, Any]) -> Self:
        """Return the config with this many state numbers.

        Raises
        ------
        UsageError
            When no config has that total under these settings.
        """
        raise TypeError(f"{cls.__name__} cannot be sized")

    def reaching(self, length: int) -> Self:
        """Return the config for a stream of this public length.

        Raises
        ------
        UsageError
            When the config was made for another length.
        """
        return self

    def settings(self) -> dict[str, int | str]:
        """Return the settings that, with the weights, give this config again."""
        return asdict(self)

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the names that a setting may have."""
        return tuple(f.name for f in fields(cls))

    @classmethod
    def check_settings(cls, settings: Mapping[str, Any]) -> None:
        """Refuse a setting that is not a field of this config, or has no value for one."""
        texts = {f.name for f in fields(cls) if f.type in (str, "str")}
        for name, value in settings.items():
            if name not in cls.names():
                raise UsageError(
                    "set",
                    f"{name}={value}",
                    "is not a field of this model's configuration",
                    f"choose from {', '.join(cls.names())}",
                )
            if name in texts:
                continue
            if isinstance(value, str):
                raise UsageError(
                    "set", f"{name}={value}", "must be a whole number", f"write {name}=4"
                )
            if value < 0:
                raise UsageError("set", f"{name}={value}", "must not be negative", "pass a size")


class Cell(ABC):
    """A sequence model, its state of fixed size but for fields that grow, at given weights.

    Parameters
    ----------
    config
        Its size.
    weights
        Parameters by their usual names (torch's, or the authors').
    vocabulary
        The tokens it reads.
    dtype
        float32 or float64: the arithmetic of its scan.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    encoding: ClassVar[str] = "bits"
    inits: ClassVar[tuple[str, ...]] = ("random",)
    by_hand: ClassVar[tuple[str, ...]] = ("constructed",)  # inits that may look at what is asked
    needs_positions: ClassVar[bool] = False  # reads only tokens that tell their position
    optional: ClassVar[tuple[str, ...]] = ()  # parameters that neither scan nor readout demands
    form: ClassVar[str] = "one layer and one direction"
    published: ClassVar[tuple[Published, ...]] = ()  # sizes of models that are in use
    Config: ClassVar[type[Config]]
    fields: tuple[Field, ...]

    def __init__(
        self, config: Any, weights: Weights, vocabulary: Vocabulary, dtype: str = "float32"
    ) -> None:
        self.config = config
        self.weights = weights
        self.vocabulary = vocabulary
        self.dtype = np.dtype(dtype)

    @classmethod
    @abstractmethod
    def shapes(cls, config: Any, vocabulary: Vocabulary) -> dict[str, tuple[int, ...]]:
        """Return the shape of every parameter that the scan needs.

        The vocabulary's query tokens take part only where the readout is given too.
        """

    @classmethod
    def readout_shapes(
        cls, config: Any, vocabulary: Vocabulary
    ) -> dict[str, tuple[int | None, ...]]:
        """Return the shapes of parameters that only a readout needs, None for any size."""
        return {}

    @classmethod
    @abstractmethod
    def config_of(cls, weights: Weights, settings: Mapping[str, Any]) -> Any:
        """Return the config that these weights belong to; `settings` tells what they do not."""

    @classmethod
    def random(cls, config: Any, vocabulary: Vocabulary, generator: np.random.Generator) -> Weights:
        """Draw parameters as the authors of this family initialise them."""
        raise TypeError(f"{cls.name} has no random parameters")

    @classmethod
    def constructed(
        cls, config: Any, vocabulary: Vocabulary, generator: np.random.Generator
    ) -> Weights:
        """Return parameters set by hand so that the state stores symbols well."""
        raise TypeError(f"{cls.name} has no constructed parameters")

    @classmethod
    def parameters(
        cls, init: str, config: Any, vocabulary: Vocabulary, generator: np.random.Generator
    ) -> Weights:
        """Return the parameters that `init`, one of `inits`, stands for.

        A cell that lists names beside ``random`` and ``constructed`` makes them here. Only
        those that are `by_hand` may look at what is asked.
        """
        if init == "constructed":
            return cls.constructed(config, vocabulary, generator)
        return cls.random(config, vocabulary.without_queries(), generator)

    @abstractmethod
    def scan(self, state: State, tokens: Tokens) -> State:
        """Read tokens (tiles, T, LANES) from `state`; T may be 0."""

    def step(self, state: State, tokens: Tokens, settle: Settle) -> State:
        """Read one token (tiles, 1, LANES) in a machine that quantises every step.

        `settle` takes the number of a field and the new values from that field on, and
        returns what a quantised machine holds in their place. A model whose parts read
        each other's outputs settles each part before the next one reads it.
        """
        return settle(0, self.scan(state, tokens))

    def start(self, tiles: int) -> State:
        """Return the public start state for a number of tiles: zeros."""
        return tuple(np.zeros((tiles, f.numbers, LANES), self.dtype) for f in self.fields)

    def branch(self, state: State, tokens: NDArray[np.int32]) -> State:
        """Let all P tiles read each of V tokens: tile p after token v is v * P + p.

        Equal, bit for bit, to V scans of length one.
        """
        tiles, fan = len(state[0]), len(tokens)
        every = np.repeat(tokens, tiles).astype(np.int32)
        spread = np.ascontiguousarray(
            np.broadcast_to(every[:, None, None], (fan * tiles, 1, LANES))
        )
        return self.scan(tuple(np.tile(part, (fan, 1, 1)) for part in state), spread)

    def both_forms(self, tokens: Array) -> tuple[Array, Terms]:
        """Return what is read at each of tokens (T,), (T, numbers), and its attention form.

        From the start, before gates and norms.
        """
        raise TypeError(f"{self.name} has no attention form")

    @property
    def has_readout(self) -> bool:
        """Whether the weights let the model answer a query by itself."""
        return False

    def logits(self, old: State, new: State, tokens: Tokens) -> Array:
        """Return the output (tiles, answers, LANES) at a token (tiles, 1, LANES).

        `old` is the state before the token and `new` the state after it.
        """
        raise TypeError(f"this {self.name} has no readout")

    def settings(self) -> dict[str, int | str]:
        """Return the config as JSON-able numbers and texts."""
        settings: dict[str, int | str] = self.config.settings()
        return settings

    @property
    def growing(self) -> int:
        """How many numbers a token adds to the state, 0 where its size is fixed."""
        return sum(f.growing for f in self.fields)

    def table(self, name: str) -> Array:
        """Return a parameter in the cell's dtype, contiguous."""
        return np.ascontiguousarray(self.weights[name], self.dtype)


def multiple_of(numbers: int, step: int, model: str) -> int:
    """Return ``numbers // step``, or refuse and name the nearest sizes."""
    if numbers >= step and numbers % step == 0:
        return numbers // step
    low, high = numbers // step * step, (numbers // step + 1) * step
    near = f"{high}" if low < step else f"{low} or {high}"
    raise UsageError(
        "numbers", numbers, f"{model} needs a positive multiple of {step}", f"pass {near}"
    )
