"""How far below the ball limit things stay: the panel that tells good codes apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil, floor, log10
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, NullLocator
from numpy.typing import NDArray

from statebound.experiments.curves import Curves
from statebound.experiments.figures._pieces import say, stroke
from statebound.experiments.figures._style import BLACK, BLUE, FAINT, GREY, Mark, unit

Point = Mapping[str, Any]

_ROUNDING = 1e-12  # a float curve this near to the limit is on it
_BARS = 80  # ranges that have room for a bar each
_DEEPEST = -7  # decades below this are not drawn


def codes(
    axes: Axes,
    points: Sequence[Point],
    looks: Mapping[str, Mark],
    value: Callable[[Point], tuple[float, float, float]],
) -> None:
    """Draw each code as unconnected points with the intervals of sampled ones.

    `looks` is by name; `value` gives the height of a point and the ends of its interval.
    """
    for name, look in looks.items():
        held = [p for p in points if p["protocol"] == name]
        sampled = [(p["state_bits"], *value(p)) for p in held if p["interval_level"] is not None]
        if sampled:
            bits, best, low, high = np.array(sampled).T
            axes.errorbar(
                bits,
                best,
                yerr=np.maximum([best - low, high - best], 0),
                fmt="none",
                ecolor=GREY,
                elinewidth=0.7 * unit(),
                zorder=2.9,
                label="_interval",
            )
        axes.plot(
            [p["state_bits"] for p in held],
            [value(p)[0] for p in held],
            zorder=5,
            label=name,
            **stroke(look, step=False, scale=0.9),
        )


def draw(
    axes: Axes,
    curves: Curves,
    points: Sequence[Point],
    looks: Mapping[str, Mark],
    random: Mapping[str, Any],
) -> list[str]:
    """Draw ball - success on a log axis with a place for 0 below; return what is left out.

    Parameters
    ----------
    axes
        Where to draw.
    curves, points
        As for the whole figure.
    looks
        Marks by the name of the code.
    random
        Properties of the line of random coding.
    """
    ball = dict(curves.get("ball", ()))
    if not ball:
        say(axes, "no ball limit is known")
        return []
    size = unit()
    below = {
        name: np.array([(m, ball[m] - v) for m, v in curves.get(name, ())]).reshape(-1, 2)
        for name in ("optimum_low", "optimum_high", "random_coding", "truncation")
    }
    points = [p for p in points if p["wall_ball"] is not None]
    gaps = [*(gap for held in below.values() for gap in held[:, 1])]
    gaps += [p["wall_ball"] - p["success"] for p in points]
    positive = [gap for gap in gaps if gap > _ROUNDING]
    least = max(_DEEPEST, floor(log10(min(positive, default=0.01))))
    largest = max(positive, default=0.1)
    most = floor(log10(2 * largest))
    bottom = 10.0**least
    zero = bottom / 10 ** (0.14 * max(1, most - least))

    def shown(gap: Any) -> NDArray[np.float64]:
        found: NDArray[np.float64] = np.where(
            np.asarray(gap) > _ROUNDING, np.maximum(gap, bottom), zero
        )
        return found

    low, high = below["optimum_low"], below["optimum_high"]
    if len(low):
        open_ = low[:, 1] - high[:, 1] > 0
        held = low[open_, 0], shown(high[open_, 1]), shown(low[open_, 1])
        faint: dict[str, Any] = {"color": BLUE, "alpha": 0.45, "zorder": 2, "label": "_range"}
        if len(low) <= _BARS:
            axes.vlines(*held, lw=(3.0 if len(low) <= 40 else 1.6) * size, **faint)
        else:
            axes.fill_between(*held, lw=0, **faint)
        dots = (0.75 if len(low) <= 40 else 0.5) * size
        axes.plot(
            low[~open_, 0],
            shown(low[~open_, 1]),
            ls="none",
            marker="o",
            ms=4.0 * dots,
            color=BLUE,
            mew=0,
            zorder=2.6,
            label="_optimum",
        )
    for name, look in (("random_coding", random), ("truncation", {"color": GREY})):
        if len(below[name]):
            axes.plot(
                below[name][:, 0],
                shown(below[name][:, 1]),
                lw=1.0 * size,
                zorder=1.8,
                label=f"_{name}",
                **look,
            )

    def height(point: Point) -> tuple[float, float, float]:
        ends = (point["success"], point["success_high"], point["success_low"])
        best, near, far = (float(shown(point["wall_ball"] - end)) for end in ends)
        return best, near, far

    codes(axes, points, looks, height)
    axes.axhline((zero * bottom) ** 0.5, color=FAINT, lw=0.7 * size, zorder=1, label="_break")
    axes.set_yscale("log")
    axes.set_ylim(zero / (bottom / zero) ** 0.4, 2 * largest)
    step = max(1, ceil((most - least) / 5))
    decades = range(most, least - 1, -step)
    axes.yaxis.set_major_locator(FixedLocator([zero, *(10.0**d for d in decades)]))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.set_yticklabels(["0", *(rf"$10^{{{d}}}$" for d in decades)])
    axes.set_ylabel("ball limit $-$ success")
    axes.axhline(zero, color=BLACK, lw=2.6 * size, zorder=1.2, label="_ball")
    over = sum(p["wall_ball"] < p["success"] for p in points if p["interval_level"] is not None)
    if over:
        return [
            f"{over} sampled code{'s' * (over != 1)} above the ball limit by chance, inside the "
            "interval: drawn at distance 0"
        ]
    return []
