"""absmax: symmetric integers, one scale for all numbers of a field (of an entry, in a cache)."""

from __future__ import annotations

from typing import ClassVar

from statebound.models import Field
from statebound.reductions.quantisers._absmax import Absmax


class Tensor(Absmax):
    """A scale for the whole field."""

    name: ClassVar[str] = "absmax"
    summary: ClassVar[str] = "symmetric integers, one scale a field from the state itself"

    @classmethod
    def size_of(cls, field: Field) -> int:
        """Return the size of the whole field."""
        return field.numbers


QUANTISER = Tensor
