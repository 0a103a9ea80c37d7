"""trained: the codebook that training made, from a checkpoint.

code = how many thresholds are at most s; value = the level of that code. Both are in the
checkpoint, for every number its own, and nothing is calibrated.
"""

from __future__ import annotations

from typing import ClassVar, Self

from statebound.errors import UsageError
from statebound.models import Field
from statebound.reductions.quantiser import Calibration
from statebound.reductions.quantisers._codebook import Codebook


class Trained(Codebook):
    """What a checkpoint holds; there is none to fit."""

    name: ClassVar[str] = "trained"
    summary: ClassVar[str] = "the codebook of a trained machine"
    given: ClassVar[bool] = True

    @classmethod
    def needs_calibration(cls, field: Field) -> bool:
        """Never: it was made in training."""
        return False

    @classmethod
    def fit(cls, bits: int, field: Field, sample: Calibration) -> Self:
        """Refuse: it comes with a checkpoint.

        Raises
        ------
        UsageError
            Always.
        """
        raise UsageError(
            "quantiser",
            cls.name,
            "comes with a trained machine, and this one is not",
            "pass --weights with a file of statebound train, or --init trained",
        )


QUANTISER = Trained
