"""explain: one result in words, every formula filled in, every number computed again.

A row says what was counted. Everything that follows from these counts (walls, needed
bits, entropies, utilisation) is derived here once more from the row's own numbers, by the
formula that is shown; a row that says otherwise is named.
"""

from __future__ import annotations

from typing import Any

from statebound.experiments.explain.steps import Explanation


def explain(row: dict[str, Any]) -> Explanation:
    """Explain a row of ``measure``, ``run`` or ``sweep``.

    Raises
    ------
    UsageError
        When it is no such row, or names a problem that does not exist.

    Examples
    --------
    >>> import statebound
    >>> row = statebound.measure("index", 8, model="sliding_window", numbers=4)
    >>> explain(row).disagreements
    []
    >>> [c.column for c in explain(row | {"efficiency": 0.9}).disagreements]
    ['efficiency']
    """
    from statebound.experiments.explain import holds, record, setting, success, walls

    checked, problem = record.checked(row)
    parts = (setting, success, walls, holds)
    return Explanation(tuple(step for part in parts for step in part.steps(checked, problem)))
