"""The verb that lets Bobs think."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from statebound.experiments.cli import output
from statebound.experiments.cli.app import app
from statebound.experiments.cli.options import BITS, JSON, LAW, OPTION, parse_options
from statebound.experiments.ranges import number_list
from statebound.experiments.request import Request

WALL_BROKEN = 3

_COLUMNS = {
    "who": "Bob",
    "state_bits": "M",
    "tokens": "tokens",
    "written": "written",
    "success": "success",
    "reader_success": "best of state",
    "optimal_success": "optimal",
    "wall_ball": "ball limit",
    "information": "I(message, transcript)",
    "transcript_information": "I(transcript)",
}


@app.command()
def think(
    problem: Annotated[str, typer.Argument(help="Problem, see `statebound problems`.")] = "index",
    *,
    n: Annotated[int, typer.Option("--n", help="Size; all inputs are enumerated.")] = 10,
    models: Annotated[
        str | None,
        typer.Option("--models", help="Comma-separated, or none (four models); random parameters."),
    ] = None,
    codes: Annotated[
        str | None,
        typer.Option("--codes", help="linear, hamming, golay, or none (linear, for bits)."),
    ] = None,
    numbers: Annotated[
        int | None, typer.Option("--numbers", help="Total of numbers in the state.")
    ] = 6,
    bits: BITS = None,
    state_bits: Annotated[
        int | None,
        typer.Option("--state-bits", help="Message bits of codes (those of the first model)."),
    ] = None,
    regime: Annotated[
        str, typer.Option("--regime", help="Quantise once (handoff) or after every token (step).")
    ] = "handoff",
    tokens: Annotated[
        str, typer.Option("--tokens", help="Numbers of tokens to look after.")
    ] = "0,1,2,3,4,6,8,16,32,64",
    machine_seeds: Annotated[
        str, typer.Option("--machine-seeds", help="Seeds of the machines.")
    ] = "0..2",
    temperature: Annotated[
        float, typer.Option("--temperature", help="Above 0 tokens are drawn.")
    ] = 0.0,
    coins: Annotated[
        int, typer.Option("--coins", help="How many Bobs draw; a row is their average.")
    ] = 1,
    query_law: LAW = "uniform",
    options: OPTION = None,
    seed: Annotated[int, typer.Option("--seed", help="Public seed of what writes tokens.")] = 0,
    out: Annotated[
        Path | None, typer.Option("--out", help="Also draw OUT.png and OUT.svg.")
    ] = None,
    style: Annotated[str, typer.Option("--style", help="paper or slides.")] = "paper",
    as_json: JSON = False,
) -> int:
    """Let Bob think aloud after the handoff: what his tokens buy, and what they cannot."""
    from statebound.experiments import results
    from statebound.experiments import think as work
    from statebound.experiments.plot import check_style

    check_style(style)
    if out is not None:
        results.check_stem(out)
    made = Request(problem, n, query_law=query_law, options=parse_options(options)).make_problem()
    rows = work.think(
        made,
        models=work.MODELS if models is None else _names(models),
        codes=None if codes is None else _names(codes),
        numbers=numbers,
        bits=bits,
        state_bits=state_bits,
        regime=regime,
        tokens=number_list(tokens, "tokens"),
        machine_seeds=number_list(machine_seeds, "machine_seeds"),
        temperature=temperature,
        coins=coins,
        seed=seed,
    )
    broken = work.leaks(rows)
    if not as_json:  # before the figure, which may fail
        sys.stdout.write(output.table(work.means(rows), _COLUMNS))
    figures = [] if out is None else [str(path) for path in work.draw(rows, out, style)]
    if as_json:
        output.data({"rows": rows, "figures": figures, "broken": broken}, compact=True)
    else:
        for path in figures:
            output.talk(f"wrote {path}")
    for text in broken:
        output.talk(f"error: an uncounted bit: {text}")
    return WALL_BROKEN if broken else 0


def _names(given: str) -> tuple[str, ...]:
    return () if given == "none" else tuple(given.split(","))
