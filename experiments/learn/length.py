"""Trained at one length, run at another, with the same state.

An encoder is trained on Index with streams of n symbols, each symbol one token whatever its
place. Then it reads streams of n' symbols, is quantised as it was trained to be, and a Bob who
knows n' reads the message: the optimal one where all inputs are run, up to n' = 20, else a
readout fitted on public inputs, judged on a sample: a lower estimate. The wall is that of n':
nothing in it depends on how the encoder was made.
"""

from __future__ import annotations

from collections.abc import Sequence

from statebound.errors import UsageError
from statebound.experiments import estimates, readout
from statebound.experiments.engines import sample
from statebound.experiments.learn._machines import (
    EXACT_N,
    Row,
    Say,
    above,
    check_n,
    exact,
    machine_of,
    part,
    recipe_of,
    trained,
    walls,
)
from statebound.protocols.problem import Problem, make
from statebound.reductions.machine import CutMachine

LENGTHS = (8, 12, 16, 20, 24, 32)
TRAINED = (8, 16)
ENCODING = "bits"
MOST_N = 256
LEVEL = 0.95
COLUMNS = {
    "model": "model",
    "state_bits": "M",
    "trained_n": "trained at",
    "n": "run at",
    "seed": "seed",
    "bob": "Bob",
    "success": "success",
    "truncation": "truncation",
    "best_known": "code",
    "wall_ball": "wall",
}


def rows(
    *,
    model: str,
    lengths: Sequence[int],
    trained_at: Sequence[int],
    numbers: int,
    bits: int,
    seeds: Sequence[int],
    steps: int | None,
    trials: int,
    say: Say,
) -> list[Row]:
    """Return a row for each length of training, length of run, and seed.

    Raises
    ------
    UsageError
        When a value is out of range.
    """
    for n in (*lengths, *trained_at):
        check_n(n, 2, MOST_N)
    if not 32 <= trials <= 100_000:
        raise UsageError("trials", trials, "must be 32..100000", "pass 4096")
    found = []
    for place, at in enumerate(trained_at):
        recipe = recipe_of(
            model, at, numbers, bits, seeds, encoding=ENCODING, loss="hinge", steps=steps
        )

        machines = trained(recipe, part(say, place, len(trained_at), f"n = {at}"))
        for n in lengths:
            problem = make("index", n)
            for seed, checkpoint in zip(seeds, machines, strict=True):
                machine = machine_of(problem, checkpoint)
                found.append(
                    {
                        "problem": "index",
                        "model": model,
                        "numbers": numbers,
                        "bits": bits,
                        "state_bits": machine.state_bits,
                        "encoding": ENCODING,
                        "trained_n": at,
                        "n": n,
                        "steps": recipe.steps,
                        "seed": seed,
                        **_judged(problem, machine, trials),
                        **walls(problem, machine.state_bits),
                        "recipe_hash": recipe.digest,
                    }
                )
    return found


def _judged(problem: Problem, machine: CutMachine, trials: int) -> Row:
    M = machine.state_bits
    if problem.n <= EXACT_N:
        success, each = exact(machine)
        return {
            "engine": "enumerate",
            "bob": "optimal",
            "trials": problem.inputs,
            "success": float(success),
            "success_low": float(success),
            "success_high": float(success),
            "interval_level": None,
            "success_by_query": each,
            "violates_wall": above(problem, success, M),
        }
    counted = sample.count(machine, readout.fit(machine).answer, trials, 0)
    interval = estimates.betting_interval(counted.values, LEVEL)
    pairs = zip(counted.right.tolist(), counted.totals.tolist(), strict=True)
    limit = walls(problem, M)["wall_ball"]
    return {
        "engine": "sample",
        "bob": "learned",
        "trials": trials,
        "success": interval.best,
        "success_low": interval.low,
        "success_high": interval.high,
        "interval_level": LEVEL,
        "success_by_query": [right / total if total else None for right, total in pairs],
        "violates_wall": limit is not None and estimates.exceeds(counted.values, limit, 1e-6),
    }
