"""How long tasks will take, told from trying a few of each sort."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from statebound.errors import StateboundError
from statebound.experiments import blocks
from statebound.experiments.request import Request
from statebound.experiments.sweeping.task import MEASURE, Stop, Task
from statebound.experiments.sweeping.work import Failure, Item, work

PATIENCE = 10.0
"""Seconds after which no other task is tried."""

LONGEST = 2.0
"""Seconds that a task may be feared to take and still be tried."""

_EXACT = 1 << 20


def seconds(tasks: Sequence[Task], stop: Stop) -> float | None:
    """Return about how many seconds of one core tasks take; None where nothing tells.

    Of each model or code the smallest task is timed, then larger ones as long as they are
    quick. Time is taken to grow in proportion to inputs times length times numbers beyond.
    """
    sorts: dict[object, list[tuple[float, Task]]] = {}
    for task in tasks:
        if task.kind != MEASURE:
            return None
        sort = task.arguments["model"] or task.arguments["protocol"], _is_exact(task)
        sorts.setdefault(sort, []).append((_cost(task, stop), task))
    total = 0.0
    rates: list[float] = []
    until = time.monotonic() + PATIENCE
    for held in sorts.values():
        held.sort(key=lambda pair: (pair[0], pair[1].id))
        costs = np.array([cost for cost, _ in held])
        tried = _tried(held, stop, until) if time.monotonic() < until or not rates else []
        if not tried:
            if rates:  # as the others
                total += sum(rates) / len(rates) * float(costs.sum())
            continue
        known, took = (np.array(column) for column in zip(*tried, strict=True))
        rates.append(took[-1] / known[-1])
        beyond = np.maximum(costs / known[-1], 1.0)
        total += float((np.interp(costs, known, took) * beyond).sum())
    return total if rates or not tasks else None


def _tried(held: list[tuple[float, Task]], stop: Stop, until: float) -> list[tuple[float, float]]:
    """Return cost and seconds of some of these tasks, from the smallest on."""
    found: list[tuple[float, float]] = []
    _time(held[0][1], stop)  # compiles
    for cost, task in held:
        if found:
            last, took_last = found[-1]
            fear = took_last * cost / last
            if fear > LONGEST or time.monotonic() > until:
                break
            if cost < _STEP * last and cost < held[-1][0]:
                continue
        took = _time(task, stop)
        if took is None:
            break
        found.append((cost, took))
    return found


_STEP = 8.0  # between the sizes that are tried


def _cost(task: Task, stop: Stop) -> float:
    request = Request(**task.arguments)
    try:
        problem = request.make_problem()
    except StateboundError:
        return 1.0
    inputs = problem.inputs if _is_exact(task) else stop.trials
    numbers = request.numbers or request.state_bits or 8
    return float(inputs) * problem.length * numbers


def _time(task: Task, stop: Stop) -> float | None:
    """Return how long a task takes, of a sample by one block; None if it fails."""
    took = []
    for facts in (True, False):
        begun = time.monotonic()
        size = min(stop.trials, 1024)
        if isinstance(work(Item(task, (0,), size, facts=facts, rows=1)), Failure):
            return None
        took.append(time.monotonic() - begun)
        if _is_exact(task):
            break
    return took[0] + took[-1] * (blocks.number(stop.trials) - 1) * (len(took) > 1)


def _is_exact(task: Task) -> bool:
    request = Request(**task.arguments)
    try:
        return request.engine != "sample" and request.make_problem().inputs <= _EXACT
    except StateboundError:
        return True
