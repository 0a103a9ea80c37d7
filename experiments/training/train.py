"""From a recipe to a checkpoint: train the restarts, fit small Bobs, keep the best."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import monotonic, process_time
from typing import TYPE_CHECKING, Any

import numpy as np

from statebound.errors import UsageError
from statebound.experiments.engines import enumerate as enumeration
from statebound.experiments.results import provenance
from statebound.experiments.tally import share
from statebound.experiments.training import decoder, torch_extra
from statebound.experiments.training.recipe import Recipe
from statebound.models import Cell
from statebound.models._build import build, family
from statebound.protocols.problem import Problem, make
from statebound.reductions import encoding as encodings
from statebound.reductions.checkpoint import About, Checkpoint, read, write
from statebound.reductions.machine import REGIMES, CutMachine, cut
from statebound.reductions.trained import options_of

if TYPE_CHECKING:
    from torch import Tensor

    from statebound.experiments.training.loop import Encoders, Say

EXACT_INPUTS = 1 << 16
SAMPLE = 1 << 15
BOB_INPUTS = 1 << 15
CHUNK = 1 << 12


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
    settled = replace(recipe, options=options_of(problem), encoding=encoding.name, numbers=numbers)
    return Plan(settled, problem, encoding, tuple(cells))


def _redrawn(cell: Cell, draws: dict[str, list[float]], seed: int) -> Cell:
    """Return a cell with some parameters drawn uniformly from ranges."""
    drawn = np.random.Generator(np.random.PCG64((seed, 3)))
    weights = dict(cell.weights)
    for name, (low, high) in draws.items():
        if name not in weights:
            raise UsageError(
                "draws",
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

    from statebound.experiments.training.examples import Examples
    from statebound.experiments.training.loop import Encoders, generator

    begun, used = monotonic(), process_time()
    recipe, problem = planned.recipe, planned.problem
    with torch_extra.one_thread():
        examples = Examples(problem, planned.encoding)
        encoders = Encoders(recipe, examples, planned.cells)
        stream = examples.stream(recipe.batch, generator(recipe.seed, 0, 0), recipe.examples)
        whole = recipe.steps + recipe.bob_steps
        encoders.train(stream, lambda done, _, words: say(done, whole, words))
        frozen = encoders.freeze()
        bobs = _fit_bobs(
            encoders, frozen, lambda done, _, words: say(recipe.steps + done, whole, words)
        )
        held = _held(encoders, frozen, bobs)
        best = max(range(len(held)), key=held.__getitem__)
        blank = {"success": 0.0, "engine": "none"}
        every = [_checkpoint(planned, encoders, frozen, bobs, at, blank) for at in range(len(held))]
    found = [_measure(problem, each) for each in every]
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
    measured = found[best] | {"kept": recipe.seeds[best], "restarts": restarts}
    chosen = every[best]
    return replace(chosen, about=replace(chosen.about, measured=measured, provenance=made))


def _fit_bobs(encoders: Encoders, frozen: dict[str, Tensor], say: Say) -> dict[str, Tensor]:
    """Fit a small Bob to every restart's frozen encoder, by cross entropy.

    He is fitted on z = atanh y, which is (level - shift) / spread of the dequantised numbers.
    """
    import torch

    from statebound.experiments.training.examples import Batch
    from statebound.experiments.training.loop import Flat, Schedule, generator

    recipe, problem = encoders.recipe, encoders.examples.problem
    sizes = decoder.shapes(encoders.numbers, recipe.bob, problem.queries, problem.alphabet)
    made = [decoder.drawn(sizes, generator(recipe.seed, seed, 4)) for seed in recipe.seeds]
    flat = Flat({name: np.stack([each[name] for each in made]) for name in sizes})
    draws = generator(recipe.seed, 0, 5)
    among = BOB_INPUTS if recipe.examples is None else recipe.examples
    stream = encoders.examples.stream(CHUNK, draws, among)
    chunks = [next(stream) for _ in range(-(-min(among, BOB_INPUTS) // CHUNK))]
    with torch.no_grad():
        z = torch.cat([encoders.encode(frozen, each).atanh() for each in chunks], 1)
    truth = torch.cat([each.truth for each in chunks])
    law = chunks[0].law
    if law.ndim == 2:
        law = torch.cat([each.law for each in chunks])

    def loss(w: dict[str, Tensor], done: float) -> Tensor:
        some = torch.from_numpy(draws.integers(0, len(truth), recipe.batch))
        batch = Batch(chunks[0].picks, truth[some], law if law.ndim == 1 else law[some])
        return decoder.losses(decoder.scores(w, z[:, some]), batch, hinge=False)

    Schedule(recipe.bob_steps, 0.01, 20, recipe.clip).descend(flat, loss, say, "bobs")
    with torch.no_grad():
        return {name: part.clone() for name, part in flat.named().items()}


def _held(encoders: Encoders, frozen: dict[str, Tensor], bobs: dict[str, Tensor]) -> list[float]:
    """Return each restart's success with its Bob on fresh inputs."""
    import torch

    from statebound.experiments.training.loop import generator

    recipe = encoders.recipe
    x = encoders.examples.problem.sample(generator(recipe.seed, 0, 6), recipe.held)
    batch = encoders.examples.batch(x)
    with torch.no_grad():
        said = decoder.scores(bobs, encoders.encode(frozen, batch).atanh())
        found: list[float] = decoder.successes(said, batch).tolist()
    return found


def _checkpoint(
    planned: Plan,
    encoders: Encoders,
    frozen: dict[str, Tensor],
    bobs: dict[str, Tensor],
    restart: int,
    measured: dict[str, Any],
) -> Checkpoint:
    """Put one restart together; its Bob reads levels as they are."""

    def array(tensor: Tensor) -> np.ndarray:
        return np.array(tensor[restart].numpy(), np.float32)

    def stored(held: np.ndarray) -> np.ndarray:
        return held.astype(np.float16) if recipe.half and held.ndim > 1 else held

    recipe, cell = planned.recipe, planned.cells[restart]
    assert encoders.scales is not None
    both = zip(encoders.scales, encoders.cut.entries, strict=True)
    scales = [[np.tile(array(part)[0], entries) for part in pair] for pair, entries in both]
    shift, spread = (np.concatenate(parts) for parts in zip(*scales, strict=True))
    first, bias, last, end = (array(bobs[name]) for name in decoder.NAMES)
    first, last = stored(first / spread), stored(last)
    bias = bias - first.astype(np.float32) @ shift
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
        {name: stored(array(frozen[name])) for name in encoders.cell_names},
        encoders.cut.codebooks(encoders.names, encoders.scales, restart),
        ((first, bias), (last, end)),
    )


def _measure(problem: Problem, checkpoint: Checkpoint) -> dict[str, Any]:
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
    from statebound.experiments.training.loop import generator

    x = problem.sample(generator(7), SAMPLE)
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
    from statebound.protocols.limits import report

    about, measured = checkpoint.about, checkpoint.about.measured
    problem = make(about.problem, about.n, about.problem_options)
    bits = cut(problem, None, checkpoint=read(write(checkpoint))).state_bits
    limits = report.limits(problem, bits)
    exact = measured["engine"] == "enumerate"
    over = exact and limits["ball"] is not None and measured["success"] > limits["ball"] + 1e-12
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
        **measured,
        "truncation": limits["truncation"],
        "best_known": limits["optimum_low"],
        "wall_ball": limits["ball"],
        "violates_wall": over,
        "seconds": about.provenance["seconds"],
        "cpu_seconds": about.provenance["cpu_seconds"],
    }
