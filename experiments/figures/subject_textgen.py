"""The figure of textgenrnn: how well it predicts against the bits that its state is held in.

(a) bits a character over state bits, for each regime and rounding, and for the model that
reads its last characters again; (b) by characters read since the start, unquantised; (c) by
place after a handoff.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from statebound.experiments.figures._pieces import handle, interval_handles, legend, stroke
from statebound.experiments.figures._style import (
    BLACK,
    FAINT,
    GREY,
    LOOKS,
    NOTE,
    Look,
    Mark,
    letter,
    small,
    style,
    unit,
)

_WINDOW = Mark("X", grow=1.3)
_TICKS = (2, 3, 4, 6, 8, 12, 16, 24)
_SIZES = (8, 32, 128, 512, 2048, 8192, 32768)
_PLACES = (1, 2, 3, 8)  # bits a number whose recovery is drawn

Row = Mapping[str, Any]


def make(record: Mapping[str, Any], kind: str = "paper") -> Figure:
    """Return the figure of a record of `statebound.experiments.subjects.predicting`."""
    with style(kind):
        figure = Figure()
        figure.set_size_inches(figure.get_figwidth(), figure.get_figwidth() * 0.66)
        figure.set_layout_engine("constrained")
        grid = figure.add_gridspec(2, 2, width_ratios=(1.6, 1))
        main, age, place = (
            figure.add_subplot(cell) for cell in (grid[:, 0], grid[0, 1], grid[1, 1])
        )
        lines = _lines(record["rows"])
        handles = [
            _draw(main, rows, LOOKS[i], name, step=rows[0]["regime"] == "step")
            for i, (name, rows) in enumerate(lines.items())
        ]
        windows = [row for row in record["rows"] if row["form"] == "window"]
        handles.append(_draw(main, windows, _WINDOW, "last W characters, read again", step=False))
        _main(main, record)
        _age(age, record)
        _places(place, lines, record)
        handles.append(Line2D([], [], color=GREY, ls="--", lw=unit(), label="unquantised"))
        legend(figure, [*handles, *interval_handles([record["interval_level"]])], "lower")
    return figure


def _lines(rows: Sequence[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        if row["form"] == "stream":
            last = row["family"] if row["regime"] == "handoff" else row["rounding"]
            found.setdefault(f"{row['regime']}, {last}", []).append(row)
    return {name: sorted(held, key=lambda row: row["state_bits"]) for name, held in found.items()}


def _draw(axes: Axes, rows: Sequence[Row], look: Look | Mark, name: str, *, step: bool) -> Any:
    key = "bits_per_character"
    x = [row["state_bits"] for row in rows]
    y = [row[key] for row in rows]
    ends = [[abs(row[key] - row[f"{key}_{end}"]) for row in rows] for end in ("low", "high")]
    axes.errorbar(
        x, y, ends, fmt="none", ecolor=look.colour, elinewidth=0.9 * unit(), label="_interval"
    )
    axes.plot(x, y, color=look.colour, label=name, zorder=3, **stroke(look, step))
    if isinstance(look, Mark):
        return handle(name, look)
    return Line2D([], [], color=look.colour, label=name, **stroke(look, step))


def _bits(axes: Axes, record: Mapping[str, Any]) -> None:
    """Set the axis of bits a character, and draw the unquantised model on it."""
    axes.set_yscale("log", base=2)
    axes.yaxis.set_major_locator(FixedLocator(_TICKS))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    axes.yaxis.set_minor_locator(NullLocator())
    best = record["unquantised"]["bits_per_character"]
    axes.axhline(best, color=GREY, ls="--", lw=unit(), zorder=1.5)
    axes.set_ylabel("bits a character")


def _main(axes: Axes, record: Mapping[str, Any]) -> None:
    _bits(axes, record)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(FixedLocator(_SIZES))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set(xlabel="state bits M", title=letter("a", "textgenrnn: what the state must hold"))
    lead = record["lead_bits"]
    axes.axvline(lead, color=BLACK, ls=(0, (1, 1.6)), lw=unit(), zorder=1.5)
    alone = record["letters_alone"]
    axes.axhline(alone, color=FAINT, lw=unit(), zorder=1.4)
    left, right = axes.get_xlim()
    note: dict[str, Any] = {
        "textcoords": "offset points",
        "fontsize": small(),
        "color": NOTE,
        "ha": "right",
    }
    axes.annotate(
        f"all {record['lead']} characters\nread: {lead} bits",
        (lead, 0.98),
        (-3 * unit(), 0),
        xycoords=axes.get_xaxis_transform(),
        va="top",
        **note,
    )
    note["ha"] = "left"
    axes.annotate(f"letters alone: {alone:.2f}", (lead, alone), (3 * unit(), 2 * unit()), **note)
    axes.set_xlim(left, right)


def _age(axes: Axes, record: Mapping[str, Any]) -> None:
    values = record["by_age"]
    first = record["lead"]
    last = first + len(record["unquantised"]["by_place"])
    axes.axvspan(first, last, color=FAINT, alpha=0.45, lw=0, zorder=1)
    axes.plot(range(1, len(values) + 1), values, color=BLACK, zorder=3)
    _bits(axes, record)
    axes.annotate(
        "measured\nhere",
        (last, 0.95),
        (3 * unit(), 0),
        xycoords=axes.get_xaxis_transform(),
        textcoords="offset points",
        va="top",
        fontsize=small(),
        color=NOTE,
    )
    axes.set(xlabel="characters read since the start", title=letter("b", "It counts its steps"))


def _places(axes: Axes, lines: Mapping[str, Sequence[Row]], record: Mapping[str, Any]) -> None:
    name = next(name for name in lines if name.startswith("handoff"))
    for i, row in enumerate(r for r in lines[name] if r["bits_per_number"] in _PLACES):
        values, look = row["by_place"], LOOKS[i]
        label = f"{row['bits_per_number']}"
        line = stroke(look, step=True) | {"ls": "-", "ms": 2.6 * unit()}
        axes.plot(range(1, len(values) + 1), values, color=look.colour, label=label, **line)
    _bits(axes, record)
    axes.set(xlabel="characters after the message", title=letter("c", name.capitalize()))
    if axes.lines:
        axes.legend(title="bits a number", ncols=2)
