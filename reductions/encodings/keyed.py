"""keyed: a position token, then a value token.

Positions and values have tokens of their own, so a model must bind the two: the stream
of n symbols is 2n tokens, and the tokens are symbols + n, not symbols * n.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from statebound.models import Vocabulary
from statebound.reductions.encoding import Encoding, Tokens, askable


class Keyed(Encoding):
    """Token ``symbols + a``, then token v, for symbol v at position a (from 0)."""

    name: ClassVar[str] = "keyed"
    summary: ClassVar[str] = "two tokens a symbol: its position, then its value"
    fills: ClassVar[bool] = True

    def _vocabulary(self) -> Vocabulary:
        problem = self.problem
        asked = askable(problem)
        return Vocabulary(
            2 * problem.length + problem.filler,
            problem.symbols + problem.length + min(problem.filler, 1),
            positional=False,
            queries=problem.queries if asked else 0,
            answers=problem.alphabet if asked else 2,
        )

    def block(self, position: int) -> Tokens:
        """Return (symbols, 2): the position's token and the values."""
        values = np.arange(self.problem.symbols, dtype=np.int32)
        keys = np.full_like(values, self.problem.symbols + position)
        fillers = np.full(self.problem.filler, self.problem.symbols + self.problem.length, np.int32)
        return self.filled(position, np.stack([keys, values], axis=1), fillers)


ENCODING = Keyed
