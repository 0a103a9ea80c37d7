"""fp8_e5m2: 8 bits, 5 of exponent, to 57,344 (OCP OFP8 E5M2)."""

from __future__ import annotations

from typing import Any, ClassVar

import ml_dtypes

from statebound.reductions.quantisers._floats import Float


class Fp8E5M2(Float):
    """The wider of the two 8-bit formats."""

    name: ClassVar[str] = "fp8_e5m2"
    summary: ClassVar[str] = "floating point, 8 bits (5 of exponent), to 57344"
    least_bits: ClassVar[int] = 8
    most_bits: ClassVar[int] = 8
    form: ClassVar[Any] = ml_dtypes.float8_e5m2


QUANTISER = Fp8E5M2
