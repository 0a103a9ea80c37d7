"""fp4_e2m1: 4 bits: 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives (OCP MX E2M1)."""

from __future__ import annotations

from typing import Any, ClassVar

import ml_dtypes

from statebound.reductions.quantisers._floats import Float


class Fp4E2M1(Float):
    """Sixteen codes, two of them zeros."""

    name: ClassVar[str] = "fp4_e2m1"
    summary: ClassVar[str] = "floating point, 4 bits (2 of exponent), to 6"
    least_bits: ClassVar[int] = 4
    most_bits: ClassVar[int] = 4
    form: ClassVar[Any] = ml_dtypes.float4_e2m1fn


QUANTISER = Fp4E2M1
