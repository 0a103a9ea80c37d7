"""The thinking figure: what tokens after the handoff buy, and what they cannot.

(a) success against the number of tokens that Bob may write, with the best reader of the
message, who does not think, as a level, and the ball limit; (b) what message and transcript
together, and the transcript alone, tell of x.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator

from statebound.errors import UsageError
from statebound.experiments.figures._lines import Line, kind_and_name
from statebound.experiments.figures._pieces import (
    broken,
    handle,
    legend,
    mean_and_seeds,
    named,
    ring,
    ring_handle,
    settle,
    stroke,
)
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

_MODELS = LOOKS[:6]
_CODES = LOOKS[6:]  # black and grey, as codes are everywhere


def make(rows: Sequence[Row], kind: str = "paper") -> Figure:
    """Return the figure in a style of `_style.style`; see `draw`."""
    with style(kind):
        figure = Figure()
        figure.set_figheight(figure.get_figheight() * 0.72)
        draw(rows, figure)
    return figure


def draw(rows: Sequence[Row], figure: Figure) -> None:
    """Draw rows of one problem on an empty figure, inside a `_style.style` context.

    Parameters
    ----------
    rows
        As `statebound.experiments.think.think` gives them, in any order.
    figure
        The figure to fill.

    Raises
    ------
    UsageError
        When there are more models or codes than can be told apart.
    """
    lines = _lines(rows)
    looks = _looks(lines)
    figure.set_layout_engine("constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.35, 1))
    _success(left, lines, looks)
    regimes = {row["regime"] for row in rows} - {None}
    how = f", {regimes.pop()}" if len(regimes) == 1 else ""
    left.set_title(letter("a", f"Thinking about {named(rows[0])}{how}"))
    _information(right, lines, looks)
    right.set_title(letter("b", "What is known of x"))
    ticks = sorted({t for line in lines for t in line.rows})
    for axes in (left, right):
        _tokens(axes, ticks)
    legend(figure, [handle(label, look) for label, look in looks.items()], "upper")
    legend(figure, _handles(lines), "lower")
    settle(figure)


def _lines(rows: Sequence[Row]) -> list[Line]:
    """Return a line for each model or code: its rows by tokens, one for each machine seed."""
    found: dict[str, dict[int, list[dict[str, Any]]]] = {}
    protocols: dict[str, str | None] = {}
    several = {row["regime"] for row in rows if row["regime"] is not None}
    sizes: dict[tuple[Any, ...], set[int]] = {}
    for row in rows:
        key = row["model"], row["protocol"], row["regime"]
        sizes.setdefault(key, set()).add(row["state_bits"])
    for row in rows:
        code = row["protocol"]
        name = kind_and_name(code) if code is not None else str(row["model"]).replace("_", " ")
        if code is None and len(several) > 1:
            name += f", {row['regime']}"
        if len(sizes[row["model"], code, row["regime"]]) > 1:
            name += f", M = {row['state_bits']}"
        protocols[name] = code
        found.setdefault(name, {}).setdefault(row["tokens"], []).append(dict(row))
    return [
        Line(name, False, {t: tuple(held) for t, held in sorted(by.items())}, protocols[name])
        for name, by in sorted(found.items(), key=lambda pair: (protocols[pair[0]] or "", pair[0]))
    ]


def _looks(lines: Sequence[Line]) -> dict[str, Look]:
    found: dict[str, Look] = {}
    for argument, looks, codes in (("models", _MODELS, False), ("codes", _CODES, True)):
        names = [line.label for line in lines if (line.protocol is not None) == codes]
        if len(names) > len(looks):
            raise UsageError(
                argument,
                ", ".join(names),
                f"are more than the {len(looks)} {argument} that a figure can tell apart",
                f"draw {len(looks)} at a time",
            )
        found |= dict(zip(names, looks, strict=False))
    return found


def _tokens(axes: Axes, ticks: Sequence[int]) -> None:
    """Lay tokens out by their logarithm, with a place for 0."""
    last = max(*ticks, 1)
    axes.set_xscale("symlog", base=2, linthresh=1, linscale=0.7)
    axes.set(xlim=(-0.15, last * 1.12), xlabel="tokens that Bob may write")
    shown = [t for t in ticks if t & (t - 1) == 0] if len(ticks) > 6 else ticks
    axes.xaxis.set_major_locator(FixedLocator(list(shown)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")


def _ends(lines: Sequence[Line]) -> tuple[float, float]:
    return -0.15, 1.12 * max(1, *(t for line in lines for t in line.rows))


def _level(axes: Axes, lines: Sequence[Line], level: float, top: float) -> None:
    """Draw a limit and shade what is above it."""
    ends = _ends(lines)
    axes.fill_between(ends, level, top, color=FORBIDDEN, lw=0, zorder=1, label="_impossible")
    axes.plot(ends, (level, level), color=BLACK, lw=2.6 * unit(), zorder=2.2, label="_limit")


def _first(line: Line) -> tuple[dict[str, Any], ...]:
    return next(iter(line.rows.values()))


def _success(axes: Axes, lines: Sequence[Line], looks: Mapping[str, Look]) -> None:
    size = unit()
    rows = [row for line in lines for held in line.rows.values() for row in held]
    chance = rows[0]["chance"]
    values = [row[key] for row in rows for key in ("success", "optimal_success")]
    low = min([*values, *([] if chance is None else [chance])])
    top = 1 + 0.03 * (1 - low)
    walls = sorted({row["wall_ball"] for row in rows if row["wall_ball"] is not None})
    if walls:
        _level(axes, lines, walls[-1], top)
    for wall in walls[:-1]:  # of smaller messages
        axes.plot(_ends(lines), (wall, wall), color=BLACK, lw=size, zorder=2.2, label="_limit")
    if chance is not None:
        axes.axhline(chance, color=GREY, lw=size, ls=(0, (1, 1.6)), zorder=1.5, label="_chance")
    for line in lines:
        look = looks[line.label]
        levels = [row["optimal_success"] for row in _first(line)]
        axes.plot(
            _ends(lines),
            [sum(levels) / len(levels)] * 2,
            color=look.colour,
            lw=1.0 * size,
            ls=(0, look.dashes),
            zorder=2.3,
            label="_optimal",
        )
        mean_and_seeds(axes, line, look, "success", 1)
    ring(axes, [(row["tokens"], row["success"]) for row in rows if broken(row)])
    axes.set(ylim=(low - 0.05 * (1 - low), top), ylabel="success probability")
    axes.yaxis.set_major_locator(MaxNLocator(7, steps=[1, 2, 5, 10]))


def _information(axes: Axes, lines: Sequence[Line], looks: Mapping[str, Look]) -> None:
    most = max(row["state_bits"] for line in lines for row in _first(line))
    top = 1.12 * most or 1.0
    _level(axes, lines, most, top)
    for line in lines:
        mean_and_seeds(axes, line, looks[line.label], "information", 1, 0.8)
        alone = Line(line.label, True, line.rows, line.protocol)
        mean_and_seeds(axes, alone, looks[line.label], "transcript_information", 1, 0.8)
    axes.set(ylim=(-0.04 * top, top), ylabel="information about x (bits)")
    axes.yaxis.set_major_locator(MaxNLocator(7, steps=[1, 2, 5, 10], integer=True))


def _handles(lines: Sequence[Line]) -> list[Artist]:
    size, neutral = unit(), Look(GREY, "o", (4.0, 1.6))
    found: list[Artist] = [
        Line2D([], [], color=GREY, label="thinking Bob; b: message and transcript",
               **stroke(neutral, False)),
        Line2D([], [], color=GREY, label="b: transcript alone", **stroke(neutral, True)),
        Line2D([], [], color=GREY, lw=size, ls=(0, neutral.dashes),
               label="a: best reader of the message"),
    ]  # fmt: skip
    if any(len(_first(line)) > 1 for line in lines):
        found.append(Patch(color=GREY, alpha=0.3, lw=0, label="range over seeds"))
    found.append(Line2D([], [], color=BLACK, lw=2.6 * size, label="a: ball limit; b: M bits"))
    found.append(Patch(color=FORBIDDEN, lw=0, label=IMPOSSIBLE))
    if any(row["chance"] is not None for line in lines for row in _first(line)):
        found.append(Line2D([], [], color=GREY, lw=size, ls=(0, (1, 1.6)), label="coin toss"))
    if any(broken(row) for line in lines for held in line.rows.values() for row in held):
        found.append(ring_handle())
    return found
