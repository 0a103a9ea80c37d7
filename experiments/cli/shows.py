"""The verbs that show one construction at work."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from statebound.experiments.cli import output
from statebound.experiments.cli.app import app
from statebound.experiments.cli.options import JSON, parse_settings

INCOMPLETE = 4


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


@app.command()
def turing(
    machine: Annotated[str, typer.Argument(help="A machine's name, or a file that ends in .tm.")],
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
