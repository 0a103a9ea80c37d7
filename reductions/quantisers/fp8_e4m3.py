"""fp8_e4m3: 8 bits, 4 of exponent, without infinities, to 448 (OCP OFP8 E4M3, float8_e4m3fn)."""

from __future__ import annotations

from typing import Any, ClassVar

import ml_dtypes

from statebound.reductions.quantisers._floats import Float


class Fp8E4M3(Float):
    """The finer of the two 8-bit formats."""

    name: ClassVar[str] = "fp8_e4m3"
    summary: ClassVar[str] = "floating point, 8 bits (4 of exponent), to 448"
    least_bits: ClassVar[int] = 8
    most_bits: ClassVar[int] = 8
    form: ClassVar[Any] = ml_dtypes.float8_e4m3fn


QUANTISER = Fp8E4M3
