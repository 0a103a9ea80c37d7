"""export: the rows of a results folder as one flat table.

Every cell holds one value. In CSV and Parquet lists and objects are JSON text, so that a
column has one type in every row and both formats read alike; JSON keeps them as they are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from statebound.errors import StateboundError, UsageError
from statebound.experiments import results, tables
from statebound.experiments.columns import ORDER

FORMATS = ("csv", "parquet", "json", "markdown", "latex")
ENDINGS = {
    ".csv": "csv",
    ".parquet": "parquet",
    ".json": "json",
    ".md": "markdown",
    ".tex": "latex",
}
TASK = "task"
PAPER = {
    "problem": "problem",
    "n": "n",
    "model": "model",
    "protocol": "code",
    "regime": "regime",
    "machine_seed": "seed",
    "state_bits": "M",
    "success": "success",
    "success_low": "low",
    "success_high": "high",
    "needed_bits": "needed bits",
    "efficiency": "efficiency",
    "wall_ball": "ball limit",
}
_SAMPLED = ("success_low", "success_high")
_ORDER = ("problem", "n", "model", "protocol", "regime", "state_bits", "machine_seed", TASK)
_BY_LOWER_END = ("success_low", "needed_bits", "efficiency", "certified_bits")

Row = dict[str, Any]


def rows_of(folder: Path) -> list[Row]:
    """Return the rows of finished tasks, each with its task in front, machine by machine.

    Raises
    ------
    StateboundError
        When the folder holds no rows.
    """
    rows = [{TASK: task} | row for task, row in results.read(folder).items()]
    if not rows:
        raise StateboundError(f"{folder}: holds no rows yet; statebound run or sweep measures some")
    return sorted(rows, key=lambda row: [_rank(row.get(name)) for name in _ORDER])


def unfinished(folder: Path, rows: Sequence[Row]) -> int:
    """Return how many rows `statebound.load` has besides: those of samples that go on."""
    return len(results.load(folder)) - len(rows)


def _rank(value: Any) -> tuple[int, float, str]:
    """Order null before numbers before text."""
    if isinstance(value, int | float):
        return 1, value, ""
    return (0, 0, "") if value is None else (2, 0, str(value))


def columns_of(rows: Sequence[Row]) -> tuple[str, ...]:
    """Return all columns: the task, a measured row's in their order, then any others by name."""
    held = {name for row in rows for name in row}
    first = (TASK, *ORDER)
    return (*(name for name in first if name in held), *sorted(held - set(first)))


def chosen(rows: Sequence[Row], names: Sequence[str] | None, form: str) -> tuple[str, ...]:
    """Return the columns to write: those named, else all, for papers a few that say something.

    Raises
    ------
    UsageError
        When a name is no column, or is there twice.
    """
    every = columns_of(rows)
    if names is None:
        if form not in ("markdown", "latex"):
            return every
        return tuple(name for name in PAPER if _tells(rows, name)) or every
    for name in names:
        if name not in every:
            raise UsageError("columns", name, "is no column", f"choose from {', '.join(every)}")
    if len(set(names)) < len(names):
        raise UsageError("columns", ",".join(names), "names a column twice", "name each once")
    return tuple(names)


def _tells(rows: Sequence[Row], name: str) -> bool:
    """Whether a column is worth a reader's place: what all rows share goes into the caption."""
    if name in ("problem", "n"):
        return len({row.get(name) for row in rows}) > 1
    if name in _SAMPLED:
        return any(row.get("interval_level") is not None for row in rows)
    return any(row.get(name) is not None for row in rows)


def export(rows: Sequence[Row], form: str, columns: Sequence[str], digits: int) -> str | bytes:
    """Return rows as a table in one of `FORMATS`.

    Parameters
    ----------
    rows
        Dicts; a column that one lacks is null there.
    form
        One of `FORMATS`.
    columns
        Which, in this order.
    digits
        Decimals at most, in Markdown and LaTeX; a sampled row shows fewer where its interval
        does not bear them.

    Raises
    ------
    StateboundError
        When pyarrow is needed and missing, or a column does not fit Parquet.
    """
    held = [{name: row.get(name) for name in columns} for row in rows]
    if form == "csv":
        return tables.csv(held, {name: name for name in columns})
    if form == "json":
        return json.dumps(held, indent=1, allow_nan=False) + "\n"
    if form == "parquet":
        from statebound.experiments.parquet import parquet

        return parquet([{k: tables.flat(v) for k, v in row.items()} for row in held], columns)
    headings = {name: PAPER.get(name, name) for name in columns}
    whole = [dict(row) | each for row, each in zip(rows, held, strict=True)]
    return tables.render(whole, headings, form, _shown(digits))


def _shown(digits: int) -> Callable[[Mapping[str, Any], str], str]:
    def shown(row: Mapping[str, Any], key: str) -> str:
        value = tables.flat(row[key])
        if key in _SAMPLED and row.get("interval_level") is None:
            value = None  # exact: there is no interval
        if not isinstance(value, float):
            return tables.plain({key: value}, key)
        sampled = row.get("interval_level") is not None and "success_low" in row
        if not sampled:
            return tables.number(value, digits)
        kept = tables.decimals(row["success_low"], row["success_high"], digits)
        if key in _BY_LOWER_END:
            return tables.bound(value, kept, upper=False)
        if key == "success_high":
            return tables.bound(value, kept, upper=True)
        of_the_sample = key in ("success", "all_correct", "own_success")
        return tables.number(value, kept if of_the_sample else digits)

    return shown


def form_of(form: str | None, out: Path | None) -> str:
    """Return the format: the one named, else by the file's ending, else CSV.

    Raises
    ------
    UsageError
        When it is not known, or Parquet is to go to a terminal.
    """
    chosen = form or (ENDINGS.get(out.suffix, "csv") if out is not None else "csv")
    if chosen not in FORMATS:
        raise UsageError("format", chosen, "is not a known format", f"choose {', '.join(FORMATS)}")
    if chosen == "parquet" and out is None:
        raise UsageError("format", chosen, "is not text for stdout", "pass --out FILE")
    return chosen
