"""Demonstrations: each a command of `statebound demo`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from statebound.experiments.cli import output
from statebound.experiments.cli.app import app
from statebound.experiments.cli.options import JSON

INCOMPLETE = 4
MACHINES = (  # known without loading the constructions
    "busy-beaver-3",
    "busy-beaver-3-ones",
    "busy-beaver-4",
    "counter",
    "increment",
    "multiply",
    "palindrome",
    "parentheses",
)

demo = typer.Typer(rich_markup_mode=None, help="Show a construction at work; alone, list them.")
app.add_typer(demo, name="demo")


@demo.callback(invoke_without_command=True)
def listed(
    context: typer.Context,
    *,
    page: Annotated[
        Path | None, typer.Option("--html", help="Write the page for lectures, one file.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of the machines on that page.")] = 0,
    as_json: JSON = False,
) -> None:
    """Show a construction at work; alone, list them."""
    if context.invoked_subcommand is not None:
        return
    if page is not None:
        _write_page(page, seed, as_json)
        return
    commands: Any = context.command
    rows = [
        {"demo": name, "shows": command.get_short_help_str(100)}
        for name, command in sorted(commands.commands.items())
    ]
    if as_json:
        output.data(rows, compact=True)
    else:
        sys.stdout.write(output.table(rows, {"demo": "demo", "shows": "shows"}))


def _write_page(page: Path, seed: int, as_json: bool) -> None:
    from statebound.experiments.page.write import write

    progress = output.Progress(quiet=as_json)
    try:
        write(page, seed, progress)
    finally:
        progress.close()
    if as_json:
        output.data({"page": str(page)}, compact=True)
    else:
        output.talk(f"{page}: open it in a browser")


@demo.command()
def turing(
    machine: Annotated[
        str, typer.Argument(help=f"{', '.join(MACHINES)}, or a file that ends in .tm.")
    ],
    *,
    text: Annotated[str, typer.Option("--input", help="What is on the tape.")] = "",
    by: Annotated[str, typer.Option("--by", help="hybrid or regex.")] = "hybrid",
    budget: Annotated[int, typer.Option("--budget", help="The most steps.")] = 1000,
    code: Annotated[
        str | None, typer.Option("--code", help="The hybrid's addresses: bin, quad, rns, or rot.")
    ] = None,
    significand: Annotated[
        int | None,
        typer.Option("--significand", help="The hybrid's precision, 24 bits if not set."),
    ] = None,
    as_json: JSON = False,
) -> int:
    """Run a Turing machine by a small-state model with attention, or with text search."""
    from statebound.experiments.turing import execute, words

    record = execute(machine, text, by, budget, code, significand)
    if as_json:
        output.data(record, compact=True)
    else:
        sys.stdout.write(words(record))
        output.talk(record["verdict"])
    if record["first_difference"] is not None:
        output.talk(
            f"error: the model departs from the machine at step {record['first_difference']}"
        )
        return 1
    return 0 if record["halted"] else INCOMPLETE
