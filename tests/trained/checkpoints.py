"""Checkpoints for tests: parameters drawn at random, quantiser and Bob fitted on all inputs.

What training would make, in milliseconds: not good, but of the same form.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from statebound.protocols.problem import make
from statebound.reductions.checkpoint import About, Checkpoint, Codebook, Layers, write
from statebound.reductions.machine import CutMachine, cut
from statebound.reductions.trained import options_of


def bob_of(machine: CutMachine) -> Layers:
    """Return two layers that are one linear readout: ReLU(z) - ReLU(-z) is z."""
    problem = machine.problem
    x = problem.enumerate(0, problem.inputs)
    features = machine.features(machine.encode(x))
    design = np.hstack([features, np.ones((len(x), 1))])
    target = np.eye(problem.alphabet)[problem.answers(x)].reshape(len(x), -1) - 0.5
    found = np.linalg.lstsq(design, target, rcond=1e-6)[0].T.astype(np.float32)
    weight, bias = found[:, :-1], found[:, -1]
    unit = np.eye(weight.shape[1], dtype=np.float32)
    first = np.vstack([unit, -unit]), np.zeros(2 * len(unit), np.float32)
    return first, (np.ascontiguousarray(np.hstack([weight, -weight])), np.ascontiguousarray(bias))


def checkpoint_of(machine: CutMachine, bob: bool = True, success: float = 0.5) -> Checkpoint:
    """Return the checkpoint that makes the same machine as one with a codebook."""
    books = {}
    for c in machine.crossings:
        quantiser: Any = c.quantiser
        books[c.field.name] = Codebook(
            quantiser.thresholds.astype(np.float32), quantiser.levels.astype(np.float32)
        )
    each = {name: book.bits for name, book in books.items()}
    about = About(
        machine.problem.name,
        machine.problem.n,
        options_of(machine.problem),
        machine.cell.name,
        machine.cell.settings(),
        machine.numbers,
        each if len(set(each.values())) > 1 else min(each.values()),
        machine.regime,
        machine.encoding.name,
        str(machine.cell.dtype),
        {"loss": "none", "steps": 0},
        {"seed": 0, "seconds": 0.0},
        {"success": success, "engine": "enumerate"},
    )
    weights = {name: np.asarray(a, np.float32) for name, a in machine.cell.weights.items()}
    return Checkpoint(about, weights, books, bob_of(machine) if bob else ())


def made(problem: str = "index", n: int = 7, model: str = "gru", **arguments: Any) -> Checkpoint:
    """Return a checkpoint of a random machine."""
    sized = {"numbers": 4, "quantiser": "lloyd", "init": "random"} | arguments
    return checkpoint_of(cut(make(problem, n), model, **sized))


def ship(folder: Path, **checkpoints: Checkpoint) -> Path:
    """Write checkpoints into a folder, by their names."""
    folder.mkdir(exist_ok=True)
    for name, checkpoint in checkpoints.items():
        (folder / f"{name}.safetensors").write_bytes(write(checkpoint))
    return folder
