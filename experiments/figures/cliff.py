"""The cliff beside the slope: all answers right at once, and the average, of one machine.

Above, both on one scale with both limits; below, all at once on a scale of powers of 2,
where its limit 2^(M - n) is a straight line. A column of panels a regime.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from statebound.errors import UsageError
from statebound.experiments.curves import Curves
from statebound.experiments.figures import _facets
from statebound.experiments.figures._columns import Row, plural
from statebound.experiments.figures._lines import Line, lines, protocols, select
from statebound.experiments.figures._pieces import (
    broken,
    broken_note,
    handle,
    interval_handles,
    legend,
    mean_and_seeds,
    named,
    ring,
    ring_handle,
    rows_of,
    stroke,
)
from statebound.experiments.figures._style import (
    BLACK,
    FORBIDDEN,
    GREY,
    LOOKS,
    Look,
    Mark,
    marks,
    style,
    unit,
)

_HEIGHT = 5.2


def make(rows: Sequence[Row], curves: Curves, kind: str = "paper") -> tuple[Figure, list[str]]:
    """Return the figure in a style of `_style.style`, and notes.

    Parameters
    ----------
    rows
        Result rows; of several problems or sizes the commonest is drawn.
    curves
        As `statebound.experiments.curves.cliff_curves` gives them.
    kind
        The style.

    Raises
    ------
    UsageError
        When no row knows how often all answers are right.
    """
    kept, notes = select(rows)
    known = [row for row in kept if row["all_correct"] is not None]
    if not known:
        raise UsageError(
            "rows", len(kept), "none has all_correct", "measure with the optimal Bob, exactly"
        )
    if len(known) < len(kept):
        notes.append(f"{plural(len(kept) - len(known), 'row')} without all_correct left out")
    every = lines(known)
    names = [line.label for line in every if line.protocol is None for _ in line.rows]
    bad = {line.label for line in every if any(broken(row) for row in rows_of([line]))}
    models, more = _facets.largest(names, len(LOOKS), "machine", bad)
    every = [line for line in every if line.protocol is not None or line.label in models]
    looks: dict[str, Look | Mark] = {
        **dict(zip(models, LOOKS, strict=False)),
        **marks(protocols(every)),
    }
    if not curves.get("ball"):
        more.append("no proved limit is known for this problem: none is drawn")
    with style(kind):
        figure = Figure(layout="constrained")
        if kind == "paper":
            figure.set_figheight(_HEIGHT)
        regimes = [step for step in (False, True) if any(_here(x, step) for x in every)]
        panels = figure.subplots(2, len(regimes), sharex=True, sharey="row", squeeze=False)
        for step, upper, lower in zip(regimes, panels[0], panels[1], strict=True):
            held = [line for line in every if _here(line, step)]
            _draw(upper, held, looks, curves, ("success", "all_correct"))
            _draw(lower, held, looks, curves, ("all_correct",))
            upper.set_title("step" if step else "handoff")
            lower.set_xlabel("state bits M")
        _scale(panels[0, 0], panels[1, 0], every, curves)
        title = f"On average and all at once, {named(kept[0])}"
        shown = [handle(label, look) for label, look in looks.items()]
        legend(figure, shown, "upper", title)
        legend(figure, _handles(every, curves), "lower")
    return figure, notes + more + broken_note(rows_of(every))


def _here(line: Line, step: bool) -> bool:
    """Tell whether a line belongs to a column of panels: codes are sent at the handoff."""
    return line.step == step


def _draw(
    axes: Axes,
    held: Sequence[Line],
    looks: Mapping[str, Look | Mark],
    curves: Curves,
    keys: Sequence[str],
) -> None:
    size = unit()
    for key in keys:
        name = {"success": "ball", "all_correct": "all_correct"}[key]
        if curves.get(name):
            wall = np.array(curves[name], float)
            style_of = "-" if key == "success" else (0, (3.5, 1))
            axes.plot(*wall.T, color=BLACK, lw=2.2 * size, ls=style_of, zorder=2.2, label="_limit")
            if key == keys[0]:
                axes.fill_between(
                    wall[:, 0], wall[:, 1], 2, color=FORBIDDEN, lw=0, zorder=1, label="_impossible"
                )
    if "success" in keys and curves.get("chance"):
        level = curves["chance"][0][1]
        axes.axhline(level, color=GREY, lw=size, ls=(0, (1, 1.6)), zorder=1.5, label="_chance")
    for line in held:
        for key in reversed(keys):  # dashed and open is all at once, here
            shown = Line(line.label, key == "all_correct", line.rows, line.protocol)
            look = looks[line.label]
            if key == "all_correct" and (len(keys) > 1 or isinstance(look, Mark)):
                colour = GREY if isinstance(look, Mark) else look.colour
                look = Mark(look.marker, False, look.grow, colour)  # no line: a cliff has no slope
            mean_and_seeds(axes, shown, look, key, 1, 0.85, band=True)
    ring(
        axes,
        [
            (m, row[keys[0]])
            for line in held
            for m, rows in line.rows.items()
            for row in rows
            if broken(row)
        ],
    )


def _scale(upper: Axes, lower: Axes, every: Sequence[Line], curves: Curves) -> None:
    rows = rows_of(every)
    most = max(row["state_bits"] for row in rows)
    walls = [m for points in curves.values() for m, _ in points]
    right = 1.02 * max(most, *walls, 1)
    upper.set(xlim=(-0.02 * right, right), ylim=(-0.03, 1.03), ylabel="probability")
    upper.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    upper.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    lower.set_yscale("log", base=2)
    least = min(
        [row["all_correct"] for row in rows if row["all_correct"] > 0]
        + [value for _, value in curves.get("all_correct", ())],
        default=0.5,
    )
    lower.set(ylim=(least / 1.6, 1.6), ylabel="all answers right at once")


def _handles(every: Sequence[Line], curves: Curves) -> list[Artist]:
    size, neutral = unit(), Look(BLACK, "o", (3.0, 1.4))
    rows = rows_of(every)
    found: list[Artist] = [
        Line2D([], [], color=BLACK, label="average over answers", **stroke(neutral, False)),
        Line2D([], [], color=BLACK, label="all at once", **stroke(neutral, True)),
    ]
    if any(len(held) > 1 for line in every for held in line.rows.values()):
        found.append(Patch(color=GREY, alpha=0.3, lw=0, label="range over seeds"))
    found += interval_handles(row["interval_level"] for row in rows)
    look: dict[str, Any] = {"color": BLACK, "lw": 2.2 * size}
    if curves.get("ball"):
        found.append(Line2D([], [], label="ball limit", **look))
    if curves.get("all_correct"):
        found.append(Line2D([], [], ls=(0, (3.5, 1)), label="limit of all at once", **look))
    if curves.get("chance"):
        found.append(Line2D([], [], color=GREY, lw=size, ls=(0, (1, 1.6)), label="coin toss"))
    if any(broken(row) for row in rows):
        found.append(ring_handle())
    return found
