"""What the message tells about each position, for every state size: a map a machine.

A cell is I(answer; message) in bits, a mean over seeds: the rows of the map are state sizes
in order, the columns positions.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log2

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, MaxNLocator

from statebound.errors import UsageError
from statebound.experiments.figures import _facets, _maps
from statebound.experiments.figures._columns import NOTHING, Choices, Row, plural
from statebound.experiments.figures._lines import labelled, order, select
from statebound.experiments.figures._pieces import (
    broken,
    broken_note,
    legend,
    named,
    ring,
    ring_handle,
)
from statebound.experiments.figures._style import style, unit

TAKES = ("facet",)
_KEY = "information_by_query"


def make(
    rows: Sequence[Row], kind: str = "paper", choices: Choices = NOTHING
) -> tuple[Figure, list[str]]:
    """Return the figure in a style of `_style.style`, and notes.

    Raises
    ------
    UsageError
        When no row knows what its message tells about each position.
    """
    kept, notes = select(rows)
    choices.check_panels(kept)
    exact = [row for row in kept if row[_KEY] is not None]
    if not exact:
        raise UsageError(
            "rows",
            len(kept),
            f"none has {_KEY}: samples cannot know it",
            "measure a smaller n exactly",
        )
    if len(exact) < len(kept):
        out = plural(len(kept) - len(exact), "row")
        notes.append(f"{out} without {_KEY} (sampled, or too many queries) left out")
    if choices.facet:
        pairs = [(choices.panel(row), row) for row in exact]
    else:
        pairs = [
            (f"{label}, step" if row["regime"] == "step" else label, row)
            for label, row in labelled(exact)
        ]
    bad = {name for name, row in pairs if broken(row)}
    names, more = _facets.largest([name for name, _ in pairs], _facets.MOST, "panel", bad)
    panels: dict[str, dict[int, list[Row]]] = {name: {} for name in names}
    for name, row in pairs:
        if name in panels:
            panels[name].setdefault(row["state_bits"], []).append(row)
    shown = [row for name, row in pairs if name in panels]
    sizes = sorted({row["state_bits"] for row in shown})
    norm = Normalize(0, max(log2(row["alphabet"]) for row in shown))
    with style(kind):
        figure = Figure()
        axes = _facets.grid(figure, names, kind)
        title = f"What the message tells about each position, {named(kept[0])}"
        figure.suptitle(title)
        for each, held in zip(axes, panels.values(), strict=True):
            _panel(each, held, sizes, norm)
        _facets.label(axes, "position asked, k", "state bits M")
        _maps.bar(figure, axes, norm, "information (bits)")
        if any(broken(row) for row in shown):
            legend(figure, [ring_handle()], "lower")
    return figure, notes + more + broken_note(shown)


def _panel(axes: Axes, held: dict[int, list[Row]], sizes: Sequence[int], norm: Normalize) -> None:
    cells: dict[tuple[float, float], float] = {}
    rings: list[tuple[float, float]] = []
    positions = max(len(row[_KEY]) for rows in held.values() for row in rows)
    for bits, rows in sorted(held.items()):
        at = sizes.index(bits)
        known = np.array([row[_KEY] for row in sorted(rows, key=order)], float).mean(axis=0)
        cells |= {(k + 1.0, float(at)): float(v) for k, v in enumerate(known)}
        if any(broken(row) for row in rows):
            rings.append((positions + 0.5, at))
    sides = {(k, m): (k - 0.5, k + 0.5, m - 0.5, m + 0.5) for k, m in cells}
    _maps.draw(axes, cells, sides, norm)
    ring(axes, rings)
    axes.set(xlim=(0.5, positions + 0.5), ylim=(-0.5, len(sizes) - 0.5))
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True, min_n_ticks=1))
    step = max(1, -(-len(sizes) // 12))
    axes.yaxis.set_major_locator(FixedLocator(list(range(0, len(sizes), step))))
    axes.set_yticklabels([str(bits) for bits in sizes[::step]])
    axes.spines[:].set_visible(False)
    axes.tick_params(length=1.5 * unit())
