"""Calibration: what quantisers know beforehand, from public inputs with a seed of their own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from statebound.errors import UsageError
from statebound.models import Cell
from statebound.models._lanes import to_lanes, to_rows
from statebound.protocols.problem import Problem
from statebound.reductions import quantiser as quantisers
from statebound.reductions.crossing import entry_of, require_finite
from statebound.reductions.encoding import Encoding
from statebound.reductions.quantiser import Calibration, Quantiser

CALIBRATION_INPUTS = 1024
CALIBRATION_SEED = 20240229
CALIBRATION_STEPS = 64
MEMORY_CAP = 4 << 30  # bytes


def fit(
    problem: Problem, cell: Cell, encoding: Encoding, regime: str, name: str, bits: Sequence[int]
) -> list[Quantiser]:
    """Return the quantiser `name` of each field of a cell, at its own precision.

    Inputs are run only where a quantiser needs them.
    """
    known = {p: quantisers.family(name, p) for p in set(bits)}
    families = [known[p] for p in bits]
    entries = [entry_of(field) for field in cell.fields]
    needed = [q.needs_calibration(field) for q, field in zip(families, entries, strict=True)]
    samples = [np.empty((field.numbers, 0)) for field in entries]
    if any(needed):
        samples = _samples(problem, cell, encoding, regime)
    every = zip(families, bits, entries, samples, strict=True)
    return [family.fit(p, field, sample) for family, p, field, sample in every]


def _samples(problem: Problem, cell: Cell, encoding: Encoding, regime: str) -> list[Calibration]:
    """Return what an entry of each field holds on public inputs, (C, samples) each.

    At the handoff for ``handoff``, after every token for ``step`` (of a long stream,
    after evenly spaced ones); of a cache the newest entry likewise, in both regimes. In
    floating point: the quantiser does not exist yet.
    """
    generator = np.random.Generator(np.random.PCG64(CALIBRATION_SEED))
    tokens = to_lanes(encoding.tokens(problem.sample(generator, CALIBRATION_INPUTS)))
    steps = tokens.shape[1]
    apart = -(-steps // CALIBRATION_STEPS)  # counted back from the handoff
    numbers = sum(f.numbers for f in cell.fields)
    kept_bytes = 8 * numbers * CALIBRATION_INPUTS * (-(-steps // apart))
    if kept_bytes > MEMORY_CAP:
        raise UsageError(
            "numbers",
            numbers,
            f"calibrating them needs about {kept_bytes / 2**30:.3g} GiB, the cap is "
            f"{MEMORY_CAP >> 30} GiB",
            "take a smaller state",
        )
    state = cell.start(len(tokens))
    seen: list[list[NDArray[np.float64]]] = [[] for _ in cell.fields]
    for t in range(steps):
        state = cell.scan(state, tokens[:, t : t + 1])
        for field, kept, part in zip(cell.fields, seen, state, strict=True):
            pooled = field.cache or regime == "step"
            if (pooled and (steps - 1 - t) % apart == 0) or t == steps - 1:
                newest = to_rows(part[:, -entry_of(field).numbers :], CALIBRATION_INPUTS)
                kept.append(newest.T.astype(np.float64))
    samples = []
    for field, kept in zip(cell.fields, seen, strict=True):
        sample = np.concatenate(kept, axis=1)
        require_finite(field.name, sample)
        samples.append(sample)
    return samples
