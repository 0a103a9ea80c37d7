"""What a demonstration is told in: scenes, their steps, and small drawings in text.

A line is text, or a list of texts and pairs (text, style). Every drawing is to be read
without colour: heights, lengths and signs say all that styles say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Span = str | tuple[str, str]
Line = str | list[Span]

HEIGHTS = "▁▂▃▄▅▆▇█"
HEATS = 5  # styles heat0 (least) .. heat4
FULL, EMPTY = "█", "·"


@dataclass(frozen=True)
class Step:
    """What appears at once: lines that are added below those of the same scene."""

    scene: str
    lines: tuple[Line, ...]


class Story:
    """Collects steps."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._scene = ""

    def scene(self, title: str) -> None:
        """Begin a scene: an empty screen with a heading."""
        self._scene = title

    def step(self, *lines: Line) -> None:
        """Add lines that appear at once."""
        self.steps.append(Step(self._scene, lines))


def plain(line: Line) -> str:
    """Return a line without its styles.

    Examples
    --------
    >>> plain(["a ", ("b", "right")])
    'a b'
    """
    if isinstance(line, str):
        return line
    return "".join(span if isinstance(span, str) else span[0] for span in line)


def grouped(text: str, size: int = 8) -> str:
    """Return text in groups, so that it can be counted and wrapped.

    Examples
    --------
    >>> grouped("1101001011", 4)
    '1101 0010 11'
    """
    return " ".join(text[at : at + size] for at in range(0, len(text), size))


def strip(values: Sequence[float], low: float, high: float) -> list[Span]:
    """Return a column for each value, by its height between `low` and `high`.

    Examples
    --------
    >>> plain(strip([0.0, 0.5, 1.0], 0.0, 1.0))
    '▁▅█'
    """
    spread = (high - low) or 1.0
    spans: list[Span] = []
    for value in values:
        share = min(max((value - low) / spread, 0.0), 1.0)
        at = min(int(share * len(HEIGHTS)), len(HEIGHTS) - 1)
        spans.append((HEIGHTS[at], f"heat{at * HEATS // len(HEIGHTS)}"))
    return spans


def bar(share: float, width: int, style: str = "bar") -> list[Span]:
    """Return a bar that fills a share of `width` columns.

    Examples
    --------
    >>> plain(bar(0.5, 6))
    '███···'
    """
    full = round(min(max(share, 0.0), 1.0) * width)
    return [(FULL * full, style), (EMPTY * (width - full), "faint")]


def level(label: str, value: float, width: int, *, top: float = 1.0, text: str = "") -> Line:
    """Return a label, a value and its bar of the scale 0..`top`, in `width` columns."""
    shown = text or f"{value:.4f}"
    wide = max(len(label), 22 if width >= 56 else 20)
    return [f"{label:<{wide}} {shown:>7} ", *bar(value / top, max(width - wide - 9, 4))]


def mark(*, right: bool) -> Span:
    """Return a sign that an answer is right or wrong."""
    return ("✓ right", "right") if right else ("✗ wrong", "wrong")


def aligned(rows: Sequence[tuple[str, Sequence[Any]]], width: int) -> list[Line]:
    """Return rows of cells below each other, cut into blocks that fit `width`.

    Examples
    --------
    >>> aligned([("k", [9, 10]), ("x", [0, 1])], 20)
    ['k   9 10', 'x   0  1']
    """
    names = max(len(name) for name, _ in rows)
    count = len(rows[0][1])
    cell = max(len(str(value)) for _, values in rows for value in values) + 1
    each = max(1, (width - names - 1) // cell)
    lines: list[Line] = []
    for at in range(0, count, each):
        if at:
            lines.append("")
        for name, values in rows:
            cells = "".join(f"{value!s:>{cell}}" for value in values[at : at + each])
            lines.append(f"{name:<{names}} {cells}".rstrip())
    return lines


def counted(number: int, noun: str) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> counted(1, "bit"), counted(3, "bit")
    ('1 bit', '3 bits')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


def chunks(count: int, parts: int) -> list[range]:
    """Return the numbers below `count` in at most `parts` runs of nearly equal length.

    Examples
    --------
    >>> chunks(5, 2)
    [range(0, 3), range(3, 5)]
    """
    size = -(-count // parts) or 1
    return [range(at, min(at + size, count)) for at in range(0, count, size)]
