"""The limits figure: what any protocol can do at one size, and what known codes do.

(a) success against state bits: the ball limit, where the best protocol is known to
lie, and what random codes, raw bits and named codes reach; (b) how far each stays below the
ball limit; (c) all queries right at once, which is a cliff where the average fades.
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
from numpy.typing import NDArray

from statebound.experiments.curves import Curves
from statebound.experiments.figures import _gaps
from statebound.experiments.figures._labels import along
from statebound.experiments.figures._lines import kind_and_name
from statebound.experiments.figures._pieces import (
    handle,
    interval_handles,
    legend,
    named,
    say,
    settle,
)
from statebound.experiments.figures._style import (
    BLACK,
    BLUE,
    FAINT,
    FORBIDDEN,
    GREEN,
    GREY,
    NOTE,
    VERMILLION,
    Mark,
    letter,
    marks,
    style,
    unit,
)
from statebound.experiments.figures._success import IMPOSSIBLE, RAW, say_impossible

_MANY = 40  # values of M beyond which they are not marked one by one
_STREAMING: dict[str, Any] = {"color": VERMILLION, "marker": "D", "mfc": "white"}
_RANDOM: dict[str, Any] = {"color": GREEN, "ls": (0, (5.0, 1.4, 1.2, 1.4))}


def make(
    about: Mapping[str, Any],
    curves: Curves,
    points: Sequence[Mapping[str, Any]],
    kind: str = "paper",
) -> tuple[Figure, list[str]]:
    """Return the figure in a style of `_style.style`, and notes; see `draw`."""
    with style(kind):
        figure = Figure()
        notes = draw(about, curves, points, figure)
    return figure, notes


def draw(
    about: Mapping[str, Any],
    curves: Curves,
    points: Sequence[Mapping[str, Any]],
    figure: Figure,
) -> list[str]:
    """Draw the limits of one problem on an empty figure, inside a `_style.style` context.

    Parameters
    ----------
    about
        ``problem``, ``n``, ``effective_n``, ``alphabet`` and ``query_law``, as in rows.
    curves
        Success, or the chance of being right at once, over state bits, as
        `statebound.experiments.curves.limits_curves` gives them.
    points
        Codes, in any order, each with ``protocol``, ``state_bits``, ``success``,
        ``success_low``, ``success_high``, ``interval_level`` and ``wall_ball``, as
        `statebound.experiments.curves.code_points` gives them.
    figure
        The figure to fill.

    Returns
    -------
    list of str
        What was left out and why, a sentence each.
    """
    figure.set_layout_engine("constrained")
    grid = figure.add_gridspec(2, 2, width_ratios=(1.25, 1), height_ratios=(1.75, 1))
    main = figure.add_subplot(grid[:, 0])
    gaps = figure.add_subplot(grid[0, 1])
    cliff = figure.add_subplot(grid[1, 1])
    names = sorted({str(p["protocol"]) for p in points})
    looks = marks({name: name for name in names})
    notes = _success(main, curves, points, looks)
    main.set_title(letter("a", f"Limits of {named(about)}"))
    notes += _gaps.draw(gaps, curves, points, looks, _RANDOM)
    gaps.set_title(letter("b", "Distance to the ball limit"))
    _cliff(cliff, curves)
    cliff.set_title(letter("c", "All queries right at once"))
    for axes in (main, gaps, cliff):
        axes.set(xlim=_span(curves, points), xlabel="" if axes is gaps else "state bits M")
        axes.xaxis.set_major_locator(MaxNLocator(7, steps=[1, 2, 4, 5, 10], integer=True))
    if looks:
        legend(figure, [handle(kind_and_name(name), look) for name, look in looks.items()], "upper")
    handles = _handles(curves, points)
    key = legend(figure, handles, "lower")
    figure.draw_without_rendering()
    if curves.get("ball") and not say_impossible(main, _array(curves, "ball")):
        key.remove()
        legend(figure, [*handles, Patch(color=FORBIDDEN, lw=0, label=IMPOSSIBLE)], "lower")
    settle(figure)
    if curves.get("ball") and curves.get("all_correct"):
        at_once, ball = _array(curves, "all_correct"), _array(curves, "ball")
        along(cliff, ball, "average, as in a", [at_once], NOTE)
    return notes


def _array(curves: Curves, name: str) -> NDArray[np.float64]:
    return np.array(curves.get(name, ()), float).reshape(-1, 2)


def _span(curves: Curves, points: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    ends = [held[-1][0] for held in curves.values() if held]
    last = max([*ends, *(p["state_bits"] for p in points), 1])
    return -0.015 * last, 1.015 * last


def _success(
    axes: Axes,
    curves: Curves,
    points: Sequence[Mapping[str, Any]],
    looks: Mapping[str, Mark],
) -> list[str]:
    """Draw the main panel; return what is not known."""
    size = unit()
    notes = []
    left, right = _span(curves, points)
    lowest = min([value for _, value in curves.get("chance", ())], default=0.0)
    bottom, top = lowest - 0.05 * (1 - lowest), 1 + 0.03 * (1 - lowest)
    ball = _array(curves, "ball")
    if len(ball):
        axes.fill_between(
            [left, *ball[:, 0], right],
            [ball[0, 1], *ball[:, 1], ball[-1, 1]],
            top,
            color=FORBIDDEN,
            lw=0,
            zorder=1,
            label="_impossible",
        )
    else:
        notes.append("no proved limit is known for this problem: none is drawn")
    for name, width, zorder, look in (
        ("rate_distortion", 1.0, 1.5, {"color": FAINT}),
        ("truncation", 1.0, 1.5, {"color": GREY}),
        ("chance", 1.0, 1.5, {"color": GREY, "ls": (0, (1, 1.6))}),
        ("random_coding", 1.2, 2.0, _RANDOM),
        ("ball", 2.6, 2.2, {"color": BLACK}),
    ):
        curve = _array(curves, name)
        if len(curve):
            axes.plot(*curve.T, lw=width * size, zorder=zorder, label=f"_{name}", **look)
    _optimum(axes, curves)
    known = _array(curves, "streaming")
    if len(known):
        holes = _with_holes(known, [m for m, _ in curves.get("ball", ())])
        axes.plot(
            *holes.T,
            lw=1.0 * size,
            ms=4.6 * size,
            mew=1.0 * size,
            zorder=2.8,
            label="_streaming",
            markevery=max(1, len(holes) // _MANY),
            **_STREAMING,
        )
    else:
        notes.append("no limit for streams is known for this problem")
    _gaps.codes(axes, points, looks, lambda p: (p["success"], p["success_low"], p["success_high"]))
    axes.set(ylim=(bottom, top), ylabel="success probability")
    axes.yaxis.set_major_locator(MaxNLocator(7, steps=[1, 2, 5, 10]))
    return notes


def _optimum(axes: Axes, curves: Curves) -> None:
    """Draw where the best protocol is known to lie: points where exactly, else a band."""
    low, high = _array(curves, "optimum_low"), _array(curves, "optimum_high")
    if not len(low):
        return
    axes.fill_between(
        low[:, 0], low[:, 1], high[:, 1], color=BLUE, alpha=0.45, lw=0, zorder=2.4, label="_band"
    )
    exact = low[low[:, 1] == high[:, 1]]
    axes.plot(*exact.T, zorder=2.6, label="_optimum", **_closed(len(low)))


def _closed(values: int) -> dict[str, Any]:
    """Return how a value of the optimum is marked that is known exactly."""
    size = unit() * (1.0 if values <= _MANY else 0.7)
    shape: dict[str, Any] = {"ls": "none", "marker": "o", "ms": 4.0 * size, "mew": 0.5 * size}
    return {**shape, "color": BLUE, "mec": "white"}


def _with_holes(known: NDArray[np.float64], every: Sequence[int]) -> NDArray[np.float64]:
    """Return a curve with a break wherever values of M lie between that are not known."""
    have = {int(m): value for m, value in known}
    grid = sorted({*every, *have})
    return np.array([(m, have.get(m, np.nan)) for m in grid])


def _cliff(axes: Axes, curves: Curves) -> None:
    """Draw the chance of having all answers right at once beside the average."""
    at_once, ball = _array(curves, "all_correct"), _array(curves, "ball")
    size = unit()
    if not len(at_once):
        say(axes, "no limit is known")
    else:
        axes.fill_between(
            at_once[:, 0], at_once[:, 1], 1.06, color=FORBIDDEN, lw=0, zorder=1, label="_impossible"
        )
        axes.plot(*at_once.T, color=BLACK, lw=2.6 * size, zorder=2.2, label="_all_correct")
        if len(at_once) <= _MANY:
            axes.plot(*at_once.T, color=BLACK, ls="none", marker="o", ms=3.4 * size, zorder=2.3)
    if len(ball):
        axes.plot(*ball.T, color=BLACK, lw=0.9 * size, ls=(0, (4, 2)), zorder=2, label="_average")
    axes.set(ylim=(-0.04, 1.06), ylabel="probability")
    axes.yaxis.set_major_locator(MaxNLocator(3, steps=[1, 2, 5, 10]))


def _handles(curves: Curves, points: Sequence[Mapping[str, Any]]) -> list[Artist]:
    """Return what the legend below explains."""
    size = unit()
    found: list[Artist] = []
    if curves.get("ball"):
        found.append(Line2D([], [], color=BLACK, lw=2.6 * size, label="ball limit"))
    low, high = _array(curves, "optimum_low"), _array(curves, "optimum_high")
    if len(low):
        exact = low[:, 1] == high[:, 1]
        if exact.any():
            found.append(Line2D([], [], label="best protocol: known", **_closed(1)))
        if not exact.all():
            found.append(Patch(color=BLUE, alpha=0.45, lw=0, label="best protocol: in here"))
    for name, text, look in (
        ("random_coding", "random coding reaches", _RANDOM),
        ("truncation", RAW, {"color": GREY}),
        ("rate_distortion", "rate-distortion limit", {"color": FAINT}),
        ("streaming", "streaming wall (step)", {**_STREAMING, "ms": 4.6 * size, "mew": size}),
        ("chance", "coin toss", {"color": GREY, "ls": (0, (1, 1.6))}),
    ):
        if curves.get(name):
            found.append(Line2D([], [], lw=1.1 * size, label=text, **look))
    return found + interval_handles(p["interval_level"] for p in points)
