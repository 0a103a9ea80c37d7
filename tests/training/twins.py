"""Cells with twins at random parameters, and what both make of the same inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from statebound.models import Cell
from statebound.models._lanes import to_lanes, to_rows
from statebound.protocols.problem import Problem
from statebound.reductions.encoding import Encoding
from statebound.reductions.machine import uncut

SIZES: list[tuple[str, int, dict[str, int]]] = [
    ("rnn", 6, {}),
    ("gru", 6, {}),
    ("lstm", 6, {}),
    ("s4d", 8, {}),
    ("s4d", 6, {"d_state": 2}),
    ("s4d_real", 8, {}),
    ("linear_attention", 6, {}),
    ("linear_attention", 6, {"d_value": 2, "normalise": 1}),
    ("deltanet", 6, {"width": 8}),
    ("deltanet", 8, {"width": 8, "heads": 2, "d_value": 2}),
    ("mamba", 8, {"d_model": 8}),
    ("mamba", 6, {"d_state": 1, "d_conv": 1, "d_model": 8}),
    ("mamba", 12, {"d_state": 1, "d_conv": 3, "d_model": 8, "dt_rank": 2}),
]


def label(size: Any) -> str:
    if not isinstance(size, tuple):
        return str(size)
    name, numbers, settings = size
    return "-".join([name, str(numbers), *(f"{k}{v}" for k, v in settings.items())])


@dataclass(frozen=True)
class Pair:
    """A cell and its twin on one problem; torch is imported by whoever makes one."""

    cell: Cell
    twin: Any
    encoding: Encoding
    examples: Any
    weights: dict[str, Any]  # (1, ...)

    @classmethod
    def of(cls, size: tuple[str, int, dict[str, int]], encoding: str, problem: Problem) -> Pair:
        import torch

        from statebound.experiments.training.examples import Examples
        from statebound.experiments.training.twins import twin_of

        name, numbers, settings = size
        cell, spoken, _ = uncut(
            problem, name, numbers=numbers, settings=settings, encoding=encoding, init="random"
        )
        held = {k: torch.tensor(np.float32(a))[None] for k, a in cell.weights.items()}
        return cls(cell, twin_of(cell), spoken, Examples(problem, spoken), held)

    def states(self, x: np.ndarray) -> list[np.ndarray]:
        """Return the cell's states, (B, numbers) a field."""
        start = self.cell.start(-(-len(x) // 128))
        after = self.cell.scan(start, to_lanes(self.encoding.tokens(x)))
        return [to_rows(part, len(x)) for part in after]

    def choices(self) -> Any:
        return self.twin.table(self.weights)[:, self.examples.choices]
