"""sign: one bit a number, its sign.

code = 1 where s >= 0 (either zero counts as positive); value = plus or minus the mean
magnitude of the number over the public calibration sample.
"""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from statebound.models import Field
from statebound.reductions.quantiser import Calibration, Codes, Lanes, Quantiser


class Sign(Quantiser):
    """The sign bit."""

    name: ClassVar[str] = "sign"
    summary: ClassVar[str] = "one bit a number, its sign"
    most_bits: ClassVar[int] = 1

    def __init__(self, magnitude: NDArray[np.float64]) -> None:
        self.bits, self.magnitude = 1, magnitude

    @classmethod
    def fit(cls, bits: int, field: Field, sample: Calibration) -> Self:
        """Take the mean magnitude of every number."""
        return cls(np.abs(sample).mean(axis=1))

    def encode(self, values: Lanes) -> Codes:
        """Return 1 for numbers at or above zero."""
        return (values >= 0).astype(np.uint32)

    def decode(self, codes: Codes, dtype: np.dtype[np.floating]) -> Lanes:
        """Return plus or minus the magnitude."""
        size = self.magnitude[:, None]
        values: Lanes = np.where(codes == 1, size, -size).astype(dtype)
        return values

    def parameters(self) -> dict[str, NDArray[np.float64]]:
        """Return the magnitudes."""
        return {"magnitude": self.magnitude}


QUANTISER = Sign
