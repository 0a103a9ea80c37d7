"""Figures of an audit: what survives rounding, what is retrieved, how the state grows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator, NullLocator

from statebound.experiments.figures._pieces import legend
from statebound.experiments.figures._style import (
    BLACK,
    BLUE,
    GREY,
    LOOKS,
    Look,
    letter,
    small,
    style,
    unit,
)

_LEAST = 1e-9  # errors below are drawn at the foot of the panel
Levels = Sequence[Mapping[str, Any]]


def rounding(levels: Levels, floor: Mapping[str, float] | None, kind: str = "paper") -> Figure:
    """Return error and agreement against bits a number, for all ways to round all parts.

    Parameters
    ----------
    levels
        Of `statebound.experiments.audit.survival.Survival`, as JSON has them.
    floor
        The agreement where nothing is sent.
    kind
        ``paper`` or ``slides``.
    """
    lines: dict[str, list[Mapping[str, Any]]] = {}
    points = {}
    for level in levels:
        if level["which"] == "all":
            step = level["regime"] == "step"
            name = f"{level['quantiser']}, "
            name += f"every step, {level['rounding']}" if step else "handoff"
            lines.setdefault(name, []).append(level)
    main = levels[0]["quantiser"]
    for name in [n for n, held in lines.items() if len(held) == 1 and not n.startswith(main)]:
        points[name.removesuffix(", handoff")] = lines.pop(name)[0]
    return _panels(lines, points, floor, kind)


def kinds(levels: Levels, floor: Mapping[str, float] | None, kind: str = "paper") -> Figure | None:
    """Return the same for each kind of part rounded alone; None where there is one kind."""
    lines: dict[str, list[Mapping[str, Any]]] = {}
    for level in levels:
        if level["which"] in ("convolution", "keys and values", "recurrent"):
            lines.setdefault(f"{level['which']} alone", []).append(level)
    return _panels(lines, {}, floor, kind) if lines else None


def _panels(
    lines: Mapping[str, Levels],
    points: Mapping[str, Mapping[str, Any]],
    floor: Mapping[str, float] | None,
    kind: str,
) -> Figure:
    with style(kind):
        figure = Figure(figsize=(7.0, 3.4) if kind == "paper" else None, layout="constrained")
        left, right = figure.subplots(1, 2)
        looks = dict(zip(lines, LOOKS * 3, strict=False))
        for name, held in lines.items():
            _line(left, right, held, looks[name], step="every step" in name)
        _points(left, right, points)
        if floor is not None:
            right.axhline(floor["best"], color=GREY, lw=unit(), ls=(0, (1, 1.6)))
            right.annotate(
                "nothing sent",
                (1, floor["best"]),
                (0, 2 * unit()),
                xycoords=("axes fraction", "data"),
                textcoords="offset points",
                ha="right",
                va="bottom",
                fontsize=small(),
                color=GREY,
            )
        drawn = [level for held in lines.values() for level in held]
        bits = sorted({level["bits"] for level in [*drawn, *points.values()]})
        for axes in (left, right):
            axes.set_xscale("log", base=2)
            axes.set_xticks(bits, [str(b) for b in bits])
            axes.xaxis.set_minor_locator(NullLocator())
            axes.set_xlabel("bits a number, without scales")
        left.set(yscale="log", ylabel="relative error of the outputs (none: 1e-9)")
        right.set(ylabel="same largest output, share", ylim=(None, 1.02))
        left.set_title(letter("a", "Error"))
        right.set_title(letter("b", "Agreement of the next token"))
        handles = [
            Line2D([], [], label=name, **_stroke(looks[name], "every step" in name))
            for name in lines
        ]
        if points:
            handles.append(
                Line2D([], [], label="formats", marker="x", ls="none", color=BLACK, ms=4 * unit())
            )
        legend(figure, handles, "lower")
    return figure


def _stroke(look: Look, step: bool) -> dict[str, Any]:
    size = unit()
    return {
        "color": look.colour,
        "marker": look.marker,
        "ms": 4.2 * size * look.grow,
        "mfc": "white" if step else look.colour,
        "ls": (0, look.dashes) if step else "-",
        "lw": 1.2 * size,
    }


def _line(left: Axes, right: Axes, held: Levels, look: Look, *, step: bool) -> None:
    stroke = _stroke(look, step)
    known = [level for level in held if level["error"] is not None]
    left.plot(
        [level["bits"] for level in known],
        [max(level["error"], _LEAST) for level in known],
        **stroke,
    )
    x = np.array([level["bits"] for level in held], float)
    best = np.array([level["agreement"]["best"] for level in held])
    ends = np.array([[level["agreement"][end] for level in held] for end in ("low", "high")])
    right.plot(x, best, **stroke)
    right.vlines(x, ends[0], ends[1], color=look.colour, lw=0.6 * unit(), alpha=0.6)


def _points(left: Axes, right: Axes, points: Mapping[str, Mapping[str, Any]]) -> None:
    """Draw formats of one precision; those in one place share a name."""
    size = unit()
    names: dict[tuple[int, float], list[str]] = {}
    for name, level in points.items():
        right.plot([level["bits"]], [level["agreement"]["best"]], **_cross())
        if level["error"] is not None:
            place = level["bits"], max(level["error"], _LEAST)
            names.setdefault(place, []).append(name)
    for (bits, value), held in names.items():
        left.plot([bits], [value], **_cross())
        foot = value <= _LEAST
        left.annotate(
            ", ".join(held) + (": exact" if foot else ""),
            (bits, value),
            (0, 6 * size) if foot else (-4 * size, -1 * size) if bits > 8 else (4 * size, size),
            textcoords="offset points",
            ha="center" if foot else "right" if bits > 8 else "left",
            va="top" if bits > 8 and not foot else "bottom",
            rotation=90 if foot else 0,
            fontsize=small() * 0.9,
        )


def _cross() -> dict[str, Any]:
    return {"marker": "x", "color": BLACK, "ms": 4 * unit(), "ls": "none", "zorder": 4}


def recall(held: Sequence[Mapping[str, Any]], kind: str = "paper") -> Figure | None:
    """Return success against message bits beside the wall, a panel a task that is done.

    None where no task is done.
    """
    done = [task for task in held if task["does"]]
    if not done:
        return None
    with style(kind):
        figure = Figure(figsize=(7.0, 2.9) if kind == "paper" else None, layout="constrained")
        row = figure.subplots(1, len(done), squeeze=False)[0]
        for axes, task in zip(row, done, strict=True):
            _recall(axes, task)
        row[0].set_ylabel("success")
        size = unit()
        handles = [
            Line2D([], [], label="rounded", **_stroke(LOOKS[0], step=False)),
            Line2D([], [], label="as it is", marker="*", ls="none", color=BLACK, ms=7 * size),
            Line2D([], [], label="wall for so many bits", **_wall()),
            Line2D([], [], label="a guess", color=GREY, lw=size, ls=(0, (1, 1.6))),
        ]
        legend(figure, handles, "lower")
    return figure


def _recall(axes: Axes, task: Mapping[str, Any]) -> None:
    size = unit()
    rows = sorted(task["rows"], key=lambda r: r["state_bits"])
    walls = [(r["state_bits"], r["wall"]) for r in rows if r["wall"] is not None]
    if walls:
        axes.plot(*np.array(walls, float).T, **_wall())
    axes.axhline(task["chance"], color=GREY, lw=size, ls=(0, (1, 1.6)))
    for rounded in (True, False):
        shown = [r for r in rows if (r["bits"] is not None) is rounded]
        look = (
            _stroke(LOOKS[0], step=False)
            if rounded
            else {"marker": "*", "ls": "none", "color": BLACK, "ms": 7 * size, "zorder": 5}
        )
        axes.plot([r["state_bits"] for r in shown], [r["success"]["best"] for r in shown], **look)
        for r in shown:
            ends = r["success"]["low"], r["success"]["high"]
            axes.vlines(r["state_bits"], *ends, color=BLUE, lw=0.6 * size)
            if rounded:
                axes.annotate(
                    str(r["bits"]),
                    (r["state_bits"], r["success"]["best"]),
                    (4 * size, -8 * size),
                    textcoords="offset points",
                    fontsize=small() * 0.9,
                )
    axes.set(xscale="log", ylim=(-0.08, 1.06), xlabel="message, bits")
    axes.set_title(f"{task['task']}, n = {task['n']}")


def _wall() -> dict[str, Any]:
    size = unit()
    return {"color": BLACK, "marker": "_", "ms": 9 * size, "mew": 2 * size, "ls": "none"}


def growth(held: Mapping[str, Any], kind: str = "paper") -> Figure:
    """Return stored bits against tokens read."""
    with style(kind):
        figure = Figure(figsize=(4.6, 2.5) if kind == "paper" else None, layout="constrained")
        axes = figure.subplots()
        axes.plot(held["lengths"], held["bits"], **_stroke(LOOKS[0], step=False))
        axes.set(xlabel="tokens read", ylabel="state, bits", ylim=(0, None), xlim=(0, None))
        axes.yaxis.set_major_locator(MaxNLocator(5))
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    return figure
