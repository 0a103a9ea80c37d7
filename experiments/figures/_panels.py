"""The side panels of the collapse figure: efficiency, and what is kept by position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log2

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, MultipleLocator

from statebound.experiments.curves import Curves
from statebound.experiments.figures._lines import Line
from statebound.experiments.figures._pieces import (
    RATE,
    drawing_order,
    mean_and_seeds,
    rows_of,
    say,
    span,
    stroke,
)
from statebound.experiments.figures._style import BLACK, Look, Mark, unit

_NEAR = 1 / 8  # how far from M/n = 1/2 what is kept by position may be shown


def efficiency(
    axes: Axes, lines: Sequence[Line], looks: Mapping[str, Look | Mark], curves: Curves, n: int
) -> list[str]:
    """Draw needed bits / M against M/n; return what has none."""
    rows = rows_of(lines)
    missing = sum(row["efficiency"] is None for row in rows)
    if missing == len(rows):
        say(axes, "not known for these rows")
    axes.axhline(1, color=BLACK, lw=2 * unit(), zorder=1.5, label="_ball")
    for line in drawing_order(lines):
        mean_and_seeds(axes, line, looks[line.label], "efficiency", n, 0.75)
    axes.set(
        title="Efficiency",
        xlim=span(lines, curves, n),
        ylim=(-0.04, 1.06),
        xlabel=RATE,
        ylabel="needed bits / M",
    )
    axes.yaxis.set_major_locator(MultipleLocator(0.25))
    axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    if not missing:
        return []
    return [f"{missing} row{'s' * (missing != 1)} without efficiency (M = 0, or no limit known)"]


def profile(
    axes: Axes, lines: Sequence[Line], looks: Mapping[str, Look | Mark], n: int
) -> list[str]:
    """Draw what one state size keeps about each answer; return what has no such row."""
    key = "information_by_query"
    handoff = any(not line.step and line.known(key) for line in lines)
    shown = [line for line in lines if line.step != handoff]
    sizes = {m for line in shown for m in line.known(key) if abs(m / n - 1 / 2) <= _NEAR}
    most = log2(max((row["alphabet"] for row in rows_of(lines)), default=2))
    axes.set(
        ylim=(-0.04 * most, 1.06 * most), xlabel="position asked, k", ylabel="information (bits)"
    )
    if not sizes:
        axes.set_title("Kept by position")
        axes.set(xlim=(0.5, n + 0.5))
        if not lines:
            say(axes, "drawn for models only")
            return []
        say(axes, "no exact rows near M/n = 1/2")
        return ["no exact information at M/n near 1/2: what is kept by position is not drawn"]
    bits = max(
        sizes, key=lambda m: (sum(m in line.known(key) for line in shown), -abs(m - n / 2), m)
    )
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
                k,
                seeds.min(0),
                seeds.max(0),
                color=look.colour,
                alpha=0.16,
                lw=0,
                zorder=2,
            )
        axes.plot(
            k,
            seeds.mean(0),
            color=look.colour,
            zorder=3,
            label=line.label,
            clip_on=False,
            markevery=max(1, positions // 16),
            **stroke(look, line.step, 0.8),
        )
    axes.set_title(f"Kept at M = {bits}, {'handoff' if handoff else 'step'}")
    axes.set(xlim=(0.5, positions + 0.5))
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True, min_n_ticks=1))
    axes.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
    labelled = {line.label for line in lines}
    without = sorted(labelled - {line.label for line in shown} | set(without))
    return [f"{label}: no exact row at M = {bits}, absent from what is kept" for label in without]
