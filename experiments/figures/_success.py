"""The main panel of the collapse figure: success beside what any protocol can do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from statebound.experiments.curves import Curves
from statebound.experiments.figures._labels import along
from statebound.experiments.figures._lines import Line
from statebound.experiments.figures._pieces import (
    broken,
    drawing_order,
    mean_and_seeds,
    ring,
    scaled,
    span,
)
from statebound.experiments.figures._style import (
    BLACK,
    FAINT,
    FORBIDDEN,
    GREY,
    NOTE,
    Look,
    Mark,
    small,
    unit,
)

IMPOSSIBLE = "impossible for any protocol"
RAW = "M raw bits kept"
_GAP = (np.nan, np.nan)  # between two lines of one artist


def success(
    axes: Axes,
    lines: Sequence[Line],
    looks: Mapping[str, Look | Mark],
    curves: Curves,
    n: int,
    bold: float = 2.6,
) -> None:
    """Draw success against M/n beside the walls; lines without a look are faint.

    `bold` is the width of the ball limit, in points on paper.
    """
    left, right = span(lines, curves, n)
    lowest = min(
        [value for _, value in curves.get("chance", ())]
        + [min(values) for line in lines for values in line.known("success").values()]
    )
    bottom, top = lowest - 0.085 * (1 - lowest), 1 + 0.03 * (1 - lowest)
    size = unit()
    for name, colour, width in (
        ("rate_distortion", FAINT, 1.0),
        ("truncation", GREY, 1.0),
        ("chance", GREY, 1.0),
        ("ball", BLACK, bold),
    ):
        curve = scaled(curves, name, n, right)
        if not len(curve):
            continue
        axes.plot(
            *curve.T,
            color=colour,
            lw=width * size,
            zorder=2.2 if name == "ball" else 1.5,
            label=f"_{name}",
            solid_capstyle="round",
            ls=(0, (1, 1.6)) if name == "chance" else "-",
        )
        if name == "ball":
            axes.fill_between(
                [left, *curve[:, 0]],
                [curve[0, 1], *curve[:, 1]],
                top,
                color=FORBIDDEN,
                lw=0,
                zorder=1,
                label="_impossible",
            )
    for line in drawing_order(lines):
        if line.label in looks:
            mean_and_seeds(axes, line, looks[line.label], "success", n)
    faint = [
        np.array([(m / n, sum(v) / len(v)) for m, v in line.known("success").items()] + [_GAP])
        for line in lines
        if line.label not in looks and line.protocol is None
    ]
    if faint:  # one artist for all: there may be very many
        axes.plot(
            *np.concatenate(faint).T,
            color=FAINT,
            lw=0.4 * size,
            zorder=1.3,
            label="_others",
        )
    ring(
        axes,
        [
            (m / n, row["success"])
            for line in lines
            for m, held in line.rows.items()
            for row in held
            if broken(row)
        ],
    )
    axes.set(xlim=(left, right), ylim=(bottom, top))
    axes.yaxis.set_major_locator(MaxNLocator(7, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))


def name_walls(axes: Axes, lines: Sequence[Line], curves: Curves, n: int) -> set[str]:
    """Write on a settled panel what its walls are; return those that found no place."""
    right = axes.get_xlim()[1]
    chance = scaled(curves, "chance", n, right)
    if len(chance):
        axes.annotate(
            "coin toss",
            (right, chance[0, 1]),
            (0, -4.5 * unit()),
            textcoords="offset points",
            ha="right",
            va="top",
            fontsize=small(),
            color=NOTE,
        ).set_in_layout(False)
    everything = [
        np.array(
            [
                (m / n, row[end])
                for m, held in line.rows.items()
                for row in held
                for end in ("success_low", "success", "success_high")
            ]
        )
        for line in lines
    ]
    homeless: set[str] = set()
    ball, stored = scaled(curves, "ball", n, right), scaled(curves, "truncation", n, right)
    walls = [curve for curve in (ball, scaled(curves, "rate_distortion", n, right)) if len(curve)]
    if len(stored) > 1:
        rising = stored[: 1 + int(np.argmax(stored[:, 1] >= stored[-1, 1]))]
        if along(axes, rising, RAW, everything + walls, NOTE) is None:
            homeless.add("truncation")
    if not len(ball):
        return homeless
    return homeless if say_impossible(axes, ball) else homeless | {"ball"}


def say_impossible(axes: Axes, ball: NDArray[np.float64]) -> bool:
    """Write into the corner above the ball limit (points, 2) that nobody can be there.

    Nothing is written, and False returned, where the corner is too small.
    """
    left, right = axes.get_xlim()
    bottom, top = axes.get_ylim()
    size = unit()
    label = axes.annotate(
        IMPOSSIBLE,
        (0, 1),
        (6 * size, -7 * size),
        xycoords="axes fraction",
        textcoords="offset points",
        ha="left",
        va="top",
        zorder=6,
        fontsize=small() * 1.1,
        fontweight="bold",
        color=NOTE,
    )
    label.set_in_layout(False)
    for text in (label.get_text(), "impossible for\nany protocol"):
        label.set_text(text)
        box = label.get_window_extent().transformed(axes.transData.inverted())
        over = np.interp(box.x1 + 0.02 * (right - left), ball[:, 0], ball[:, 1])
        if over < box.y0 - 0.02 * (top - bottom):
            return True
    label.remove()
    return False
