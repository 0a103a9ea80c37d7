"""From a record to the files of its figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from statebound.experiments import results
from statebound.experiments.capacity.parts import Part, total
from statebound.experiments.capacity.report import parts_of
from statebound.experiments.plot import check_style


def draw(
    record: Mapping[str, Any], other: Mapping[str, Any] | None, stem: Path, style: str = "paper"
) -> list[Path]:
    """Draw state bits against context length to ``stem.png`` and ``stem.svg``.

    Parameters
    ----------
    record
        Of `report.capacity`; with ``against`` where there is another.
    other
        The record of the model that it is compared with, if any.
    stem
        The path without an ending.
    style
        ``paper`` or ``slides``.
    """
    from statebound.experiments.figures import capacity as figure_of
    from statebound.experiments.figures._save import save

    check_style(style)
    parts = parts_of(record)
    chosen = {
        "bounded": [part for part in parts if not part.growing],
        "growing": [part for part in parts if part.growing],
        "state": parts,
    }
    if other is not None:
        chosen["other"] = parts_of(other)

    def bits(held: Sequence[Part]) -> figure_of.Bits:
        return lambda n: total(held, n)

    figure = figure_of.make(record, {k: bits(v) for k, v in chosen.items()}, style)
    return save(figure, stem, results.command_line(), results.digest(record))
