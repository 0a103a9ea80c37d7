"""Many coarse numbers or few fine ones: success against bits a number, at equal state bits.

A line is one M, a panel one machine: along a line the numbers get fewer as they get finer,
and the wall stays where it is.
"""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from statebound.errors import UsageError
from statebound.experiments.figures import _views, _xy
from statebound.experiments.figures._columns import NOTHING, Choices, Row, plural
from statebound.experiments.figures._lines import labelled, select
from statebound.experiments.figures._pieces import named

TAKES = ("y", "facet")
_MOST = 8


def make(
    rows: Sequence[Row], kind: str = "paper", choices: Choices = NOTHING
) -> tuple[Figure, list[str]]:
    """Return the figure in a style of `_style.style`, and notes.

    Raises
    ------
    UsageError
        When no machine was measured at one M with several widths.
    """
    kept, notes = select(rows)
    wide = [row for row in kept if row["bits_per_number"] is not None]
    if len(wide) < len(kept):
        out = plural(len(kept) - len(wide), "row")
        notes.append(f"{out} without one number of bits a number left out")
    groups: dict[tuple[str, bool, int], list[Row]] = {}
    for label, row in labelled(wide, ("bits_per_number",)):
        key = label, row["regime"] == "step", row["state_bits"]
        groups.setdefault(key, []).append(row)
    shown = _views.with_several(groups.values(), "bits_per_number")
    if len({row["bits_per_number"] for row in shown}) < 2:
        raise UsageError(
            "rows",
            len(rows),
            "no machine has one M with several bits a number",
            "measure 8 numbers of 1 bit and 4 of 2, say",
        )
    if len(shown) < len(wide):
        out = plural(len(wide) - len(shown), "row")
        notes.append(f"{out} with state bits that only one width has left out")
    view = _views.View(
        "bits_per_number",
        "success",
        ("state_bits",),
        (_views.MACHINE,),
        f"Bits a number at equal M, {named(kept[0])}",
        ("bits_per_number",),
    ).chosen(choices)
    figure, more = _xy.make(shown, view, kind)
    return figure, notes + more
