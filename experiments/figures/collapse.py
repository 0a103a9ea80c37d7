"""The collapse figure: success against state size, beside what any protocol can do.

(a) success; (b) efficiency; (c) for IsTree the gadget behind it, else what the state
keeps about each position. Beyond as many models as can be told apart in one panel, small
multiples of (a), one for each model. Protocols, such as codes, are points.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.gridspec import SubplotSpec
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from statebound.experiments.curves import Curves
from statebound.experiments.figures import _multiples, _panels, _success, gadget
from statebound.experiments.figures._columns import Row
from statebound.experiments.figures._lines import (
    Line,
    labels,
    lines,
    models,
    protocols,
    select,
)
from statebound.experiments.figures._pieces import (
    RATE,
    broken,
    broken_note,
    handle,
    interval_handles,
    legend,
    named,
    ring_handle,
    rows_of,
    settle,
    stroke,
)
from statebound.experiments.figures._style import (
    BLACK,
    FAINT,
    FORBIDDEN,
    GREY,
    LOOKS,
    Look,
    Mark,
    letter,
    marks,
    small,
    style,
    unit,
)
from statebound.experiments.figures._success import IMPOSSIBLE, RAW


def make(rows: Sequence[Row], curves: Curves, kind: str = "paper") -> tuple[Figure, list[str]]:
    """Return the figure in a style of `_style.style`, and notes; see `draw`."""
    with style(kind):
        figure = Figure()
        many = len(labels(models(lines(select(rows)[0]))))
        if many > len(LOOKS) and kind == "paper":
            width = figure.get_figwidth()
            figure.set_size_inches(width, _multiples.height(many, width))
        notes = draw(rows, curves, figure)
    return figure, notes


def draw(rows: Sequence[Row], curves: Curves, figure: Figure) -> list[str]:
    """Draw rows of one problem on an empty figure, inside a `_style.style` context.

    Parameters
    ----------
    rows
        Result rows, in any order. Of several problems or sizes the commonest is drawn.
    curves
        The walls of that problem, as `statebound.experiments.curves.collapse_curves`
        gives them; a wall that is missing or empty is not drawn.
    figure
        The figure to fill.

    Returns
    -------
    list of str
        What was left out and why, a sentence each.

    Raises
    ------
    UsageError
        When there are no rows.
    """
    kept, notes = select(rows)
    all_lines = lines(kept)
    names = labels(models(all_lines))
    n = kept[0]["effective_n"]
    if not curves.get("ball"):
        notes.append("no proved limit is known for this problem: none is drawn")
    notes += broken_note(kept)
    figure.set_layout_engine("constrained")
    if len(names) > len(LOOKS):
        notes.append(
            f"{len(names)} models are more than one panel can tell apart: small multiples, "
            "without efficiency and what is kept by position"
        )
        few = {name: curves[name] for name in _multiples.WALLS if name in curves}
        title = f"Success on {named(kept[0])}: M state bits, the other models in grey"
        figure.suptitle(title, fontsize=small() * 1.2)
        _key(figure, all_lines, few, {"ball"}, marks(protocols(all_lines)))
        _multiples.draw(figure, all_lines, few, n, lambda: settle(figure))
        return notes
    looks: dict[str, Look | Mark] = {
        **dict(zip(names, LOOKS, strict=False)),
        **marks(protocols(all_lines)),
    }
    grid = figure.add_gridspec(2, 2, width_ratios=(1.55, 1), height_ratios=(1, 1.12))
    main, upper = figure.add_subplot(grid[:, 0]), figure.add_subplot(grid[0, 1])
    _success.success(main, all_lines, looks, curves, n)
    main.set(xlabel=RATE, ylabel="success probability")
    main.set_title(letter("a", f"Success on {named(kept[0])}"))
    notes += _panels.efficiency(upper, all_lines, looks, curves, n)
    upper.set_title(letter("b", "Efficiency"))
    if kept[0]["problem"] == "istree":
        _gadgets(figure, grid[1, 1])
    else:
        lower = figure.add_subplot(grid[1, 1])
        notes += _panels.profile(lower, models(all_lines), looks, n)
        lower.set_title(letter("c", lower.get_title("left")))
    legend(figure, [handle(label, look) for label, look in looks.items()], "upper")
    key = _key(figure, all_lines, curves, set(), {})
    figure.draw_without_rendering()
    homeless = _success.name_walls(main, all_lines, curves, n)
    if homeless:
        key.remove()
        _key(figure, all_lines, curves, homeless, {})
    settle(figure)
    return notes


def _gadgets(figure: Figure, place: SubplotSpec) -> None:
    """Draw the two graphs side by side under one title."""
    host = figure.add_subplot(place)
    host.axis("off")
    host.set_title(letter("c", "Bob's dashed edge decides"))
    left, right = (host.inset_axes((start, 0.16, 0.47, 0.82)) for start in (0.0, 0.53))
    gadget.draw_pair(left, right)


def _key(
    figure: Figure,
    lines: Sequence[Line],
    curves: Curves,
    homeless: set[str],
    points: Mapping[str, Mark],
) -> Legend:
    """Explain below the panels all but the models, and what found no place in them."""
    neutral = Look(BLACK, "o", (3.0, 1.4))
    handles: list[Artist] = [handle(label, mark) for label, mark in points.items()]
    for step, text in ((False, "handoff"), (True, "step")):
        if any(line.step == step for line in models(lines)):
            handles.append(Line2D([], [], color=BLACK, label=text, **stroke(neutral, step)))
    if any(len(rows) > 1 for line in lines for rows in line.rows.values()):
        handles.append(Patch(color=GREY, alpha=0.3, lw=0, label="range over seeds"))
    handles += interval_handles(row["interval_level"] for row in rows_of(lines))
    if curves.get("ball"):
        handles.append(Line2D([], [], color=BLACK, lw=2.6 * unit(), label="ball limit"))
        if "ball" in homeless:
            handles.append(Patch(color=FORBIDDEN, lw=0, label=IMPOSSIBLE))
    if curves.get("rate_distortion"):
        handles.append(Line2D([], [], color=FAINT, lw=unit(), label="rate-distortion limit"))
    if "truncation" in homeless:
        handles.append(Line2D([], [], color=GREY, lw=unit(), label=RAW))
    if any(broken(row) for row in rows_of(lines)):
        handles.append(ring_handle())
    return legend(figure, handles, "lower")
