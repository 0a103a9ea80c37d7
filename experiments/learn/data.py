"""Success against the number of examples: below the wall whatever their number.

An encoder and its Bob learn from K inputs of Index that are drawn once, with all their
answers; None means fresh ones at every step. Then all 2^n inputs are run: what the optimal
Bob, and what the machine's own, reach on all of them, and its own on the K that it has seen.
The wall is for all inputs: on few enough examples a machine may be right more often, since
M bits can tell 2^M of them apart. The shift and spread of the quantiser are taken over the same
K inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from statebound.errors import UsageError
from statebound.experiments.engines import enumerate as enumeration
from statebound.experiments.learn._machines import (
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
from statebound.experiments.tally import share
from statebound.experiments.training.recipe import Recipe
from statebound.protocols.problem import Problem, make
from statebound.reductions.machine import CutMachine

EXAMPLES = (32, 128, 512, 2048, None)
MOST_EXAMPLES = 1 << 20
COLUMNS = {
    "model": "model",
    "state_bits": "M",
    "examples": "examples",
    "seed": "seed",
    "train_success": "on them",
    "own_success": "own Bob",
    "success": "optimal",
    "truncation": "truncation",
    "best_known": "code",
    "wall_ball": "wall",
}


def rows(
    *,
    model: str,
    n: int,
    numbers: int,
    bits: int,
    examples: Sequence[int | None],
    seeds: Sequence[int],
    steps: int | None,
    say: Say,
) -> list[Row]:
    """Return a row for each number of examples and seed.

    Raises
    ------
    UsageError
        When a value is out of range.
    """
    check_n(n, 2, 16)
    for count in examples:
        if count is not None and not 2 <= count <= MOST_EXAMPLES:
            raise UsageError(
                "examples", count, f"must be 2..{MOST_EXAMPLES}", "pass 32,512,unlimited"
            )
    problem = make("index", n)
    recipes = [
        recipe_of(model, n, numbers, bits, seeds, examples=count, steps=steps) for count in examples
    ]
    found = []
    for at, recipe in enumerate(recipes):
        label = "unlimited" if recipe.examples is None else f"{recipe.examples} examples"
        machines = trained(recipe, part(say, at, len(recipes), label))
        for seed, checkpoint in zip(seeds, machines, strict=True):
            machine = machine_of(problem, checkpoint)
            success, _ = exact(machine)
            bob = enumeration.count_bob(machine, machine.answer)
            seen = None
            if recipe.examples is not None:
                seen = _seen(machine, problem, recipe)
            M = machine.state_bits
            found.append(
                {
                    "problem": "index",
                    "n": n,
                    "model": model,
                    "numbers": numbers,
                    "bits": bits,
                    "state_bits": M,
                    "encoding": checkpoint.about.encoding,
                    "examples": recipe.examples,
                    "drawn": recipe.steps * recipe.batch,
                    "steps": recipe.steps,
                    "seed": seed,
                    "trials": problem.inputs,
                    "engine": "enumerate",
                    "train_success": seen,
                    "own_success": float(share(problem.weights, bob.right, bob.totals)),
                    "success": float(success),
                    **walls(problem, M),
                    "violates_wall": above(problem, success, M),
                    "recipe_hash": recipe.digest,
                }
            )
    return found


def _seen(machine: CutMachine, problem: Problem, recipe: Recipe) -> float:
    """Return the own Bob's success on the examples, drawn as training draws them."""
    from statebound.experiments.training.loop import generator, source_of

    count = recipe.examples or 0
    x = problem.sample(generator(*source_of(recipe)), count)
    message, truth = machine.encode(x), problem.answers(x)
    right: Any = [
        (machine.answer(message, np.full(count, k, np.int64)) == truth[:, k]).mean()
        for k in range(problem.queries)
    ]
    return float(np.mean(right))
