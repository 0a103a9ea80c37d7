"""absmax_channel: symmetric integers, one scale for all that share every index but the last."""

from __future__ import annotations

from typing import ClassVar

from statebound.models import Field
from statebound.reductions.quantisers._absmax import Absmax


class Channel(Absmax):
    """A scale for the last axis."""

    name: ClassVar[str] = "absmax_channel"
    summary: ClassVar[str] = "symmetric integers, one scale a channel from the state itself"

    @classmethod
    def size_of(cls, field: Field) -> int:
        """Return the size of the last axis."""
        return field.shape[-1] if field.shape else 1


QUANTISER = Channel
