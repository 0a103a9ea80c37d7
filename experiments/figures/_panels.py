"""The panels of the collapse figure; each draws lines on axes and computes no result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import log2
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, MultipleLocator
from numpy.typing import NDArray

from statebound.experiments.curves import Curves
from statebound.experiments.figures._labels import along
from statebound.experiments.figures._lines import Line
from statebound.experiments.figures._style import (
    BLACK, FAINT, FORBIDDEN, GREY, LOOKS, VERMILLION, Look, small, unit,
)

RATE = "state bits M / effective n"
GAP = (np.nan, np.nan)  # between two lines of one artist
NEAR = 1 / 8  # how far from M/n = 1/2 what is kept by position may be shown


def success(
    axes: Axes, lines: Sequence[Line], looks: Mapping[str, Look], curves: Curves, n: int
) -> None:
    """Draw success against M/n beside the walls; lines without a look are faint."""
    widest = max((m for line in lines for m in line.rows), default=0) / n
    right = max(widest, 1.0) * 1.03
    left = -0.01 * right
    lowest = min(
        [value for _, value in curves.get("chance", ())]
        + [min(values) for line in lines for values in line.known("success").values()]
    )
    bottom, top = lowest - 0.085 * (1 - lowest), 1 + 0.03 * (1 - lowest)
    size = unit()
    for name, colour, width in (
        ("rate_distortion", FAINT, 1.0), ("truncation", GREY, 1.0), ("chance", GREY, 1.0),
        ("ball", BLACK, 2.6),
    ):
        curve = scaled(curves, name, n, right)
        if not len(curve):
            continue
        axes.plot(
            *curve.T, color=colour, lw=width * size, zorder=2.2 if name == "ball" else 1.5,
            label=f"_{name}", solid_capstyle="round",
            ls=(0, (1, 1.6)) if name == "chance" else "-",
        )
        if name == "ball":
            axes.fill_between(
                [left, *curve[:, 0]], [curve[0, 1], *curve[:, 1]], top, color=FORBIDDEN, lw=0,
                zorder=1, label="_impossible",
            )
    for line in drawing_order(lines):
        if line.label in looks:
            mean_and_seeds(axes, line, looks[line.label], "success", n)
    faint = [
        np.array([(m / n, sum(v) / len(v)) for m, v in line.known("success").items()] + [GAP])
        for line in lines if line.label not in looks
    ]
    if faint:  # one artist for all: there may be very many
        axes.plot(
            *np.concatenate(faint).T, color=FAINT, lw=0.6 * size, zorder=1.8, label="_others",
        )
    broken = [
        (m / n, row["success"])
        for line in lines for m, held in line.rows.items() for row in held if row["violates_wall"]
    ]
    if broken:
        axes.plot(
            *np.array(broken).T, ls="none", marker="o", ms=10 * size, mfc="none", mec=VERMILLION,
            mew=1.4 * size, zorder=7, label="_broken",
        )
    axes.set(xlim=(left, right), ylim=(bottom, top))
    axes.yaxis.set_major_locator(MaxNLocator(7, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))


def name_walls(axes: Axes, lines: Sequence[Line], curves: Curves, n: int) -> bool:
    """Write on a settled panel what its walls are; return whether the region was named."""
    left, right = axes.get_xlim()
    bottom, top = axes.get_ylim()
    size = unit()
    chance = scaled(curves, "chance", n, right)
    if len(chance):
        axes.annotate(
            "coin toss", (right, chance[0, 1]), (0, -4.5 * size), textcoords="offset points",
            ha="right", va="top", fontsize=small(), color="#555555",
        ).set_in_layout(False)
    everything = [
        np.array([(m / n, value) for m, values in line.known("success").items() for value in values])
        for line in lines
    ]
    ball, stored = scaled(curves, "ball", n, right), scaled(curves, "truncation", n, right)
    walls = [curve for curve in (ball, scaled(curves, "rate_distortion", n, right)) if len(curve)]
    if len(stored) > 1:
        rising = stored[: 1 + int(np.argmax(stored[:, 1] >= stored[-1, 1]))]
        along(axes, rising, "M raw bits kept", [e for e in everything if len(e)] + walls, "#555555")
    if not len(ball):
        return False
    label = axes.annotate(
        "impossible for any protocol", (0, 1), (6 * size, -7 * size), xycoords="axes fraction",
        textcoords="offset points", ha="left", va="top", zorder=6,
        fontsize=small() * 1.1, fontweight="bold", color="#444444",
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


def efficiency(
    axes: Axes, lines: Sequence[Line], looks: Mapping[str, Look], n: int
) -> list[str]:
    """Draw needed bits / M against M/n; return what has none."""
    missing = sum(row["efficiency"] is None for line in lines for held in line.rows.values() for row in held)
    widest = max(m for line in lines for m in line.rows) / n
    right = max(widest, 1.0) * 1.03
    axes.axhline(1, color=BLACK, lw=2 * unit(), zorder=1.5, label="_ball")
    for line in drawing_order(lines):
        mean_and_seeds(axes, line, looks[line.label], "efficiency", n, 0.75)
    axes.set(
        title="Efficiency", xlim=(-0.01 * right, right), ylim=(-0.04, 1.06),
        xlabel=RATE, ylabel="needed bits / M",
    )
    axes.yaxis.set_major_locator(MultipleLocator(0.25))
    axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    if not missing:
        return []
    return [f"{missing} row{'s' * (missing != 1)} without efficiency (M = 0, or no limit known)"]


def profile(axes: Axes, lines: Sequence[Line], looks: Mapping[str, Look], n: int) -> list[str]:
    """Draw what one state size keeps about each answer; return what has no such row."""
    key = "information_by_query"
    handoff = any(not line.step and line.known(key) for line in lines)
    shown = [line for line in lines if line.step != handoff]
    alphabet = max(row["alphabet"] for line in lines for held in line.rows.values() for row in held)
    sizes = {m for line in shown for m in line.known(key) if abs(m / n - 1 / 2) <= NEAR}
    most = log2(alphabet)
    axes.set(ylim=(-0.04 * most, 1.06 * most), xlabel="position asked, k", ylabel="information (bits)")
    if not sizes:
        axes.set_title("Kept by position")
        axes.set(xlim=(0.5, n + 0.5))
        axes.text(0.5, 0.5, "no exact rows near M/n = 1/2", transform=axes.transAxes,
                  ha="center", va="center", fontsize=small(), color="#555555")
        return ["no exact information at M/n near 1/2: what is kept by position is not drawn"]
    bits = max(sizes, key=lambda m: (sum(m in line.known(key) for line in shown), -abs(m - n / 2), m))
    without = []
    positions = 1
    for line in shown:
        held = [row[key] for row in line.rows.get(bits, ()) if row[key] is not None]
        if not held:
            without.append(line.label)
            continue
        seeds = np.array(held)
        positions = seeds.shape[1]
        k = np.arange(1, positions + 1)
        look = looks[line.label]
        if len(seeds) > 1:
            axes.fill_between(
                k, seeds.min(0), seeds.max(0), color=look.colour, alpha=0.16, lw=0, zorder=2,
            )
        axes.plot(
            k, seeds.mean(0), color=look.colour, zorder=3, label=line.label, clip_on=False,
            markevery=max(1, positions // 16), **stroke(look, line.step, 0.8),
        )
    axes.set_title(f"Kept by position at M = {bits}, {'handoff' if handoff else 'step'}")
    axes.set(xlim=(0.5, positions + 0.5))
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True, min_n_ticks=1))
    axes.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
    labelled = {line.label for line in lines}
    without = sorted(labelled - {line.label for line in shown} | set(without))
    return [f"{label}: no exact row at M = {bits}, absent from what is kept" for label in without]


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
            x, low, high, color=look.colour, alpha=0.09 if line.step else 0.18, lw=0, zorder=2.4,
            label="_seeds",
        )
    sampled = [
        (m / n, row["success"], row["success_low"], row["success_high"])
        for m, held in line.rows.items() for row in held
        if key == "success" and row["interval_level"] is not None
    ]
    if sampled:
        at, best, least, most = np.array(sampled).T
        axes.errorbar(
            at, best, yerr=np.maximum([best - least, most - best], 0), fmt="none",
            ecolor=look.colour, elinewidth=0.9 * unit(), capsize=1.8 * unit(), zorder=2.6,
            label="_interval",
        )
    axes.plot(
        x, mean, color=look.colour, zorder=3 if line.step else 4, label=line.label,
        **stroke(look, line.step, scale),
    )


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
