"""The verb that sets two machines side by side."""

from __future__ import annotations

import inspect
import shlex
import sys
from typing import Annotated, Any

import typer

from statebound.errors import UsageError
from statebound.experiments.cli import output
from statebound.experiments.cli.app import app
from statebound.experiments.cli.options import (
    ALPHABET,
    BOB,
    ENGINE,
    JSON,
    LAW,
    MACHINE,
    OPTION,
    PROBLEM,
    SEED,
    TRIALS,
    N,
    parse_options,
    parse_precision,
)
from statebound.experiments.request import Request, parse_settings
from statebound.experiments.tables import FORMATS

WALL_BROKEN = 3

_HELP = (
    "A machine: a model, a protocol or a .safetensors file, and in the same quotes options "
    'of measure, as in "gru --numbers 8"; or a stored row, FOLDER#TASK.'
)
_REMEDY = 'write a name and options of measure in quotes, as in "gru --numbers 8 --bits 2"'


# a machine may begin with an option: "--protocol table:FILE.npz"
@app.command(context_settings={"ignore_unknown_options": True})
def compare(
    problem: PROBLEM,
    a: Annotated[str, typer.Argument(help=_HELP)],
    b: Annotated[str, typer.Argument(help="The other one.")],
    *,
    n: N,
    alphabet: ALPHABET = None,
    query_law: LAW = "uniform",
    options: OPTION = None,
    engine: ENGINE = "auto",
    kind: BOB = None,
    trials: TRIALS = 4096,
    seed: SEED = 0,
    form: Annotated[str, typer.Option("--format", help=f"{', '.join(FORMATS)}.")] = "text",
    as_json: JSON = False,
) -> int:
    """Compare two machines on the same inputs: the difference, with its interval."""
    if form not in FORMATS:
        raise UsageError("format", form, "is not a known format", f"choose {', '.join(FORMATS)}")
    shared = Request(
        problem,
        n,
        alphabet,
        query_law,
        parse_options(options),
        engine=engine,
        bob=kind,
        trials=trials,
        seed=seed,
    )
    shared.make_problem()  # a fault that both share is no fault of A
    sides = [machine(text, side, shared) for side, text in (("a", a), ("b", b))]
    from statebound.experiments import compare as work
    from statebound.experiments import tables

    record = work.compare(*sides)
    if as_json:
        output.data(record, compact=True)
    else:
        rows = work.lines(record, (a, b))
        sys.stdout.write(tables.render(rows, work.COLUMNS, form, work.cell))
        for sentence in work.words(record):
            output.talk(sentence)
    return WALL_BROKEN if record["violates_wall"] else 0


def machine(text: str, argument: str, shared: Request) -> Request:
    """Return the request of a machine that is written as a name and options of `measure`.

    Raises
    ------
    UsageError
        When the text cannot be read.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(argument, text, f"cannot be split into words ({error})", _REMEDY) from None
    if not words:
        raise UsageError(argument, text, "names no machine", _REMEDY)
    from statebound.experiments.sides import machine as named

    name = None if words[0].startswith("-") else words.pop(0)
    return named(name, _read(words, argument, text), argument, shared)


def _read(words: list[str], argument: str, text: str) -> dict[str, Any]:
    """Return the options that are given among words, by their names in `Request`."""
    from statebound.experiments.sides import SHARED

    held: dict[str, Any] = {}
    own = {name: kind for name, kind in MACHINE.items() if name not in SHARED} | {"bob": BOB}

    def keep(**found: Any) -> None:
        held.update({name: value for name, value in found.items() if value is not None})

    kept = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=None)
        for name, kind in own.items()
    ]
    keep.__signature__ = inspect.Signature(kept)  # type: ignore[attr-defined]
    keep.__annotations__ = {p.name: p.annotation for p in kept}
    reader = typer.Typer(add_completion=False, rich_markup_mode=None)
    reader.command(context_settings={"help_option_names": []})(keep)
    try:
        typer.main.get_command(reader).main(words, prog_name=argument, standalone_mode=False)
    except Exception as error:
        shown = getattr(error, "format_message", None)
        if shown is None:
            raise
        raise UsageError(argument, text, shown().rstrip("."), _REMEDY) from None
    if "settings" in held:
        held["settings"] = parse_settings(held["settings"])
    if "precision" in held:
        held["precision"] = parse_precision(held["precision"])
    return held
