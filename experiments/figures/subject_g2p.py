"""The figure of g2p-en: accuracy against what its handoff sends.

(a) phonemes, (b) whole words, both over all bits of the message for each number of the state,
scales included; the upper axis says the bits themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from statebound.experiments.figures._pieces import handle, interval_handles, legend, stroke
from statebound.experiments.figures._style import (
    BLACK,
    FORBIDDEN,
    GREY,
    LOOKS,
    NOTE,
    letter,
    small,
    style,
    unit,
)

_TICKS = (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8, 16, 32)
_FEWER = "some at 1 bit"


def make(record: Mapping[str, Any], kind: str = "paper") -> Figure:
    """Return the figure of a record of `statebound.experiments.subjects.pronouncing`."""
    with style(kind):
        figure = Figure()
        figure.set_size_inches(figure.get_figwidth(), figure.get_figwidth() * 0.52)
        figure.set_layout_engine("constrained")
        parts, words = figure.subplots(1, 2)
        _panel(parts, record, "phoneme_accuracy", "mean accuracy of a word's phonemes")
        parts.set_title(letter("a", "g2p-en: phonemes"))
        _panel(words, record, "word_accuracy", "share of words said right")
        _wall(words, record)
        words.set_title(letter("b", "g2p-en: whole words"))
        families = _families(record)
        handles = [handle(name, LOOKS[i]) for i, name in enumerate(families)]
        handles.append(Line2D([], [], color=GREY, ls="--", lw=unit(), label="unquantised"))
        legend(figure, [*handles, *interval_handles([record["interval_level"]])], "lower")
    return figure


def _families(record: Mapping[str, Any]) -> list[str]:
    return sorted(
        {row["family"] for row in record["rows"]}, key=lambda name: (name == _FEWER, name)
    )


def _joins(row: Mapping[str, Any]) -> str | None:
    """Return the other line that a row ends: some numbers at one bit become all of them."""
    return _FEWER if (row["family"], row["bits_per_number"]) == ("lloyd", 1) else None


def _panel(axes: Axes, record: Mapping[str, Any], key: str, name: str) -> None:
    numbers, size = record["state_numbers"], unit()
    for i, family in enumerate(_families(record)):
        rows = sorted(
            (row for row in record["rows"] if family in (row["family"], _joins(row))),
            key=lambda row: row["state_bits"],
        )
        x = [row["state_bits"] / numbers for row in rows]
        y = [row[key] for row in rows]
        low = [row[key] - row[f"{key}_low"] for row in rows]
        high = [row[f"{key}_high"] - row[key] for row in rows]
        look = LOOKS[i]
        shape: dict[str, Any] = {"fmt": "none", "ecolor": look.colour, "label": "_interval"}
        axes.errorbar(x, y, (low, high), elinewidth=0.9 * size, **shape)
        axes.plot(x, y, color=look.colour, label=family, zorder=3, **stroke(look, step=False))
    axes.axhline(record["unquantised"][key], color=GREY, ls="--", lw=size, zorder=1.5)
    needed = record["letters_bits"] / numbers
    axes.axvline(needed, color=BLACK, ls=(0, (1, 1.6)), lw=size, zorder=1.5)
    axes.annotate(
        f"letters:\n{record['letters_bits']:.0f} bits",
        (needed, 0.64),
        (3 * size, 0),
        xycoords=axes.get_xaxis_transform(),
        textcoords="offset points",
        va="top",
        fontsize=small(),
        color=NOTE,
    )
    axes.set_xscale("log", base=2)
    axes.set(xlim=(1 / 40, 40), ylim=(-0.03, 1.03), ylabel=name)
    axes.set_xlabel(f"bits a number, all counted: M / {numbers}")
    axes.xaxis.set_major_locator(FixedLocator(_TICKS))
    axes.xaxis.set_major_formatter(
        FuncFormatter(lambda v, _: f"{v:g}" if v >= 1 else f"1/{1 / v:g}")
    )
    axes.xaxis.set_minor_locator(NullLocator())
    above = axes.secondary_xaxis("top", functions=(lambda v: v * numbers, lambda v: v / numbers))
    above.set_xlabel("state bits M")
    above.xaxis.set_major_locator(FixedLocator([t * numbers for t in _TICKS[::2]]))
    above.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    above.xaxis.set_minor_locator(NullLocator())


def _wall(axes: Axes, record: Mapping[str, Any]) -> None:
    """Shade what no message of so many bits can reach."""
    curve = record["wall"]
    x = [bits / record["state_numbers"] for bits, _ in curve]
    y = [share for _, share in curve]
    axes.fill_between(x, y, 2, color=FORBIDDEN, lw=0, zorder=1, label="_impossible")
    axes.plot(x, y, color=BLACK, lw=2 * unit(), zorder=2, label="_wall")
    axes.annotate(
        "impossible",
        (0.03, 0.32),
        rotation=90,
        xycoords="axes fraction",
        fontsize=small(),
        color=NOTE,
    )
