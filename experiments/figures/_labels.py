"""Where to write a line's name on it, so that it covers no other line."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.text import Text
from numpy.typing import NDArray

from statebound.experiments.figures._style import small, unit

_Array = NDArray[np.float64]


def along(
    axes: Axes,
    curve: _Array,
    text: str,
    avoid: Sequence[_Array],
    colour: str,
) -> Text | None:
    """Write `text` along a curve, beside it, where it is farthest from all else.

    Nothing is written, and None returned, where it would touch something everywhere.

    The figure's layout must be settled: places are weighed in pixels.

    Parameters
    ----------
    axes
        Where the curve is drawn.
    curve
        Its points in data units, (points, 2), at least two, in order of x.
    text
        What to write.
    avoid
        Other lines, (points, 2) each, in data units.
    colour
        Of the letters.
    """
    figure = axes.get_figure()
    assert isinstance(figure, Figure)
    label = axes.text(
        0,
        0,
        text,
        color=colour,
        fontsize=small(),
        ha="center",
        rotation_mode="anchor",
        zorder=6,
        path_effects=[withStroke(linewidth=2 * unit(), foreground="white", alpha=0.8)],
    )
    extent = label.get_window_extent()
    width, height = extent.width, extent.height
    gap = 3.5 * unit() * figure.dpi / 72
    pixels = axes.transData.transform(curve)
    inside = axes.bbox.padded(-gap)
    others = [_dense(axes.transData.transform(line)) for line in avoid]
    everything = np.concatenate(others) if others else np.full((1, 2), np.inf)
    best, centre, turn = -np.inf, pixels[0], 0.0
    for x in np.linspace(pixels[0, 0], pixels[-1, 0], 61):
        y0, y1 = np.interp([x - height, x + height], pixels[:, 0], pixels[:, 1])
        angle = float(np.arctan2(y1 - y0, 2 * height))
        direction = np.array([np.cos(angle), np.sin(angle)])
        across = np.array([-direction[1], direction[0]])
        for side in (1, -1):
            middle = [x, (y0 + y1) / 2] + side * (gap + height / 2) * across
            ends = [middle + sign * width / 2 * direction for sign in (1, -1)]
            if not all(inside.contains(*end) for end in ends):
                continue
            far = everything - middle
            beside = np.maximum(np.abs(far @ direction) - width / 2, 0)
            above = np.maximum(np.abs(far @ across) - height / 2, 0)
            free = float(np.hypot(beside, above).min())
            if free > best + 0.01:
                best, centre, turn = free, middle, angle
    if best < gap / 2:
        label.remove()
        return None
    label.set_position(tuple(axes.transData.inverted().transform(centre)))
    label.set(rotation=np.degrees(turn), va="center")
    label.set_in_layout(False)
    return label


def _dense(pixels: _Array) -> _Array:
    """Return points along a polyline, no two farther apart than a few pixels."""
    if len(pixels) < 2:
        return pixels
    steps = np.hypot(*np.diff(pixels, axis=0).T)
    travelled = np.concatenate([[0.0], np.cumsum(steps)])
    stops = np.arange(0.0, travelled[-1] + 4, 4.0)
    return np.stack([np.interp(stops, travelled, pixels[:, axis]) for axis in (0, 1)], axis=1)
