"""From a record to figures on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from statebound.experiments import results
from statebound.experiments.plot import check_style


def draw(record: dict[str, Any], stem: Path, style: str = "paper") -> list[Path]:
    """Draw the record of a subject to ``stem.png`` and ``stem.svg``."""
    from statebound.experiments.figures import subject_g2p, subject_smollm, subject_textgen
    from statebound.experiments.figures._save import save

    check_style(style)
    makers = {"g2p-en": subject_g2p, "textgenrnn": subject_textgen, "smollm": subject_smollm}
    figure = makers[record["subject"]].make(record, style)
    return save(figure, stem, results.command_line(), results.digest(record))
