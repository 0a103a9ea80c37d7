"""What a worker does: one item, from plain data to lines for the results folder."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from statebound.errors import StateboundError
from statebound.experiments import blocks, threads
from statebound.experiments.request import Request
from statebound.experiments.sweeping.task import MEASURE, Task

if TYPE_CHECKING:
    from collections.abc import Callable

    from statebound.experiments.point import Point

Line = dict[str, Any]


@dataclass(frozen=True)
class Item:
    """A piece of a task.

    Attributes
    ----------
    task
        The task.
    numbers
        Blocks to count, should it be a sample.
    trials
        The most x's of the sample.
    facts
        Whether what is known besides the counts is wanted too.
    rows
        How many rows the sweep has.
    claim
        A file that exists while a worker is at it; None where nobody asks.
    """

    task: Task
    numbers: tuple[int, ...]
    trials: int
    facts: bool
    rows: int
    claim: str | None = None


@dataclass(frozen=True)
class Failure:
    """Why an item gave nothing."""

    reason: str


Outcome = list[Line] | Failure


def work(item: Item) -> Outcome:
    """Do an item; what goes wrong with it is returned, not raised, whatever it is."""
    claim = None if item.claim is None else Path(item.claim)
    try:
        if claim is not None:
            claim.touch()
        with threads.serial_algebra():
            return _lines(item)
    except StateboundError as error:
        return Failure(str(error))
    except (Exception, SystemExit) as error:  # noqa: BLE001  (users' own code runs in there)
        return Failure(" ".join([f"{type(error).__name__}:", *str(error).split()]).strip(":"))
    finally:
        if claim is not None:
            with suppress(OSError):
                claim.unlink(missing_ok=True)


def work_on_cluster(item: Item) -> Outcome:
    """Do an item in a worker of a cluster: one thread."""
    threads.pin()
    return work(item)


def settle_in(parent: int) -> None:
    """Make this process a worker: one thread, deaf to ctrl-C, dying with its parent."""
    threads.pin()
    with suppress(ValueError):  # not the main thread: then no signal arrives here
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _lines(item: Item) -> list[Line]:
    task = item.task
    if task.kind != MEASURE:
        from statebound.experiments.sweeping import kinds

        return [{"task": task.id, "rows": kinds.run(task.kind, task.arguments)}]
    from statebound.experiments.measure import whole
    from statebound.experiments.point import facts

    point = _prepared(item)
    if not point.in_blocks:
        return [{"task": task.id, "row": whole(point, item.rows).row}]
    lines: list[Line] = []
    if item.facts:
        lines.append({"task": task.id, "facts": facts(point)})
    count = _counter(point)
    for block in item.numbers:
        counts = count(block, blocks.size_of(block, item.trials))
        lines.append({"task": task.id, "block": block, "counts": counts.plain()})
    return lines


_LAST: list[tuple[str, Point]] = []
_COUNTER: list[tuple[Point, Callable[[int, int], blocks.Counts]]] = []


def _prepared(item: Item) -> Point:
    """Return the point of an item; a worker is likely to get the next blocks of it too."""
    from statebound.experiments.point import prepare

    if not _LAST or _LAST[0][0] != item.task.id:
        request = Request(**item.task.arguments, trials=item.trials)
        _LAST[:] = [(item.task.id, prepare(request))]
    return _LAST[0][1]


def _counter(point: Point) -> Callable[[int, int], blocks.Counts]:
    from statebound.experiments.measure import counter

    if not _COUNTER or _COUNTER[0][0] is not point:
        _COUNTER[:] = [(point, counter(point))]
    return _COUNTER[0][1]
