"""The verb that ranks trained machines."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from statebound.errors import UsageError
from statebound.experiments.cli import output
from statebound.experiments.cli.app import app
from statebound.experiments.cli.options import JSON
from statebound.experiments.ranges import number_list

WALL_BROKEN = 3


@app.command()
def leaderboard(
    *,
    sizes: Annotated[str, typer.Option("--n", help="Sizes of Index.")] = "7,16,32",
    folder: Annotated[
        Path | None, typer.Option("--folder", help="Checkpoints to rank (the shipped ones).")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write a page, OUT.md, and its figure.")
    ] = None,
    as_json: JSON = False,
) -> int:
    """Measure every trained machine, and rank them by the use of their bits."""
    listed = number_list(sizes, "n")
    if out is not None and out.suffix != ".md":
        raise UsageError("out", out, "must end in .md", "pass docs/leaderboard.md")
    if folder is not None and not folder.is_dir():
        raise UsageError("folder", folder, "is no folder", "pass a folder of checkpoints")
    from statebound.experiments import leaderboard as work
    from statebound.experiments import results

    if out is not None:
        results.check_writable(out)
    progress = output.Progress(quiet=as_json)
    try:
        made = work.leaderboard(listed, progress, folder)
    finally:
        progress.close()
    rows = made["rows"]
    if as_json:
        output.data(made, compact=True)
    else:
        for n, bits, held in work.groups(rows):
            first = held[0]
            limits = [first[key] for key in ("truncation", "best_known", "wall_ball")]
            said = ", ".join("-" if v is None else f"{v:.4f}" for v in limits)
            sys.stdout.write(f"n = {n}, M = {bits}: truncation, best known code, wall {said}\n")
            sys.stdout.write(output.table(held, work.COLUMNS) + "\n")
    if out is not None:
        for path in work.write(made, out, results.command_line()):
            output.talk(str(path))
    for row in rows:
        if row["agrees"] is False:
            output.talk(
                f"{row['file']}: measured {row['success']:.6f}, its file says {row['recorded']:.6f}"
            )
    if any(row["violates_wall"] for row in rows):
        output.talk("error: an uncounted bit: a success is above its wall")
        return WALL_BROKEN
    return 0
