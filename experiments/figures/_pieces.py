"""What panels share: axes, strokes, a line with its seeds, and legends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from numpy.typing import NDArray

from statebound.experiments.curves import Curves
from statebound.experiments.figures._columns import Row, plural, value
from statebound.experiments.figures._lines import Line
from statebound.experiments.figures._style import BLACK, GREY, NOTE, Look, Mark, small, unit

RATE = "state bits M / effective n"
_STROKES = ("+", "x", "|", "_", "1", "2", "3", "4")  # markers without an inside


def mean_and_seeds(
    axes: Axes,
    line: Line,
    look: Look | Mark,
    key: str,
    n: int,
    scale: float = 1.0,
    *,
    band: bool = False,
) -> None:
    """Draw the mean over machine seeds, their range, and the interval of each sampled row.

    The range is drawn of success, and of what else asks for a `band`.
    """
    known = line.known(key)
    if not known:
        return
    x = np.array(list(known)) / n
    mean = [sum(values) / len(values) for values in known.values()]
    if (key == "success" or band) and any(len(values) > 1 for values in known.values()):
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
        (m / n, value(row, key), *ends(row, key))
        for m, held in line.rows.items()
        for row in held
        if key in ("success", "error") and row.get("interval_level") is not None
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
        zorder=5 if isinstance(look, Mark) else 3 if line.step else 4,
        label=line.label,
        **stroke(look, line.step, scale),
    )


def ends(row: Row, key: str) -> tuple[float, float]:
    """Return the ends of a row's interval of success, or of error."""
    low, high = row["success_low"], row["success_high"]
    return (1 - high, 1 - low) if key == "error" else (low, high)


def broken(row: Mapping[str, Any]) -> bool:
    """Tell whether a row broke a proved limit, or an answer came from elsewhere."""
    return bool(row.get("violates_wall")) or row.get("leak") is not None


def broken_note(rows: Sequence[Row]) -> list[str]:
    """Return a note on rows that broke a limit, if there are any."""
    count = sum(broken(row) for row in rows)
    return [f"{plural(count, 'row')} that broke a proved limit, ringed"] if count else []


def ring(axes: Axes, places: Sequence[tuple[float, float]]) -> None:
    """Draw rings around what broke a proved limit."""
    if places:
        axes.plot(
            *np.array(places).T,
            ls="none",
            marker="o",
            ms=10 * unit(),
            mfc="none",
            mec=BLACK,
            mew=1.4 * unit(),
            zorder=7,
            clip_on=False,
            label="_broken",
            path_effects=[withStroke(linewidth=2.8 * unit(), foreground="white")],
        )


def ring_handle() -> Artist:
    """Return what a legend shows for a ring."""
    look: dict[str, Any] = {"marker": "o", "ms": 8 * unit(), "mfc": "none", "mec": BLACK}
    return Line2D([], [], ls="none", label="breaks a proved limit", **look)


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


def stroke(look: Look | Mark, step: bool, scale: float = 1.0) -> dict[str, Any]:
    """Return line and marker properties: solid and filled, or dashed and open, or no line."""
    size = unit() * scale
    if isinstance(look, Mark):
        drawn = not look.filled or look.marker in _STROKES
        return {
            "marker": look.marker,
            "ms": 4.2 * size * look.grow,
            "mfc": look.colour if look.filled else "white",
            "mec": look.colour if drawn else "white",
            "mew": (1.2 if look.marker in _STROKES else 0.8 if drawn else 0.4) * size,
            "ls": "none",
            "path_effects": [withStroke(linewidth=1.7 * size, foreground="white")],
        }
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


def rows_of(lines: Iterable[Line]) -> list[dict[str, Any]]:
    """Return all rows of lines."""
    return [row for line in lines for held in line.rows.values() for row in held]


def interval_handles(levels: Iterable[float | None]) -> list[Artist]:
    """Return what a legend shows for the intervals of sampled rows."""
    return [
        Line2D(
            [],
            [],
            ls="none",
            marker="|",
            ms=9 * unit(),
            mew=0.9 * unit(),
            color=GREY,
            label=f"{100 * level:g} % interval",
        )
        for level in sorted({level for level in levels if level is not None})
    ]


def handle(label: str, look: Look | Mark) -> Artist:
    """Return what a legend shows for a model or a protocol."""
    return Line2D([], [], color=look.colour, label=label, **stroke(look, step=False))


def settle(figure: Figure) -> None:
    """Lay the figure out for good, so that what is put on its lines stays there."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")


def named(row: Mapping[str, Any]) -> str:
    """Return how a title calls a row's problem and its size."""
    size, effective = row["n"], row["effective_n"]
    sizes = f"n = {size}" + (f", effective n = {effective}" if size != effective else "")
    law = "" if row["query_law"] == "uniform" else f", {row['query_law']} queries"
    symbols = "" if row["alphabet"] == 2 else f", {row['alphabet']} symbols"
    return f"{row['problem']}, {sizes}{symbols}{law}"


def legend(
    figure: Figure,
    handles: Sequence[Artist],
    where: Literal["upper", "lower"],
    title: str | None = None,
) -> Legend:
    """Put a legend outside the panels, in as few rows as the figure's width allows.

    A title of the figure goes above it.
    """
    place: Literal["outside upper center", "outside lower center"] = (
        "outside upper center" if where == "upper" else "outside lower center"
    )
    columns = max(1, len(handles))
    while True:
        made: Legend = figure.legend(
            handles=handles,
            loc=place,
            ncols=columns,
            title=title,
            title_fontsize=1.2 * small(),
        )
        if columns <= 1 or made.get_window_extent().width < 0.98 * figure.bbox.width:
            return made
        made.remove()
        columns = -(-len(handles) // (-(-len(handles) // columns) + 1))
