"""The verb that draws figures from results folders."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from statebound.errors import StateboundError, UsageError
from statebound.experiments.cli import output
from statebound.experiments.cli.app import app
from statebound.experiments.cli.options import JSON

if TYPE_CHECKING:
    from statebound.experiments.figures._columns import Choices


def drawn(
    kind: str,
    rows: list[dict[str, Any]],
    stem: Path,
    style: str,
    choices: Choices | None = None,
) -> list[str]:
    """Draw rows, say what was left out, and return the files."""
    from statebound.experiments.figures._columns import NOTHING
    from statebound.experiments.plot import KINDS

    written, notes = KINDS[kind](rows, stem, style, choices or NOTHING)
    for note in notes:
        output.talk(f"note: {note}")
    return [str(path) for path in written]


@app.command()
def plot(
    kind: Annotated[
        str,
        typer.Argument(
            help="collapse, rescaled, phase, retention, budget, gap, cliff, precision, drift, "
            "cot, or lines; docs/figures.md shows each."
        ),
    ],
    folders: Annotated[
        list[Path], typer.Argument(metavar="FOLDER...", help="Results folders, drawn as one.")
    ],
    *,
    x: Annotated[str | None, typer.Option("--x", help="Column of the horizontal axis.")] = None,
    y: Annotated[str | None, typer.Option("--y", help="Column of the vertical axis.")] = None,
    group: Annotated[
        str | None, typer.Option("--group", help="Columns that tell lines apart, by commas.")
    ] = None,
    facet: Annotated[
        str | None, typer.Option("--facet", help="Columns that tell panels apart, by commas.")
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option("--where", help="Keep rows with COLUMN=VALUE; may be repeated."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Stem of the files.")] = None,
    style: Annotated[str, typer.Option("--style", help="paper or slides.")] = "paper",
    as_json: JSON = False,
) -> int:
    """Draw a figure from results folders as PNG and SVG."""
    from statebound.experiments.figures._columns import Choices, filtered
    from statebound.experiments.plot import KINDS, OF_ANY_ROWS
    from statebound.experiments.results import load, whole

    if kind not in KINDS:
        known = ", ".join(KINDS)
        raise UsageError("kind", kind, "is not a known figure", f"choose from {known}")
    conditions = [_condition(text) for text in where or ()]
    check = whole if kind not in OF_ANY_ROWS else lambda rows, _: rows
    rows = [row for folder in folders for row in check(load(folder), folder)]
    if not rows:
        raise StateboundError(
            f"{folders[0]}: holds no rows yet; statebound run or sweep measures some"
        )
    rows = filtered(_once(rows), conditions)
    choices = Choices.of(x, y, group, facet)
    figures = drawn(kind, rows, out or folders[0] / kind, style, choices)
    if as_json:
        output.data({"figures": figures, "rows": len(rows)}, compact=True)
    else:
        for path in figures:
            sys.stdout.write(f"{path}\n")
    return 0


def _condition(text: str) -> tuple[str, str]:
    column, equals, value = text.partition("=")
    if not (column and equals):
        raise UsageError(
            "where", text, "is not COLUMN=VALUE", "write regime=step, or config.units=4"
        )
    return column, value


def _once(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows without those that several folders hold alike."""
    from statebound.experiments.results import canonical

    return list({canonical(row): row for row in rows}.values())
