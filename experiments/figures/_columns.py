"""Columns of rows by name: entries of dicts as ``config.d_state``, and two that are derived."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from statebound.errors import UsageError

Row = dict[str, Any]

DERIVED = ("rate", "error")
"""State bits M / effective n, and 1 - success."""
# What makes rows those of different machines or tasks, beside their seeds.
IDENTITY = (
    "problem",
    "n",
    "problem_options",
    "query_law",
    "through",
    "model",
    "protocol",
    "init",
    "config",
    "state_numbers",
    "bits_per_number",
    "state_bits",
    "regime",
    "quantiser",
    "rounding",
    "dtype",
    "encoding",
    "bob",
)
_WORDS = {
    "rate": "state bits M / effective n",
    "error": "error probability",
    "state_bits": "state bits M",
    "success": "success probability",
    "bits": "bits that cross",
    "message_bits": "message bits",
    "tokens_read": "tokens read before the handoff",
    "tokens": "tokens that Bob may write",
    "bits_per_number": "bits a number",
    "state_numbers": "numbers in the state",
    "needed_bits": "needed bits",
    "stored_bits": "stored bits",
    "message_entropy": "message entropy (bits)",
    "efficiency": "needed bits / M",
    "utilisation": "entropy / M",
    "all_correct": "all answers right at once",
    "optimal_success": "success of the optimal Bob",
    "own_success": "success of its own Bob",
    "reader_success": "success of the best reader",
    "information": "information about x (bits)",
    "n": "n",
}


@dataclass(frozen=True)
class Choices:
    """Columns that a user named: for the axes, the lines, and the panels."""

    x: str | None = None
    y: str | None = None
    group: tuple[str, ...] = ()
    facet: str | None = None

    def given(self) -> dict[str, str]:
        """Return what was chosen, by the name of the option."""
        every = {"x": self.x, "y": self.y, "group": ",".join(self.group), "facet": self.facet}
        return {name: value for name, value in every.items() if value}


NOTHING = Choices()


def value(row: Mapping[str, Any], column: str) -> Any:
    """Return what a row holds in a column; None where it has no such column.

    Examples
    --------
    >>> row = {"config": {"units": 4}, "state_bits": 2, "effective_n": 8, "success": 0.75}
    >>> value(row, "config.units"), value(row, "rate"), value(row, "error"), value(row, "n")
    (4, 0.25, 0.25, None)
    """
    if column in row:
        return row[column]
    if column == "rate":
        n = row.get("effective_n")
        return row["state_bits"] / n if n else None
    if column == "error":
        return None if row.get("success") is None else 1 - row["success"]
    if column == "rounding":  # rows that do not know of one were rounded to nearest
        return "nearest"
    held: Any = row
    for part in column.split("."):
        if not isinstance(held, Mapping) or part not in held:
            return None
        held = held[part]
    return _read(held) if "." in column else held


def _read(held: Any) -> Any:
    """Return the number that a setting is, where it was typed as one."""
    try:
        return float(held) if isinstance(held, str) else held
    except ValueError:
        return held


def known(rows: Iterable[Row]) -> list[str]:
    """Return the columns that can be named: those of plain values, in alphabetical order."""
    found = set(DERIVED)
    for row in rows:
        for name, held in row.items():
            if isinstance(held, Mapping):
                found |= {f"{name}.{part}" for part, v in held.items() if _plain(v)}
            elif _plain(held):
                found.add(name)
    return sorted(found)


def _plain(held: Any) -> bool:
    return held is None or isinstance(held, str | int | float)


def check(rows: Sequence[Row], column: str, argument: str) -> None:
    """Refuse a column that no row has."""
    names = known(rows)
    if column not in names:
        raise UsageError(
            argument, column, "is not a column of these rows", f"choose from {', '.join(names)}"
        )


def check_numeric(rows: Sequence[Row], column: str, argument: str) -> None:
    """Refuse a column that no row has, or that holds something else than numbers."""
    check(rows, column, argument)
    held = [v for v in (value(row, column) for row in rows) if v is not None]
    odd = next((v for v in held if isinstance(v, bool) or not isinstance(v, int | float)), None)
    if odd is not None:
        numeric = [name for name in known(rows) if _numeric(rows, name)]
        raise UsageError(
            argument, column, f"holds {odd!r}, not a number", f"choose from {', '.join(numeric)}"
        )
    if not held:
        raise UsageError(argument, column, "is null in every row", "choose another column")


def _numeric(rows: Sequence[Row], column: str) -> bool:
    held = [v for v in (value(row, column) for row in rows) if v is not None]
    return bool(held) and all(isinstance(v, int | float) and not isinstance(v, bool) for v in held)


def filtered(rows: Sequence[Row], conditions: Sequence[tuple[str, str]]) -> list[Row]:
    """Return the rows that hold, in each of these columns, what prints as the given text.

    Several conditions on one column are alternatives.

    Raises
    ------
    UsageError
        When there is no such column, or no row is left.
    """
    kept = list(rows)
    for column in dict(conditions):
        check(rows, column, "where")
        wanted = {text for name, text in conditions if name == column}
        found = {shown(value(row, column)) for row in kept}
        kept = [row for row in kept if shown(value(row, column)) in wanted]
        if not kept:
            raise UsageError(
                "where",
                f"{column}={','.join(sorted(wanted))}",
                "holds for no row",
                f"there are {', '.join(sorted(found)[:20])}",
            )
    return kept


def shown(held: Any) -> str:
    """Return a value as it is written in a condition.

    Examples
    --------
    >>> shown(4.0), shown(None), shown(True), shown("gru")
    ('4', 'null', 'true', 'gru')
    """
    if held is None or isinstance(held, bool):
        return {None: "null", True: "true", False: "false"}[held]
    return f"{held:g}" if isinstance(held, float) else str(held)


def axis(column: str) -> str:
    """Return an axis's label."""
    return _WORDS.get(column, column.replace("_", " "))


