"""A trained machine's own Bob: a small network that answers all queries at once.

z_0 = the dequantised numbers; z_(i+1) = ReLU(W_i z_i + b_i), without the ReLU after the last
layer, whose rows are scores: ``query * alphabet + answer``. Sums have a fixed order, so that
an answer depends on the message and the query and on no other message.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from statebound.models._linear import linear
from statebound.reductions.checkpoint import Layers


@dataclass(frozen=True)
class Network:
    """The layers, and how many queries and answers the scores are for."""

    layers: Layers
    queries: int
    alphabet: int

    def scores(self, features: NDArray[np.floating]) -> NDArray[np.float32]:
        """Return the scores (B, queries, alphabet) from numbers (B, C)."""
        z = np.ascontiguousarray(features.T, np.float32)
        for i, (weight, bias) in enumerate(self.layers):
            z = linear(weight, z if i == 0 else np.maximum(z, 0), bias)
        return z.T.reshape(len(features), self.queries, self.alphabet)

    def answers(self, features: NDArray[np.floating]) -> NDArray[np.intp]:
        """Return the answer to every query, (B, queries): the first of the largest scores."""
        best: NDArray[np.intp] = self.scores(features).argmax(axis=2)
        return best

    def parameters(self) -> dict[str, NDArray[np.float32]]:
        """Return the layers by name, for the machine's hash."""
        named = {}
        for i, (weight, bias) in enumerate(self.layers):
            named[f"{i}.weight"], named[f"{i}.bias"] = weight, bias
        return named
