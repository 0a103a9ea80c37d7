"""How long tasks will take, told from trying the smallest of each sort."""

from __future__ import annotations

import time
from collections.abc import Sequence

from statebound.errors import StateboundError
from statebound.experiments.request import Request
from statebound.experiments.sweeping.task import MEASURE, Stop, Task
from statebound.experiments.sweeping.work import Failure, Item, work

PATIENCE = 10.0
"""Seconds after which no other sort is tried."""

OVERHEAD = 3e7
"""What preparing a point costs, in updates of a number of a state: about a third of a second."""

_EXACT = 1 << 20


def seconds(tasks: Sequence[Task], stop: Stop) -> float | None:
    """Return about how many seconds of one core tasks take; None where nothing tells.

    The smallest task of each model or code is timed (twice: the first time compiles), and the
    others are taken to grow with inputs times length times numbers.
    """
    sorts: dict[object, list[tuple[float, Task]]] = {}
    for task in tasks:
        if task.kind != MEASURE:
            return None if tasks else 0.0
        sort = task.arguments["model"] or task.arguments["protocol"]
        sorts.setdefault(sort, []).append((_cost(task, stop), task))
    total = 0.0
    rates: list[float] = []
    begun = time.monotonic()
    for held in sorts.values():
        cost, task = min(held, key=lambda pair: (pair[0], pair[1].id))
        rate = None
        if time.monotonic() - begun < PATIENCE or not rates:
            took = _time(task, stop)
            rate = None if took is None else took / cost
        if rate is not None:
            rates.append(rate)
        elif not rates:
            continue
        usual = sum(rates) / len(rates)
        total += (usual if rate is None else rate) * sum(each for each, _ in held)
    return total if rates or not tasks else None


def _cost(task: Task, stop: Stop) -> float:
    request = Request(**task.arguments)
    try:
        problem = request.make_problem()
    except StateboundError:
        return 1.0
    exact = request.engine in ("auto", "enumerate") and problem.inputs <= _EXACT
    inputs = problem.inputs if exact else min(stop.trials, 1 << 20)
    numbers = request.numbers or request.state_bits or 8
    return float(inputs) * problem.length * numbers + OVERHEAD


def _time(task: Task, stop: Stop) -> float | None:
    item = Item(task, (0,), stop.trials, facts=True, rows=1)
    took = 0.0
    for _ in range(2):
        begun = time.monotonic()
        if isinstance(work(item), Failure):
            return None
        took = time.monotonic() - begun
        if took > PATIENCE:
            break
    sampled = stop.trials > 1024
    return took * max(1.0, stop.trials / 1024) if sampled and not _is_exact(task) else took


def _is_exact(task: Task) -> bool:
    request = Request(**task.arguments)
    return request.engine != "sample" and request.make_problem().inputs <= _EXACT
