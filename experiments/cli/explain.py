"""The verb that writes a result out."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from statebound.errors import UsageError
from statebound.experiments.cli import output
from statebound.experiments.cli.app import app
from statebound.experiments.cli.options import JSON


@app.command()
def explain(
    row: Annotated[
        str, typer.Argument(help="FOLDER#TASK, a file of measure --json, or - for stdin.")
    ],
    *,
    style: Annotated[str, typer.Option("--format", help="text or markdown.")] = "text",
    as_json: JSON = False,
) -> int:
    """Write one result out in words, every formula with its numbers, all computed again.

    Fails where the row disagrees with what follows from its own counts.
    """
    from statebound.experiments.explain import explain as work
    from statebound.experiments.explain.record import read
    from statebound.experiments.explain.steps import FORMATS

    if style not in FORMATS:
        raise UsageError("format", style, "is not a format", f"choose {' or '.join(FORMATS)}")
    found = work(read(row))
    if as_json:
        output.data(found.plain(), compact=True)
    else:
        sys.stdout.write(found.write(style))
    for each in found.disagreements:
        output.talk(f"error: {each.column} does not follow from the rest of the row")
    return 1 if found.disagreements else 0
