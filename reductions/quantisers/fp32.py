"""fp32: IEEE binary32; a float32 state crosses as it is."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from statebound.reductions.quantisers._floats import Float


class Fp32(Float):
    """Single precision."""

    name: ClassVar[str] = "fp32"
    summary: ClassVar[str] = "floating point, 32 bits: exact for float32"
    least_bits: ClassVar[int] = 32
    most_bits: ClassVar[int] = 32
    form: ClassVar[Any] = np.float32


QUANTISER = Fp32
