"""Maps: cells whose shade is a number, the same in colour and in grey.

The shades are those of `cividis`, whose lightness rises evenly with the value, for the
colour-blind as well; where there is room, the number itself is written into its cell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import PolyCollection
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from statebound.experiments.figures._style import small, unit

SHADES = "cividis"
_LETTERS = 0.62  # width of a digit over its height
_DIGITS = 3.4

Cells = Mapping[tuple[float, float], float]


def edges(centres: Sequence[float]) -> dict[float, tuple[float, float]]:
    """Return where each cell of a row begins and ends: halfway to its neighbours.

    A cell reaches no farther than half the usual distance, so that what was not measured
    stays blank.

    Examples
    --------
    >>> edges([1, 2, 3, 8])
    {1: (0.5, 1.5), 2: (1.5, 2.5), 3: (2.5, 3.5), 8: (7.5, 8.5)}
    """
    at = sorted(set(centres))
    gaps = np.diff(at)
    usual = float(np.median(gaps)) if len(gaps) else 1.0
    found = {}
    for j, centre in enumerate(at):
        below = min(usual, centre - at[j - 1]) if j else usual
        above = min(usual, at[j + 1] - centre) if j + 1 < len(at) else usual
        if not j and len(at) > 1:
            below = above
        if j and j + 1 == len(at):
            above = below
        found[centre] = (centre - below / 2, centre + above / 2)
    return found


def draw(
    axes: Axes, cells: Cells, sides: Mapping[tuple[float, float], Any], norm: Normalize
) -> None:
    """Draw cells on axes.

    Parameters
    ----------
    axes
        Where to draw.
    cells
        (x, y) -> value.
    sides
        (x, y) -> (left, right, bottom, top) in data units.
    norm
        From value to shade; the same for all panels.
    """
    corners = []
    for place in cells:
        left, right, bottom, top = sides[place]
        corners.append([(left, bottom), (right, bottom), (right, top), (left, top)])
    axes.add_collection(
        PolyCollection(
            corners,
            array=np.array(list(cells.values()), float),
            cmap=colormaps[SHADES],
            norm=norm,
            edgecolors="white",
            linewidths=0.5 * unit(),
            zorder=1,
            label="_cells",
        )
    )


def write(
    axes: Axes, cells: Cells, sides: Mapping[tuple[float, float], Any], norm: Normalize
) -> bool:
    """Write the values into the cells of a settled panel; return whether there was room."""
    figure = axes.get_figure()
    assert isinstance(figure, Figure)
    letters = 0.86 * small()
    need = np.array([_DIGITS * _LETTERS * letters, 1.25 * letters]) * figure.dpi / 72
    for left, right, bottom, top in (sides[place] for place in cells):
        box = axes.transData.transform([(left, bottom), (right, top)])
        if (box[1] - box[0] < need).any():
            return False
    for place, number in cells.items():
        left, right, bottom, top = sides[place]
        axes.text(
            (left + right) / 2,
            (bottom + top) / 2,
            _short(number),
            ha="center",
            va="center",
            fontsize=letters,
            color="black" if norm(number) > 0.55 else "white",
            zorder=4,
        ).set_in_layout(False)
    return True


def _short(number: float) -> str:
    return (
        f"{number:.2f}".removeprefix("0")
        if number < 0.995
        else f"{number:.2f}".rstrip("0").rstrip(".")
    )


def bar(figure: Figure, panels: Sequence[Axes], norm: Normalize, text: str) -> None:
    """Put the scale of shades beside the panels."""
    made = figure.colorbar(
        ScalarMappable(norm, colormaps[SHADES]),
        ax=list(panels),
        label=text,
        fraction=0.05,
        pad=0.02,
    )
    made.outline.set_linewidth(0.7 * unit())
