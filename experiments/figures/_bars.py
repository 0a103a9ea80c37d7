"""Columns in groups: a group a state size, with its M above it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from statebound.experiments.figures._pieces import legend
from statebound.experiments.figures._style import GREY, small, style, unit

Column = TypeVar("Column")

_WIDE = 22  # columns that a figure of usual width has room for
_HEAD = 4.6  # width of a head over the size of its letters
_BETWEEN = 0.8  # room between two state sizes, in columns


def make(
    held: Sequence[Column],
    draw: Callable[[Axes, Sequence[Column]], None],
    handles: Callable[[Sequence[Column]], Sequence[Artist]],
    title: str,
    kind: str,
) -> Figure:
    """Return a figure of columns, drawn by `draw` and explained by `handles`, in a style."""
    with style(kind):
        figure = Figure()
        figure.set_layout_engine("constrained")
        _widen(figure, len(held), kind)
        axes = figure.add_subplot()
        draw(axes, held)
        axes.set_title(title)
        legend(figure, handles(held), "lower")
    return figure


def _widen(figure: Figure, many: int, kind: str) -> None:
    """Make a printed figure wide enough for so many columns, within reason."""
    if kind == "paper" and many > _WIDE:
        width, height = figure.get_size_inches()
        figure.set_size_inches(min(3, many / _WIDE) * width, height)


def places(sizes: Sequence[int]) -> tuple[list[float], dict[int, tuple[float, float]]]:
    """Return the middle of every column, and the first and last of every state size.

    Examples
    --------
    >>> places([1, 1, 4])
    ([0.0, 1.0, 2.8], {1: (0.0, 1.0), 4: (2.8, 2.8)})
    """
    found: list[float] = []
    groups: dict[int, tuple[float, float]] = {}
    for bits in sizes:
        apart = 1 if bits in groups or not found else 1 + _BETWEEN
        x = found[-1] + apart if found else 0.0
        found.append(x)
        groups[bits] = groups.get(bits, (x, x))[0], x
    return found, groups


def heads(axes: Axes, groups: Mapping[int, tuple[float, float]], top: float, room: float) -> None:
    """Write M over each group, a little above a line at `top`."""
    figure = axes.get_figure()
    assert isinstance(figure, Figure)
    last = max(right for _, right in groups.values())
    column = 72 * figure.get_figwidth() / (last + 2)  # points, at most
    narrow = min(right - left for left, right in groups.values()) + 1 + _BETWEEN
    crowded = narrow * column < _HEAD * small()
    for bits, (left, right) in groups.items():
        axes.text(
            (left + right) / 2,
            top + room,
            str(bits) if crowded and left else f"M = {bits}",
            ha="center",
            va="bottom",
            fontsize=small(),
        )
        axes.plot([left - 0.4, right + 0.4], [top, top], color=GREY, lw=0.7 * unit(), zorder=3)
