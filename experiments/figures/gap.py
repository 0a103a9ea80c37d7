"""The gap figure: from the wall down to what a machine's own Bob answers, part by part.

A column a machine. From above: what no protocol can have; what lies between the ball limit
and the best known code of as many bits; what Alice lost, whose message tells the optimal Bob
less than that code would; and what the machine's own Bob lost, who does not make the best of
the message. What is left is his success, above a coin toss.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from statebound.errors import UsageError
from statebound.experiments.figures import _bars
from statebound.experiments.figures._columns import Row
from statebound.experiments.figures._lines import Line, lines, models, select
from statebound.experiments.figures._pieces import (
    broken,
    broken_note,
    named,
    ring,
    ring_handle,
)
from statebound.experiments.figures._style import (
    BLACK,
    BLUE,
    FORBIDDEN,
    ORANGE,
    SKY,
    VERMILLION,
    unit,
)
from statebound.experiments.figures._success import IMPOSSIBLE

OWN, LOST_BOB, LOST_ALICE, LOST_BOTH = "own Bob", "lost by Bob", "lost by Alice", "lost by both"
OPTIMAL, UNKNOWN = "optimal Bob", "known code to wall"

# From the bottom to the top: colour, hatch, and what the legend says.
_LOOKS: dict[str, tuple[str, str, str]] = {
    OWN: (BLUE, "", "answered by the machine's own Bob"),
    OPTIMAL: (SKY, "", "answered by the optimal Bob; its own is not counted"),
    LOST_BOB: (ORANGE, "", "lost by its own Bob"),
    LOST_BOTH: ("white", "xxx", "lost by Alice or Bob: sampled, the optimal Bob is not known"),
    LOST_ALICE: (VERMILLION, "///", "lost by Alice's encoder"),
    UNKNOWN: ("white", "...", "best known code to ball limit"),
}


@dataclass(frozen=True)
class Column:
    """One machine, a mean over seeds: its name, M, where it starts, and its parts upwards.

    It is `broken` where one of its rows broke a proved limit.
    """

    name: str
    bits: int
    bottom: float
    parts: tuple[tuple[str, float], ...]
    broken: bool = False

    @property
    def wall(self) -> float:
        """Where the parts end: the ball limit."""
        return self.bottom + sum(height for _, height in self.parts)


def make(rows: Sequence[Row], kind: str = "paper") -> tuple[Figure, list[str]]:
    """Return the figure in a style of `_style.style`, and notes.

    Raises
    ------
    UsageError
        When no row is about a machine with a known limit.
    """
    kept, notes = select(rows)
    held, more = columns(kept)
    title = f"Where success is lost on {named(kept[0])}"
    figure = _bars.make(held, draw, _handles, title, kind)
    return figure, notes + more + broken_note(kept)


def columns(rows: Sequence[Row]) -> tuple[list[Column], list[str]]:
    """Return the columns of rows of one problem, by M and by name, and what is left out.

    Where any machine was trained, those alone.

    Raises
    ------
    UsageError
        When there is none.
    """
    machines = [row for row in rows if row["model"] is not None and row["wall_ball"] is not None]
    shown = [row for row in machines if row["init"] == "trained"] or machines
    if not shown:
        raise UsageError(
            "rows", len(rows), "no row is of a machine with a known limit", "measure a machine"
        )
    notes = []
    if len(shown) < len(machines):
        out = len(machines) - len(shown)
        notes.append(f"{out} row{'s' * (out != 1)} of machines that were not trained left out")
    # Each row has the whole split, whichever Bob it was measured with.
    every = models(lines([row | {"bob": _count(row)} for row in shown]))
    found = [_column(line, bits, held) for line in every for bits, held in line.rows.items()]
    over = [c.name for c in found if any(height < 0 for _, height in c.parts)]
    notes += [f"{name}: above its limit, so a bit was not counted" for name in over]
    return sorted(found, key=lambda c: (c.bits, c.name)), notes


def _count(row: Row) -> str:
    return "sampled" if row["optimal_success"] is None else "exact"


def _column(line: Line, bits: int, rows: Sequence[Row]) -> Column:
    own, optimal = _mean(rows, "own_success"), _mean(rows, "optimal_success")
    wall, code = _mean(rows, "wall_ball"), _mean(rows, "best_known")
    success, bottom = _mean(rows, "success"), _mean(rows, "chance") or 0.0
    assert wall is not None
    assert success is not None
    best = success if optimal is None else optimal
    reached = max(code or 0.0, best, own or 0.0)  # a machine may be better than known codes
    sampled = optimal is None
    levels = [(OPTIMAL, best)] if own is None else [(OWN, own)]
    if own is not None and optimal is not None:
        levels.append((LOST_BOB, optimal))
    levels += [(LOST_BOTH if sampled else LOST_ALICE, reached), (UNKNOWN, wall)]
    parts, last = [], bottom
    for name, level in levels:
        parts.append((name, level - last))
        last = level
    shape = line.label.removesuffix(", trained").replace(", trained,", ",")
    name = f"{shape}, step" if line.step else shape
    return Column(name, bits, bottom, tuple(parts), any(broken(row) for row in rows))


def _mean(rows: Sequence[Row], key: str) -> float | None:
    values = [row.get(key) for row in rows]
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if len(known) == len(values) else None


def draw(axes: Axes, held: Sequence[Column]) -> None:
    """Draw columns, in their order, on empty axes inside a `_style.style` context."""
    size = unit()
    bottom = min(c.bottom for c in held)
    top = max(c.wall for c in held)
    top += 0.09 * (top - bottom)
    places, groups = _bars.places([column.bits for column in held])
    for x, column in zip(places, held, strict=True):
        level = column.bottom
        for name, height in column.parts:
            colour, hatch, _ = _LOOKS[name]
            axes.bar(
                x,
                height,
                0.8,
                level,
                color=colour,
                hatch=hatch,
                edgecolor=BLACK if hatch else colour,
                lw=0.4 * size,
                zorder=2,
                label=f"_{name}",
            )
            level += height
        axes.bar(x, max(0, min(top, 1) - level), 0.8, level, color=FORBIDDEN, lw=0, zorder=1)
        axes.plot([x - 0.4, x + 0.4], [level, level], color=BLACK, lw=2.4 * size, zorder=3)
    ring(axes, [(x, c.wall) for x, c in zip(places, held, strict=True) if c.broken])
    _bars.heads(axes, groups, top, 0.012 * (top - bottom))
    axes.set_xlim(places[0] - 0.7, places[-1] + 0.7)
    axes.set_ylim(bottom, top + 0.08 * (top - bottom))
    axes.set_xticks(places, [c.name for c in held], rotation=90)
    axes.tick_params(axis="x", length=0)
    axes.set_ylabel("success probability")
    axes.yaxis.set_major_locator(MaxNLocator(7, steps=[1, 2, 2.5, 5, 10]))


def _handles(held: Iterable[Column]) -> list[Artist]:
    """Return what the legend explains, from the top to the bottom."""
    size = unit()
    rings = [ring_handle()] if any(column.broken for column in held) else []
    used = {name for column in held for name, height in column.parts if ceil(1e9 * height)}
    found: list[Artist] = [
        Patch(color=FORBIDDEN, lw=0, label=IMPOSSIBLE),
        Line2D([], [], color=BLACK, lw=2.4 * size, label="ball limit"),
    ]
    for name in reversed(_LOOKS):
        if name in used:
            colour, hatch, text = _LOOKS[name]
            edge = BLACK if hatch else colour
            found.append(Patch(fc=colour, hatch=hatch, ec=edge, lw=0.4 * size, label=text))
    return found + rings
