r"""What the symmetric quantisers with a scale of their own share.

Numbers are cut into groups of consecutive ones. With P = 2^(p-1) - 1 and s the largest
magnitude in a group, as float32,

    code  = clip(rint(P v / s), -P, P) in two's complement,    value = (code / P) s,

computed in float64, ties to even. The scale s is computed from this state, so it crosses
too: 32 bits a group. It saturates at the largest float32. A group whose largest magnitude is
below the smallest normal float32, 2^-126, has scale 0, codes 0, and comes back as zeros.
No encoder emits the code -2^(p-1) or a scale that is negative, infinite or not a number;
they decode like -P, and like the scale's magnitude, at most the largest float32.

Quantising again changes no value. With s > 0, a number of the largest magnitude m has
|code| = P, as m / s >= 1 - 2^-24 and P 2^-24 < 1/2; it decodes to (P/P) s = s, a float32, and
no other number of the group to more: the scale is s again. A number with code q comes back as
y = (q / P) s (1 + e) or, where y is subnormal, with an absolute error a. In float32 |e| < 2^-23
and |a| <= 2^-150, so P y / s is off q by at most P 2^-23 < 2^-8 or by P 2^-150 / 2^-126 < 2^-9
(p <= 16): less than 1/2, and the code is q again. In float64 both are smaller still.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from statebound.jit import kernel
from statebound.models import Field
from statebound.reductions.quantiser import Calibration, Codes, FieldBits, Lanes, Quantiser

LARGEST = float(np.finfo(np.float32).max)
LEAST = float(np.finfo(np.float32).smallest_normal)
SCALE_BITS = 32


@kernel
def _encode(
    values: Lanes, size: int, top: float, codes: Codes, scales: NDArray[np.float32]
) -> None:
    """Fill the codes (tiles, C, LANES) of the numbers, and the scales (tiles, groups, LANES)."""
    tiles, count, lanes = values.shape
    mask = 2 * np.int64(top) + 1
    for tile in range(tiles):
        for group in range(scales.shape[1]):
            first = group * size
            last = min(first + size, count)
            for i in range(lanes):
                scales[tile, group, i] = 0.0
            for c in range(first, last):
                for i in range(lanes):
                    held = np.float32(min(abs(np.float64(values[tile, c, i])), LARGEST))
                    scales[tile, group, i] = max(scales[tile, group, i], held)
            for i in range(lanes):
                if scales[tile, group, i] < LEAST:
                    scales[tile, group, i] = 0.0
            for c in range(first, last):
                for i in range(lanes):
                    s = np.float64(scales[tile, group, i])
                    u = np.float64(values[tile, c, i]) / s * top if s > 0.0 else 0.0
                    q = np.int64(np.rint(min(max(u, -top), top)))
                    codes[tile, c, i] = np.uint32(q & mask)


class Absmax(Quantiser):
    """Symmetric integers, scaled by the largest magnitude of a group.

    Parameters
    ----------
    bits, size, count
        p, the numbers of a group (the last one may have fewer), and C.
    """

    least_bits: ClassVar[int] = 2
    most_bits: ClassVar[int] = 16

    def __init__(self, bits: int, size: int, count: int) -> None:
        self.bits, self.size, self.count = bits, size, count
        self.groups = -(-count // size)
        self.top = 2 ** (bits - 1) - 1
        signed = np.arange(2**bits)
        signed[2 ** (bits - 1) :] -= 2**bits
        self._signed = np.maximum(signed, -self.top)

    @classmethod
    @abstractmethod
    def size_of(cls, field: Field) -> int:
        """Return how many numbers share a scale."""

    @classmethod
    def needs_calibration(cls, field: Field) -> bool:
        """Never: the scale comes from the state itself."""
        return False

    @classmethod
    def fit(cls, bits: int, field: Field, sample: Calibration) -> Self:
        """Take the sizes of the groups from the field."""
        return cls(bits, cls.size_of(field), field.numbers)

    def ledger(self, field: Field) -> tuple[FieldBits, ...]:
        """Return the codes of the numbers, then a float32 a group."""
        scales = FieldBits(f"{field.name}.scale", "scale", self.groups, SCALE_BITS)
        return (*super().ledger(field), scales)

    def encode(self, values: Lanes) -> Codes:
        """Return the integers in two's complement, then the bits of the scales."""
        tiles, count, lanes = values.shape
        codes = np.empty((tiles, count, lanes), np.uint32)
        scales = np.empty((tiles, self.groups, lanes), np.float32)
        _encode(values, self.size, float(self.top), codes, scales)
        return np.concatenate([codes, scales.view(np.uint32)], axis=1)

    def decode(self, codes: Codes, dtype: np.dtype[np.floating]) -> Lanes:
        """Return the integers' shares of their scale."""
        scales = np.ascontiguousarray(codes[:, self.count :] & 0x7FFFFFFF).view(np.float32)
        scales = np.where(np.isfinite(scales), scales, np.float32(LARGEST)).astype(np.float64)
        every = np.repeat(scales, self.size, axis=1)[:, : self.count]
        share = self._signed[codes[:, : self.count]] / self.top
        values: Lanes = np.ascontiguousarray((share * every).astype(dtype))
        return values

    def neighbour(self, codes: Codes, upwards: NDArray[np.bool_]) -> Codes:
        """Return the integers one up or down, within -P to P, under the same scales."""
        moved = self._signed[codes[:, : self.count]] + np.where(upwards, 1, -1)
        moved = np.clip(moved, -self.top, self.top) & (2**self.bits - 1)
        return np.concatenate([moved.astype(np.uint32), codes[:, self.count :]], axis=1)

    def parameters(self) -> dict[str, NDArray[np.float64]]:
        """Return the size of a group."""
        return {"size": np.array([self.size], np.float64)}
