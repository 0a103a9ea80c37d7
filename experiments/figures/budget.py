"""Where each bit of the state goes: sent, reached, used evenly, told of one answer, needed.

A column a machine, a mean over seeds. log2 of the messages that occur is at most M, their
entropy at most that, and what they tell of the answers one by one at most the entropy
(where answers are independent; else of all answers jointly). Needed is what the success
takes at least; it is another view, since success rewards codes and stored bits do not, and
is marked, not stacked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from statebound.errors import UsageError
from statebound.experiments.figures import _bars
from statebound.experiments.figures._columns import Row, plural
from statebound.experiments.figures._lines import lines, select
from statebound.experiments.figures._pieces import (
    broken,
    broken_note,
    named,
    ring,
    ring_handle,
)
from statebound.experiments.figures._style import BLACK, BLUE, ORANGE, SKY, unit

# From the bottom to the top: colour, hatch, and what the legend says.
_LOOKS: tuple[tuple[str, str, str], ...] = (
    (BLUE, "", "stored: told of the answers one by one"),
    (SKY, "///", "in the message, but told of no answer alone"),
    (ORANGE, "xxx", "lost: messages occur unequally often"),
    ("white", "...", "lost: messages that never occur"),
)
_NEEDED = ("distinct_messages", "message_entropy", "stored_bits")
_ROUNDING = 1e-6


@dataclass(frozen=True)
class Column:
    """One machine: name, M, the heights of its parts from the bottom, needed bits or None."""

    name: str
    bits: int
    parts: tuple[float, ...]
    needed: float | None
    broken: bool


def make(rows: Sequence[Row], kind: str = "paper") -> tuple[Figure, list[str]]:
    """Return the figure in a style of `_style.style`, and notes.

    Raises
    ------
    UsageError
        When no row knows its messages.
    """
    kept, notes = select(rows)
    held, more = columns(kept)
    title = f"Where each bit of the state goes, {named(kept[0])}"
    figure = _bars.make(held, draw, _handles, title, kind)
    return figure, notes + more + broken_note(kept)


def columns(rows: Sequence[Row]) -> tuple[list[Column], list[str]]:
    """Return the columns of rows of one problem, by M and by name, and what is left out.

    Raises
    ------
    UsageError
        When there is none.
    """
    exact = [row for row in rows if all(row[key] is not None for key in _NEEDED)]
    notes = []
    if not exact:
        raise UsageError(
            "rows",
            len(rows),
            "none knows its messages: samples cannot count them",
            "measure a smaller n exactly",
        )
    if len(exact) < len(rows):
        out = plural(len(rows) - len(exact), "row")
        notes.append(f"{out} that cannot know the messages (sampled) left out")
    found = []
    for line in lines(exact):
        name = f"{line.label}, step" if line.step else line.label
        found += [_column(name, bits, held) for bits, held in line.rows.items() if bits]
    nothing = sum(row["state_bits"] == 0 for row in exact)
    if nothing:
        notes.append(f"{plural(nothing, 'row')} that sent nothing left out")
    if not found:
        raise UsageError("rows", len(rows), "no row sent anything", "measure a state of a bit")
    odd = sorted({c.name for c in found if min(c.parts) < -_ROUNDING})
    notes += [f"{name}: parts below 0, so something was counted wrongly" for name in odd]
    without = sum(column.needed is None for column in found)
    if without:
        notes.append(f"{plural(without, 'column')} without needed bits: no limit is known")
    return sorted(found, key=lambda column: (column.bits, column.name)), notes


def _column(name: str, bits: int, rows: Sequence[Row]) -> Column:
    count = len(rows)
    stored = sum(row["stored_bits"] for row in rows) / count
    entropy = sum(row["message_entropy"] for row in rows) / count
    reached = sum(log2(row["distinct_messages"]) for row in rows) / count
    needed = [row["needed_bits"] for row in rows if row["needed_bits"] is not None]
    return Column(
        name,
        bits,
        (stored, entropy - stored, reached - entropy, bits - reached),
        sum(needed) / count if len(needed) == count else None,
        any(broken(row) for row in rows),
    )


def draw(axes: Axes, held: Sequence[Column]) -> None:
    """Draw columns, in their order, on empty axes inside a `_style.style` context."""
    size = unit()
    top = 1.05 * max(column.bits for column in held)
    places, groups = _bars.places([column.bits for column in held])
    for x, column in zip(places, held, strict=True):
        level = 0.0
        for (colour, hatch, _), height in zip(_LOOKS, column.parts, strict=True):
            axes.bar(
                x,
                height,
                0.8,
                level,
                color=colour,
                hatch=hatch,
                edgecolor=BLACK,
                lw=0.4 * size,
                zorder=2,
                label="_part",
            )
            level += height
        axes.plot([x - 0.4, x + 0.4], [column.bits] * 2, color=BLACK, lw=2.4 * size, zorder=3)
    marks = [(x, c.needed) for x, c in zip(places, held, strict=True) if c.needed is not None]
    if marks:
        axes.plot(*zip(*marks, strict=True), zorder=5, label="_needed", **_mark())
    ring(axes, [(x, c.bits) for x, c in zip(places, held, strict=True) if c.broken])
    _bars.heads(axes, groups, top, 0.012 * top)
    axes.set_xlim(places[0] - 0.7, places[-1] + 0.7)
    axes.set_ylim(0, 1.08 * top)
    axes.set_xticks(places, [column.name for column in held], rotation=90)
    axes.tick_params(axis="x", length=0)
    axes.set_ylabel("bits")
    axes.yaxis.set_major_locator(MaxNLocator(7, integer=True))


def _mark() -> dict[str, Any]:
    size = unit()
    return {
        "marker": "D",
        "ms": 4.6 * size,
        "mfc": "white",
        "mec": BLACK,
        "mew": 1.1 * size,
        "ls": "none",
    }


def _handles(held: Sequence[Column]) -> list[Artist]:
    """Return what the legend explains, from the top to the bottom."""
    size = unit()
    found: list[Artist] = [
        Line2D([], [], color=BLACK, lw=2.4 * size, label="state bits M"),
        Line2D([], [], label="needed for its success, at least", **_mark()),
    ]
    for at in reversed(range(len(_LOOKS))):
        if any(column.parts[at] > _ROUNDING for column in held):
            colour, hatch, text = _LOOKS[at]
            found.append(Patch(fc=colour, hatch=hatch, ec=BLACK, lw=0.4 * size, label=text))
    return found + ([ring_handle()] if any(column.broken for column in held) else [])
