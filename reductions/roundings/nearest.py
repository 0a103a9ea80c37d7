"""nearest: the value that the quantiser itself gives."""

from __future__ import annotations

from typing import ClassVar

from statebound.reductions.rounding import Rounding


class Nearest(Rounding):
    """No coins, no memory."""

    name: ClassVar[str] = "nearest"
    summary: ClassVar[str] = "the value that the quantiser gives"


ROUNDING = Nearest
