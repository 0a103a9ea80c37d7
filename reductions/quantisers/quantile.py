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

from statebound.models import Field
from statebound.reductions.quantiser import Calibration
from statebound.reductions.quantisers._codebook import Codebook


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


class Quantile(Codebook):
    """Equally probable codes."""

    name: ClassVar[str] = "quantile"
    summary: ClassVar[str] = "equal-probability codebook from public inputs"

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


QUANTISER = Quantile
