"""One column against another: lines, panels, and the walls that rows know of.

Three figures are views of this one: `lines`, `precision` and `drift`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator

from statebound.experiments.figures import _facets
from statebound.experiments.figures._columns import (
    OUTCOMES,
    Row,
    axis,
    seeds_alone,
    value,
)
from statebound.experiments.figures._lines import Line, protocols
from statebound.experiments.figures._pieces import (
    broken,
    broken_note,
    drawing_order,
    ends,
    handle,
    interval_handles,
    legend,
    mean_and_seeds,
    ring,
    ring_handle,
    rows_of,
    stroke,
)
from statebound.experiments.figures._style import (
    BLACK,
    GREY,
    LOOKS,
    Look,
    Mark,
    marks,
    style,
    unit,
)
from statebound.experiments.figures._views import MACHINE, View, sort

SUCCESSES = ("success", "optimal_success", "own_success", "reader_success")
_DOUBLING = ("n", "tokens", "bits_per_number", "trials", "state_numbers")
_WIDE = 50  # the quotient of values beyond which a vertical axis counts in decades
_SPREAD = 4  # ends of an axis that far apart are laid out by their logarithm


def make(rows: Sequence[Row], view: View, kind: str) -> tuple[Figure, list[str]]:
    """Return the figure in a style of `_style.style`, and notes on what is left out.

    Raises
    ------
    UsageError
        When a column is not there or holds no numbers, or no row has both.
    """
    panels, notes = sort(rows, view)
    every = [line for held in panels.values() for line in held.values()]
    looks = _looks(every, view)
    with style(kind):
        figure = Figure()
        names = list(panels)
        axes = _facets.grid(figure, names, kind)
        for panel, held in zip(axes, panels.values(), strict=True):
            _panel(panel, list(held.values()), looks, view)
        _scale(axes, every, view)
        _facets.label(axes, axis(view.x), axis(view.y))
        shown = [handle(name, look) for name, look in looks.items()]
        legend(figure, shown, "upper", view.title or None)
        keys = _handles(every, view)
        if keys:
            legend(figure, keys, "lower")
    return figure, notes + broken_note(rows_of(every))


def _looks(lines: Sequence[Line], view: View) -> dict[str, Look | Mark]:
    """Return looks by label: protocols are marks where they are named, all else is lines."""
    named = MACHINE in view.group
    apart = view.x in OUTCOMES
    models = list(dict.fromkeys(x.label for x in lines if x.protocol is None or not named))
    looks: dict[str, Look | Mark] = dict(zip(models, LOOKS * 2, strict=False))
    if apart:
        looks = {
            name: Mark(look.marker, True, look.grow, look.colour)
            for name, look in zip(models, LOOKS * 2, strict=False)
        }
    if named:
        looks.update(marks(protocols(lines)))
    return looks


def _panel(axes: Axes, lines: Sequence[Line], looks: Mapping[str, Look | Mark], view: View) -> None:
    _walls(axes, lines, looks, view)
    for line in drawing_order(lines):
        look = looks[line.label]
        if isinstance(look, Mark) and line.step:  # open, as the points of a dashed line are
            look = replace(look, filled=False)
        mean_and_seeds(axes, line, look, view.y, 1, band=view.x not in OUTCOMES)
    ring(
        axes,
        [
            (x, value(row, view.y))
            for line in lines
            for x, held in line.rows.items()
            for row in held
            if broken(row)
        ],
    )
    level = chance(rows_of(lines), view.y)
    if level is not None:
        axes.axhline(level, color=GREY, lw=unit(), ls=(0, (1, 1.6)), zorder=1.5, label="_chance")


def chance(rows: Sequence[Row], y: str) -> float | None:
    """Return the success, or error, of a coin where all rows agree in it."""
    if y not in (*SUCCESSES, "error"):
        return None
    levels = {row.get("chance") for row in rows}
    level = levels.pop() if len(levels) == 1 else None
    return level if level is None or y != "error" else 1 - level


def walled(view: View) -> bool:
    """Tell whether a limit of success has a place in a figure."""
    return view.y in (*SUCCESSES, "error") and view.x not in OUTCOMES


def walls(lines: Sequence[Line], y: str) -> list[dict[float, float]]:
    """Return for each line the ball limit by x, where every row there has the same."""
    found = []
    for line in lines:
        held = {x: {row.get("wall_ball") for row in rows} for x, rows in line.rows.items()}
        one = {x: w.pop() for x, w in held.items() if len(w) == 1}
        known = {x: w for x, w in one.items() if w is not None}
        found.append({x: 1 - w if y == "error" else w for x, w in known.items()})
    return found


def _walls(axes: Axes, lines: Sequence[Line], looks: Mapping[str, Look | Mark], view: View) -> None:
    """Draw the limit at each point, once where all lines share it, else in each line's look.

    Between the points it is not known to this figure: a thin line leads the eye.
    """
    if not walled(view):
        return
    every = walls(lines, view.y)
    merged: dict[float, set[float]] = {}
    for known in every:
        for x, w in known.items():
            merged.setdefault(x, set()).add(w)
    shared = all(len(held) == 1 for held in merged.values())
    drawn: list[tuple[dict[float, float], str]] = []
    if shared:
        drawn = [({x: held.pop() for x, held in merged.items()}, BLACK)]
    else:
        for known in every:
            owners = {x.label for x, other in zip(lines, every, strict=True) if other == known}
            colour = looks[owners.pop()].colour if len(owners) == 1 else BLACK
            drawn.append((known, colour))
    for known, colour in drawn:
        if known:
            at = sorted(known)
            axes.plot(at, [known[x] for x in at], label="_ball", **_wall(colour, shared))


def _wall(colour: str, shared: bool) -> dict[str, Any]:
    size = unit()
    return {
        "color": colour,
        "lw": (1.4 if shared else 0.8) * size,
        "ls": "-" if shared else (0, (6, 1)),
        "marker": "_",
        "ms": 9 * size,
        "mew": 2.4 * size,
        "zorder": 2.2,
    }


def _scale(panels: Sequence[Axes], lines: Sequence[Line], view: View) -> None:
    """Lay out the axes, which all panels share."""
    axes = panels[0]
    at = sorted({x for line in lines for x in line.rows})
    if view.x in _DOUBLING and at[0] > 0 and at[-1] >= _SPREAD * at[0]:
        axes.set_xscale("log", base=2)
        axes.set_xlim(at[0] / 1.15, at[-1] * 1.15)
    else:
        room = 0.04 * (at[-1] - at[0]) or 1
        axes.set_xlim(at[0] - room, at[-1] + room)
    if view.x in _DOUBLING and len(at) <= 10:
        for each in panels:
            each.xaxis.set_major_locator(FixedLocator(at))
            each.xaxis.set_minor_locator(NullLocator())
            each.xaxis.set_major_formatter(lambda v, _: f"{v:g}")
    else:
        whole = all(float(x).is_integer() for x in at)
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=whole, min_n_ticks=1))
    rows = rows_of(lines)
    values = [value(row, view.y) for row in rows]
    if view.y in ("success", "error"):
        values += [
            e for row in rows if row.get("success_low") is not None for e in ends(row, view.y)
        ]
    if view.y in (*SUCCESSES, "error"):
        level = chance(rows, view.y)
        values += [] if level is None else [level]
    if walled(view):
        values += [w for known in walls(lines, view.y) for w in known.values()]
    low, high = min(values), max(values)
    if view.y not in (*SUCCESSES, "error") and 0 < _WIDE * low <= high:
        axes.set_yscale("log")
        axes.set_ylim(low / 1.4, high * 1.4)
        return
    if low >= 0 and view.y not in SUCCESSES:
        low = 0
    if view.y in SUCCESSES:
        high = max(high, 1) if high > 0.9 else high
    room = 0.05 * (high - low) or 0.05
    axes.set_ylim(low - room, high + room)
    axes.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))


def _neutral(view: View, regime: str) -> Look | Mark:
    """Return the look of a regime in no line's colour."""
    if view.x in OUTCOMES:
        return Mark("o", filled=regime != "step")
    return Look(BLACK, "o", (3.0, 1.4))


