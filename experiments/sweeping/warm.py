"""Kernels compiled once, before workers start, who then find them on disk."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from statebound.errors import StateboundError
from statebound.experiments import results
from statebound.experiments.request import Request, subject
from statebound.experiments.sweeping.collect import is_finished
from statebound.experiments.sweeping.task import MEASURE, Stop, Task

_KERNELS = ("model", "protocol", "dtype", "quantiser", "rounding", "regime", "encoding")


def warm(tasks: Sequence[Task], stop: Stop, folder: Path) -> None:
    """Send one message of every sort that is still to be measured.

    Users' own code is left to the workers: what it breaks is then told of its task.
    """
    held = results.hold(folder, lambda _: ())
    seen: set[tuple[object, ...]] = set()
    for task in tasks:
        if task.kind != MEASURE or is_finished(held, task, stop):
            continue
        sort = tuple(task.arguments[name] for name in _KERNELS)
        if sort in seen:
            continue
        seen.add(sort)
        if any(":" in str(name) for name in sort):
            continue
        with suppress(StateboundError, MemoryError, ValueError):  # told when it is measured
            protocol = subject(Request(**task.arguments))
            generator = np.random.Generator(np.random.PCG64(0))
            protocol.encode(protocol.problem.sample(generator, 2))
