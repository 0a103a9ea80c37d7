"""The contract of roundings: which of a quantiser's values a number becomes.

A rounding that draws coins is deterministic all the same, given the machine's seed: for
each seed there is one protocol, and every wall holds for it.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from statebound import registry
from statebound.reductions.quantiser import Codes, Lanes, Quantiser

PACKAGE = "statebound.reductions.roundings"


class Rounding:
    """Rounds numbers to values of a quantiser; here to those that it gives by itself.

    Attributes
    ----------
    draws
        Whether coins are drawn, from the machine's public seed.
    keeps_residual
        Whether what rounding takes away is added before the next one: the residual is
        then a part of the state.

    Parameters
    ----------
    seed
        The machine's public seed.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    draws: ClassVar[bool] = False
    keeps_residual: ClassVar[bool] = False

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def encode(
        self, quantiser: Quantiser, values: Lanes, field: int, times: NDArray[np.int64]
    ) -> Codes:
        """Return the codes (blocks, K, LANES) of values (blocks, C, LANES).

        `field` is the number of the field; `times` (blocks,) say after how many tokens the
        values came to be.
        """
        return quantiser.encode(values)


def family(name: str) -> type[Rounding]:
    """Return the class of rounding `name`."""
    rounding: type[Rounding] = registry.load(PACKAGE, name, "rounding").ROUNDING
    return rounding
