"""fp16: IEEE binary16, to 65,504."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from statebound.reductions.quantisers._floats import Float


class Fp16(Float):
    """Half precision."""

    name: ClassVar[str] = "fp16"
    summary: ClassVar[str] = "floating point, 16 bits (5 of exponent), to 65504"
    least_bits: ClassVar[int] = 16
    most_bits: ClassVar[int] = 16
    form: ClassVar[Any] = np.float16


QUANTISER = Fp16
