"""DeltaNet: an associative memory that replaces what it held under a key.

    S' = S - b k (k^T S) + b k v^T,    o = q S' / sqrt(K),    y = W_o norm(o)

k and q are silu of linear maps, over their Euclidean norm; v is silu of a linear map;
b = sigmoid of one. With unit keys and b = 1 the memory answers k with v exactly, and
what is stored under orthogonal keys stays.

H heads, K key and V value channels, D the width. Parameters: ``q_proj.weight``,
``k_proj.weight`` (H K, D), ``v_proj.weight`` (H V, D), ``b_proj.weight`` (H, D),
``o_norm.weight`` (V), ``o_proj.weight`` (D, H V), and where d_conv > 1, which puts
convolutions of d_conv taps before silu, ``q_conv1d.weight``, ``k_conv1d.weight``
(H K, 1, d_conv) and ``v_conv1d.weight`` (H V, 1, d_conv). norm divides by the root mean
square of a head. State: S, H K V numbers, and the convolutions' last d_conv - 1 inputs.

Constructed parameters (V = 1, bits with positions, no convolutions): position a writes in
head a mod H, under its own axis of the K while n <= H K, so that S holds the bits
themselves; beyond, under random signs, as they are from the start with ``--init
random_keys``. Its value is +-0.278, since silu goes no lower. A query of one bit reads its
key and writes nothing. D grows to the 2 n + 1 that they need.

Schlag, Irie and Schmidhuber (2021); Yang, Wang, Zhang, Shen and Kim (2024), "Parallelizing
linear transformers with the delta rule over sequence length".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np

from statebound.models._cell import Array, Weights
from statebound.models._delta import DeltaLayer, drawn, taps_of
from statebound.models._heads import ConvConfig, parts
from statebound.models._keyed import KeyedCell
from statebound.models._layer import LayerCell
from statebound.models._linear import linear
from statebound.models._pointwise import rms
from statebound.models._published import Published
from statebound.models._vocabulary import Vocabulary

# silu is least at LOW and takes the opposite value at HIGH
LOW, HIGH = -1.2784645427610737, 0.4551154164653931
FAR = 40.0


class DeltaNetConfig(ConvConfig):
    """H heads of K by V, in a layer of width D, with convolutions of d_conv taps."""


class DeltaNetLayer(DeltaLayer):
    """The layer of DeltaNet."""

    Config = DeltaNetConfig

    @classmethod
    def config_of(cls, weights: Weights, settings: Mapping[str, int]) -> DeltaNetConfig:
        """Read H off b_proj, V off the norm, K and D off the key map, d_conv off its taps."""
        DeltaNetConfig.check_settings(settings)
        heads, V = weights["b_proj.weight"].shape[0], weights["o_norm.weight"].shape[0]
        HK, D = weights["k_proj.weight"].shape
        return DeltaNetConfig(heads, parts(HK, heads), V, D, taps_of(weights, settings))

    @classmethod
    def random(cls, config: DeltaNetConfig, generator: np.random.Generator) -> Weights:
        """Draw the maps and taps as torch's layers do; the norm's weights are 1."""
        return drawn(cls.shapes(config), generator)

    def emit(self, reads: Array, streams: Array) -> Array:
        """Return W_o norm(o)."""
        scale = np.tile(self._w["o_norm.weight"], self.config.heads)[:, None]
        return linear(self._w["o_proj.weight"], rms(reads, self.config.heads) * scale)


class DeltaNet(KeyedCell, LayerCell):
    """The delta rule."""

    name: ClassVar[str] = "deltanet"
    summary: ClassVar[str] = "delta rule: writing replaces what the key held"
    encoding: ClassVar[str] = "pairs"
    key_form: ClassVar[str] = "d_value = 1 and no convolutions"
    layer = DeltaNetLayer
    Config = DeltaNetConfig
    published = (
        Published(
            "delta_net-1.3b",
            24,
            {"heads": 16, "d_key": 128, "d_value": 128, "d_conv": 4, "width": 2048},
        ),
    )

    def __init__(
        self,
        config: DeltaNetConfig,
        weights: Weights,
        vocabulary: Vocabulary,
        dtype: str = "float32",
    ) -> None:
        width = weights["embedding.weight"].shape[1]
        super().__init__(replace(config, width=width), weights, vocabulary, dtype)

    @classmethod
    def takes_keys(cls, config: DeltaNetConfig) -> bool:
        """Whether values are numbers, and nothing is convolved."""
        return config.d_value == 1 and config.taps == 0

    @classmethod
    def keyed(
        cls,
        config: DeltaNetConfig,
        vocabulary: Vocabulary,
        generator: np.random.Generator,
        *,
        orthogonal: bool,
    ) -> Weights:
        """Return maps that write a position's bit under its key, and read it by its query."""
        n, H, K = vocabulary.length, config.heads, config.d_key
        axes = orthogonal and n <= H * K
        keys = np.zeros((n, H, K))
        for a in range(n):
            signs = np.where(generator.integers(0, 2, K) == 1, HIGH, LOW)
            keys[a, a % H] = FAR * np.eye(K)[a // H] if axes else signs
        columns = keys.reshape(n, H * K).T
        width = max(config.width, 2 * n + 1)  # a number a key, a number a query, the value
        weights = {
            name: np.zeros(shape)
            for name, shape in cls.shapes(replace(config, width=width), vocabulary).items()
        }
        embedding = weights["embedding.weight"]
        embedding[: 2 * n, :n] = np.repeat(np.eye(n), 2, axis=0)
        embedding[: 2 * n, 2 * n] = np.tile([LOW, HIGH], n)
        weights["k_proj.weight"][:, :n] = columns
        weights["v_proj.weight"][:, 2 * n] = 1.0
        weights["q_proj.weight"][:, n : 2 * n] = columns
        weights["b_proj.weight"][:, :n] = FAR
        weights["o_norm.weight"][:] = 1.0
        weights["o_proj.weight"][0] = 1.0
        if vocabulary.parities and all(len(p) == 1 for p in vocabulary.parities):
            for query, (position,) in enumerate(vocabulary.parities):
                embedding[vocabulary.stream_tokens + query, n + position] = 1.0
            weights["readout.weight"] = np.zeros((vocabulary.answers, width))
            weights["readout.weight"][1, 0] = 1.0
            weights["readout.bias"] = np.zeros(vocabulary.answers)
        return weights


CELL = DeltaNet
