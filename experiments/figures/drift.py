"""What rounding after every token costs as the input gets longer: step regime, against n.

A line is a way to round, a panel one machine at one size. What crosses beside the numbers,
such as the residual of error feedback, is counted: the wall of such a line is higher, and
each line has its own wherever they differ.
"""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from statebound.errors import UsageError
from statebound.experiments.figures import _views, _xy
from statebound.experiments.figures._columns import NOTHING, Choices, Row, plural
from statebound.experiments.figures._lines import labelled, select

TAKES = ("y", "group", "facet")
_SIZE = ("state_numbers", "bits_per_number")


def make(
    rows: Sequence[Row], kind: str = "paper", choices: Choices = NOTHING
) -> tuple[Figure, list[str]]:
    """Return the figure in a style of `_style.style`, and notes.

    Raises
    ------
    UsageError
        When no machine was measured in the regime `step` at several n.
    """
    kept, notes = select(rows, sizes=True)
    step = [row for row in kept if row["regime"] == "step"]
    if len(step) < len(kept):
        notes.append(f"{plural(len(kept) - len(step), 'row')} not of the regime step left out")
    groups: dict[tuple[object, ...], list[Row]] = {}
    for label, row in labelled(step, ("rounding", *_SIZE)):
        groups.setdefault((label, *(row[key] for key in _SIZE)), []).append(row)
    shown = _views.with_several(groups.values(), "n")
    if len({row["n"] for row in shown}) < 2:
        raise UsageError(
            "rows",
            len(rows),
            "no machine was measured in the regime step at several n",
            "measure one with --regime step at n = 8, 16 and 32, say",
        )
    if len(shown) < len(step):
        notes.append(f"{plural(len(step) - len(shown), 'row')} of sizes with one n left out")
    title = f"Rounding after every token, {kept[0]['problem']}"
    view = _views.View(
        "n", "success", ("rounding",), (_views.MACHINE, *_SIZE), title, ("rounding", *_SIZE)
    ).chosen(choices)
    figure, more = _xy.make(shown, view, kind)
    return figure, notes + more
