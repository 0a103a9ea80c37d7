"""How far a results folder is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from statebound.experiments import blocks, results
from statebound.experiments.results import Held
from statebound.experiments.sweeping import samples
from statebound.experiments.sweeping.collect import is_finished
from statebound.experiments.sweeping.task import MEASURE, Stop, Task


def status(folder: Path) -> dict[str, Any]:
    """Return how far a folder is, as a JSON-able record.

    ``tasks`` and ``left`` are None where the folder does not say what was wanted in all.

    Raises
    ------
    StateboundError
        When the folder holds no results, or lines disagree.
    """
    run = results.read_run(folder)
    held = results.hold(folder, lambda _: ())
    writers = len(list(folder.glob("rows-*.jsonl")))
    rows = sum(len(held.best(task)) for task in held.rows)
    tasks = run["config"].get("tasks")
    tasks = tasks if type(tasks) is int else None
    return {
        "folder": str(folder),
        "verb": run["config"].get("verb"),
        "writers": writers,
        "rows": rows,
        "samples_begun": len(held.facts.keys() - held.rows.keys()),
        "broken": sum(bool(row.get("leak")) for task in held.rows for row in held.best(task)),
        "tasks": tasks,
        "finished": len(held.rows),
        "left": None if tasks is None else tasks - len(held.rows),
    }


def progress(held: Held, task: Task, stop: Stop) -> dict[str, Any]:
    """Return how far one task is: blocks done and left; None where that is not known yet."""
    row: dict[str, Any] = {"task": task.id[:8], "label": task.label, "done": None, "left": None}
    if is_finished(held, task, stop):
        return row | {"state": "finished", "left": 0}
    if task.kind == MEASURE and task.id in held.facts:
        done = len(samples.in_order(held, task.id, stop))
        left = blocks.number(stop.trials) - done
        return row | {"state": "begun", "done": done, "left": left}
    return row | {"state": "to do"}
