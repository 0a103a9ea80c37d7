"""What `stack` and `hybrid` share: layers one above the other.

    u_0 = a row of embedding.weight
    u_i = u_(i-1) + layer_i(norm_i(u_(i-1)))        i = 1..L
    answer: readout.weight norm(u_L) + readout.bias

norm(u) = w u / sqrt(mean(u^2) + 1e-5) with a weight w of its own each time. Parameters:
``embedding.weight`` (vocabulary, D), for the layers i from 0 ``layers.i.norm.weight`` (D)
and ``layers.i.mixer.NAME``, NAME what the layer's model calls it, ``norm.weight`` (D), and
``readout.weight`` (answers, D) with ``readout.bias`` where there is a readout.

State: that of every layer, its fields named ``i.FIELD``. The sum u that goes up is made
anew for every token and is no state. A machine that quantises every step settles a layer
before the next one reads its output.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from statebound.errors import UsageError
from statebound.models._cell import Array, Cell, Settle, State, Tokens, Weights
from statebound.models._lanes import LANES
from statebound.models._layer import COLUMNS
from statebound.models._linear import linear
from statebound.models._pointwise import rms
from statebound.models._stack_size import StackConfig
from statebound.models._vocabulary import Vocabulary

Grow = Callable[[int, State, Array, Tokens], State]


def _mixer(place: int) -> str:
    return f"layers.{place}.mixer."


class StackCell(Cell):
    """Layers between an embedding and a readout."""

    form: ClassVar[str] = "these layers in one direction"
    Config: ClassVar[type[StackConfig]]

    def __init__(
        self,
        config: StackConfig,
        weights: Weights,
        vocabulary: Vocabulary,
        dtype: str = "float32",
    ) -> None:
        super().__init__(config, weights, vocabulary, dtype)
        layers = zip(config.layers(config.models), config.parts, strict=True)
        self._layers = tuple(
            layer(part, _inner(weights, place), self.dtype)
            for place, (layer, part) in enumerate(layers)
        )
        self.fields = tuple(
            replace(field, name=f"{place}.{field.name}")
            for place, layer in enumerate(self._layers)
            for field in layer.fields
        )
        ends = np.cumsum([0] + [len(layer.fields) for layer in self._layers]).tolist()
        self._spans = tuple(slice(a, b) for a, b in pairwise(ends))
        self._norms = tuple(
            self.table(f"layers.{place}.norm.weight")[:, None] for place in range(len(ends) - 1)
        )
        self._embedding = np.ascontiguousarray(self.table("embedding.weight").T)  # (D, tokens)
        self._first = self._streams(0, self._embedding)

    @classmethod
    def shapes(cls, config: StackConfig, vocabulary: Vocabulary) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the embedding, the layers and the norms."""
        D = config.width
        shapes: dict[str, tuple[int, ...]] = {"embedding.weight": (vocabulary.size, D)}
        layers = zip(config.layers(config.models), config.parts, strict=True)
        for place, (layer, part) in enumerate(layers):
            shapes[f"layers.{place}.norm.weight"] = (D,)
            shapes |= {_mixer(place) + name: s for name, s in layer.shapes(part).items()}
        return shapes | {"norm.weight": (D,)}

    @classmethod
    def readout_shapes(
        cls, config: StackConfig, vocabulary: Vocabulary
    ) -> dict[str, tuple[int | None, ...]]:
        """Return a linear readout's shapes."""
        answers = vocabulary.answers
        return {"readout.weight": (answers, config.width), "readout.bias": (answers,)}

    @classmethod
    def config_of(cls, weights: Weights, settings: Mapping[str, Any]) -> StackConfig:
        """Read the sizes off the parameters; the settings name the models.

        Raises
        ------
        UsageError
            When they do not, or the layers are not of one width.
        """
        cls.check_named(settings)
        models = cls.Config.models_of(settings)
        D = weights["embedding.weight"].shape[1]
        parts = tuple(
            layer.config_of(_inner(weights, place), given)
            for place, (layer, given) in enumerate(cls.Config.shares(models, settings))
        )
        wrong = [f"layers.{place}" for place, part in enumerate(parts) if part.width != D]
        if wrong:
            raise UsageError(
                "weights",
                ", ".join(wrong),
                f"is not of the embedding's width {D}",
                "pass one width",
            )
        return cls.Config(models, D, parts)

    @classmethod
    @abstractmethod
    def check_named(cls, settings: Mapping[str, Any]) -> None:
        """Refuse settings that leave the models to a default."""

    @classmethod
    def random(
        cls, config: StackConfig, vocabulary: Vocabulary, generator: np.random.Generator
    ) -> Weights:
        """Draw a standard normal embedding and each layer's parameters; norms are ones."""
        D = config.width
        drawn: Weights = {"embedding.weight": generator.standard_normal((vocabulary.size, D))}
        layers = zip(config.layers(config.models), config.parts, strict=True)
        for place, (layer, part) in enumerate(layers):
            drawn[f"layers.{place}.norm.weight"] = np.ones(D)
            own = layer.random(part, generator)
            drawn |= {_mixer(place) + name: array for name, array in own.items()}
        return drawn | {"norm.weight": np.ones(D)}

    def start(self, tiles: int) -> State:
        """Return the layers' public start states."""
        return tuple(part for la in self._layers for part in la.start(tiles, self.dtype))

    def _streams(self, place: int, u: Array) -> Array:
        """Return a layer's streams of the sums (D, R) below it."""
        return self._layers[place].project(rms(u, 1) * self._norms[place])

    def scan(self, state: State, tokens: Tokens) -> State:
        """Read tokens from `state`: a piece of the sequence through all layers, then the next."""
        if tokens.shape[1] == 0:
            return tuple(part.copy() for part in state)
        out = tuple(np.empty_like(part) for part in state)
        block = COLUMNS // LANES  # tiles
        for first in range(0, len(tokens), block):
            some = slice(first, first + block)
            now = tuple(part[some] for part in state)
            rows = max(1, block // len(now[0]))
            for t in range(0, tokens.shape[1], rows):
                now = self._piece(now, np.ascontiguousarray(tokens[some, t : t + rows]))
            for part, new in zip(out, now, strict=True):
                part[some] = new
        return out

    def _piece(self, state: State, tokens: Tokens) -> State:
        """Take a piece of some sequences through all layers."""
        new: list[Array] = []
        streams, which, u = self._first, tokens, np.empty(0)
        for place, (layer, span) in enumerate(zip(self._layers, self._spans, strict=True)):
            if place == len(self._layers) - 1:
                new += layer.advance(state[span], streams, which)
                break
            after, y = layer.through(state[span], streams, which)
            new += after
            u = y + (u if place else np.take(self._embedding, tokens.reshape(-1), axis=1))
            streams = self._streams(place + 1, u)
            which = np.arange(tokens.size, dtype=np.int32).reshape(tokens.shape)
        return tuple(new)

    def _token(self, state: State, tokens: Tokens, grow: Grow, *, top: bool) -> tuple[State, Array]:
        """Go through one token (tiles, 1, LANES); return the new state and sums (D, R).

        `grow` takes a layer's number, old state, streams and columns to its new state. The
        sums are those above the last layer with `top`, else those below it.
        """
        new: list[Array] = []
        tokens = np.ascontiguousarray(tokens)
        u = np.take(self._embedding, tokens.reshape(-1), axis=1)
        streams, which = self._first, tokens
        for place, (layer, span) in enumerate(zip(self._layers, self._spans, strict=True)):
            if place:
                streams = self._streams(place, u)
                which = np.arange(tokens.size, dtype=np.int32).reshape(tokens.shape)
            after = grow(place, state[span], streams, which)
            new += after
            if top or place < len(self._layers) - 1:
                y = layer.output(state[span], after, streams, which)
                u = np.ascontiguousarray(y.transpose(1, 0, 2)).reshape(len(u), -1) + u
        return tuple(new), u

    def step(self, state: State, tokens: Tokens, settle: Settle) -> State:
        """Read one token; a layer is settled before its output goes up."""

        def grow(place: int, old: State, streams: Array, which: Tokens) -> State:
            fresh = self._layers[place].advance(old, streams, which)
            return settle(self._spans[place].start, fresh)

        return self._token(state, tokens, grow, top=False)[0]

    @property
    def has_readout(self) -> bool:
        """Whether the weights hold ``readout.weight`` and the queries are read."""
        return "readout.weight" in self.weights and self.vocabulary.queries > 0

    def logits(self, old: State, new: State, tokens: Tokens) -> Array:
        """Return the readout of the sum above the last layer, made anew from both states."""
        _, u = self._token(old, tokens, lambda place, *_: new[self._spans[place]], top=True)
        top = rms(u, 1) * self.table("norm.weight")[:, None]
        y = linear(self.table("readout.weight"), top, self.weights.get("readout.bias"))
        return y.reshape(len(y), len(tokens), -1).transpose(1, 0, 2)


def _inner(weights: Weights, place: int) -> Weights:
    """Return a layer's parameters under its own names."""
    prefix = _mixer(place)
    return {n.removeprefix(prefix): a for n, a in weights.items() if n.startswith(prefix)}
