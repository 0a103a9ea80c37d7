"""quantile: a codebook of 2^p levels a number, equally probable on public inputs.

Threshold i of 2^p - 1 is the cut between two neighbouring distinct values of the
calibration sample whose share of values below is nearest to i / 2^p; a number that
takes few values gets fewer cuts and leaves codes unused. code = how many thresholds
are at most s. value = the mean of the sample's values with that code (a threshold
where there are none).
"""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from statebound.jit import kernel
from statebound.models import Field
from statebound.reductions.quantiser import Calibration, Codes, Lanes, Quantiser


@kernel
def _encode(values: Lanes, thresholds: NDArray[np.float64], codes: Codes) -> None:
    """Count the thresholds at most s: all of a few, by bisection among many."""
    tiles, count, lanes = values.shape
    size = thresholds.shape[1] + 1  # 2^p
    if size <= 8:
        for tile in range(tiles):
            for c in range(count):
                for i in range(lanes):
                    codes[tile, c, i] = 0
                for j in range(size - 1):
                    threshold = thresholds[c, j]
                    for i in range(lanes):
                        codes[tile, c, i] += np.uint32(values[tile, c, i] >= threshold)
        return
    for tile in range(tiles):
        for c in range(count):
            for i in range(lanes):
                s = values[tile, c, i]
                code = 0
                half = size >> 1
                while half > 0:
                    if thresholds[c, code + half - 1] <= s:
                        code += half
                    half >>= 1
                codes[tile, c, i] = code


def _cuts(row: NDArray[np.float64], bins: int) -> NDArray[np.float64]:
    """Return the bins - 1 thresholds of one number."""
    values, counts = np.unique(row, return_counts=True)
    if len(values) == 1:
        return np.full(bins - 1, np.inf)
    middle = values[:-1] + (values[1:] - values[:-1]) / 2
    share = np.cumsum(counts)[:-1] / len(row)
    target = np.arange(1, bins) / bins
    above = np.clip(np.searchsorted(share, target), 1, max(1, len(share) - 1))
    if len(share) == 1:
        return np.full(bins - 1, middle[0])
    nearer = target - share[above - 1] <= share[above] - target
    return np.asarray(middle[np.where(nearer, above - 1, above)])


class Quantile(Quantiser):
    """Equally probable codes."""

    name: ClassVar[str] = "quantile"
    summary: ClassVar[str] = "equal-probability codebook from public inputs"
    most_bits: ClassVar[int] = 12

    def __init__(
        self, bits: int, thresholds: NDArray[np.float64], levels: NDArray[np.float64]
    ) -> None:
        self.bits, self.thresholds, self.levels = bits, thresholds, levels

    @classmethod
    def fit(cls, bits: int, field: Field, sample: Calibration) -> Self:
        """Place the thresholds and levels of every number."""
        bins = 2**bits
        thresholds = np.stack([_cuts(row, bins) for row in sample])
        levels = np.empty((len(sample), bins))
        for c, row in enumerate(sample):
            code = np.searchsorted(thresholds[c], row, side="right")
            total = np.bincount(code, minlength=bins)
            mean = np.bincount(code, weights=row, minlength=bins) / np.maximum(total, 1)
            edge = np.append(thresholds[c], thresholds[c, -1])
            edge = np.where(np.isfinite(edge), edge, row.max())
            levels[c] = np.where(total > 0, mean, edge)
        return cls(bits, thresholds, levels)

    def encode(self, values: Lanes) -> Codes:
        """Return how many thresholds are at most the value."""
        codes = np.empty(values.shape, np.uint32)
        _encode(values, self.thresholds, codes)
        return codes

    def decode(self, codes: Codes, dtype: np.dtype[np.floating]) -> Lanes:
        """Return the level of each code."""
        row = np.arange(codes.shape[1])[:, None]
        values: Lanes = self.levels[row, codes].astype(dtype)
        return values

    def parameters(self) -> dict[str, NDArray[np.float64]]:
        """Return thresholds and levels."""
        return {"thresholds": self.thresholds, "levels": self.levels}


QUANTISER = Quantile
