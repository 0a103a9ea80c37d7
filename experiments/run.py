"""The main job: the collapse experiment over a curated set of models and sizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from statebound import __version__
from statebound.errors import StateboundError, UsageError
from statebound.experiments import results
from statebound.experiments.engines.enumerate import refuse_if_too_large
from statebound.experiments.point import choose
from statebound.experiments.request import Request, subject
from statebound.experiments.sweeping.collect import collect
from statebound.experiments.sweeping.task import Stop, of
from statebound.experiments.sweeping.workers import here
from statebound.reductions import rounding as roundings
from statebound.reductions import zoo
from statebound.reductions.machine import REGIMES, check_quantisation, uncut
from statebound.reductions.spec import hash_arrays

MODELS = ("sliding_window", "linear_attention", "gru", "rnn", "s4d")
CODES = ("majority", "hamming", "linear")
SIZES = {"index": 16, "istree": 19}  # 16 answers each
RATES = (1 / 16, 1 / 8, 1 / 4, 3 / 8, 1 / 2, 5 / 8, 3 / 4, 7 / 8, 1.0, 5 / 4, 3 / 2)
SEEDS = (0, 1, 2)


@dataclass(frozen=True)
class Plan:
    """What a run measures: its points in order, and the configuration that names it."""

    config: dict[str, Any]
    points: tuple[tuple[str, Request], ...]
    stop: Stop
    notes: tuple[str, ...] = ()  # what is left out, a sentence each

    @property
    def digest(self) -> str:
        """A short name for the configuration."""
        return results.digest(self.config)[:10]


def plan(
    problem: str = "index",
    n: int | None = None,
    models: tuple[str, ...] = MODELS,
    codes: tuple[str, ...] = CODES,
    bits: int | None = None,
    seeds: tuple[int, ...] | None = None,
    engine: str = "auto",
    trials: int = 4096,
    seed: int = 0,
    *,
    quantiser: str | None = None,
    rounding: str = "nearest",
    precision: dict[str, int] | None = None,
) -> Plan:
    """Return the points of a run, checked before any work is done.

    State sizes are the totals of numbers nearest to fixed rates M / n that each model can
    have (M being numbers times bits, without what else crosses); a model whose state grows
    has its default size alone. Codes are measured at the same rates, where they have such
    sizes. A model that does not depend on the seed is measured once. A rounding that feeds
    back has the regime `step` only.

    Unless seeds are given, or another quantiser or rounding, a model for which trained
    machines are shipped here is represented by them alone; others are drawn with `SEEDS`.

    Raises
    ------
    UsageError
        When an argument does not exist or fit, or a point is beyond the memory cap.
    """
    if n is None:
        n = SIZES.get(problem, 16)
    precision = precision or {}
    rounds = roundings.family(rounding)
    regimes = ("step",) if engine == "automaton" or rounds.keeps_residual else REGIMES
    _, bits = check_quantisation(quantiser, bits, precision, regimes[0], rounding)
    base = Request(
        problem,
        n,
        bits=bits,
        precision=precision,
        quantiser=quantiser,
        rounding=rounding,
        engine=engine,
        trials=trials,
        seed=seed,
    )
    problem_made = base.make_problem()
    if seeds is not None and min(seeds) < 0:
        raise UsageError("machine_seeds", min(seeds), "must not be negative", "pass 0..2")
    structure = problem_made.structure
    if not structure.walled:
        raise UsageError(
            "problem",
            problem,
            f"has no proved limit to draw ({structure.reason})",
            "measure points with statebound measure, or run another problem",
        )
    effective = structure.effective_n * (structure.alphabet - 1).bit_length()
    config = {
        "verb": "run",
        "problem": problem,
        "n": n,
        "models": list(models),
        "codes": list(codes),
        "bits": bits,
        "precision": precision,
        "quantiser": quantiser,
        "rounding": rounding,
        "seeds": None if seeds is None else list(seeds),
        "engine": engine,
        "trials": trials,
        "seed": seed,
        "version": __version__,
    }
    wanted = sorted({max(1, round(rate * effective / bits)) for rate in RATES})
    points: dict[str, Request] = {}
    notes: list[str] = []
    plain = quantiser in (None, "trained") and rounding == "nearest" and not precision
    for model in models:
        ready = zoo.of(problem_made, model, bits=bits) if plain and seeds is None else []
        for regime in regimes:
            if ready:
                chosen = list(_trained(replace(base, model=model, regime=regime), ready))
                points |= {_identity(point): point for point in chosen}
                if not chosen:
                    notes.append(
                        f"no trained {model} is shipped in the regime {regime}: left out; "
                        "--machine-seeds 0..2 draws machines instead"
                    )
                continue
            for numbers in _sizes(replace(base, model=model, regime=regime), wanted):
                drawn = set()
                for machine_seed in SEEDS if seeds is None else seeds:
                    cell, _, _ = uncut(
                        problem_made, model, numbers=numbers, machine_seed=machine_seed
                    )
                    weights = hash_arrays(cell.weights)
                    if weights in drawn and not rounds.draws:  # constructed alike for every seed
                        continue
                    drawn.add(weights)
                    point = replace(
                        base,
                        model=model,
                        regime=regime,
                        numbers=numbers,
                        machine_seed=machine_seed,
                    )
                    points[_identity(point)] = point
    for code in () if engine == "automaton" else codes:
        for point in _code_points(base, code, effective):
            points[_identity(point)] = point
    _refuse_early(list(points.values()))
    config["tasks"] = len(points)
    return Plan(config, tuple(points.items()), Stop(trials), tuple(notes))


def _trained(base: Request, ready: list[zoo.Shipped]) -> Iterator[Request]:
    """Yield the trained machines of a model in one regime.

    Of several encodings the one with most sizes, or else the model's own: one line.
    """
    from statebound.models._build import family

    assert base.model is not None
    there = [each.about for each in ready if each.about.regime == base.regime]
    count = Counter(about.encoding for about in there)
    own = family(base.model).encoding
    first = max(sorted(count), key=lambda name: (count[name], name == own), default=None)
    for about in there:
        if about.encoding == first:
            yield replace(base, init="trained", numbers=about.numbers, encoding=first)


def _refuse_early(points: list[Request]) -> None:
    """Refuse what `measure` would refuse: the largest message of every model stands for all."""
    last = {(point.model, point.protocol, point.regime): point for point in points}
    for point in last.values():
        protocol = subject(point)
        if choose(point, protocol)[0] == "enumerate":
            refuse_if_too_large(protocol)


def _code_points(base: Request, code: str, effective: int) -> Iterator[Request]:
    """Yield a code at the wanted rates below 1 where it has such a size; its own Bob answers.

    Raises
    ------
    UsageError
        When there is no such code, or it has no size here at all.
    """
    refused: UsageError | None = None
    found = False
    plain = Request(base.problem, base.n, engine=base.engine, trials=base.trials, seed=base.seed)
    sizes = sorted({max(1, round(rate * effective)) for rate in RATES if rate < 1})
    for bits in [*sizes, None]:
        if bits is None and found:
            break  # only what has no choice of size is measured without one
        point = replace(plain, protocol=code, state_bits=bits)
        try:
            protocol = subject(point)
        except UsageError as error:
            refused = error
            continue
        found = True
        exact = choose(point, protocol)[0] == "enumerate"
        yield point if exact else replace(point, bob="model")
    if refused is not None and not found and refused.argument == "protocol":
        raise refused


def _identity(point: Request) -> str:
    return of(point).id


def _sizes(base: Request, wanted: list[int]) -> Iterator[int]:
    """Yield the sizes near the wanted ones that a model can have."""
    from statebound.models._build import default_numbers, family, growing

    assert base.model is not None
    cell = family(base.model)
    if growing(cell):
        yield default_numbers(cell)
        return
    config = cell.Config
    seen = set()
    for numbers in wanted:
        for near in (numbers, numbers + 1):
            try:
                config.of(near, {})
            except UsageError as error:
                if error.argument != "numbers":
                    raise
                continue
            if near not in seen:
                seen.add(near)
                yield near
            break


def execute(
    planned: Plan,
    folder: Path,
    argv: list[str],
    progress: Callable[[int, int, str], None],
) -> tuple[list[dict[str, Any]], list[str]]:
    """Measure what is missing in a results folder and return all rows, with what broke.

    `progress` is called with the points done, their total, and a label.
    """
    tasks = [of(point) for _, point in planned.points]
    held: dict[str, list[dict[str, Any]]] = {}
    with results.Writer(folder, planned.config, argv) as writer:
        known = results.hold(folder, lambda _: ())
        for task in tasks:
            results.whole(known.best(task.id), folder)
        found = collect(tasks, tasks, planned.stop, writer, here, progress, keep_going=False)
        for label, reason in found.failures.items():
            raise StateboundError(f"{label}: {reason}")
        known = results.hold(folder, lambda _: ())
        held = {task.id: known.best(task.id) for task in tasks}
    progress(len(tasks), len(tasks), "done")
    return [row for task in tasks for row in held[task.id]], found.broken
