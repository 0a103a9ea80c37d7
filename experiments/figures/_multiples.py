"""Small multiples of the success panel: one model each, the others faint behind it."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

import numpy as np
from matplotlib.figure import Figure

from statebound.experiments.curves import Curves
from statebound.experiments.figures._lines import Line, labels
from statebound.experiments.figures._panels import RATE, success
from statebound.experiments.figures._style import BLUE, Look, small

_LOOK = Look(BLUE, "o", (2.4, 1.4), 0.7)


def columns(models: int, shape: float) -> int:
    """Return how many columns suit so many panels on a figure of width / height `shape`."""
    return max(1, min(models, round((models * shape / 1.25) ** 0.5)))


def height(models: int, width: float) -> float:
    """Return the height, in inches, of a printed figure of five panels a row."""
    return 0.95 + ceil(models / 5) * width / 5 * 0.88


def draw(figure: Figure, lines: Sequence[Line], curves: Curves, n: int) -> None:
    """Fill a figure with one panel a model, in order of their labels."""
    names = labels(lines)
    across = columns(len(names), figure.get_figwidth() / figure.get_figheight())
    down = ceil(len(names) / across)
    grid = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False).ravel()
    for axes, name in zip(grid, names, strict=False):
        success(axes, lines, {name: _LOOK}, curves, n)
        axes.set_title(name.replace(", ", "\n", 1), fontsize=small(), linespacing=1.05)
    for axes in grid[len(names) :]:
        axes.set_axis_off()
    for place in np.arange(len(names) - across, len(names)):
        grid[place].tick_params(labelbottom=True)
    figure.supxlabel(RATE, fontsize=small() / 0.9)
    figure.supylabel("success probability", fontsize=small() / 0.9)
