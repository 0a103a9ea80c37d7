"""``FOLDER#TASK``: one row of a results folder, by the start of its task."""

from __future__ import annotations

from pathlib import Path

from statebound.errors import StateboundError, UsageError
from statebound.experiments.results import Row, read

_LISTED = 6


def row_at(folder: Path, task: str, argument: str) -> Row:
    """Return the only row whose task starts so.

    Parameters
    ----------
    folder
        A results folder.
    task
        The start of a task; nothing will do where the folder holds a single row.
    argument
        What named it, for errors.

    Raises
    ------
    UsageError
        When no row or several have this task; some that there are follow.
    StateboundError
        When the folder cannot be read, or holds no rows.
    """
    rows = read(folder)
    if not rows:
        raise StateboundError(f"{folder}: holds no rows yet; statebound run or sweep measures some")
    found = {name: row for name, row in rows.items() if name.startswith(task)}
    if len(found) == 1:
        return next(iter(found.values()))
    listed = found or rows
    some = [f"{name[:8]} ({_short(row)})" for name, row in list(listed.items())[:_LISTED]]
    more = f", and {len(listed) - len(some)} more" if len(listed) > len(some) else ""
    raise UsageError(
        argument,
        f"{folder}#{task}",
        f"names {len(found)} of {len(rows)} rows",
        f"write FOLDER#TASK with one of {', '.join(some)}{more}",
    )


def _short(row: Row) -> str:
    who = row.get("model") or row.get("protocol")
    return f"{who}, {row.get('state_bits')} bits, {row.get('regime') or 'no regime'}"
