"""What training finds, in figures: by examples, by length, and beside a construction.

A dot is a seed; lines go through means. Grey is what no protocol can do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from statebound.errors import UsageError
from statebound.experiments.figures._pieces import legend
from statebound.experiments.figures._style import (
    BLACK,
    FORBIDDEN,
    GREY,
    LOOKS,
    Look,
    letter,
    style,
    unit,
)
from statebound.experiments.figures._success import IMPOSSIBLE

Row = Mapping[str, Any]
_WALLS = (
    ("wall_ball", "ball limit", BLACK, 2.4, "-"),
    ("best_known", "best known code", BLACK, 1.0, (0, (4, 2))),
    ("truncation", "M raw bits kept", GREY, 1.2, "-"),
)


def make(record: Mapping[str, Any], kind: str = "paper") -> Figure:
    """Return the figure of a record of data, length or hybrid, in a style of `_style.style`."""
    drawn = {"data": _data, "length": _length, "hybrid": _hybrid}[record["what"]]
    with style(kind):
        figure = Figure()
        figure.set_layout_engine("constrained")
        handles = drawn(record, figure)
        legend(figure, handles, "lower")
    return figure


def _line(
    axes: Axes, rows: Sequence[Row], at: Callable[[Row], float], key: str, look: Look, name: str
) -> Artist:
    """Draw every row as a dot and a line through the means; return what the legend shows."""
    size = unit()
    held = [(at(row), row[key]) for row in rows if row[key] is not None]
    x = sorted({place for place, _ in held})
    means = [float(np.mean([v for place, v in held if place == p])) for p in x]
    for row in rows:
        if row.get("interval_level") is not None:
            ends = row["success_low"], row["success_high"]
            axes.plot([at(row)] * 2, ends, color=look.colour, lw=0.7 * size, zorder=2.9)
    dashes: Any = (0, look.dashes)
    axes.plot(x, means, color=look.colour, lw=1.2 * size, ls=dashes, zorder=3, label=f"_{name}")
    dots: dict[str, Any] = {
        "marker": look.marker,
        "ms": 3.4 * size * look.grow,
        "mec": look.colour,
        "mfc": look.colour,
        "mew": 0.5 * size,
    }
    axes.plot(*np.array(held).T, ls="none", zorder=4, label=f"_{name}, seeds", **dots)
    return Line2D([], [], color=look.colour, lw=1.2 * size, ls=dashes, label=name, **dots)


def _walls(
    axes: Axes, points: Sequence[tuple[float, Row]], top: float, above: str = IMPOSSIBLE
) -> list[Artist]:
    """Draw the limits at (x, row), and what is above shaded."""
    size = unit()
    found: list[Artist] = []
    for key, name, colour, width, dashes in _WALLS:
        held = [(x, row[key]) for x, row in points if row[key] is not None]
        if not held:
            continue
        xs, ys = np.array(held).T
        if key == "wall_ball":
            axes.fill_between(xs, ys, top, color=FORBIDDEN, lw=0, zorder=1)
            found.append(Patch(color=FORBIDDEN, lw=0, label=above))
        shared: dict[str, Any] = {"color": colour, "lw": width * size, "ls": dashes}
        axes.plot(xs, ys, zorder=2, label=f"_{key}", **shared)
        found.append(Line2D([], [], label=name, **shared))
    return found


def _settle(axes: Axes, values: Sequence[float]) -> float:
    """Set the limits of the vertical axis for these values; return the upper one."""
    low = min(values)
    top = 1 + 0.03 * (1 - low)
    axes.set_ylim(low - 0.06 * (1 - low), top)
    axes.yaxis.set_major_locator(MaxNLocator(7, steps=[1, 2, 5, 10]))
    axes.set_ylabel("success probability")
    return top


def _data(record: Mapping[str, Any], figure: Figure) -> list[Artist]:
    rows = record["rows"]
    axes = figure.add_subplot()
    counts = sorted({row["examples"] for row in rows if row["examples"] is not None})
    last = 4 * counts[-1] if counts else 1
    keys = ("train_success", "own_success", "success", "truncation")
    top = _settle(axes, [row[key] for row in rows for key in keys if row[key] is not None])

    def at(row: Row) -> float:
        return float(row["examples"] or last)

    on_all = "impossible for any protocol on all inputs"
    ends = (min(at(row) for row in rows) / 1.4, max(at(row) for row in rows) * 1.4)
    walls = _walls(axes, [(end, rows[0]) for end in ends], top, on_all)
    axes.set_xscale("log")
    axes.set_xlim(ends)
    shown = [*counts, *([last] if any(row["examples"] is None for row in rows) else [])]
    names = {float(last): "unlimited"} if len(shown) > len(counts) else {}
    axes.xaxis.set_major_locator(FixedLocator([float(c) for c in shown]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: names.get(v, f"{v:g}")))
    axes.set_xlabel("training examples (inputs with all their answers)")
    model = str(record["model"]).replace("_", " ")
    axes.set_title(f"{model}, M = {rows[0]['state_bits']}, trained on Index, n = {record['n']}")
    found = [
        _line(axes, rows, at, key, LOOKS[i], name)
        for key, name, i in (
            ("train_success", "own Bob, on the examples", 1),
            ("success", "optimal Bob, on all inputs", 0),
            ("own_success", "own Bob, on all inputs", 2),
        )
        if any(row[key] is not None for row in rows)
    ]
    return found + walls


def _length(record: Mapping[str, Any], figure: Figure) -> list[Artist]:
    rows = record["rows"]
    trained = list(dict.fromkeys(row["trained_n"] for row in rows))
    if len(trained) > len(LOOKS):
        raise UsageError(
            "trained",
            trained,
            f"are more than the {len(LOOKS)} that can be told apart",
            "pass 8,16",
        )
    left, right = figure.subplots(1, 2, width_ratios=(1.25, 1))
    keys = ("success_low", "truncation")
    top = _settle(left, [row[key] for row in rows for key in keys])
    by = {row["n"]: row for row in rows}
    walls = _walls(left, [(float(n), by[n]) for n in sorted(by)], top)
    found = []
    for look, n in zip(LOOKS, trained, strict=False):
        held = [row for row in rows if row["trained_n"] == n]
        found.append(_line(left, held, lambda row: float(row["n"]), "success", look,
                           f"trained at n = {n}"))  # fmt: skip
        if n in by:
            left.axvline(n, color=look.colour, lw=0.6 * unit(), ls=(0, (1, 2)), zorder=1.6)
    left.xaxis.set_major_locator(FixedLocator(sorted(float(n) for n in by)))
    left.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    left.set_xlabel("length n' of the stream that is run (symbols)")
    model = str(record["model"]).replace("_", " ")
    left.set_title(letter("a", f"{model}, M = {rows[0]['state_bits']}, on Index"))
    _ages(right, rows, dict(zip(trained, LOOKS, strict=False)), max(by))
    right.set_title(letter("b", f"By age, n' = {max(by)}"))
    return found + walls


def _ages(axes: Axes, rows: Sequence[Row], looks: Mapping[int, Look], n: int) -> None:
    """Draw the success at each symbol against how many came after it, at the longest length."""
    size = unit()
    values = []
    for trained, look in looks.items():
        held = [
            row["success_by_query"] for row in rows if (row["trained_n"], row["n"]) == (trained, n)
        ]
        mean = np.array(held, float).mean(0)[::-1]
        values.append(mean)
        axes.plot(
            range(n),
            mean,
            color=look.colour,
            lw=1.2 * size,
            ls=(0, look.dashes),
            marker=look.marker,
            ms=2.4 * size * look.grow,
            label=f"_age, {trained}",
        )
    low = float(min(v.min() for v in values))
    axes.set_ylim(low - 0.06 * (1 - low), 1 + 0.03 * (1 - low))
    axes.set(xlabel="symbols after the one asked for", ylabel="success, mean over seeds")
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))


def _hybrid(record: Mapping[str, Any], figure: Figure) -> list[Artist]:
    rows = record["rows"]
    left, right = figure.subplots(1, 2, width_ratios=(1.25, 1))
    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    values = [row["success_low"] for row in rows] + ([0.5] if record["task"] == "index" else [])
    _settle(left, values)
    for axes in (left, right):
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_locator(FixedLocator(sorted({float(row["n"]) for row in rows})))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
        axes.set_xlabel("n, symbols of context")
    found = []
    for look, kind in zip(_KINDS, kinds, strict=False):
        held = [row for row in rows if row["kind"] == kind]
        found.append(_line(left, held, _n, "success", look, kind))
        bits = sorted({(row["n"], row["recurrent_bits"], row["cache_bits"]) for row in held})
        if kind == kinds[-1] and len(kinds) > 2:
            continue  # the same bits as the other trained one
        n, state, cache = np.array(bits).T
        shared: dict[str, Any] = {"color": look.colour, "lw": 1.2 * unit(), "marker": look.marker,
                                  "ms": 3.4 * unit() * look.grow}  # fmt: skip
        right.plot(n, state, label=f"_state, {kind}", **shared)
        right.plot(n, cache, ls=(0, (1, 1.4)), mfc="white", label=f"_cache, {kind}", **shared)
    right.set_yscale("log")
    right.set_ylabel("bits at the handoff")
    name = {"index": "Index", "recall": "Associative recall"}[record["task"]]
    left.set_title(letter("a", f"{name}, {record['steps']} steps each"))
    right.set_title(letter("b", "What crosses"))
    if record["task"] == "index":
        left.axhline(0.5, color=GREY, lw=unit(), ls=(0, (1, 1.6)), zorder=1.5, label="_chance")
        found.append(Line2D([], [], color=GREY, lw=unit(), ls=(0, (1, 1.6)), label="coin toss"))
    found.append(Line2D([], [], color=GREY, lw=1.2 * unit(), label="b: recurrent state"))
    found.append(Line2D([], [], color=GREY, lw=1.2 * unit(), ls=(0, (1, 1.4)),
                        label="b: keys and values"))  # fmt: skip
    return found


_KINDS = (Look(BLACK, "o", (1.0, 0.0)), LOOKS[0], LOOKS[1])


def _n(row: Row) -> float:
    return float(row["n"])
