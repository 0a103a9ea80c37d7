"""Rows sorted into the lines of a figure: a line is one model under one regime.

Rows without a model are protocols: codes, controls, tables. Their sizes do not belong to
one machine, so that they are points and not a line.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from statebound import registry
from statebound.errors import UsageError
from statebound.experiments.figures._columns import Row, differing, plural, say, value

_PROBLEM = ("problem", "n", "effective_n", "alphabet", "query_law")
_SIZES = ("n", "effective_n")
# What a protocol is, by the package that holds it.
_KINDS = {"code": "statebound.protocols.codes", "control": "statebound.protocols.controls"}
# What follows from others that tell more.
_SHAPE = ("state_numbers", "bits_per_number")
# What may tell apart two lines of one model, and how a label says it.
_VARIANTS: dict[str, Callable[[Any], str]] = {
    "bits_per_number": lambda v: f"{v} bit{'s' * (v != 1)}",
    "quantiser": str,
    "rounding": lambda v: f"{v} rounding".replace("_", " "),
    "dtype": str,
    "encoding": lambda v: f"encoding {v}",
    "bob": lambda v: f"{v} Bob",
}


@dataclass(frozen=True)
class Line:
    """The rows of one model under one regime, or of one protocol, by state bits in order.

    Attributes
    ----------
    label
        The model and what else names the line, but not the regime.
    step
        Whether the state is quantised after every token; else once, at the handoff.
    rows
        State bits, or what else the axis holds -> the rows there, one for each machine seed.
    protocol
        The name of a protocol; None for a model.
    """

    label: str
    step: bool
    rows: Mapping[Any, tuple[Row, ...]]
    protocol: str | None = None

    def known(self, key: str) -> dict[Any, list[float]]:
        """Return the values of a column that are known, by state bits."""
        found = {m: [value(r, key) for r in rows] for m, rows in self.rows.items()}
        found = {m: [v for v in values if v is not None] for m, values in found.items()}
        return {m: values for m, values in found.items() if values}


def select(rows: Sequence[Row], sizes: bool = False) -> tuple[list[Row], list[str]]:
    """Return the rows of the one problem and size that a figure can show, and notes.

    The largest group is kept; of equal ones the larger problem. With `sizes`, all sizes of
    one problem are kept.

    Raises
    ------
    UsageError
        When there are no rows.
    """
    if not rows:
        raise UsageError("rows", "[]", "there is nothing to draw", "measure a point first")
    if sizes:
        return _one_problem(rows)
    groups = Counter(tuple(row[key] for key in _PROBLEM) for row in rows)
    kept = max(groups, key=lambda group: (groups[group], group[2], str(group)))
    notes = [
        f"{count} row{'s' * (count != 1)} of {group[0]} at n = {group[1]} "
        f"({group[4]} queries) left out: the figure shows {kept[0]} at n = {kept[1]} "
        f"({kept[4]} queries)"
        for group, count in sorted(groups.items(), key=str)
        if group != kept
    ]
    return [row for row in rows if tuple(row[key] for key in _PROBLEM) == kept], notes


def _one_problem(rows: Sequence[Row]) -> tuple[list[Row], list[str]]:
    keys = [key for key in _PROBLEM if key not in _SIZES]
    groups = Counter(tuple(row[key] for key in keys) for row in rows)
    kept = max(groups, key=lambda group: (groups[group], str(group)))
    notes = [
        f"{plural(count, 'row')} of {group[0]} ({group[1]} symbols, {group[2]} queries) left "
        f"out: the figure shows {kept[0]} ({kept[1]} symbols, {kept[2]} queries)"
        for group, count in sorted(groups.items(), key=str)
        if group != kept
    ]
    return [row for row in rows if tuple(row[key] for key in keys) == kept], notes


def lines(rows: Sequence[Row], apart: Collection[str] = ()) -> list[Line]:
    """Return the lines of rows of one problem, sorted by label, handoff before step.

    Labels say only what differs among the rows of a model, but not what is in a column of
    `apart`; the order of rows is of no consequence.
    """
    found: dict[tuple[str, bool], dict[int, list[Row]]] = {}
    for label, row in labelled(rows, apart):
        key = label, row["regime"] == "step"
        found.setdefault(key, {}).setdefault(row["state_bits"], []).append(row)
    return [
        Line(
            label,
            step,
            {m: tuple(sorted(held, key=order)) for m, held in sorted(points.items())},
            next(iter(points.values()))[0]["protocol"],
        )
        for (label, step), points in sorted(found.items())
    ]


def labelled(rows: Sequence[Row], apart: Collection[str] = ()) -> list[tuple[str, Row]]:
    """Return rows with the label of their line, which is as long as it must be.

    Where two machines of one size and seed would share a label, it tells as well by which
    of their settings they differ.
    """
    varies = _varying(rows)
    plain = [(_label(row, varies, apart), row) for row in rows]
    more = {label: _settings(plain, label, apart) for label in {label for label, _ in plain}}
    return [
        (", ".join([label, *(say(name, value(row, name)) for name in more[label])]), row)
        for label, row in plain
    ]


def _settings(plain: Sequence[tuple[str, Row]], label: str, apart: Collection[str]) -> list[str]:
    """Return the fewest settings, in order, that tell the machines under one label apart."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for own, row in plain:
        if own == label:
            place = [row.get(key) for key in (*_PROBLEM, "state_bits", "regime", "machine_seed")]
            beside = [str(value(row, key)) for key in apart]
            groups.setdefault((*place, *beside), []).append(row)
    found: list[str] = []
    while True:
        clashes = [held for held in groups.values() if len(held) > 1]
        names = [name for held in clashes for name in differing(held, (*found, *apart))]
        new = next((name for name in names if name not in _SHAPE), None)
        if new is None:
            return found
        found.append(new)
        split: dict[tuple[Any, ...], list[Row]] = {}
        for key, held in groups.items():
            for row in held:
                split.setdefault((*key, str(value(row, new))), []).append(row)
        groups = split


