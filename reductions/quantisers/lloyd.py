"""lloyd: a codebook of 2^p levels a number with a small mean squared error on public inputs.

The two conditions of Lloyd and of Max (S. P. Lloyd, "Least squares quantization in PCM",
IEEE Trans. Inform. Theory 28, 1982; J. Max, "Quantizing for minimum distortion", IRE Trans.
Inform. Theory 6, 1960) are made true one after the other on the calibration sample: a
threshold lies half way between two levels, a level is the mean of its cell. Neither step
raises the error.

Start: the sample's distinct values, sorted, are cut into 2^p runs whose means are the levels;
once into runs over which the cube root of the density, read off the gaps between values, has
equal integrals, which is best for many levels (P. F. Panter, W. Dite, "Quantization distortion
in pulse-count modulation", Proc. IRE 39, 1951), and once into runs of equally many values,
which is better where values come in clusters far apart. Of both results the one with the
smaller error is kept.
Stop: when no value of the sample changes its cell, or after `ROUNDS` rounds.
A level whose cell becomes empty stays where it is. A number that takes at most 2^p values
gets these as levels and leaves other codes unused, so a constant comes back as itself.

The levels are a local optimum of the sample, not always the best.
"""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from statebound.jit import kernel
from statebound.models import Field
from statebound.reductions.quantiser import Calibration
from statebound.reductions.quantisers._codebook import Codebook

ROUNDS = 1000

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


@kernel
def _lloyd(values: Floats, counts: Floats, levels: Floats, rounds: int) -> int:
    """Move the levels (K,) in place; values are sorted and distinct. Return the rounds used."""
    K, S = levels.shape[0], values.shape[0]
    edge = np.full(K + 1, S)  # cell k holds values edge[k] to edge[k + 1]
    edge[0] = 0
    for done in range(rounds):
        changed = done == 0
        for k in range(K - 1):
            middle = levels[k] + (levels[k + 1] - levels[k]) / 2
            low, high = edge[k], S
            while low < high:
                at = (low + high) // 2
                if values[at] < middle:
                    low = at + 1
                else:
                    high = at
            changed = changed or edge[k + 1] != low
            edge[k + 1] = low
        if not changed:
            return done
        for k in range(K):
            weight, total = 0.0, 0.0
            for j in range(edge[k], edge[k + 1]):
                weight += counts[j]
                total += counts[j] * values[j]
            if weight > 0.0:
                least, most = values[edge[k]], values[edge[k + 1] - 1]
                levels[k] = min(max(total / weight, least), most)
    return rounds


def _even(values: Floats, counts: Floats, bins: int) -> Counts:
    """Return the starts of runs of nearly equally many distinct values."""
    return np.arange(bins) * len(values) // bins


def _dense(values: Floats, counts: Floats, bins: int) -> Counts:
    """Return the starts of runs over which the density's cube root has equal integrals."""
    between = (counts[1:] + counts[:-1]) / 2
    sums = np.append(0.0, np.cumsum(np.diff(values) ** (2 / 3) * between ** (1 / 3)))
    number = np.arange(bins)
    starts = np.searchsorted(sums, sums[-1] * number / bins)
    starts = np.maximum.accumulate(starts - number) + number  # no run is empty
    starts = np.minimum(starts, len(values) - bins + number)
    return np.asarray(starts, np.int64)


def squared_error(values: Floats, counts: Floats, levels: Floats) -> float:
    """Return the mean squared distance of values to the nearest of sorted levels."""
    above = np.clip(np.searchsorted(levels, values), 1, len(levels) - 1)
    off = np.minimum(np.abs(values - levels[above - 1]), np.abs(values - levels[above]))
    return float((counts * off**2).sum() / counts.sum())


def levels_of(row: Floats, bins: int, rounds: int = ROUNDS) -> Floats:
    """Return the levels (bins,) for a sample (S,) after at most `rounds` rounds a start."""
    values, number = np.unique(row, return_counts=True)
    if len(values) <= bins:
        return np.append(values, np.full(bins - len(values), values[-1]))
    counts = number.astype(np.float64)
    found = []
    for start in (_dense, _even):
        starts = start(values, counts, bins)
        levels = np.add.reduceat(values * counts, starts) / np.add.reduceat(counts, starts)
        _lloyd(values, counts, levels, rounds)
        found.append(levels)
    best: Floats = min(found, key=lambda levels: squared_error(values, counts, levels))
    return best


class Lloyd(Codebook):
    """Least squared error."""

    name: ClassVar[str] = "lloyd"
    summary: ClassVar[str] = "Lloyd-Max codebook from public inputs"

    @classmethod
    def fit(cls, bits: int, field: Field, sample: Calibration) -> Self:
        """Place the levels of every number, and the thresholds half way between them."""
        levels = np.stack([levels_of(row, 2**bits) for row in sample])
        gap = np.diff(levels, axis=1)
        thresholds = np.where(gap > 0, levels[:, :-1] + gap / 2, np.inf)
        return cls(bits, thresholds, levels)


QUANTISER = Lloyd