def _handles(lines: Sequence[Line], view: View) -> list[Artist]:
    """Explain all but the lines."""
    size, rows = unit(), rows_of(lines)
    found: list[Artist] = []
    regimes: Collection[Any] = {row.get("regime") for row in rows} - {None}
    if len(regimes) > 1 or "step" in regimes:
        found += [
            Line2D([], [], color=BLACK, label=name, **stroke(_neutral(view, name), name == "step"))
            for name in sorted(regimes)
        ]
    many = any(len(held) > 1 for line in lines for held in line.rows.values())
    if many and view.x not in OUTCOMES:
        alone = all(seeds_alone(held) for line in lines for held in line.rows.values())
        over = "seeds" if alone else "rows"
        found.append(Patch(color=GREY, alpha=0.3, lw=0, label=f"range over {over}"))
    if view.y in ("success", "error"):
        found += interval_handles(row.get("interval_level") for row in rows)
    if walled(view) and any(walls(lines, view.y)):
        found.append(
            Line2D([], [], label="ball limit at the points measured", **_wall(BLACK, True))
        )
    level = chance(rows, view.y)
    if level is not None:
        found.append(Line2D([], [], color=GREY, lw=size, ls=(0, (1, 1.6)), label="coin toss"))
    if any(broken(row) for row in rows):
        found.append(ring_handle())
    return found
