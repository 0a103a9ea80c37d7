"""bits: a token a symbol, its value and nothing else."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from statebound.models import Vocabulary
from statebound.reductions.encoding import Encoding, Tokens, vocabulary_of


class Bits(Encoding):
    """Token v for symbol v; the model must count positions by itself."""

    name: ClassVar[str] = "bits"
    summary: ClassVar[str] = "a token a symbol: its value"
    fills: ClassVar[bool] = True

    def _vocabulary(self) -> Vocabulary:
        return vocabulary_of(self.problem, positional=False)

    def block(self, position: int) -> Tokens:
        """Return (symbols, 1): the values; a further value for fillers."""
        values = np.arange(self.problem.symbols, dtype=np.int32)[:, None]
        fillers = np.full(self.problem.filler, self.problem.symbols, np.int32)
        return self.filled(position, values, fillers)


ENCODING = Bits
