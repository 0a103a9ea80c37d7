"""Layers: recurrent sequence maps with D numbers in and D numbers out a token.

A layer works in four parts, of which only the middle two see a state:

* `project` maps inputs to *streams* (keys, values, gates before their convolution, ...),
  each input by itself;
* `advance` takes a state through a sequence of streams;
* `read` reads a state out at one token: from the state before it, the state after it
  (which a machine that quantises every step has quantised by then) and its streams;
* `emit` maps what was read, and the streams, to outputs, each token by itself.

Streams stand in a table, one column for each different input, and the sequence is given
by column numbers. A model that reads tokens has one column a token, computed once; in a
stack, where inputs are real numbers, every token of every sequence has its own column.
Both run the same kernels on the same numbers, so both give the same bits: what a column
becomes depends on that column alone, whatever stands beside it in the table.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from statebound.models._cell import Array, Cell, Config, Field, State, Tokens, Weights
from statebound.models._dual import Terms
from statebound.models._lanes import LANES
from statebound.models._vocabulary import Vocabulary

COLUMNS = 1 << 13  # inputs that are projected at once, so that memory does not grow with T


class Layer:
    """One layer at given weights.

    Attributes
    ----------
    config, fields, width
        Its size, its whole state, and D.
    """

    Config: ClassVar[type[Config]]
    config: Any
    fields: tuple[Field, ...]
    width: int

    @classmethod
    @abstractmethod
    def shapes(cls, config: Any) -> dict[str, tuple[int, ...]]:
        """Return the shape of every parameter, under the authors' names."""

    @classmethod
    @abstractmethod
    def config_of(cls, weights: Weights, settings: Mapping[str, int]) -> Any:
        """Return the config that these weights belong to; `settings` tells what they do not."""

    @classmethod
    @abstractmethod
    def random(cls, config: Any, generator: np.random.Generator) -> Weights:
        """Draw parameters as the authors initialise them."""

    @abstractmethod
    def __init__(self, config: Any, weights: Weights, dtype: np.dtype[Any]) -> None: ...

    @abstractmethod
    def project(self, inputs: Array) -> Array:
        """Return the streams (P, R) of inputs (D, R)."""

    @abstractmethod
    def advance(self, state: State, streams: Array, which: Tokens) -> State:
        """Go through a sequence.

        Parameters
        ----------
        state
            One array a field, (tiles, numbers, LANES); not changed.
        streams
            (P, R) columns.
        which
            (tiles, T, LANES) column numbers; T may be 0.

        Returns
        -------
        The new state.
        """

    @abstractmethod
    def read(self, old: State, new: State, streams: Array, which: Tokens) -> Array:
        """Return the reads (tiles, Q, LANES) at one token, `which` (tiles, 1, LANES)."""

    @abstractmethod
    def emit(self, reads: Array, streams: Array) -> Array:
        """Return the outputs (D, R) of reads (Q, R) and streams (P, R), column by column."""

    def start(self, tiles: int, dtype: np.dtype[Any]) -> State:
        """Return the public start state: zeros."""
        return tuple(np.zeros((tiles, f.numbers, LANES), dtype) for f in self.fields)

    def run(self, state: State, inputs: Array) -> tuple[State, Array]:
        """Take inputs (tiles, T, D, LANES) to the new state and outputs of the same shape."""
        tiles, T, D, lanes = inputs.shape
        outputs = np.empty_like(inputs)
        chunk = max(1, COLUMNS // (tiles * lanes))
        for t in range(0, T, chunk):
            some = np.ascontiguousarray(inputs[:, t : t + chunk].transpose(2, 0, 1, 3))
            streams = self.project(some.reshape(D, -1))
            which = np.arange(streams.shape[1], dtype=np.int32).reshape(tiles, -1, lanes)
            state, y = self.through(state, streams, which)
            outputs[:, t : t + chunk] = y.reshape(some.shape).transpose(1, 2, 0, 3)
        return state, outputs

    def through(self, state: State, streams: Array, which: Tokens) -> tuple[State, Array]:
        """Return the state after a sequence, and the outputs (D, tiles T LANES).

        `which` (tiles, T, LANES), T at least 1, also numbers the outputs, in its own order.
        """
        reads = []
        for t in range(which.shape[1]):
            now = np.ascontiguousarray(which[:, t : t + 1])
            new = self.advance(state, streams, now)
            reads.append(self.read(state, new, streams, now).transpose(1, 0, 2))
            state = new
        flat = np.stack(reads, axis=2).reshape(len(reads[0]), -1)  # (Q, tiles, T, LANES)
        return state, self.emit(flat, _columns(streams, which))

    def output(self, old: State, new: State, streams: Array, which: Tokens) -> Array:
        """Return the outputs (tiles, D, LANES) at one token, `which` (tiles, 1, LANES)."""
        reads = self.read(old, new, streams, which)
        flat = np.ascontiguousarray(reads.transpose(1, 0, 2)).reshape(reads.shape[1], -1)
        y = self.emit(flat, _columns(streams, which))
        return y.reshape(self.width, len(which), -1).transpose(1, 0, 2)


@runtime_checkable
class Dual(Protocol):
    """A layer that has an attention form."""

    def dual(self, streams: Array) -> Terms:
        """Return the attention form of one sequence from the start, a column an input."""
        ...


def _columns(streams: Array, which: Tokens) -> Array:
    """Return the columns that `which` numbers, in its order."""
    every = which.reshape(-1)
    if len(every) == streams.shape[1] and (np.diff(every) == 1).all():
        return streams  # each column once and in order
    return np.take(streams, every, axis=1)


class LayerCell(Cell):
    """A model of one layer: ``embedding.weight`` (vocabulary, D), the layer, a readout.

    The readout, where given, is ``readout.weight`` (answers, D) and ``readout.bias`` on the
    layer's output. A subclass names its `layer`.
    """

    layer: ClassVar[type[Layer]]

    def __init__(
        self, config: Any, weights: Weights, vocabulary: Vocabulary, dtype: str = "float32"
    ) -> None:
        super().__init__(config, weights, vocabulary, dtype)
        self._layer = self.layer(config, weights, self.dtype)
        self.fields = self._layer.fields
        self._streams = self._layer.project(self.table("embedding.weight").T)

    @classmethod
    def shapes(cls, config: Any, vocabulary: Vocabulary) -> dict[str, tuple[int, ...]]:
        """Return the layer's shapes and the embedding's."""
        shapes = cls.layer.shapes(config)
        return {"embedding.weight": (vocabulary.size, cls.width_of(config))} | shapes

    @classmethod
    def width_of(cls, config: Any) -> int:
        """Return D."""
        width: int = config.width
        return width

    @classmethod
    def readout_shapes(
        cls, config: Any, vocabulary: Vocabulary
    ) -> dict[str, tuple[int | None, ...]]:
        """Return a linear readout's shapes."""
        D, answers = cls.width_of(config), vocabulary.answers
        return {"readout.weight": (answers, D), "readout.bias": (answers,)}

    @classmethod
    def config_of(cls, weights: Weights, settings: Mapping[str, int]) -> Any:
        """Return the layer's config."""
        return cls.layer.config_of(weights, settings)

    @classmethod
    def random(cls, config: Any, vocabulary: Vocabulary, generator: np.random.Generator) -> Weights:
        """Draw a standard normal embedding and the layer's parameters."""
        embedding = generator.standard_normal((vocabulary.size, cls.width_of(config)))
        return {"embedding.weight": embedding} | cls.layer.random(config, generator)

    def start(self, tiles: int) -> State:
        """Return the layer's public start state."""
        return self._layer.start(tiles, self.dtype)

    def scan(self, state: State, tokens: Tokens) -> State:
        """Read tokens from `state`."""
        return self._layer.advance(state, self._streams, tokens)

    def both_forms(self, tokens: Array) -> tuple[Array, Terms]:
        """Return what the layer reads at each token, and its attention form."""
        if not isinstance(self._layer, Dual):
            return super().both_forms(tokens)
        state, reads = self.start(1), []
        for token in tokens:
            which = np.full((1, 1, LANES), token, np.int32)
            new = self.scan(state, which)
            reads.append(self._layer.read(state, new, self._streams, which)[0, :, 0])
            state = new
        return np.stack(reads), self._layer.dual(np.ascontiguousarray(self._streams[:, tokens]))

    @property
    def has_readout(self) -> bool:
        """Whether the weights hold ``readout.weight`` and the queries are read."""
        return "readout.weight" in self.weights and self.vocabulary.queries > 0

    def logits(self, old: State, new: State, tokens: Tokens) -> Array:
        """Return readout.weight y + readout.bias, y the layer's output at the token."""
        from statebound.models._linear import linear

        y = self._layer.output(old, new, self._streams, tokens)
        flat = np.ascontiguousarray(y.transpose(1, 0, 2)).reshape(y.shape[1], -1)
        logits = linear(self.table("readout.weight"), flat, self.weights.get("readout.bias"))
        return logits.reshape(len(logits), len(tokens), -1).transpose(1, 0, 2)
