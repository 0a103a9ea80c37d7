"""The verb that writes results as tables for other programs and for papers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from statebound.errors import StateboundError, UsageError
from statebound.experiments.cli import output
from statebound.experiments.cli.app import app
from statebound.experiments.cli.options import JSON


@app.command()
def export(
    folder: Annotated[Path, typer.Argument(help="Results folder.")],
    *,
    form: Annotated[
        str | None,
        typer.Option(
            "--format", help="csv, parquet, json, markdown, latex (by the ending of --out, or csv)."
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option("--columns", help="Which, by comma, in this order (all; for papers a few)."),
    ] = None,
    digits: Annotated[
        int, typer.Option("--digits", help="Decimals at most, in Markdown and LaTeX.")
    ] = 4,
    out: Annotated[Path | None, typer.Option("--out", help="File to write (stdout).")] = None,
    as_json: JSON = False,
) -> int:
    """Write the rows of a results folder as a table, for pandas, polars or a paper."""
    from statebound.experiments import export as work
    from statebound.experiments.results import write_atomically

    if as_json and out is None:
        if form not in (None, "json"):
            raise UsageError(
                "json", True, f"contradicts --format {form}", "drop one, or pass --out"
            )
        form = "json"
    chosen = work.form_of(form, out)
    if not 1 <= digits <= 15:
        raise UsageError("digits", digits, "must be 1 to 15", "pass 4")
    if out is not None and not out.parent.is_dir():
        raise UsageError("out", out, "is in no existing folder", "make the folder first")
    if out is not None and (out.is_dir() or not out.name):
        raise UsageError("out", out, "is a folder", "pass a path like table.csv")
    rows = work.rows_of(folder)
    names = None if columns is None else [name.strip() for name in columns.split(",")]
    written = work.chosen(rows, names, chosen)
    left = work.unfinished(folder, rows)
    if left and not as_json:
        output.talk(f"note: {left} unfinished samples are left out")
    content = work.export(rows, chosen, written, digits)
    if out is None:
        assert isinstance(content, str)
        if as_json:
            output.data([{k: row.get(k) for k in written} for row in rows], compact=True)
        else:
            sys.stdout.write(content)
        return 0
    try:
        write_atomically(out, content)
    except OSError as error:
        raise StateboundError(
            f"{out}: cannot be written ({error.strerror or error}); choose a writable folder"
        ) from error
    if as_json:
        record = {"file": str(out), "format": chosen, "rows": len(rows), "columns": list(written)}
        output.data(record, compact=True)
    else:
        sys.stdout.write(f"{out}\n")
        output.talk(f"{len(rows)} rows, {len(written)} columns, {chosen}")
    return 0
