"""bf16: bfloat16, the upper half of a float32."""

from __future__ import annotations

from typing import Any, ClassVar

import ml_dtypes

from statebound.reductions.quantisers._floats import Float


class Bf16(Float):
    """The range of float32 at 8 significant bits."""

    name: ClassVar[str] = "bf16"
    summary: ClassVar[str] = "floating point, 16 bits (8 of exponent)"
    least_bits: ClassVar[int] = 16
    most_bits: ClassVar[int] = 16
    form: ClassVar[Any] = ml_dtypes.bfloat16


QUANTISER = Bf16
