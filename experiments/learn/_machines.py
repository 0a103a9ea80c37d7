"""What the tables of trained machines share: every restart trained, and the walls beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from statebound.errors import UsageError
from statebound.experiments.engines import enumerate as enumeration
from statebound.experiments.training import torch_extra
from statebound.experiments.training.defaults import recommended
from statebound.experiments.training.recipe import Recipe
from statebound.protocols.limits import report
from statebound.protocols.problem import Problem
from statebound.reductions.checkpoint import Checkpoint
from statebound.reductions.machine import CutMachine, cut

Row = dict[str, Any]
Say = Callable[[int, int, str], None]
EXACT_N = 20  # of Index: a million inputs


def recipe_of(
    model: str, n: int, numbers: int, bits: int, seeds: Sequence[int], **changes: Any
) -> Recipe:
    """Return the recipe of a model that trains well on Index, with changes; None: none."""
    given = {name: value for name, value in changes.items() if value is not None}
    parts = recommended(model, n) | given
    return Recipe("index", n, model=model, numbers=numbers, bits=bits, seeds=tuple(seeds), **parts)


def check_n(n: int, least: int, most: int) -> None:
    """Refuse sizes that are not trained or counted here."""
    if not least <= n <= most:
        raise UsageError("n", n, f"must be {least}..{most}", "pass a size in that range")


def trained(recipe: Recipe, say: Say) -> list[Checkpoint]:
    """Train a recipe and return the checkpoint of every seed, in their order."""
    from statebound.experiments.training.train import plan, restarts_of

    torch_extra.require()
    return restarts_of(plan(recipe), say)[1]


def part(say: Say, at: int, parts: int, label: str) -> Say:
    """Return what one of several equally long parts reports to."""
    return lambda done, total, words: say(at * total + done, parts * total, f"{label}: {words}")


def walls(problem: Problem, bits: int) -> Row:
    """Return what M bits can do, with the columns' usual names."""
    limits = report.limits(problem, bits)
    return {
        "truncation": limits["truncation"],
        "best_known": limits["optimum_low"],
        "wall_ball": limits["ball"],
    }


def above(problem: Problem, success: Fraction, bits: int) -> bool:
    """Whether an exact success is above its wall."""
    limit = report.wall(problem, 2**bits)
    return limit is not None and success > limit


def machine_of(problem: Problem, checkpoint: Checkpoint) -> CutMachine:
    """Return a trained machine on a problem, perhaps another than its own."""
    return cut(problem, None, checkpoint=checkpoint)


def exact(machine: CutMachine) -> tuple[Fraction, list[float]]:
    """Return the optimal Bob's success over all inputs: as a whole, and by query."""
    tally = enumeration.count_optimal(machine)
    each = [r / t for r, t in zip(tally.right, tally.totals, strict=True)]
    return tally.success(machine.problem.weights), each
