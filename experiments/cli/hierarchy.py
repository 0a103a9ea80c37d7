"""The verb that shows what each way to retrieve must send."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from statebound.experiments.cli import output
from statebound.experiments.cli.app import app
from statebound.experiments.cli.options import JSON
from statebound.experiments.ranges import number_list


@app.command()
def hierarchy(
    what: Annotated[str, typer.Argument(help="bits, hops, passes, or ledger.")] = "bits",
    *,
    sizes: Annotated[
        str | None, typer.Option("--n", help="Sizes: 16,64 or 2^4..2^10 (each part has its own).")
    ] = None,
    success: Annotated[
        float | None, typer.Option("--success", help="What to reach, for bits (0.99).")
    ] = None,
    trials: Annotated[
        int | None, typer.Option("--trials", help="Inputs drawn at each size (400).")
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Seed of the inputs (0).")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Draw to OUT.png and OUT.svg.")] = None,
    style: Annotated[str, typer.Option("--style", help="paper or slides.")] = "paper",
    as_json: JSON = False,
) -> int:
    """Count what must cross the handoff: fixed states, two passes, hybrids, attention."""
    from statebound.experiments.hierarchy import record as work

    listed = None if sizes is None else number_list(sizes, "n")
    if out is not None:
        work.check_drawable(what, listed, out, style)
    made = work.record(what, listed, success=success, trials=trials, seed=seed)
    if as_json:
        output.data(made, compact=True)
    else:
        sys.stdout.write(output.table(made["rows"], work.columns(what)))
    if out is not None:
        for path in work.draw(made, out, style):
            output.talk(str(path))
    return 0
