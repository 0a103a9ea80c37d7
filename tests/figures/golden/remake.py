"""Measure the rows anew and draw the stored pictures: python tests/figures/golden/remake.py.

Look at every picture before it is committed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import statebound
from statebound.experiments.think import think
from statebound.protocols.problem import make

HERE = Path(__file__).parent
SMALL = 50  # dots an inch
Row = dict[str, Any]


def machine(name: str, n: int, numbers: int, **changes: Any) -> Row:
    """Return the row of a machine that is not trained."""
    init = {"gru": "random"}.get(name)
    return statebound.measure("index", n, model=name, numbers=numbers, init=init, **changes)


def several() -> list[Row]:
    """Return rows over n and M, two regimes, two seeds and a code."""
    rows = []
    for n in (6, 8):
        rows += [machine("sliding_window", n, m) for m in range(2, n + 1, 2)]
        for regime in ("handoff", "step"):
            for seed in (0, 1):
                rows += [
                    machine("gru", n, m, machine_seed=seed, regime=regime)
                    for m in range(2, n + 1, 2)
                ]
        rows += [statebound.measure("index", n, protocol="linear", state_bits=m) for m in (2, 4)]
    return rows


def widths() -> list[Row]:
    """Return rows of one M with several bits a number."""
    return [
        machine("gru", 8, M // bits, bits=bits, machine_seed=seed)
        for M in (4, 8)
        for bits in (1, 2, 4)
        for seed in (0, 1)
    ]


def roundings() -> list[Row]:
    """Return rows of the regime step, rounded in three ways."""
    return [
        machine("gru", n, 3, regime="step", rounding=rounding, machine_seed=seed)
        for n in (4, 6, 8)
        for rounding in ("nearest", "stochastic", "feedback")
        for seed in (0, 1)
    ]


def thoughts() -> list[Row]:
    """Return rows of Bobs who think."""
    problem = make("index", 7, {})
    return think(problem, models=("gru",), numbers=4, machine_seeds=(0, 1), tokens=(0, 1, 2, 4))


SETS = {"several": several, "widths": widths, "roundings": roundings, "thoughts": thoughts}
FIGURES = {
    "collapse": "several",
    "rescaled": "several",
    "phase": "several",
    "retention": "several",
    "budget": "several",
    "gap": "several",
    "cliff": "several",
    "precision": "widths",
    "drift": "roundings",
    "cot": "thoughts",
    "lines": "several",
}


def load() -> dict[str, list[Row]]:
    """Return the stored rows."""
    held: dict[str, list[Row]] = json.loads((HERE / "rows.json").read_text())
    return held


def main() -> None:
    """Write rows and pictures."""
    from statebound.experiments.plot import KINDS

    rows = {name: measured() for name, measured in SETS.items()}
    text = ",\n".join(
        f'"{name}": [\n' + ",\n".join(json.dumps(row) for row in held) + "\n]"
        for name, held in rows.items()
    )
    (HERE / "rows.json").write_text("{\n" + text + "\n}\n")
    for kind, name in FIGURES.items():
        figure, _ = KINDS[kind].make(load()[name])
        figure.savefig(HERE / f"{kind}.png", dpi=SMALL, metadata={"Software": None})


if __name__ == "__main__":
    main()
