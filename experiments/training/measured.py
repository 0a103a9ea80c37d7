"""What a trained machine reaches, as it will be read from its file."""

from __future__ import annotations

from typing import Any

import numpy as np

from statebound.experiments.engines import enumerate as enumeration
from statebound.experiments.tally import share
from statebound.protocols.limits import report
from statebound.protocols.problem import Problem, make
from statebound.reductions.checkpoint import Checkpoint, read, write
from statebound.reductions.machine import CutMachine, cut

EXACT_INPUTS = 1 << 16
SAMPLE = 1 << 15
SAMPLE_SEED = 7


def measured(problem: Problem, checkpoint: Checkpoint) -> dict[str, Any]:
    """Return the success of a machine as it will be loaded.

    With the optimal Bob over all inputs where they are few; else with its own on a sample.
    """
    machine = cut(problem, None, checkpoint=read(write(checkpoint)))
    if problem.inputs <= EXACT_INPUTS and not enumeration.too_many_answers(problem):
        tally = enumeration.count_optimal(machine)
        bob = enumeration.count_bob(machine, machine.answer)
        return {
            "success": float(tally.success(problem.weights)),
            "engine": "enumerate",
            "bob": "optimal",
            "own_success": float(share(problem.weights, bob.right, bob.totals)),
        }
    return {"success": _sampled(problem, machine), "engine": "sample", "bob": "model"}


def _sampled(problem: Problem, machine: CutMachine) -> float:
    x = problem.sample(np.random.Generator(np.random.PCG64(SAMPLE_SEED)), SAMPLE)
    truth, times = problem.answers(x), problem.multiplicities(x)
    message = machine.encode(x)
    law = np.array([float(w) for w in problem.weights])
    every = np.broadcast_to(law, truth.shape) if times is None else times
    weights = every / every.sum(axis=1, keepdims=True)
    right = 0.0
    for k in range(problem.queries):
        said = machine.answer(message, np.full(len(x), k, np.int64))
        right += float((weights[:, k] * (said == truth[:, k])).mean())
    return right


def summary(checkpoint: Checkpoint) -> dict[str, Any]:
    """Return what a machine reached, beside what truncation reaches and the proved wall."""
    about, found = checkpoint.about, checkpoint.about.measured
    problem = make(about.problem, about.n, about.problem_options)
    bits = cut(problem, None, checkpoint=read(write(checkpoint))).state_bits
    limits = report.limits(problem, bits)
    exact = found["engine"] == "enumerate"
    over = exact and limits["ball"] is not None and found["success"] > limits["ball"] + 1e-12
    return {
        "problem": about.problem,
        "n": about.n,
        "model": about.model,
        "settings": about.settings,
        "numbers": about.numbers,
        "bits": about.bits,
        "regime": about.regime,
        "encoding": about.encoding,
        "state_bits": bits,
        **found,
        "truncation": limits["truncation"],
        "best_known": limits["optimum_low"],
        "wall_ball": limits["ball"],
        "violates_wall": over,
        "seconds": about.provenance["seconds"],
        "cpu_seconds": about.provenance["cpu_seconds"],
    }
