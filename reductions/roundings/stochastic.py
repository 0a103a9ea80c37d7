"""stochastic: one of the two values around a number, the nearer the likelier, by public coins.

Value a is taken with probability (b - s) / (b - a), b with (s - a) / (b - a): unbiased between
the outermost values. Coins come from the machine's seed, the time, the field and the place
of the number; they are the same for every input. So Bob knows them, nothing about them
crosses, and for each seed this is one deterministic protocol.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from statebound.reductions.quantiser import Codes, Lanes, Quantiser
from statebound.reductions.rounding import Rounding
from statebound.reductions.roundings._coins import between, coins


class Stochastic(Rounding):
    """Public coins."""

    name: ClassVar[str] = "stochastic"
    summary: ClassVar[str] = "one of the two values around, unbiased; coins the same for every x"
    draws: ClassVar[bool] = True

    def encode(
        self, quantiser: Quantiser, values: Lanes, field: int, times: NDArray[np.int64]
    ) -> Codes:
        """Return the codes that the public coins choose."""
        return between(quantiser, values, coins(self.seed, field, times, values.shape[1]))


ROUNDING = Stochastic
