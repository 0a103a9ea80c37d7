"""stochastic_private: as `stochastic`, but each state has coins of its own.

The coins also depend on the exact numbers that are rounded together (those of the field, or
of the entry of a cache), before rounding. Different inputs so have different coins, and Bob,
who does not know those numbers, cannot know them. They are no randomness beyond the seed,
however: for each seed Alice is still a deterministic function of x, the same one for any
batch, padding and engine, so what is true of deterministic protocols holds, walls included.
Two states with equal numbers are rounded alike.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from statebound.reductions.quantiser import Codes, Lanes, Quantiser
from statebound.reductions.rounding import Rounding
from statebound.reductions.roundings._coins import between, coins


class StochasticPrivate(Rounding):
    """Private coins."""

    name: ClassVar[str] = "stochastic_private"
    summary: ClassVar[str] = "one of the two values around, unbiased; coins each state's own"
    draws: ClassVar[bool] = True

    def encode(
        self, quantiser: Quantiser, values: Lanes, field: int, times: NDArray[np.int64]
    ) -> Codes:
        """Return the codes that the state's own coins choose."""
        return between(quantiser, values, coins(self.seed, field, times, values.shape[1], values))


ROUNDING = StochasticPrivate
