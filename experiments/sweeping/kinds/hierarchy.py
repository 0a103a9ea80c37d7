"""What must cross at each size, `statebound hierarchy`: a row a way to remember."""

from __future__ import annotations

from typing import Any


def rows(
    *,
    what: str,
    n: int,
    success: float | None = None,
    trials: int | None = None,
    seed: int | None = None,
) -> list[dict[str, Any]]:
    """Return the rows at one size; see `statebound.experiments.hierarchy.record.record`."""
    from statebound.experiments.hierarchy.record import record

    made = record(what, (n,), success=success, trials=trials, seed=seed)
    return [{"n": n, "what": what, **row} for row in made["rows"]]
