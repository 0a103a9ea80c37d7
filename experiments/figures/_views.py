"""Which columns a figure draws against each other, and rows sorted into its panels and lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from statebound.errors import UsageError
from statebound.experiments.figures import _facets
from statebound.experiments.figures._columns import (
    NOTHING,
    Choices,
    Row,
    check,
    check_numeric,
    differing,
    plural,
    say,
    seeds_alone,
    told_apart,
    value,
)
from statebound.experiments.figures._lines import Line, labelled, order
from statebound.experiments.figures._pieces import broken
from statebound.experiments.figures._style import LOOKS

MACHINE = "machine"
"""Not a column: the model or protocol, and what else names a line."""


@dataclass(frozen=True)
class View:
    """What is drawn against what.

    Attributes
    ----------
    x, y
        Columns of the axes.
    group, facet
        Columns that tell lines and panels apart; none for panels is one panel.
    title
        Of the figure.
    apart
        Columns that the name of a machine does not tell, for they are shown otherwise.
    """

    x: str
    y: str
    group: tuple[str, ...] = (MACHINE,)
    facet: tuple[str, ...] = ()
    title: str = ""
    apart: tuple[str, ...] = ()

    def chosen(self, choices: Choices = NOTHING) -> View:
        """Return the view with what a user chose."""
        return replace(
            self,
            x=choices.x or self.x,
            y=choices.y or self.y,
            group=choices.group or self.group,
            facet=choices.facet or self.facet,
        )


Panels = dict[str, dict[tuple[str, bool], Line]]


def sort(rows: Sequence[Row], view: View) -> tuple[Panels, list[str]]:
    """Return the lines of each panel, and notes on what is left out or mixed."""
    if not rows:
        raise UsageError("rows", "[]", "there is nothing to draw", "measure a point first")
    check_numeric(rows, view.x, "x")
    check_numeric(rows, view.y, "y")
    for argument, named in (("group", view.group), ("facet", view.facet)):
        for column in named:
            if column != MACHINE:
                check(rows, column, argument)
    placed = [r for r in rows if value(r, view.x) is not None and value(r, view.y) is not None]
    notes = []
    if len(placed) < len(rows):
        out = plural(len(rows) - len(placed), "row")
        notes.append(f"{out} without {view.x} or {view.y} left out")
    if not placed:
        raise UsageError("y", view.y, f"is known in no row that has {view.x}", "choose another")
    columns = {*view.group, *view.facet} - {MACHINE}
    found = [
        (_name(view.facet, label, row), _name(view.group, label, row), row)
        for label, row in labelled(placed, view.apart + tuple(columns))
    ]
    bad = {panel for panel, _, row in found if broken(row)}
    panels, more = _facets.largest([p for p, _, _ in found], _facets.MOST, "panel", bad)
    found = [each for each in found if each[0] in panels]
    many = [(name, row.get("protocol") is not None) for _, name, row in found]
    bad = {name for _, name, row in found if broken(row)}
    models, less = _facets.largest([n for n, code in many if not code], len(LOOKS), "line", bad)
    codes = {name for name, code in many if code}
    kept = {*models, *codes}
    gathered: dict[str, dict[tuple[str, bool], dict[float, list[Row]]]] = {p: {} for p in panels}
    for panel, name, row in found:
        if name in kept:
            line = gathered[panel].setdefault((name, row.get("regime") == "step"), {})
            line.setdefault(value(row, view.x), []).append(row)
    mixed: set[str] = set()
    result: Panels = {}
    for panel, series in gathered.items():
        result[panel] = {}
        for name, step in sorted(
            series, key=lambda key: ([*models, *sorted(codes)].index(key[0]), key)
        ):
            points = series[name, step]
            for held in points.values():
                found_here = differing(held, {view.x, *view.facet, *view.group})
                if not found_here and not seeds_alone(held):
                    found_here = told_apart(held)
                mixed |= set(found_here)
            result[panel][name, step] = Line(
                name,
                step,
                {x: tuple(sorted(held, key=order)) for x, held in sorted(points.items())},
                next(iter(points.values()))[0].get("protocol"),
            )
    if "model" in mixed:  # the rest follows from it
        mixed = {name for name in mixed if not name.startswith("config") and name != "init"}
    if any(name.startswith("config") for name in mixed):
        mixed -= {"state_numbers"}
    if mixed:
        notes.append(
            f"points are means over rows that differ in {', '.join(sorted(mixed))}: "
            "name these in --group or --facet, or keep one value with --where"
        )
    return result, notes + more + less


def _name(columns: Sequence[str], label: str, row: Row) -> str:
    return ", ".join(label if c == MACHINE else say(c, value(row, c)) for c in columns)


def with_several(groups: Iterable[Sequence[Row]], column: str) -> list[Row]:
    """Return the rows of groups with several values in a column, or with a broken limit."""
    return [
        row
        for held in groups
        if len({row[column] for row in held}) > 1 or any(broken(r) for r in held)
        for row in held
    ]
