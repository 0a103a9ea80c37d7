"""What the panels of the collapse figure share: axes, strokes, and a line with its seeds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from statebound.experiments.curves import Curves
from statebound.experiments.figures._lines import Line
from statebound.experiments.figures._style import NOTE, Look, small, unit

RATE = "state bits M / effective n"


def mean_and_seeds(
    axes: Axes, line: Line, look: Look, key: str, n: int, scale: float = 1.0
) -> None:
    """Draw the mean over machine seeds, their range, and the interval of each sampled row."""
    known = line.known(key)
    if not known:
        return
    x = np.array(list(known)) / n
    mean = [sum(values) / len(values) for values in known.values()]
    if key == "success" and any(len(values) > 1 for values in known.values()):
        low, high = ([end(values) for values in known.values()] for end in (min, max))
        axes.fill_between(
            x,
            low,
            high,
            color=look.colour,
            alpha=0.09 if line.step else 0.18,
            lw=0,
            zorder=2.4,
            label="_seeds",
        )
    sampled = [
        (m / n, row["success"], row["success_low"], row["success_high"])
        for m, held in line.rows.items()
        for row in held
        if key == "success" and row["interval_level"] is not None
    ]
    if sampled:
        at, best, least, most = np.array(sampled).T
        axes.errorbar(
            at,
            best,
            yerr=np.maximum([best - least, most - best], 0),
            fmt="none",
            ecolor=look.colour,
            elinewidth=0.9 * unit(),
            capsize=1.8 * unit(),
            zorder=2.6,
            label="_interval",
        )
    axes.plot(
        x,
        mean,
        color=look.colour,
        zorder=3 if line.step else 4,
        label=line.label,
        **stroke(look, line.step, scale),
    )


def span(lines: Iterable[Line], curves: Curves, n: int) -> tuple[float, float]:
    """Return the ends of the M/n axis: all rows and curves, and a little room."""
    ends = [m for line in lines for m in line.rows]
    ends += [points[-1][0] for points in curves.values() if points]
    right = 1.03 * (max(ends, default=0) / n or 1.0)
    return -0.01 * right, right


def scaled(curves: Curves, name: str, n: int, right: float) -> NDArray[np.float64]:
    """Return a curve as (M/n, success), prolonged to the panel's edge where it has ended."""
    points = [(m / n, value) for m, value in curves.get(name, ())]
    if points and (name == "chance" or points[-1][1] >= 1):
        points.append((max(right, points[-1][0]), points[-1][1]))
    return np.array(points, float).reshape(-1, 2)


def drawing_order(lines: Iterable[Line]) -> list[Line]:
    """Return the step lines first: their larger open markers go under the filled ones."""
    return sorted(lines, key=lambda line: not line.step)


def stroke(look: Look, step: bool, scale: float = 1.0) -> dict[str, Any]:
    """Return line and marker properties: solid and filled, or dashed and open."""
    size = unit() * scale
    return {
        "marker": look.marker,
        "ms": 4.2 * size * look.grow * (1.3 if step else 1.0),
        "mfc": "white" if step else look.colour,
        "mec": look.colour,
        "mew": 0.9 * size,
        "lw": (1.0 if step else 1.3) * size,
        "ls": (0, look.dashes) if step else "-",
    }


def say(axes: Axes, text: str) -> None:
    """Say on an empty panel why it is empty."""
    axes.text(
        0.5,
        0.5,
        text,
        transform=axes.transAxes,
        ha="center",
        va="center",
        fontsize=small(),
        color=NOTE,
    )
