"""Small multiples: panels that share their axes, one for each value of what tells them apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Sequence
from math import ceil, log
from typing import TypeVar

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from statebound.experiments.figures._columns import plural
from statebound.experiments.figures._style import small, unit

MOST = 12
_SHAPE = 1.2  # width of a panel over its height
_REST = 1.2  # inches of a printed figure that titles and keys take

Name = TypeVar("Name", bound=Hashable)


def largest(
    names: Sequence[Name], most: int, what: str, always: Collection[Name] = ()
) -> tuple[list[Name], list[str]]:
    """Return the names that occur most often, in sorted order, and what is left out.

    Those of `always` come first: nothing may hide them.

    Examples
    --------
    >>> largest(["b", "a", "b", "c"], 2, "line")
    (['a', 'b'], ['1 line left out, more than the 2 that a figure can show: c'])
    """
    count = Counter(names)
    ranked = sorted(count, key=lambda name: (name not in always, -count[name], str(name)))
    kept = [name for name in sorted(count, key=_natural) if name in ranked[:most]]
    out = sorted(str(name) for name in ranked[most:])
    if not out:
        return kept, []
    shown = ", ".join(out[:6]) + (" ..." if len(out) > 6 else "")
    left = f"{plural(len(out), what)} left out, more than the {most} that a figure can show"
    return kept, [f"{left}: {shown}"]


def _natural(name: Hashable) -> tuple[tuple[float, str], ...]:
    """Return a key that sorts numbers in text by their size."""
    found = []
    for word in str(name).split():
        try:
            found.append((float(word.strip(",")), ""))
        except ValueError:
            found.append((float("inf"), word))
    return tuple(found)


def shape(many: int, width: float, height: float | None) -> tuple[int, int]:
    """Return rows and columns of a grid; a printed figure without a height prefers few rows."""
    if height is None:
        across = many if many <= 3 else 2 if many == 4 else 3 if many <= 9 else 4
    else:
        shapes = {c: width / c * ceil(many / c) / height for c in range(1, many + 1)}
        blank = {c: c * ceil(many / c) - many for c in shapes}
        across = min(shapes, key=lambda c: abs(log(shapes[c] / _SHAPE)) + blank[c] / many)
    return ceil(many / across), across


def grid(figure: Figure, names: Sequence[str], kind: str, rest: float = _REST) -> list[Axes]:
    """Fill an empty figure with a panel for each name, and return them in order.

    `rest` is how many inches of a printed figure all but the panels take.
    """
    figure.set_layout_engine("constrained")
    width, height = figure.get_size_inches()
    if kind == "paper":
        down, across = shape(len(names), width, None)
        panel = width / across / _SHAPE if across > 1 else 3.4
        figure.set_figheight(rest + down * panel)
    else:
        down, across = shape(len(names), width, height - _REST * unit())
    panels = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False)
    shown = list(panels.ravel()[: len(names)])
    for axes in panels.ravel()[len(names) :]:
        axes.set_axis_off()
    for at, (axes, name) in enumerate(zip(shown, names, strict=True)):
        if across > 2:
            axes.set_title(_two_lines(name), fontsize=small(), linespacing=1.05)
        else:
            axes.set_title(name)
        if at + across >= len(names):  # nothing below it
            axes.tick_params(labelbottom=True)
    return shown


def _two_lines(name: str) -> str:
    head, comma, tail = name.partition(", ")
    return f"{head}\n{tail}" if comma and len(name) > 24 else name


def label(panels: Sequence[Axes], x: str, y: str) -> None:
    """Name the axes at the left and at the bottom of a grid."""
    many = len(panels)
    for at, axes in enumerate(panels):
        place = axes.get_subplotspec()
        assert place is not None
        across = place.get_gridspec().ncols
        if place.is_first_col():
            axes.set_ylabel(y)
        if at + across >= many:
            axes.set_xlabel(x)
