"""uniform: 2^p equal bins over a fixed public range [lo, hi] a number.

    code  = clip(floor((s - lo) / (hi - lo) 2^p), 0, 2^p - 1)
    value = lo + (code + 1/2) (hi - lo) / 2^p

The range is the field's own bounds where it has such, else the least and greatest
values over the calibration sample. A number that is constant there has no range: it
always gets code 0 and comes back as that constant. Computed in float64.
"""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from statebound.jit import kernel
from statebound.models import Field
from statebound.reductions.quantiser import Calibration, Codes, Lanes, Quantiser


@kernel
def _encode(
    values: Lanes, low: NDArray[np.float64], scale: NDArray[np.float64], top: float, codes: Codes
) -> None:
    tiles, count, lanes = values.shape
    for tile in range(tiles):
        for c in range(count):
            lo, k = low[c], scale[c]
            for i in range(lanes):
                u = (values[tile, c, i] - lo) * k
                # truncation is floor here; inf times the scale 0 of a constant is NaN: code 0
                codes[tile, c, i] = np.uint32(min(u, top) if u > 0.0 else 0.0)


class Uniform(Quantiser):
    """Equal bins over a fixed range."""

    name: ClassVar[str] = "uniform"
    summary: ClassVar[str] = "equal bins over a fixed public range"

    def __init__(self, bits: int, low: NDArray[np.float64], high: NDArray[np.float64]) -> None:
        self.bits, self.low, self.high = bits, low, high
        width = high - low
        bins = 2.0**bits
        self._scale = np.divide(bins, width, out=np.zeros_like(width), where=width > 0)
        self._step = width / bins

    @classmethod
    def needs_calibration(cls, field: Field) -> bool:
        """Only where the field has no bounds of its own."""
        return field.low is None or field.high is None

    @classmethod
    def fit(cls, bits: int, field: Field, sample: Calibration) -> Self:
        """Take the field's bounds, else the range of the sample."""
        if field.low is None or field.high is None:
            return cls(bits, sample.min(axis=1), sample.max(axis=1))
        count = field.numbers
        return cls(bits, np.full(count, field.low), np.full(count, field.high))

    def encode(self, values: Lanes) -> Codes:
        """Return the number of the bin."""
        codes = np.empty(values.shape, np.uint32)
        _encode(values, self.low, self._scale, 2.0**self.bits - 1, codes)
        return codes

    def decode(self, codes: Codes, dtype: np.dtype[np.floating]) -> Lanes:
        """Return the middle of the bin."""
        low, step = self.low[:, None], self._step[:, None]
        values: Lanes = (low + (codes + 0.5) * step).astype(dtype)
        return values

    def parameters(self) -> dict[str, NDArray[np.float64]]:
        """Return the range."""
        return {"low": self.low, "high": self.high}


QUANTISER = Uniform
