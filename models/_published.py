"""Sizes of published models, in a family's own terms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Published:
    """A published model: its name, how many layers of the family it has, and their size."""

    model: str
    layers: int
    settings: Mapping[str, int]
