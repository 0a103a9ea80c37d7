"""The collapse figure: success against state size, beside what any protocol can do.

(a) success; (b) efficiency; (c) for IsTree the gadget behind it, else what the state
keeps about each position. Beyond as many models as can be told apart in one panel, small
multiples of (a), one for each model.
"""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from statebound.experiments.curves import Curves
from statebound.experiments.figures import _multiples, _panel
from statebound.experiments.figures._lines import Row, labels, lines, select
from statebound.experiments.figures._style import (
    LOOKS,
    letter,
    style,
)

_NEAR = 1 / 8  # how far from M/n = 1/2 the profiles may be


def make(rows: Sequence[Row], curves: Curves, kind: str = "paper") -> tuple[Figure, list[str]]:
    """Return the figure in a style of `_style.style`, and notes; see `draw`."""
    with style(kind):
        figure = Figure()
        many = len(labels(lines(select(rows)[0])))
        if many > len(LOOKS) and kind == "paper":
            figure.set_size_inches(7.0, _multiples.height(many, 7.0))
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
    names = labels(all_lines)
    n = kept[0]["effective_n"]
    if not curves.get("ball"):
        notes.append("no proved limit is known for this problem: none is drawn")
    broken = sum(bool(row["violates_wall"]) for row in kept)
    if broken:
        notes.append(f"{broken} row{'s' * (broken != 1)} above a proved limit, ringed")
    figure.set_layout_engine("constrained")
    if len(names) > len(LOOKS):
        notes.append(
            f"{len(names)} models are more than one panel can tell apart: small multiples, "
            "without efficiency and what is kept by position"
        )
        _multiples.draw(figure, all_lines, curves, n)
        return notes
    looks = dict(zip(names, LOOKS, strict=False))
    rows_of_panels = figure.add_gridspec(2, 2, width_ratios=(1.55, 1), height_ratios=(1, 1.12))
    main = figure.add_subplot(rows_of_panels[:, 0])
    shaded = _panel.success(main, all_lines, looks, curves, n)
    letter(main.set_title(f"Success: {_named(kept[0])}"), "a")
    notes += _efficiency(figure.add_subplot(rows_of_panels[0, 1]), all_lines, looks, n)
    if kept[0]["problem"] == "istree":
        _gadgets(figure, rows_of_panels[1, 1])
    else:
        notes += _profile(figure.add_subplot(rows_of_panels[1, 1]), all_lines, looks, n)
    _legends(figure, all_lines, looks, curves, shaded)
    figure.draw_without_rendering()
    _panel.name_lines(main, all_lines, curves, n)
    return notes


def _named(row: Row) -> str:
    size, effective = row["n"], row["effective_n"]
    sizes = f"n = {size}" if size == effective else f"{size} vertices, n = {effective}"
    return f"{row['problem']}, {sizes}"
