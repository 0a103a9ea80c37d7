"""absmax_group: symmetric integers, one scale for every 32 consecutive numbers.

Numbers are counted within a field (within an entry, in a cache), the last index fastest; the
last group holds what is left, and nothing is padded.
"""

from __future__ import annotations

from typing import ClassVar

from statebound.models import Field
from statebound.reductions.quantisers._absmax import Absmax

GROUP = 32


class Group(Absmax):
    """A scale for a run of numbers."""

    name: ClassVar[str] = "absmax_group"
    summary: ClassVar[str] = "symmetric integers, one scale every 32 numbers from the state itself"

    @classmethod
    def size_of(cls, field: Field) -> int:
        """Return 32."""
        return GROUP


QUANTISER = Group
