"""What quantisers with a codebook share: sorted levels a number, and cuts between them."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from statebound.jit import kernel
from statebound.reductions.quantiser import Codes, Lanes, Quantiser


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


class Codebook(Quantiser):
    """Levels (C, 2^p) and thresholds (C, 2^p - 1), both sorted; level i is in its cell.

    code = how many thresholds are at most s; value = the level of that code.
    """

    most_bits: ClassVar[int] = 12

    def __init__(
        self, bits: int, thresholds: NDArray[np.float64], levels: NDArray[np.float64]
    ) -> None:
        self.bits, self.thresholds, self.levels = bits, thresholds, levels

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
