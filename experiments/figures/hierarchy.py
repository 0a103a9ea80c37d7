"""The hierarchy in figures: what must cross, one retrieval a step, and reading again.

*bits*: bits against n on two log axes. No fixed state that reads once, the query last, is in
the grey region. Solid lines are what is carried from token to token (all of it that crosses,
where the context is read again); dotted lines are what is kept for retrieval besides.
*hops*: success at chasing pointers against hops, a panel for each n; lines are exact, points
measured. *passes*: bits exchanged over n against state bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator
from numpy.typing import NDArray

from statebound.experiments.figures._pieces import legend, stroke
from statebound.experiments.figures._style import (
    BLACK,
    FORBIDDEN,
    GREY,
    LOOKS,
    NOTE,
    Look,
    letter,
    small,
    style,
    unit,
)

Row = Mapping[str, Any]

_RECURRENT = (
    ("two passes", "bits", "two passes: total", 2),
    ("query first", "bits", "query first: total", 4),
    ("hybrid", "recurrent_bits", "hybrid: recurrent", 0),
)
_KEPT = (
    ("hybrid", "hybrid: cache", 0),
    ("transformer", "Transformer: cache", 3),
    ("search", "search: text", 5),
)
_SINGLE = {
    "disjointness, interleaved": "D",
    "index, two passes": "^",
    "index, query first": "v",
}
_END = "end"
_HOPS = {
    "1 layer, chain of thought": LOOKS[0],
    "4 layers": LOOKS[4],
    "2 layers": LOOKS[2],
    "1 layer": LOOKS[1],
    "window, half the table": Look(GREY, "<", (1.0, 1.4), 1.1),
    "fixed state as large, at most": Look(BLACK, "_", (1.0, 1.0), 2.2),
}


def make(record: Mapping[str, Any], kind: str = "paper") -> Figure:
    """Return the figure of a record of bits, hops or passes, in a style of `_style.style`."""
    drawn = {"bits": _bits, "hops": _hops, "passes": _passes}[record["what"]]
    with style(kind):
        figure = Figure()
        figure.set_layout_engine("constrained")
        drawn(record, figure)
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        for axes in figure.axes:
            _part(axes)
    return figure


def _points(rows: Sequence[Row], kind: str, key: str, by: str = "n") -> NDArray[np.float64]:
    """Return (by, key) of the rows of a kind where known, in order."""
    held = [(row[by], row[key]) for row in rows if row["kind"] == kind and row[key] is not None]
    return np.array(sorted(held), float).reshape(-1, 2)


def _bits(record: Mapping[str, Any], figure: Figure) -> None:
    rows, size = record["rows"], unit()
    axes = figure.add_subplot()
    axes.set(xscale="log", yscale="log")
    wall = _points(rows, "fixed state", "recurrent_bits")
    axes.fill_between(
        wall[:, 0], wall[:, 1], 1.0, color=FORBIDDEN, lw=0, zorder=1, label="_impossible"
    )
    axes.plot(*wall.T, color=BLACK, lw=2.6 * size, zorder=3, label="_fixed state")
    window = _points(rows, "window", "recurrent_bits")
    open_: dict[str, Any] = {"ls": "none", "marker": "s", "ms": 3.4 * size, "mfc": "white"}
    axes.plot(*window.T, color=GREY, zorder=4, label="_window", clip_on=False, **open_)
    _name(axes, window[-1], "window of raw bits", GREY)
    _name(axes, wall[-1], "fixed state, with any\nchain of thought: at least", BLACK)
    for kind, key, name, look in _RECURRENT:
        line = _points(rows, kind, key)
        drawn = stroke(LOOKS[look], step=False)
        axes.plot(
            *line.T, color=LOOKS[look].colour, zorder=4, label=f"_{kind}", clip_on=False, **drawn
        )
        _name(axes, line[-1], name, LOOKS[look].colour)
    for kind, name, look in _KEPT:
        line = _points(rows, kind, "cache_bits")
        drawn = stroke(LOOKS[look], step=True, scale=0.8) | {"ls": (0, (1.0, 1.5))}
        axes.plot(
            *line.T,
            color=LOOKS[look].colour,
            zorder=3.5,
            label=f"_kept {kind}",
            clip_on=False,
            **drawn,
        )
        _name(axes, line[-1], name, LOOKS[look].colour)
    low, high = wall[0, 0], wall[-1, 0]
    axes.set(
        xlim=(low, high),
        ylim=(1, None),
        xlabel="n, bits of context",
        ylabel="bits that cross",
    )
    _doubling(axes, wall[:, 0])
    axes.annotate(
        "impossible for a fixed state that reads once, the query last",
        (1, 0),
        (-6 * size, 6 * size),
        xycoords="axes fraction",
        textcoords="offset points",
        ha="right",
        fontsize=small(),
        fontweight="bold",
        color=NOTE,
        zorder=6,
    )
    goal = f"Index, success {record['success']:g}"
    axes.set_title(f"{goal}: solid is carried, dotted is kept for retrieval")


def _hops(record: Mapping[str, Any], figure: Figure) -> None:
    sizes = list(dict.fromkeys(record["sizes"]))
    panels = figure.subplots(1, len(sizes), sharey=True, squeeze=False)[0]
    for number, (axes, n) in enumerate(zip(panels, sizes, strict=True)):
        rows = [row for row in record["rows"] if row["n"] == n]
        _hops_panel(axes, rows)
        name = f"Table of {n} entries"
        axes.set_title(letter("abcdefghijklmnopqrstuvwxyz"[number % 26], name))
    panels[0].set(ylabel="success probability", ylim=(-0.03, 1.05))
    shown = {row["kind"] for row in record["rows"] if row["success"] is not None}
    handles = [
        Line2D([], [], color=look.colour, label=kind, **_hop_stroke(kind))
        for kind, look in _HOPS.items()
        if kind in shown
    ]
    legend(figure, handles, "lower")


def _hop_stroke(kind: str) -> dict[str, Any]:
    drawn = stroke(_HOPS[kind], step=False)
    if kind.startswith("fixed"):
        return drawn | {"mew": 1.6 * unit(), "ls": "none"}
    return drawn | {"ls": (0, _HOPS[kind].dashes)} if kind.startswith("window") else drawn


def _hops_panel(axes: Axes, rows: Sequence[Row]) -> None:
    """Draw exact values as lines, measured ones as points with their intervals."""
    for kind, look in _HOPS.items():
        held = [row for row in rows if row["kind"] == kind and row["success"] is not None]
        if not held:
            continue
        drawn = _hop_stroke(kind)
        at = np.array([row["hops"] for row in held])
        exact = [row["success"] if row["expected"] is None else row["expected"] for row in held]
        line = {"lw": drawn.get("lw", 1.2), "ls": drawn["ls"]}
        axes.plot(at, exact, color=look.colour, zorder=3, label=f"_{kind} exact", **line)
        best, low, high = np.array(
            [(row["success"], row["success_low"], row["success_high"]) for row in held]
        ).T
        axes.errorbar(
            at,
            best,
            yerr=np.maximum([best - low, high - best], 0),
            fmt="none",
            ecolor=look.colour,
            elinewidth=0.9 * unit(),
            zorder=3.5,
            label="_interval",
        )
        axes.plot(at, best, color=look.colour, zorder=4, label=f"_{kind}", **drawn | {"ls": "none"})
    axes.set(xlabel="hops", xlim=(0.6, 8.4))
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))


def _passes(record: Mapping[str, Any], figure: Figure) -> None:
    size = unit()
    axes = figure.add_subplot()
    axes.set(xscale="log", yscale="log")
    rows, sizes = record["rows"], list(dict.fromkeys(record["sizes"]))
    handles = []
    for number, n in enumerate(sizes):
        look = LOOKS[number % len(LOOKS)]
        held = [row for row in rows if row["n"] == n]
        line = _points(held, "disjointness", "ratio", "state_bits")
        drawn = stroke(look, step=False) | {"color": look.colour}
        axes.plot(*line.T, zorder=4, label="_disjointness", **drawn)
        handles.append(Line2D([], [], label=f"disjointness, n = {n}", **drawn))
        for kind, marker in _SINGLE.items():
            (point,) = _points(held, kind, "ratio", "state_bits")
            single: dict[str, Any] = {"marker": marker, "ms": 5 * size, "mfc": "white"}
            axes.plot(*point, color=look.colour, zorder=4, label=f"_{kind}", **single)
            if number == 0:
                _beside(axes, point, kind.replace("index", "Index"), NOTE)
        if len(sizes) == 1:
            passes = _points(held, "disjointness", "passes", "state_bits")
            for point, (_, r) in zip(line, passes, strict=True):
                _beside(axes, point, f"r = {r:.0f}", NOTE, above=True)
    legend(figure, handles, "lower")
    bottom = min(row["ratio"] for row in rows) / 2
    whole = axes.get_yaxis_transform()
    shade: dict[str, Any] = {"color": FORBIDDEN, "lw": 0, "zorder": 1, "transform": whole}
    axes.fill_between([0, 1], bottom, 1, label="_impossible", **shade)
    axes.axhline(1, color=BLACK, lw=2.0 * size, zorder=2, label="_floor")
    axes.annotate(
        "impossible for disjointness without error (not for Index)",
        (1, 1),
        (-6 * size, -6 * size),
        xycoords=whole,
        textcoords="offset points",
        ha="right",
        va="top",
        fontsize=small(),
        fontweight="bold",
        color=NOTE,
    )
    top = 3 * max(row["ratio"] for row in rows)  # room for the name of the highest
    axes.set(ylim=(bottom, top), xlabel="state bits M", ylabel="bits exchanged / n")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    bits = [2.0**j for j in range(15)]
    axes.xaxis.set_major_locator(FixedLocator(bits))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    axes.set_title("Reading again: r passes exchange (2 r - 1) M bits")


def _beside(
    axes: Axes, point: NDArray[np.float64], text: str, colour: str, *, above: bool = False
) -> None:
    """Write beside a point, or above it."""
    gap = 7 * unit()
    axes.annotate(
        text,
        (point[0], point[1]),
        (gap / 3, gap) if above else (gap, 0),
        textcoords="offset points",
        ha="left",
        va="bottom" if above else "center",
        fontsize=small(),
        color=colour,
        zorder=6,
        annotation_clip=False,
    )


def _name(axes: Axes, point: NDArray[np.float64], text: str, colour: str) -> None:
    """Name a line at its end; `_part` moves names that touch."""
    _beside(axes, point, text, colour)
    axes.texts[-1].set_gid(_END)


def _part(axes: Axes) -> None:
    """Move names at the ends of lines up and down until none touches another."""
    names = [text for text in axes.texts if text.get_gid() == _END]
    if not names:
        return
    boxes = [text.get_window_extent() for text in names]
    order = np.argsort([box.y0 + box.y1 for box in boxes])
    height = np.array([boxes[i].height for i in order]) * 1.05
    wanted = np.array([(boxes[i].y0 + boxes[i].y1) / 2 for i in order])
    room = (height[1:] + height[:-1]) / 2
    below = np.concatenate([[0.0], np.cumsum(room)])
    centre = _rising(wanted - below) + below
    scale = 72 / _dpi(axes)
    for at, i in enumerate(order):
        x, y = names[i].xyann
        names[i].xyann = (x, y + (centre[at] - wanted[at]) * scale)


def _dpi(axes: Axes) -> float:
    figure = axes.get_figure()
    assert figure is not None
    return float(figure.dpi)


def _rising(wanted: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the nearest sequence that never falls (least squares; pools that violate)."""
    pools: list[tuple[float, int]] = []
    for value in wanted:
        pools.append((float(value), 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (high, many), (low, few) = pools[-2:]
            pools[-2:] = [((high * many + low * few) / (many + few), many + few)]
    return np.concatenate([np.full(many, value) for value, many in pools])


def _doubling(axes: Axes, sizes: NDArray[np.float64]) -> None:
    """Mark the sizes themselves."""
    axes.xaxis.set_major_locator(FixedLocator([float(n) for n in sizes]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
