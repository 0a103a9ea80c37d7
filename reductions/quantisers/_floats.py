"""What the floating-point formats share: a code is the raw bits of the number.

Rounded to nearest, ties to the even code; what lies beyond the largest finite number
becomes that number. Codes that stand for an infinity or for no number are never emitted
and decode to the largest finite number of their sign. Zeros keep their sign.

A float64 is first rounded to float32 *to odd* (towards zero, and the last bit set where
that was inexact) and then to the format: with at least two bits to spare the second rounding
is that of the first number (S. Boldo, G. Melquiond, "When double rounding is odd", 2005),
where two roundings to nearest would not be.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from statebound.models import Field
from statebound.reductions.quantiser import Calibration, Codes, Lanes, Quantiser

_CONTAINERS: dict[int, np.dtype[Any]] = {size: np.dtype(f"u{size}") for size in (1, 2, 4)}
_finfo: Any = ml_dtypes.finfo  # numpy's formats too


def to_odd(values: Lanes) -> NDArray[np.float32]:
    """Round float64 within float32's range to float32, to odd."""
    nearest = values.astype(np.float32)
    bits = nearest.view(np.uint32)
    towards_zero = bits - (np.abs(nearest.astype(np.float64)) > np.abs(values))
    odd = towards_zero | (nearest.astype(np.float64) != values)
    rounded: NDArray[np.float32] = odd.astype(np.uint32).view(np.float32)
    return rounded


class Float(Quantiser):
    """A floating-point format; a subclass names the `form`, numpy's or ml_dtypes'."""

    form: ClassVar[Any]

    def __init__(self) -> None:
        self.bits = self.most_bits
        self._form: np.dtype[Any] = np.dtype(self.form)
        self._container = _CONTAINERS[self._form.itemsize]
        self._largest = float(_finfo(self._form).max)
        self._top = int(np.array([self._largest]).astype(self._form).view(self._container)[0])

    @classmethod
    def needs_calibration(cls, field: Field) -> bool:
        """Never."""
        return False

    @classmethod
    def fit(cls, bits: int, field: Field, sample: Calibration) -> Self:
        """Nothing to fit."""
        return cls()

    def encode(self, values: Lanes) -> Codes:
        """Return the bits of the nearest number in the format."""
        near: Lanes = np.clip(values, -self._largest, self._largest)
        if near.dtype == np.float64 and self.bits < 32:
            near = to_odd(near)
        codes: Codes = near.astype(self._form).view(self._container).astype(np.uint32)
        return codes

    def decode(self, codes: Codes, dtype: np.dtype[np.floating]) -> Lanes:
        """Return the number with these bits."""
        sign = np.uint32(1 << (self.bits - 1))
        finite = np.minimum(codes & (sign - 1), np.uint32(self._top)) | (codes & sign)
        values: Lanes = finite.astype(self._container).view(self._form).astype(dtype)
        return values

    def neighbour(self, codes: Codes, upwards: NDArray[np.bool_]) -> Codes:
        """Return the next larger or smaller number; both zeros are one."""
        sign = 1 << (self.bits - 1)
        held = codes.astype(np.int64)
        magnitude = held & (sign - 1)
        signed = np.where(held & sign, -magnitude, magnitude) + np.where(upwards, 1, -1)
        signed = np.clip(signed, -self._top, self._top)
        moved: Codes = (np.abs(signed) + np.where(signed < 0, sign, 0)).astype(np.uint32)
        return moved

    def parameters(self) -> dict[str, NDArray[np.float64]]:
        """Return nothing: the name says all."""
        return {}
