"""The figure of SmolLM2: what is left where its cache keeps so many entries.

(a) share of right answers over state bits, exact, by policy, and rounded ones in outline;
(b) by where in the prompt the answer is, at one budget; (c) bits a token of a passage that comes
again, over how far back it was, at the same budget.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from statebound.experiments.figures._pieces import handle, interval_handles, legend, stroke
from statebound.experiments.figures._style import GREY, LOOKS, NOTE, letter, small, style, unit

_ORDER = ("fifo", "sinks", "heavy", "full")
_NAMES = {"heavy": "heavy hitters", "full": "full (grows)"}
_EXACT = 32

Row = Mapping[str, Any]


def make(record: Mapping[str, Any], kind: str = "paper") -> Figure:
    """Return the figure of a record of `statebound.experiments.subjects.remembering`."""
    with style(kind):
        figure = Figure()
        figure.set_size_inches(figure.get_figwidth(), figure.get_figwidth() * 0.62)
        figure.set_layout_engine("constrained")
        grid = figure.add_gridspec(2, 2, width_ratios=(1.5, 1))
        main, where, again = (
            figure.add_subplot(cell) for cell in (grid[:, 0], grid[0, 1], grid[1, 1])
        )
        budgets = sorted({r["entries"] for r in record["rows"] if r["policy"] != "full"})
        middle = budgets[(len(budgets) - 1) // 2]
        _success(main, record)
        _where(where, record, middle)
        _again(again, record, middle)
        handles = [handle(_NAMES.get(n, n), look) for n, look in zip(_ORDER, LOOKS, strict=False)]
        rounded = sorted({r["bits_per_number"] for r in record["rows"]} - {_EXACT})
        if rounded:
            label = f"rounded to {', '.join(map(str, rounded))} bits"
            open_one = stroke(LOOKS[0], step=True) | {"color": GREY, "mec": GREY, "ls": ":"}
            handles.append(Line2D([], [], label=label, **open_one))
        handles.append(Line2D([], [], color=GREY, ls="--", lw=unit(), label="a guess, or not read"))
        legend(figure, [*handles, *interval_handles([record["interval_level"]])], "lower")
    return figure


def _line(axes: Axes, name: str, x: Sequence[float], ends: Sequence[Sequence[float]]) -> None:
    """Draw (low, best, high) over x in the look of a policy."""
    look = LOOKS[_ORDER.index(name)]
    y = [best for _, best, _ in ends]
    off = [[max(0.0, b - a) for a, b, _ in ends], [max(0.0, c - b) for _, b, c in ends]]
    size = 0.9 * unit()
    axes.errorbar(x, y, off, fmt="none", ecolor=look.colour, elinewidth=size, label="_interval")
    axes.plot(x, y, color=look.colour, zorder=3, label=name, **stroke(look, step=False))


def _ends(row: Row, key: str) -> list[float]:
    return [row[f"{key}_low"], row[key], row[f"{key}_high"]]


def _success(axes: Axes, record: Mapping[str, Any]) -> None:
    for name in _ORDER:
        rows = [r for r in record["rows"] if r["policy"] == name]
        exact = sorted(
            (r for r in rows if r["bits_per_number"] == _EXACT), key=lambda r: r["state_bits"]
        )
        ends = [_ends(r, "success") for r in exact]
        _line(axes, name, [r["state_bits"] for r in exact], ends)
        for entries in sorted({r["entries"] for r in rows}):
            same = sorted(
                (r for r in rows if r["entries"] == entries), key=lambda r: r["state_bits"]
            )
            look = LOOKS[_ORDER.index(name)]
            shape = stroke(look, step=True) | {"ls": ":", "lw": 0.8 * unit()}
            x, y = [r["state_bits"] for r in same], [r["success"] for r in same]
            axes.plot(x, y, color=look.colour, zorder=2.5, label="_rounded", **shape)
    axes.axhline(record["chance"], color=GREY, ls="--", lw=unit(), zorder=1.5)
    axes.set_xscale("log", base=10)
    axes.set(xlabel="state bits M", ylabel="share of right answers")
    axes.set_ylim(-0.02, 1.15 * max(r["success_high"] for r in record["rows"]))
    axes.set_title(letter("a", f"{record['names']} names, {record['tokens']} tokens read"))
    note = f"the answers take {record['content_bits']:.0f} bits: no wall binds here"
    axes.text(0.03, 0.97, note, transform=axes.transAxes, va="top", fontsize=small(), color=NOTE)


def _where(axes: Axes, record: Mapping[str, Any], entries: int) -> None:
    count = record["stretches"]
    head, tokens = record["head"], record["tokens"]
    x = [(head + (i + 0.5) * (tokens - head) / count) / tokens for i in range(count)]
    for number, name in enumerate(_ORDER):
        for row in record["rows"]:
            fits = name == "full" or row["entries"] == entries
            if row["policy"] == name and row["bits_per_number"] == _EXACT and fits:
                apart = 0.012 * (number - 1.5)  # so that intervals can be told apart
                _line(axes, name, [place + apart for place in x], row["by_stretch"])
    axes.axhline(record["chance"], color=GREY, ls="--", lw=unit(), zorder=1.5)
    axes.axvspan(max(0.0, 1 - entries / tokens), 1, color=GREY, alpha=0.15, lw=0)
    axes.set(xlim=(0, 1), ylim=(-0.02, 1.02), xlabel="place of the answer in the prompt")
    axes.set_ylabel("right answers")
    axes.set_title(letter("b", f"{entries} entries; grey: the last {entries}"))


def _again(axes: Axes, record: Mapping[str, Any], entries: int) -> None:
    for name in _ORDER:
        rows = sorted(
            (
                r
                for r in record["again"]
                if r["policy"] == name and (name == "full" or r["entries"] == entries)
            ),
            key=lambda r: r["gap"],
        )
        _line(axes, name, [r["gap"] for r in rows], [_ends(r, "bits_per_token") for r in rows])
    axes.axhline(record["fresh"]["bits_per_token"], color=GREY, ls="--", lw=unit(), zorder=1.5)
    axes.set(xlabel="tokens since the passage", ylabel="bits a token", ylim=(0, None))
    axes.set_title(letter("c", f"A passage of {record['passage']} tokens again"))
