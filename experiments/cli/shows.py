"""The verbs that show one construction at work."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from statebound.experiments.cli import output
from statebound.experiments.cli.app import app
from statebound.experiments.cli.options import JSON
from statebound.experiments.request import parse_settings


@app.command()
def duality(
    model: Annotated[str, typer.Argument(help="gla, linear_attention, mamba2 or retnet.")] = "gla",
    *,
    n: Annotated[int, typer.Option("--n", help="Tokens to read.")] = 64,
    numbers: Annotated[int | None, typer.Option("--numbers", help="State numbers.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Override a config field: NAME=VALUE.")
    ] = None,
    bits: Annotated[int, typer.Option("--bits", help="Bits a number, 1 to 32.")] = 16,
    seed: Annotated[int, typer.Option("--seed", help="Of parameters and tokens.")] = 0,
    as_json: JSON = False,
) -> int:
    """Run a layer as a recurrence and as attention: equal outputs, different messages."""
    from statebound.experiments import duality as work

    found = work.duality(
        model, n, numbers=numbers, bits=bits, settings=parse_settings(settings), seed=seed
    )
    if as_json:
        output.data(found, compact=True)
    else:
        headings = {"tokens": "tokens", "recurrent": "state", "quadratic": "keys and values"}
        sys.stdout.write(work.words(found) + output.table(work.rows(found), headings))
    return 0
