"""The application that all verbs are added to."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from statebound import __version__

app = typer.Typer(
    name="statebound",
    help="Executable communication lower bounds for fixed-state sequence models.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


@app.callback(invoke_without_command=True)
def _top(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        sys.stdout.write(f"statebound {__version__}\n")
        raise typer.Exit
