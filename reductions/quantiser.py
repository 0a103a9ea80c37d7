"""The contract of quantisers: the numbers of one field to codes and back.

What a quantiser knows beforehand (ranges, thresholds, levels) is fixed before x is drawn,
from public calibration inputs, so it is known to Bob and costs no message bits. What it
computes from the state that it quantises (scales) becomes codes too, and is counted.
Quantising a value that came out of `decode` gives that value again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from statebound import registry
from statebound.errors import UsageError
from statebound.models import Field

Lanes = NDArray[np.floating]
Codes = NDArray[np.uint32]
Calibration = NDArray[np.float64]

PACKAGE = "statebound.reductions.quantisers"
MOST_BITS = 32


@dataclass(frozen=True)
class FieldBits:
    """One part of the message: its name, kind, count of numbers, and bits a number.

    The kind is ``real`` for the numbers of a state's field, else what crosses beside
    them: ``scale`` or ``residual``.
    """

    name: str
    kind: str
    numbers: int
    bits: int


class Quantiser(ABC):
    """Quantises the C numbers of a field, each to p bits.

    Numbers are (tiles, C, LANES). Codes are (tiles, K, LANES) with K >= C: first one a
    number, in order, then those of what was computed from the numbers.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    least_bits: ClassVar[int] = 1
    most_bits: ClassVar[int] = MOST_BITS
    given: ClassVar[bool] = False  # comes with trained parameters: there is nothing to fit
    bits: int

    @classmethod
    def needs_calibration(cls, field: Field) -> bool:
        """Whether `fit` looks at the calibration sample for this field."""
        return True

    @classmethod
    @abstractmethod
    def fit(cls, bits: int, field: Field, sample: Calibration) -> Self:
        """Make a quantiser from a sample (C, S) of the field's numbers."""

    def ledger(self, field: Field) -> tuple[FieldBits, ...]:
        """Return what the codes of a field are, in their order."""
        return (FieldBits(field.name, "real", field.numbers, self.bits),)

    @abstractmethod
    def encode(self, values: Lanes) -> Codes:
        """Return the codes, each below two to the power of its bits."""

    @abstractmethod
    def decode(self, codes: Codes, dtype: np.dtype[np.floating]) -> Lanes:
        """Return the value that each number's code stands for; finite for any codes."""

    def neighbour(self, codes: Codes, upwards: NDArray[np.bool_]) -> Codes:
        """Return codes with each number moved to the next larger or smaller value.

        `upwards` is (tiles, C, LANES). A number at the end of its values stays. Here for
        codes that are in the order of the values they stand for.
        """
        moved = codes.astype(np.int64) + np.where(upwards, 1, -1)
        return np.clip(moved, 0, 2**self.bits - 1).astype(np.uint32)

    @abstractmethod
    def parameters(self) -> dict[str, NDArray[np.float64]]:
        """Return what was fitted, for the machine's hash."""


def widths(ledger: Iterable[FieldBits]) -> NDArray[np.int64]:
    """Return the bits of every code.

    Examples
    --------
    >>> widths([FieldBits("h", "real", 3, 4), FieldBits("h.scale", "scale", 1, 32)]).tolist()
    [4, 4, 4, 32]
    """
    return np.array([line.bits for line in ledger for _ in range(line.numbers)], np.int64)


def load(name: str) -> type[Quantiser]:
    """Return the class of quantiser `name`."""
    quantiser: type[Quantiser] = registry.load(PACKAGE, name, "quantiser").QUANTISER
    return quantiser


def family(name: str, bits: int, argument: str = "bits") -> type[Quantiser]:
    """Return the class of quantiser `name`, checked for this precision.

    `argument` says which argument asked for it.
    """
    quantiser = load(name)
    if not quantiser.least_bits <= bits <= quantiser.most_bits:
        low, high = quantiser.least_bits, quantiser.most_bits
        allowed = f"{low} bit{'s' * (low > 1)}" if low == high else f"{low} to {high} bits"
        raise UsageError(
            argument,
            bits,
            f"the quantiser {name} works at {allowed} a number",
            "choose bits in that range or another quantiser",
        )
    return quantiser


def choose(name: str | None, bits: int | None, others: Iterable[int] = ()) -> tuple[str, int]:
    """Return the quantiser and the bits a number that these arguments mean.

    Bits that are not given are the fewest that the quantiser has, which is its only
    precision where that is fixed. A quantiser that is not given is ``quantile`` while no
    precision, `others` among them, is above 8 bits, and ``uniform`` beyond.

    Examples
    --------
    >>> choose(None, None), choose("fp16", None), choose(None, 2, [9])
    (('quantile', 1), ('fp16', 16), ('uniform', 2))
    """
    if bits is None:
        bits = 1 if name is None else load(name).least_bits
    if name is None:
        name = "quantile" if max([bits, *others]) <= 8 else "uniform"
    return name, bits
