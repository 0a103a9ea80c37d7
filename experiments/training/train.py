"""From a recipe to a checkpoint: train the restarts, fit small Bobs, keep the best."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from time import monotonic, process_time
from typing import TYPE_CHECKING, Any

import numpy as np

from statebound.errors import UsageError
from statebound.experiments.results import provenance
from statebound.experiments.training import decoder, torch_extra
from statebound.experiments.training.recipe import Recipe
from statebound.models import Cell
from statebound.models._build import build, family
from statebound.protocols.problem import Problem, make
from statebound.reductions import encoding as encodings
from statebound.reductions.checkpoint import MOST_BYTES, About, Checkpoint
from statebound.reductions.machine import REGIMES
from statebound.reductions.trained import options_of

if TYPE_CHECKING:
    from torch import Tensor

    from statebound.experiments.training.loop import Encoders, Say


@dataclass(frozen=True)
class Plan:
    """A recipe with what it names: the problem, the encoding, and a cell a restart.

    Attributes
    ----------
    recipe
        The recipe, with nothing left to be chosen.
    """

    recipe: Recipe
    problem: Problem
    encoding: encodings.Encoding
    cells: tuple[Cell, ...]


def plan(recipe: Recipe) -> Plan:
    """Check a recipe against the problem and the model.

    Raises
    ------
    UsageError
        When something does not exist or fit.
    """
    from statebound.experiments.training.twins import twin_of

    if recipe.regime not in REGIMES:
        raise UsageError("regime", recipe.regime, "is not a known regime", "choose handoff or step")
    problem = make(recipe.problem, recipe.n, recipe.options)
    problem.refuse_unlisted()
    kind = family(recipe.model)
    encoding = encodings.make(recipe.encoding or kind.encoding, problem)
    cells = []
    for seed in recipe.seeds:
        cell, _ = build(
            kind,
            encoding.vocabulary,
            numbers=recipe.numbers,
            settings=recipe.settings,
            init="random",
            seed=seed,
        )
        cells.append(_redrawn(cell, recipe.draws, seed))
    twin_of(cells[0])
    numbers = sum(f.numbers for f in cells[0].fields)
    sizes = decoder.shapes(numbers, recipe.bob, problem.queries, problem.alphabet)
    held = 4 * sum(prod(shape) for shape in sizes.values())
    if held > MOST_BYTES // 2:
        raise UsageError(
            "bob-hidden",
            recipe.bob,
            f"makes a Bob of {held} bytes, a file has room for {MOST_BYTES // 2}",
            "pass fewer units",
        )
    settled = replace(recipe, options=options_of(problem), encoding=encoding.name, numbers=numbers)
    return Plan(settled, problem, encoding, tuple(cells))


def _redrawn(cell: Cell, draws: dict[str, list[float]], seed: int) -> Cell:
    """Return a cell with some parameters drawn uniformly from ranges."""
    drawn = np.random.Generator(np.random.PCG64((seed, 3)))
    weights = dict(cell.weights)
    for name, (low, high) in draws.items():
        if name not in weights:
            raise UsageError(
                "draw",
                name,
                f"is no parameter of {cell.name}",
                f"choose from {', '.join(weights)}",
            )
        weights[name] = drawn.uniform(low, high, weights[name].shape)
    return type(cell)(cell.config, weights, cell.vocabulary)


def train(recipe: Recipe, say: Say, command: list[str] | None = None) -> Checkpoint:
    """Train a machine.

    Parameters
    ----------
    recipe
        What and how.
    say
        Called with (done, total, words) now and then.
    command
        What was asked, for the record.

    Raises
    ------
    UsageError
        When the recipe does not fit.
    StateboundError
        Without torch, or when training diverges.
    """
    torch_extra.require()
    planned = plan(recipe)
    import torch

    from statebound.experiments.training.measured import measured

    begun, used = monotonic(), process_time()
    recipe, problem = planned.recipe, planned.problem
    held, every = restarts_of(planned, say)
    best = max(range(len(held)), key=held.__getitem__)
    found = [measured(problem, each) for each in every]
    restarts = [
        {"seed": seed, "held": value, "success": each["success"]}
        for seed, value, each in zip(recipe.seeds, held, found, strict=True)
    ]
    made = {
        key: value
        for key, value in provenance(command or []).items()
        if key in ("argv", "time", "versions", "processor", "git")
    }
    made["versions"]["torch"] = str(torch.__version__)
    made |= {"seed": recipe.seed, "recipe_hash": recipe.digest}
    made["seconds"] = round(monotonic() - begun, 1)
    made["cpu_seconds"] = round(process_time() - used, 1)
    reached = found[best] | {"kept": recipe.seeds[best], "restarts": restarts}
    chosen = every[best]
    return replace(chosen, about=replace(chosen.about, measured=reached, provenance=made))


def restarts_of(planned: Plan, say: Say) -> tuple[list[float], list[Checkpoint]]:
    """Train all restarts; return the success of each on held-out inputs, and its checkpoint.

    Raises
    ------
    StateboundError
        When training diverges.
    """
    from statebound.experiments.training import bobs
    from statebound.experiments.training.examples import Examples
    from statebound.experiments.training.loop import Encoders, generator

    recipe = planned.recipe
    with torch_extra.one_thread():
        examples = Examples(planned.problem, planned.encoding)
        encoders = Encoders(recipe, examples, planned.cells)
        stream = examples.stream(recipe.batch, generator(*encoders.source), recipe.examples)
        whole = recipe.steps + recipe.bob_steps
        encoders.train(stream, lambda done, _, words: say(done, whole, words))
        frozen = encoders.freeze()
        fitted = bobs.fit(
            encoders, frozen, lambda done, _, words: say(recipe.steps + done, whole, words)
        )
        held = bobs.held(encoders, frozen, fitted)
        blank = {"success": 0.0, "engine": "none"}
        every = [
            _checkpoint(planned, encoders, frozen, fitted, at, blank) for at in range(len(held))
        ]
    return held, every


def _checkpoint(
    planned: Plan,
    encoders: Encoders,
    frozen: dict[str, Tensor],
    fitted: dict[str, Tensor],
    restart: int,
    measured: dict[str, Any],
) -> Checkpoint:
    """Put one restart together; its Bob reads levels as they are."""

    def array(tensor: Tensor) -> np.ndarray:
        return np.array(tensor[restart].numpy(), np.float32)

    recipe, cell = planned.recipe, planned.cells[restart]
    assert encoders.scales is not None
    both = zip(encoders.scales, encoders.cut.entries, strict=True)
    scales = [[np.tile(array(part)[0], entries) for part in pair] for pair, entries in both]
    shift, spread = (np.concatenate(parts) for parts in zip(*scales, strict=True))
    first, bias, last, end = (array(fitted[name]) for name in decoder.NAMES)
    first = first / spread
    bias = bias - first @ shift
    if planned.problem.alphabet == 2:  # the score of 1 over that of 0
        last, end = (
            np.stack([np.zeros_like(part), part], 1).reshape(-1, *part.shape[1:])
            for part in (last, end)
        )
    about = About(
        problem=recipe.problem,
        n=recipe.n,
        problem_options=dict(recipe.options),
        model=recipe.model,
        settings=cell.settings(),
        numbers=encoders.numbers,
        bits=recipe.bits,
        regime=recipe.regime,
        encoding=planned.encoding.name,
        dtype="float32",
        recipe=recipe.plain(),
        provenance={},
        measured=measured,
    )
    return Checkpoint(
        about,
        {name: array(frozen[name]) for name in encoders.cell_names},
        encoders.cut.codebooks(encoders.names, encoders.scales, restart),
        ((first, bias), (last, end)),
    )
