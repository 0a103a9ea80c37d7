"""The leaderboard's figure: success of all seeds, family by family, under the walls.

A panel for each n. Machines of equal state bits stand together; each is a column of dots, one
for each seed, and the kept one is larger. Filled dots: quantised once; open: at every token.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

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
_BETWEEN = 1.2  # room between two state sizes, in columns


def make(rows: Sequence[Row], kind: str = "paper") -> Figure:
    """Return the figure in a style of `_style.style`.

    Raises
    ------
    UsageError
        When there are more families than can be told apart.
    """
    families = sorted({row["model"] for row in rows})
    if len(families) > len(LOOKS):
        raise UsageError(
            "model",
            ", ".join(families),
            f"are more than the {len(LOOKS)} families that a figure can tell apart",
            "draw fewer",
        )
    looks = dict(zip(families, LOOKS, strict=False))
    sizes = sorted({row["n"] for row in rows})
    with style(kind):
        figure = Figure()
        figure.set_layout_engine("constrained")
        width, _ = figure.get_size_inches()
        figure.set_size_inches(width, width * (0.14 + 0.3 * len(sizes)))
        panels = figure.subplots(len(sizes), 1, squeeze=False)[:, 0]
        for number, (axes, n) in enumerate(zip(panels, sizes, strict=True)):
            _panel(axes, [row for row in rows if row["n"] == n], looks)
            axes.set_title(letter("abcdefghijklmnopqrstuvwxyz"[number % 26], f"Index, n = {n}"))
        legend(figure, _handles(rows, looks), "lower")
    return figure


def _panel(axes: Axes, rows: Sequence[Row], looks: Mapping[str, Look]) -> None:
    size = unit()
    x, ticks = 0.0, []
    values = [r["success"] for row in rows for r in row["restarts"]]
    values += [row[key] for row in rows for key in ("success", "truncation")]
    low = min(values)
    top = 1 + 0.03 * (1 - low)
    for bits in sorted({row["state_bits"] for row in rows}):
        held = [row for row in rows if row["state_bits"] == bits]
        order = list(looks)
        held.sort(key=lambda r: (order.index(r["model"]), r["regime"], r["file"]))
        ends = x - 0.6, x + len(held) - 0.4
        wall = held[0]["wall_ball"]
        if wall is not None:
            axes.fill_between(ends, wall, top, color=FORBIDDEN, lw=0, zorder=1)
            axes.plot(ends, (wall, wall), color=BLACK, lw=2.4 * size, zorder=2, label="_wall")
        if held[0]["best_known"] is not None:
            code = held[0]["best_known"]
            axes.plot(
                ends, (code, code), color=BLACK, lw=size, ls=(0, (4, 2)), zorder=2.1, label="_code"
            )
        stored = held[0]["truncation"]
        axes.plot(ends, (stored, stored), color=GREY, lw=1.2 * size, zorder=1.5, label="_raw")
        for row in held:
            _column(axes, x, row, looks[row["model"]])
            x += 1
        ticks.append((sum(ends) / 2, f"M = {bits}"))
        x += _BETWEEN
    axes.set_xticks([at for at, _ in ticks], [name for _, name in ticks])
    axes.tick_params(axis="x", length=0)
    axes.set(xlim=(-0.6 - _BETWEEN / 2, x - 0.4 - _BETWEEN / 2), ylabel="success probability")
    axes.set_ylim(low - 0.05 * (1 - low), top)
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))


def _column(axes: Axes, x: float, row: Row, look: Look) -> None:
    """Draw the seeds of one machine; the one that is shipped as it was measured here."""
    size = unit()
    open_ = row["regime"] == "step"
    shared: dict[str, Any] = {
        "ls": "none",
        "marker": look.marker,
        "mec": look.colour,
        "mfc": "white" if open_ else look.colour,
    }
    others = [r["success"] for r in row["restarts"] if r["seed"] != row["kept"]]
    beside = [x + 0.3 * (-1) ** i for i in range(1, len(others) + 1)]
    axes.plot(beside, others, ms=2.6 * size * look.grow, mew=0.6 * size, zorder=3, **shared)
    axes.plot([x], [row["success"]], ms=4.4 * size * look.grow, mew=size, zorder=4, **shared)
    if row["interval_level"] is not None:
        axes.plot(
            [x, x],
            [row["success_low"], row["success_high"]],
            color=look.colour,
            lw=0.8 * size,
            zorder=3.5,
        )


def _handles(rows: Sequence[Row], looks: Mapping[str, Look]) -> list[Artist]:
    size = unit()
    found: list[Artist] = [
        Line2D([], [], ls="none", marker=look.marker, ms=4.4 * size * look.grow,
               color=look.colour, label=name.replace("_", " "))
        for name, look in looks.items()
    ]  # fmt: skip
    small_dot: dict[str, Any] = {"ls": "none", "marker": "o", "color": GREY}
    found.append(Line2D([], [], ms=2.6 * size, label="other seeds", **small_dot))
    if any(row["regime"] == "step" for row in rows):
        found.append(Line2D([], [], ms=4.4 * size, mfc="white", label="every token", **small_dot))
    found += [
        Line2D([], [], color=BLACK, lw=2.4 * size, label="ball limit"),
        Line2D([], [], color=BLACK, lw=size, ls=(0, (4, 2)), label="best known code"),
        Line2D([], [], color=GREY, lw=1.2 * size, label="M raw bits kept"),
        Patch(color=FORBIDDEN, lw=0, label=IMPOSSIBLE),
    ]
    return found
