"""The contract of quantisers: numbers of one field to codes of p bits and back.

Everything a quantiser knows (ranges, thresholds, levels) is fixed before x is drawn,
from public calibration inputs, so it is known to Bob and costs no message bits.
Quantising a value that came out of `decode` gives that value again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from statebound import registry
from statebound.errors import UsageError
from statebound.models import Field

Lanes = NDArray[np.floating]
Codes = NDArray[np.uint32]
Calibration = NDArray[np.float64]


class Quantiser(ABC):
    """Quantises the C numbers of a field, each to p bits.

    Arrays are (tiles, C, LANES).
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    least_bits: ClassVar[int] = 1
    most_bits: ClassVar[int] = 32
    bits: int

    @classmethod
    def needs_calibration(cls, field: Field) -> bool:
        """Whether `fit` looks at the calibration sample for this field."""
        return True

    @classmethod
    @abstractmethod
    def fit(cls, bits: int, field: Field, sample: Calibration) -> Self:
        """Make a quantiser from a sample (C, S) of the field's numbers."""

    @abstractmethod
    def encode(self, values: Lanes) -> Codes:
        """Return the codes, each below 2^bits."""

    @abstractmethod
    def decode(self, codes: Codes, dtype: np.dtype[np.floating]) -> Lanes:
        """Return the value that each code stands for."""

    @abstractmethod
    def parameters(self) -> dict[str, NDArray[np.float64]]:
        """Return what makes up this quantiser, for the machine's hash."""


def family(name: str, bits: int) -> type[Quantiser]:
    """Return the class of quantiser `name`, checked for this precision."""
    module = registry.load("statebound.reductions.quantisers", name, "quantiser")
    quantiser: type[Quantiser] = module.QUANTISER
    if not quantiser.least_bits <= bits <= quantiser.most_bits:
        low, high = quantiser.least_bits, quantiser.most_bits
        allowed = f"{low} bit" if low == high else f"{low} to {high} bits"
        raise UsageError(
            "bits",
            bits,
            f"the quantiser {name} works at {allowed} a number",
            "choose bits in that range or another quantiser",
        )
    return quantiser
