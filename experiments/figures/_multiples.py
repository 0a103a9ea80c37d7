"""Small multiples of the success panel: one model each, the others faint behind it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, log

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from statebound.experiments.curves import Curves
from statebound.experiments.figures._lines import Line, labels, models, protocols
from statebound.experiments.figures._style import BLUE, Look, marks, small, unit
from statebound.experiments.figures._success import success

WALLS = ("ball", "chance")  # the others would only fill so small a panel
_LOOK = Look(BLUE, "o", (2.4, 1.4), 0.66)
_SHAPE = 1.2  # width of a panel with its title over its height
_REST = 1.0  # inches of a printed figure that the title and the key take


def height(many: int, width: float) -> float:
    """Return the height, in inches, of a printed figure of five panels a row."""
    return _REST + ceil(many / 5) * width / 5 / _SHAPE


def columns(many: int, width: float, height: float) -> int:
    """Return how many panels a row come nearest to the shape that reads best."""
    shapes = {c: width / c * ceil(many / c) / height for c in range(1, many + 1)}
    return min(shapes, key=lambda c: abs(log(shapes[c] / _SHAPE)))


def draw(
    figure: Figure, lines: Sequence[Line], curves: Curves, n: int, settle: Callable[[], None]
) -> None:
    """Fill a figure with one panel a model, in order of their labels.

    `settle` is called when all that the layout must know of is drawn.
    """
    names = labels(models(lines))
    points = marks(protocols(lines), 0.66)
    across = columns(len(names), figure.get_figwidth(), figure.get_figheight() - _REST * unit())
    down = ceil(len(names) / across)
    grid = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False)
    panels = grid.ravel()
    for axes, name in zip(panels, names, strict=False):
        success(axes, lines, {**points, name: _LOOK}, curves, n, bold=1.8)
        axes.set_title(name.replace(", ", "\n", 1), fontsize=0.9 * small(), linespacing=1.05)
        axes.tick_params(labelsize=0.9 * small())
        axes.yaxis.set_major_locator(MaxNLocator(3, steps=[1, 2, 2.5, 5, 10]))
        axes.xaxis.set_major_locator(MaxNLocator(3, steps=[1, 2, 5, 10]))
    for axes in grid[:, 0]:
        axes.set_ylabel("success")
    for axes in panels[len(names) :]:
        axes.set_axis_off()
    for axes in grid[-1]:
        axes.set_xlabel("M / n")
    settle()
    for axes in panels[len(names) - across : len(names)]:  # above a gap: the labels fill it
        axes.tick_params(labelbottom=True)
        axes.set_xlabel("M / n")
