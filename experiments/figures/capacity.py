"""The capacity figure: state bits against context length, and what the context needs.

Both axes are logarithmic. A fixed state is flat, keys and values rise until their window
is full; where n log2 V passes the state, some two inputs share a state from there on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import log2
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from statebound.experiments.figures._pieces import legend
from statebound.experiments.figures._style import (
    BLACK,
    BLUE,
    FORBIDDEN,
    GREEN,
    GREY,
    NOTE,
    PURPLE,
    VERMILLION,
    small,
    style,
    unit,
)

Bits = Callable[[int], int]
_POINTS = 400
_FARTHEST = 10**15


def make(record: Mapping[str, Any], lines: Mapping[str, Bits], kind: str = "paper") -> Figure:
    """Return the figure in a style of `_style.style`.

    Parameters
    ----------
    record
        Of `statebound.experiments.capacity.report.capacity`, perhaps with ``against``.
    lines
        Bits after n tokens: of what is ``bounded``, of what is ``growing``, of both, the
        ``state``, and perhaps of ``other``. A line that is 0 everywhere is not drawn.
    kind
        ``paper`` or ``slides``.
    """
    with style(kind):
        figure = Figure()
        _draw(record, lines, figure)
    return figure


def _draw(record: Mapping[str, Any], lines: Mapping[str, Bits], figure: Figure) -> None:
    figure.set_layout_engine("constrained")
    axes = figure.add_subplot()
    marks = _marks(record, lines)
    last = min(_FARTHEST, max([10**4, *(50 * n for n, _, _, _ in marks)]))
    n = np.unique(np.geomspace(1, last, _POINTS).round())
    curves = {name: np.array([float(bits(int(x))) for x in n]) for name, bits in lines.items()}
    drawn = [name for name, curve in curves.items() if curve.any()]
    if not {"bounded", "growing"} <= set(drawn):
        drawn.remove("state")  # it is the one that there is
    needed = n * log2(record["alphabet"])
    handles: list[Artist] = []
    for name in drawn:
        label, look = _look(name, record)
        curve = np.where(curves[name] > 0, curves[name], np.nan)
        axes.plot(n, curve, zorder=3, label=f"_{name}", **look)
        handles.append(Line2D([], [], label=label, **look))
    for name, curve in (("needed", needed), ("bits", n)):
        if name == "needed" or record["alphabet"] != 2:
            label, look = _look(name, record)
            axes.plot(n, curve, zorder=2.5, label=f"_{name}", **look)
            handles.append(Line2D([], [], label=label, **look))
    if bool((needed > curves["state"]).any()):
        axes.fill_between(
            n,
            curves["state"],
            needed,
            where=[bool(short) for short in needed > curves["state"]],
            color=FORBIDDEN,
            lw=0,
            zorder=1,
        )
        handles.append(Patch(color=FORBIDDEN, lw=0, label="some two inputs share a state"))
    for place, level, colour, above in marks:
        _mark(axes, place, level, colour, above=above)
    seen = [*(curves[name][curves[name] > 0] for name in drawn), needed]
    axes.set(
        xscale="log",
        yscale="log",
        xlim=(1, last),
        ylim=(min(c.min() for c in seen) / 2, max(c.max() for c in seen) * 2),
        xlabel="context length n, tokens",
        ylabel="bits",
    )
    axes.set_title(f"State of {_name(record)}, {record['dtype']}")
    legend(figure, handles, "lower")


def _marks(
    record: Mapping[str, Any], lines: Mapping[str, Bits]
) -> list[tuple[int, int, str, bool]]:
    """Return the crossings: where, at which bits, colour, and whether its name goes above."""
    held = record["precisions"][0]
    found = [(held["bounded_too_small_from"], "bounded", GREEN, True)]
    if held["state_too_small_from"] is not None:
        found = [(held["state_too_small_from"], "state", GREEN, True)]
    if not record["windows"]["live_bits"]:
        found.append((record["kv_exceeds_fixed_from"], "bounded", VERMILLION, False))
    if record.get("against"):
        found.append((record["against"]["exceeds_from"], "state", PURPLE, False))
        found.append((record["against"]["exceeded_from"], "other", PURPLE, False))
    return [
        (n, lines[name](n), colour, above)
        for n, name, colour, above in found
        if n is not None and 1 <= n <= _FARTHEST
    ]


def _look(name: str, record: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return what a line is called, and its stroke."""
    size = unit()
    bounded = record["fixed"]["live_bits"] + record["windows"]["live_bits"]
    kind = "fixed state" if not record["windows"]["live_bits"] else "full windows"
    if record["fixed"]["live_bits"] and record["windows"]["live_bits"]:
        kind = "fixed state and full windows"
    other = record.get("against") or record
    return {
        "bounded": (f"{kind}, {bounded:,} bits", {"color": BLUE, "lw": 2.0 * size}),
        "growing": (
            f"keys and values, {record['growing_bits_a_token']:,} bits a token",
            {"color": VERMILLION, "lw": 1.4 * size, "ls": (0, (5.0, 1.4))},
        ),
        "state": ("all together", {"color": BLACK, "lw": 0.9 * size}),
        "other": (
            f"state of {_name(other)}",
            {"color": PURPLE, "lw": 1.4 * size, "ls": (0, (6.0, 1.4, 1.2, 1.4))},
        ),
        "needed": (
            rf"needed: $n\,\log_2 V$, V = {record['alphabet']:,}",
            {"color": GREEN, "lw": 1.4 * size, "ls": (0, (2.4, 1.2))},
        ),
        "bits": (
            "needed: one bit a token",
            {"color": GREY, "lw": 1.0 * size, "ls": (0, (1.0, 1.6))},
        ),
    }[name]


def _name(record: Mapping[str, Any]) -> str:
    """Return the name of the file that was read, or the kind of model."""
    file = Path(record.get("config") or "")
    stem = file.stem if file.suffix == ".json" else file.name
    if stem in ("", "config"):
        return str(record["model_type"])
    return "".join(c if c.isprintable() else "?" for c in stem).replace("$", r"\$")


def _mark(axes: Axes, n: int, bits: float, colour: str, *, above: bool) -> None:
    """Mark a crossing, and write its length beside it."""
    size = unit()
    axes.plot(
        [n],
        [bits],
        marker="o",
        ms=5.5 * size,
        mfc="white",
        mec=colour,
        mew=1.2 * size,
        ls="none",
        zorder=5,
        label="_crossing",
    )
    sign = 1 if above else -1
    axes.annotate(
        f"n = {n:,}",
        (n, bits),
        (-sign * 5 * size, sign * 7 * size),
        textcoords="offset points",
        fontsize=small(),
        color=NOTE,
        ha="right" if above else "left",
        va="bottom" if above else "top",
        zorder=6,
    )
