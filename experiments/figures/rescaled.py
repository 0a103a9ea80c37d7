"""The collapse of the collapse: success at many n over M / n, which falls on one curve.

The walls of all n lie below the rate-distortion limit, which depends on M / n alone, and
come nearer to it as n grows. A panel a machine, points and a thin wall an n.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from statebound.errors import UsageError
from statebound.experiments.curves import Curves
from statebound.experiments.figures import _facets
from statebound.experiments.figures._columns import NOTHING, Choices, Row, plural
from statebound.experiments.figures._lines import Line, labelled, order, select
from statebound.experiments.figures._pieces import (
    RATE,
    broken,
    broken_note,
    drawing_order,
    handle,
    interval_handles,
    legend,
    mean_and_seeds,
    ring,
    ring_handle,
    rows_of,
    scaled,
    stroke,
)
from statebound.experiments.figures._style import (
    BLACK,
    FORBIDDEN,
    GREY,
    LOOKS,
    Look,
    style,
    unit,
)

TAKES = ("facet",)
_FORBIDDEN = "impossible at any n"


def make(
    rows: Sequence[Row],
    curves: Mapping[int, Curves],
    limit: Sequence[tuple[float, float]],
    kind: str = "paper",
    choices: Choices = NOTHING,
) -> tuple[Figure, list[str]]:
    """Return the figure in a style of `_style.style`, and notes.

    Parameters
    ----------
    rows
        Result rows of one problem at several n; of several problems the commonest is drawn.
    curves
        The walls by n, as `statebound.experiments.curves.collapse_curves` gives them.
    limit
        What holds at every n, over M / n: `statebound.experiments.curves.rate_limit`, or
        nothing.
    kind, choices
        The style; a column for panels instead of the machine.

    Raises
    ------
    UsageError
        When there are no rows, none with independent answers, or no such column.
    """
    kept, notes = select(rows, sizes=True)
    choices.check_panels(kept)
    walled = [row for row in kept if row["effective_n"]]
    if not walled:
        raise UsageError(
            "rows", len(kept), "no answers are independent, so there is no M / n", "draw lines"
        )
    if len(walled) < len(kept):
        notes.append(f"{plural(len(kept) - len(walled), 'row')} without effective n left out")
    kept = walled
    bad_n = {row["n"] for row in kept if broken(row)}
    sizes, more = _facets.largest([row["n"] for row in kept], len(LOOKS), "n", bad_n)
    notes += more
    kept = [row for row in kept if row["n"] in sizes]
    pairs = [(choices.panel(row) if choices.facet else label, row) for label, row in labelled(kept)]
    bad = {name for name, row in pairs if broken(row)}
    names, more = _facets.largest([name for name, _ in pairs], _facets.MOST, "panel", bad)
    looks = dict(zip(sizes, LOOKS, strict=False))
    panels = {name: _lines([row for own, row in pairs if own == name]) for name in names}
    every = [line for held in panels.values() for line in held]
    if not any(held.get("ball") for held in curves.values()):
        more.append("no proved limit is known for this problem: none is drawn")
    with style(kind):
        figure = Figure()
        axes = _facets.grid(figure, names, kind)
        right = 1.03 * max(1.0, *(m for line in every for m in line.rows))
        for each, held in zip(axes, panels.values(), strict=True):
            _panel(each, held, curves, limit, looks, right)
        _scale(axes[0], every, right)
        _facets.label(axes, RATE, "success probability")
        title = f"Success on {kept[0]['problem']} at every n over M / n"
        shown = [handle(f"n = {n}", look) for n, look in looks.items()]
        legend(figure, shown, "upper", title)
        legend(figure, _handles(every, curves, limit), "lower")
    return figure, notes + more + broken_note(rows_of(every))


def _lines(rows: Sequence[Row]) -> list[Line]:
    """Return a line for each n and regime, over M / effective n."""
    found: dict[tuple[int, bool], dict[float, list[Row]]] = {}
    for row in rows:
        line = found.setdefault((row["n"], row["regime"] == "step"), {})
        line.setdefault(row["state_bits"] / row["effective_n"], []).append(row)
    return [
        Line(str(n), step, {x: tuple(sorted(r, key=order)) for x, r in sorted(held.items())})
        for (n, step), held in sorted(found.items())
    ]


def _panel(
    axes: Axes,
    lines: Sequence[Line],
    curves: Mapping[int, Curves],
    limit: Sequence[tuple[float, float]],
    looks: Mapping[int, Look],
    right: float,
) -> None:
    size = unit()
    answers = {row["n"]: row["effective_n"] for row in rows_of(lines)}
    _limit(axes, limit, right)
    for n, effective in answers.items():
        held = curves.get(n, {})
        wall = scaled(held, "ball", effective, right)
        if len(wall):
            axes.plot(*wall.T, color=looks[n].colour, lw=0.9 * size, zorder=2.2, label="_ball")
        chance = scaled(held, "chance", effective, right)
        if len(chance):
            dots = (0, (1, 1.6))
            axes.plot(*chance.T, color=GREY, lw=size, ls=dots, zorder=1.5, label="_chance")
    for line in drawing_order(lines):
        mean_and_seeds(axes, line, looks[int(line.label)], "success", 1, 0.85)
    ring(
        axes,
        [
            (x, r["success"])
            for line in lines
            for x, held in line.rows.items()
            for r in held
            if broken(r)
        ],
    )


def _limit(axes: Axes, limit: Sequence[tuple[float, float]], right: float) -> None:
    """Draw the limit that holds at every n, and shade what is above it."""
    if not limit:
        return
    x, y = zip(*limit, (right, limit[-1][1]), strict=True)
    axes.plot(x, y, color=BLACK, lw=1.8 * unit(), zorder=2.1, label="_limit")
    axes.fill_between(x, y, 1.2, color=FORBIDDEN, lw=0, zorder=1, label="_impossible")


def _scale(axes: Axes, lines: Sequence[Line], right: float) -> None:
    values = [row[key] for row in rows_of(lines) for key in ("success", "success_low")]
    chances = [row["chance"] for row in rows_of(lines) if row["chance"] is not None]
    low = min(values + chances)
    axes.set(xlim=(-0.02 * right, right), ylim=(low - 0.06 * (1 - low), 1 + 0.03 * (1 - low)))
    axes.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))


def _handles(
    lines: Sequence[Line],
    curves: Mapping[int, Curves],
    limit: Sequence[tuple[float, float]],
) -> list[Artist]:
    size, neutral = unit(), Look(BLACK, "o", (3.0, 1.4))
    rows = rows_of(lines)
    found: list[Artist] = []
    for step, text in ((False, "handoff"), (True, "step")):
        if any(row["regime"] == text for row in rows):
            found.append(Line2D([], [], color=BLACK, label=text, **stroke(neutral, step)))
    if any(len(held) > 1 for line in lines for held in line.rows.values()):
        found.append(Patch(color=GREY, alpha=0.3, lw=0, label="range over seeds"))
    found += interval_handles(row["interval_level"] for row in rows)
    if any(held.get("ball") for held in curves.values()):
        found.append(Line2D([], [], color=GREY, lw=0.9 * size, label="ball limit of each n"))
    if limit:
        look: dict[str, Any] = {"color": BLACK, "lw": 1.8 * size}
        found.append(Line2D([], [], label="rate-distortion limit, any n", **look))
        found.append(Patch(color=FORBIDDEN, lw=0, label=_FORBIDDEN))
    if any(held.get("chance") for held in curves.values()):
        found.append(Line2D([], [], color=GREY, lw=size, ls=(0, (1, 1.6)), label="coin toss"))
    if any(broken(row) for row in rows):
        found.append(ring_handle())
    return found
