"""Doing what is missing of a sweep, and writing it down as it comes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from statebound.errors import StateboundError, UsageError
from statebound.experiments import results
from statebound.experiments.results import Held, canonical
from statebound.experiments.sweeping import samples
from statebound.experiments.sweeping.task import MEASURE, Stop, Task
from statebound.experiments.sweeping.work import Failure, Item
from statebound.experiments.sweeping.workers import Run

Progress = Callable[[int, int, str], None]


@dataclass
class Collected:
    """What a sweep ended with.

    Attributes
    ----------
    tasks, finished
        How many there are, and how many have their rows.
    failures
        Label -> why a task gave nothing.
    broken
        Which rows passed a proved limit, and how.
    """

    tasks: int = 0
    finished: int = 0
    failures: dict[str, str] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)


def shard(tasks: Sequence[Task], part: str | None) -> list[Task]:
    """Return the tasks of one shard, ``i/N`` with i from 1.

    Raises
    ------
    UsageError
        When there is no such shard.
    """
    if part is None:
        return list(tasks)
    first, _, second = part.partition("/")
    if not (first.isdecimal() and second.isdecimal() and 1 <= int(first) <= int(second)):
        raise UsageError("shard", part, "must be i/N with i in 1..N", "pass 1/3, say")
    return list(tasks[int(first) - 1 :: int(second)])


def is_finished(held: Held, task: Task, stop: Stop) -> bool:
    """Whether a task has its rows, under this rule if it is a sample."""
    return not {canonical(None), canonical(asdict(stop))}.isdisjoint(held.rows.get(task.id, ()))


def collect(
    every: Sequence[Task],
    mine: Sequence[Task],
    stop: Stop,
    writer: results.Writer,
    run: Run,
    progress: Progress,
    *,
    keep_going: bool = True,
) -> Collected:
    """Measure what is missing of `mine`.

    Parameters
    ----------
    every, mine
        All tasks of the sweep, whose number false alarms are shared out over, and those to do.
    stop
        When a sample is large enough.
    writer
        Of the results folder, which is read first.
    run
        Who does the work.
    progress
        Called with the tasks done, their total, and a label.
    keep_going
        Whether to go on after a failure.

    Raises
    ------
    StateboundError
        When a line cannot be written, or lines in the folder disagree.
    """
    held = results.hold(
        writer.folder,
        lambda held: {task.id for task in mine if not is_finished(held, task, stop)},
    )
    done = sum(is_finished(held, task, stop) for task in mine)
    found = Collected(tasks=len(mine))
    progress(done, len(mine), f"{done} of {len(mine)} already measured")
    failed: set[str] = set()
    while True:
        items = [
            item
            for task in mine
            if task.id not in failed and not is_finished(held, task, stop)
            for item in _wanted(held, task, stop, len(every), writer)
        ]
        if not items:
            break
        done = sum(is_finished(held, task, stop) for task in mine)  # some rows were derived
        open_items = Counter(item.task.id for item in items)
        with closing(run(items)) as outcomes:  # type: ignore[type-var]
            for item, outcome in outcomes:
                task = item.task
                open_items[task.id] -= 1
                if isinstance(outcome, Failure):
                    if task.id not in failed:
                        failed.add(task.id)
                        found.failures[task.label] = outcome.reason
                    if not keep_going:
                        break
                    continue
                writer.write(outcome)
                for line in outcome:
                    held.add(line, writer.folder)
                if not open_items[task.id]:
                    _finish(held, task, stop, len(every), writer)
                done += is_finished(held, task, stop)
                progress(done, len(mine), task.label)
        if failed and not keep_going:
            break
    found.finished = sum(is_finished(held, task, stop) for task in mine)
    found.broken = [
        f"{task.label}: {row['leak']}"
        for task in mine
        for row in held.best(task.id)
        if row.get("leak")
    ]
    return found


def _wanted(held: Held, task: Task, stop: Stop, rows: int, writer: results.Writer) -> list[Item]:
    """Return the items that a task needs next; none where its row could be derived."""
    facts = task.id not in held.facts
    if task.kind != MEASURE:
        return [Item(task, (), stop.trials, facts, rows)]
    if not facts and _finish(held, task, stop, rows, writer):
        return []
    numbers = samples.wanted(held, task.id, stop) or [0]
    chunks = [numbers[i : i + samples.CHUNK] for i in range(0, len(numbers), samples.CHUNK)]
    if facts:  # whether it is a sample at all is not known before
        chunks = chunks[:1]
    return [Item(task, tuple(chunk), stop.trials, facts, rows) for chunk in chunks]


def _finish(held: Held, task: Task, stop: Stop, rows: int, writer: results.Writer) -> bool:
    """Write the row of a sample that is large enough."""
    if task.id not in held.facts or is_finished(held, task, stop):
        return False
    counted = samples.in_order(held, task.id, stop)
    number = samples.enough(counted, stop)
    if number is None:
        return False
    row = samples.finished(held.facts[task.id], counted[:number], rows, stop)
    line = {"task": task.id, "row": row, "stop": asdict(stop)}
    writer.write([line])
    held.add(line, writer.folder)
    held.blocks.pop(task.id, None)
    return True


def rows_of(folder: Path, tasks: Sequence[Task]) -> list[dict[str, Any]]:
    """Return the rows of these tasks that are there, in the order of the tasks."""
    held = results.hold(folder, lambda _: ())
    found = [row for task in tasks for row in held.best(task.id)]
    if not found:
        raise StateboundError(f"{folder}: holds no rows of this sweep yet")
    return found
