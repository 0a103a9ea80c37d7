"""Success against thinking steps, of rows that say how many tokens Bob wrote.

The figure is that of `thinking`; here rows of a results folder are sorted out for it.
"""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from statebound.errors import UsageError
from statebound.experiments.figures import thinking
from statebound.experiments.figures._columns import Row, plural
from statebound.experiments.figures._lines import select
from statebound.experiments.figures._pieces import broken_note

_NEEDED = (
    "tokens",
    "success",
    "optimal_success",
    "information",
    "transcript_information",
)


def make(rows: Sequence[Row], kind: str = "paper") -> tuple[Figure, list[str]]:
    """Return the figure in a style of `_style.style`, and notes.

    Raises
    ------
    UsageError
        When no row is about a Bob who thinks, or there are more models than can be told
        apart.
    """
    told = [row for row in rows if all(row.get(key) is not None for key in _NEEDED)]
    if not told:
        raise UsageError(
            "rows",
            len(rows),
            f"none has {', '.join(_NEEDED)}",
            "statebound think makes such rows",
        )
    kept, notes = select(told)
    if len(told) < len(rows):
        notes.append(f"{plural(len(rows) - len(told), 'row')} of Bobs who do not think left out")
    return thinking.make(kept, kind), notes + broken_note(kept)
