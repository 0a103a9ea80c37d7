"""From a request to a record, its table, and its figure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from statebound.experiments import results
from statebound.experiments.learn import data, hybrid, length
from statebound.experiments.learn._machines import Row, Say
from statebound.experiments.plot import check_style

COLUMNS = {"data": data.COLUMNS, "length": length.COLUMNS, "hybrid": hybrid.COLUMNS}
_ROWS: dict[str, Callable[..., list[Row]]] = {
    "data": data.rows,
    "length": length.rows,
    "hybrid": hybrid.rows,
}


def record(what: str, say: Say, **options: Any) -> dict[str, Any]:
    """Return ``what``, its options and ``rows``, JSON-able; see the rows of each part.

    Raises
    ------
    UsageError
        When an option has no meaning.
    StateboundError
        Without torch, or when training diverges.
    """
    made = _ROWS[what](say=say, **options)
    said = {k: list(v) if isinstance(v, Sequence) and not isinstance(v, str) else v
            for k, v in options.items()}  # fmt: skip
    return {"what": what, **said, "rows": made}


def draw(made: dict[str, Any], stem: Path, style: str = "paper") -> list[Path]:
    """Draw a record to ``stem.png`` and ``stem.svg``.

    Raises
    ------
    UsageError
        When the style is unknown.
    """
    check_style(style)
    from statebound.experiments.figures import learn as figures
    from statebound.experiments.figures._save import save

    figure = figures.make(made, style)
    return save(figure, stem, results.command_line(), results.digest(made))
