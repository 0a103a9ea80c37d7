"""pairs: one fused position-and-symbol token a position.

On IsTree such a token is an edge: position a with bit b is the edge that joins vertex
a to hub n - 1 + b.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from statebound.models import Vocabulary
from statebound.reductions.encoding import Encoding, Tokens, vocabulary_of


class Pairs(Encoding):
    """Token ``a * symbols + v`` for symbol v at position a (from 0)."""

    name: ClassVar[str] = "pairs"
    summary: ClassVar[str] = "a token a symbol: its position and value (an edge, on istree)"
    fills: ClassVar[bool] = True

    def _vocabulary(self) -> Vocabulary:
        return vocabulary_of(self.problem, positional=True)

    def block(self, position: int) -> Tokens:
        """Return (symbols, 1): the tokens of this position; fillers are further positions."""
        first = self.vocabulary.token(position, 0)
        edges = np.arange(first, first + self.problem.symbols, dtype=np.int32)[:, None]
        beyond = self.problem.length + np.arange(self.problem.filler, dtype=np.int32)
        return self.filled(position, edges, beyond * self.problem.symbols)


ENCODING = Pairs
