"""Columns of rows by name: entries of dicts as ``config.d_state``, and two that are derived."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from statebound.errors import UsageError
from statebound.experiments.columns import ORDER

Row = dict[str, Any]

DERIVED = ("rate", "error")
"""State bits M / effective n, and 1 - success."""
OUTCOMES = (*ORDER[ORDER.index("success") : ORDER.index("best_known")], "error", "information")
"""What comes out of a measurement: on such an axis points stand by themselves."""
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
_FOLLOWING = ("spec", "weights_hash", "success_fraction", "optimal_fraction", "leak", "version")
_WORDS = {
    "rate": "state bits M / effective n",
    "error": "error probability",
    "state_bits": "state bits M",
    "success": "success probability",
    "bits": "bits that cross",
    "message_bits": "message bits",
    "tokens_read": "tokens read before the handoff",
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
    facet: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        x: str | None = None,
        y: str | None = None,
        group: str | None = None,
        facet: str | None = None,
    ) -> Choices:
        """Return the choices of options as they are written: several columns by commas."""
        lists = (tuple(p for p in (text or "").split(",") if p) for text in (group, facet))
        return cls(x, y, *lists)

    def given(self) -> dict[str, str]:
        """Return what was chosen, by the name of the option."""
        lists = {"group": ",".join(self.group), "facet": ",".join(self.facet)}
        every = {"x": self.x, "y": self.y, **lists}
        return {name: value for name, value in every.items() if value}

    def panel(self, row: Mapping[str, Any]) -> str:
        """Return the name of a row's panel, where columns for panels were chosen."""
        return ", ".join(say(column, value(row, column)) for column in self.facet)

    def check_panels(self, rows: Sequence[Row]) -> None:
        """Refuse columns for panels that no row has."""
        for column in self.facet:
            check(rows, column, "facet")


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
        n, bits = row.get("effective_n"), row.get("state_bits")
        return bits / n if n and bits is not None else None
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
    found: set[str] = set()
    for row in rows:
        found |= {name for name in DERIVED if value(row, name) is not None}
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
    if not any(column in known([row]) for row in rows):  # most often the first row has it
        names = ", ".join(known(rows))
        raise UsageError(argument, column, "is not a column of these rows", f"choose from {names}")


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


def seeds_alone(rows: Sequence[Row]) -> bool:
    """Tell whether each of these rows has a seed of its own."""
    return len({(row.get("machine_seed"), row.get("seed")) for row in rows}) == len(rows)


def told_apart(rows: Sequence[Row]) -> list[str]:
    """Return the columns of text in which rows differ, but those that follow from others."""
    names = [name for name in known(rows) if name not in _FOLLOWING]
    held = {name: {value(row, name) for row in rows} for name in names}
    return [
        name
        for name, found in held.items()
        if len(found) > 1 and any(isinstance(v, str) for v in found)
    ]


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
