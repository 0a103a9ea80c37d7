"""How every figure looks: sizes, colours, markers and dashes.

The colours are those of Okabe and Ito (2008), which the colour-blind tell apart; their
yellow is left out since it vanishes on white. Each model has besides a marker of its own,
and a dash pattern where its line is dashed, so that nothing rests on colour alone.
Protocols are black or white markers without a line, the same in every figure.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

import matplotlib

from statebound.errors import UsageError

BLUE, VERMILLION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
ORANGE, SKY, BLACK, GREY = "#E69F00", "#56B4E9", "#000000", "#777777"
FAINT, FORBIDDEN, NOTE = "#BBBBBB", "#E6E6E6", "#505050"

_BASE = 8.0  # the font size at which widths below are given, in points
_KINDS: dict[str, tuple[float, tuple[float, float]]] = {
    "paper": (_BASE, (7.0, 4.9)),
    "slides": (16.0, (13.333, 7.5)),
}


@dataclass(frozen=True)
class Look:
    """What tells one line from another: colour, marker, and dashes in line widths."""

    colour: str
    marker: str
    dashes: tuple[float, ...]
    grow: float = 1.0  # evens out the area that markers cover


LOOKS = (
    Look(BLUE, "o", (4.0, 1.6)),
    Look(VERMILLION, "s", (2.4, 1.2), 0.92),
    Look(GREEN, "^", (5.0, 1.4, 1.2, 1.4), 1.1),
    Look(PURPLE, "D", (1.4, 1.2), 0.88),
    Look(ORANGE, "v", (6.0, 2.2), 1.1),
    Look(SKY, "P", (3.0, 1.2, 1.0, 1.2, 1.0, 1.2), 1.12),
    Look(BLACK, "X", (2.4, 2.4), 1.12),
    Look(GREY, "<", (7.0, 1.4, 2.4, 1.4), 1.1),
)


@dataclass(frozen=True)
class Mark:
    """What tells the points of one protocol from another's."""

    marker: str
    filled: bool = True
    grow: float = 1.0
    colour: str = BLACK


_MARKS = {
    "polar": Mark("*", grow=1.75),
    "linear": Mark("x", grow=1.25),
    "majority": Mark("+", grow=1.6),
    "trellis": Mark(">", grow=1.2),
    "syndrome_trellis": Mark(">", filled=False, grow=1.2),
    "hamming": Mark("p", grow=1.35),
    "golay": Mark("p", filled=False, grow=1.35),
    "truncation": Mark("_", grow=1.6),
    "partition": Mark("8", filled=False, grow=1.3),
}
_SPARE = (
    Mark("1", grow=1.7),
    Mark("d", grow=1.25),
    Mark("|", grow=1.6),
    Mark("*", filled=False, grow=1.75),
    Mark("2", grow=1.7),
    Mark("d", filled=False, grow=1.25),
    Mark("H", grow=1.3),
    Mark("3", grow=1.7),
    Mark("H", filled=False, grow=1.3),
    Mark("4", grow=1.7),
)


def marks(protocols: Mapping[str, str], grow: float = 1.0) -> dict[str, Mark]:
    """Return a mark for each label of a protocol, different as long as marks last.

    Parameters
    ----------
    protocols
        Label -> the name of the protocol: known codes always have the same mark.
    grow
        By how much the marks are larger.
    """
    found: dict[str, Mark] = {}
    taken = 0
    for label, name in protocols.items():
        mark = _MARKS.get(name)
        if mark is None or mark in found.values():
            mark = _SPARE[taken % len(_SPARE)]
            tone = BLACK if taken < len(_SPARE) else GREY
            mark, taken = replace(mark, colour=tone), taken + 1
        found[label] = mark
    return {label: replace(mark, grow=mark.grow * grow) for label, mark in found.items()}


def style(kind: str = "paper") -> AbstractContextManager[None]:
    """Return a context in which figures are made and drawn for ``paper`` or ``slides``.

    ``paper`` is 7 inches wide with 8 point letters, ``slides`` fills a 16:9 screen.
    Matplotlib's settings are as before when the context is left.

    Raises
    ------
    UsageError
        When there is no such style.
    """
    if kind not in _KINDS:
        raise UsageError("style", kind, "is not a known style", f"choose {' or '.join(_KINDS)}")
    points, size = _KINDS[kind]
    unit = points / _BASE
    settings: Any = {  # matplotlib types each key; the loop below makes some
        "figure.figsize": size,
        "figure.dpi": 100,
        "figure.facecolor": "white",
        "savefig.facecolor": "white",
        "font.family": "sans-serif",
        "font.sans-serif": ["DejaVu Sans"],  # ships with matplotlib: the same everywhere
        "font.size": points,
        "axes.titlesize": points * 1.1,
        "axes.titlelocation": "left",
        "axes.titlepad": 4 * unit,
        "axes.labelsize": points,
        "axes.labelpad": 3 * unit,
        "axes.linewidth": 0.7 * unit,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.unicode_minus": True,
        "xtick.labelsize": points * 0.9,
        "ytick.labelsize": points * 0.9,
        "legend.fontsize": points * 0.9,
        "legend.frameon": False,
        "legend.handlelength": 2.8,
        "legend.columnspacing": 1.6,
        "lines.linewidth": 1.2 * unit,
        "lines.markersize": 4.2 * unit,
        "lines.markeredgewidth": 0.9 * unit,
        "patch.linewidth": 0.7 * unit,
    }
    for axis in ("xtick", "ytick"):
        settings |= {
            f"{axis}.major.width": 0.7 * unit,
            f"{axis}.major.size": 3 * unit,
            f"{axis}.minor.size": 1.8 * unit,
            f"{axis}.major.pad": 2.5 * unit,
        }
    context: AbstractContextManager[None] = matplotlib.rc_context(settings)
    return context


def unit() -> float:
    """Return the size of the current style against paper: widths are multiples of it."""
    return float(matplotlib.rcParams["font.size"]) / _BASE


def small() -> float:
    """Return the size of letters inside a panel, in points."""
    return float(matplotlib.rcParams["font.size"]) * 0.9


def letter(which: str, title: str) -> str:
    """Return a panel's title with its letter before it."""
    return rf"$\mathbf{{{which}}}$   {title}"
