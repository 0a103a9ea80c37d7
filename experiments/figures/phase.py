"""The map of success over n and M, with stairs below which the wall forbids a success.

A panel a machine. Cells are what was measured, means over seeds; in a cell below the stairs
of a success no protocol reaches it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FixedLocator, MaxNLocator

from statebound.experiments.curves import Curves
from statebound.experiments.figures import _facets, _maps
from statebound.experiments.figures._columns import NOTHING, Choices, Row
from statebound.experiments.figures._lines import labelled, order, select
from statebound.experiments.figures._pieces import (
    broken,
    broken_note,
    legend,
    ring,
    ring_handle,
    settle,
)
from statebound.experiments.figures._style import BLACK, style, unit

TAKES = ("facet",)
LEVELS = (0.75, 0.9, 1.0)
_ROUNDING = 1e-9
_DASHES = ((1.2, 1.2), (4.0, 1.6), (0.0, 0.0))  # of the levels, lowest first

Panel = dict[tuple[float, float], list[Row]]


def make(
    rows: Sequence[Row], curves: Curves, kind: str = "paper", choices: Choices = NOTHING
) -> tuple[Figure, list[str]]:
    """Return the figure in a style of `_style.style`, and notes.

    Parameters
    ----------
    rows
        Result rows of one problem at several n; of several problems the commonest is drawn.
    curves
        Success as text -> (n, bits), as `statebound.experiments.curves.contours` gives them.
    kind, choices
        The style; a column for panels instead of the machine.

    Raises
    ------
    UsageError
        When there are no rows, or no such column.
    """
    kept, notes = select(rows, sizes=True)
    panels, more = sort(kept, choices)
    shown = [row for held in panels.values() for cell in held.values() for row in cell]
    if not any(curves.values()):
        more.append("no proved limit is known for this problem: no contour is drawn")
    chances = {row["chance"] for row in shown} - {None}
    low = min([row["success"] for row in shown] + [c for c in chances if c is not None])
    norm = Normalize(low, 1)
    with style(kind):
        figure = Figure()
        axes = _facets.grid(figure, list(panels), kind)
        if len(panels) > 1:
            figure.suptitle(f"Success on {kept[0]['problem']} over n and M")
        else:
            axes[0].set_title(f"Success on {kept[0]['problem']}: {next(iter(panels))}")
        across = _maps.edges([row["n"] for row in shown])
        drawn = [
            _panel(each, held, norm, across)
            for each, held in zip(axes, panels.values(), strict=True)
        ]
        _scale(axes, panels, curves, across)
        _facets.label(axes, "n", "state bits M")
        _maps.bar(figure, axes, norm, "success probability")
        handles: list[Artist] = [
            Line2D([], [], label=_text(level), **_look(at))
            for at, (level, points) in enumerate(curves.items())
            if points
        ]
        if any(broken(row) for row in shown):
            handles.append(ring_handle())
        if handles:
            legend(figure, handles, "lower")
        settle(figure)
        for each, (cells, sides) in zip(axes, drawn, strict=True):
            if not _maps.write(each, cells, sides, norm):
                break
    return figure, notes + more + broken_note(shown)


def sort(rows: Sequence[Row], choices: Choices) -> tuple[dict[str, Panel], list[str]]:
    """Return for each panel the rows of each (n, M), and notes on what is left out."""
    if choices.facet:
        choices.check_panels(rows)
        named = [(choices.panel(row), row) for row in rows]
    else:
        named = [
            (f"{label}, step" if row["regime"] == "step" else label, row)
            for label, row in labelled(rows)
        ]
    bad = {name for name, row in named if broken(row)}
    names, notes = _facets.largest([name for name, _ in named], _facets.MOST, "panel", bad)
    panels: dict[str, Panel] = {name: {} for name in names}
    for name, row in named:
        if name in panels:
            panels[name].setdefault((row["n"], row["state_bits"]), []).append(row)
    return {name: dict(sorted(held.items())) for name, held in panels.items()}, notes


def _panel(
    axes: Axes,
    held: Panel,
    norm: Normalize,
    across: Mapping[float, tuple[float, float]],
) -> tuple[dict[tuple[float, float], float], dict[tuple[float, float], tuple[float, ...]]]:
    cells = {
        at: float(np.mean([row["success"] for row in sorted(rows, key=order)]))
        for at, rows in held.items()
    }
    sides: dict[tuple[float, float], tuple[float, ...]] = {}
    for n in dict.fromkeys(n for n, _ in held):
        up = _maps.edges([m for other, m in held if other == n])
        sides |= {(n, m): (*across[n], *up[m]) for m in up}
    _maps.draw(axes, cells, sides, norm)
    ring(axes, [at for at, rows in held.items() if any(broken(row) for row in rows)])
    return cells, sides


def _scale(
    axes: Sequence[Axes],
    panels: Mapping[str, Panel],
    curves: Curves,
    across: Mapping[float, tuple[float, float]],
) -> None:
    top = max(m for held in panels.values() for _, m in held)
    left, right = min(a for a, _ in across.values()), max(b for _, b in across.values())
    for each in axes:
        for at, points in enumerate(curves.values()):
            if points:
                each.plot(*np.array(_stairs(points, across)).T, label="_stairs", **_look(at))
        each.set(xlim=(left, right), ylim=(0, top * 1.04 + 0.5))
        if len(across) <= 10:
            each.xaxis.set_major_locator(FixedLocator(list(across)))
        each.yaxis.set_major_locator(MaxNLocator(6, integer=True))


def _stairs(
    points: Sequence[tuple[int, float]], across: Mapping[float, tuple[float, float]]
) -> list[tuple[float, float]]:
    """Return the corners of a line above all whole M that are below the bits, by n."""
    found: list[tuple[float, float]] = []
    for n, bits in points:
        left, right = across[n]
        level = ceil(bits - _ROUNDING) - 0.5
        if found and abs(found[-1][0] - left) > _ROUNDING:
            found.append((float("nan"), float("nan")))
        found += [(left, level), (right, level)]
    return found


def _text(level: str) -> str:
    return f"below: no protocol reaches {level}"


def _look(at: int) -> dict[str, Any]:
    size = unit()
    dashes = _DASHES[at % len(_DASHES)]
    return {
        "color": BLACK,
        "lw": 1.5 * size,
        "ls": (0, dashes) if any(dashes) else "-",
        "zorder": 3,
        "path_effects": [withStroke(linewidth=3.2 * size, foreground="white")],
    }
