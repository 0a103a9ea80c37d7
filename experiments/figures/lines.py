"""Any column of numbers against any other; where success is one of them, with its wall."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from statebound.experiments.figures import _views, _xy
from statebound.experiments.figures._columns import NOTHING, Choices, Row

TAKES = ("x", "y", "group", "facet")


def make(
    rows: Sequence[Row], kind: str = "paper", choices: Choices = NOTHING
) -> tuple[Figure, list[str]]:
    """Return the figure in a style of `_style.style`, and notes.

    Success against state bits unless chosen otherwise, a line a machine, and a panel for
    each problem and size where there are several and no panels were chosen.

    Raises
    ------
    UsageError
        When a column is not there or holds no numbers.
    """
    view = _views.View("state_bits", "success").chosen(choices)
    shown = {view.x, *view.group}
    if not view.facet:
        columns = [name for name in ("problem", "n") if name not in shown]
        several = [name for name in columns if len({row.get(name) for row in rows}) > 1]
        view = _views.View(view.x, view.y, view.group, tuple(several))
    return _xy.make(rows, view, kind)