def say(column: str, held: Any) -> str:
    """Return how a legend or a title names one value of a column.

    Examples
    --------
    >>> say("state_bits", 4), say("rounding", "stochastic"), say("config.d_state", 8)
    ('M = 4', 'stochastic rounding', 'd_state = 8')
    """
    text = shown(held)
    if column in ("model", "protocol", "regime", "quantiser", "init", "problem"):
        return text.replace("_", " ")
    if column == "rounding":
        return f"{text} rounding".replace("_", " ")
    if column == "bits_per_number" and held is not None:
        return f"{text} bit{'s' * (held != 1)}"
    if column == "state_numbers" and held is not None:
        return f"{text} number{'s' * (held != 1)}"
    if column == "bob":
        return f"{text} Bob"
    name = {"state_bits": "M", "rate": "M/n"}.get(column, column.rpartition(".")[2])
    return f"{name} = {text}"


def plural(count: int, noun: str) -> str:
    """Return a count with its noun.

    Examples
    --------
    >>> plural(1, "row"), plural(2, "row")
    ('1 row', '2 rows')
    """
    return f"{count} {noun}{'s' * (count != 1)}"


def differing(rows: Sequence[Row], fixed: Iterable[str] = ()) -> list[str]:
    """Return which columns of `IDENTITY`, or entries of theirs, these rows do not agree in."""
    found = []
    for column in IDENTITY:
        if column in fixed:
            continue
        held = [value(row, column) for row in rows]
        if all(isinstance(v, Mapping) for v in held):
            parts = sorted({part for v in held for part in v})
            found += [
                f"{column}.{part}"
                for part in parts
                if f"{column}.{part}" not in fixed and len({shown(v.get(part)) for v in held}) > 1
            ]
        elif len({str(v) for v in held}) > 1:
            found.append(column)
    return found