def models(all_lines: Iterable[Line]) -> list[Line]:
    """Return the lines of models."""
    return [line for line in all_lines if line.protocol is None]


def protocols(all_lines: Iterable[Line]) -> dict[str, str]:
    """Return the labels of protocols, in order, with their names."""
    found = {line.label: line.protocol for line in all_lines if line.protocol is not None}
    return dict(sorted(found.items()))


def kind_and_name(protocol: str) -> str:
    """Return how a figure calls a protocol: "code: polar"."""
    named = protocol.replace("_", " ")
    if protocol.startswith("table:"):
        return protocol
    kinds = (kind for kind, room in _KINDS.items() if protocol in registry.names(room))
    return f"{next(kinds, 'protocol')}: {named}"


def labels(all_lines: Iterable[Line]) -> list[str]:
    """Return the different labels in order."""
    return sorted({line.label for line in all_lines})


def _name(row: Row) -> str:
    if row.get("protocol") is not None:
        return kind_and_name(row["protocol"])
    named = str(row.get("model", "every row")).replace("_", " ")
    return named if row.get("init") is None else f"{named}, {row['init']}".replace("_", " ")


def _value(row: Row, key: str) -> Any:
    """Return what may vary; rows that do not know of a rounding were rounded to nearest."""
    if key == "rounding":
        return row.get(key, "nearest")
    if key == "bits_per_number" and row.get(key) is None:
        real = [field for field in row.get("fields") or () if field["kind"] == "real"]
        return ", ".join(f"{field['name']} {field['bits']}" for field in real) or "mixed"
    return row.get(key)


def _varying(rows: Iterable[Row]) -> dict[str, set[str]]:
    seen: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        for key in _VARIANTS:
            seen.setdefault((_name(row), key), set()).add(str(_value(row, key)))
    varies: dict[str, set[str]] = {}
    for (name, key), values in seen.items():
        if len(values) > 1:
            varies.setdefault(name, set()).add(key)
    return varies


def _label(row: Row, varies: dict[str, set[str]], apart: Collection[str]) -> str:
    name = _name(row)
    extra = [
        words(_value(row, key))
        for key, words in _VARIANTS.items()
        if key in varies.get(name, ()) and key not in apart
    ]
    return ", ".join([name, *extra])


def order(row: Row) -> tuple[int, str]:
    """Return what rows of one place are sorted by."""
    return row.get("machine_seed") or 0, json.dumps(row, sort_keys=True)
