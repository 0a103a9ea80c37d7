"""The verb `train`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from statebound.errors import UsageError
from statebound.experiments.cli import output
from statebound.experiments.cli.app import app
from statebound.experiments.cli.options import (
    ALPHABET,
    JSON,
    LAW,
    OPTION,
    PROBLEM,
    N,
    parse_options,
)
from statebound.experiments.ranges import number_list
from statebound.experiments.request import parse_settings
from statebound.experiments.training.defaults import recommended
from statebound.experiments.training.recipe import Recipe

WALL_BROKEN = 3
ENDING = ".safetensors"


@app.command()
def train(
    problem: PROBLEM,
    n: N,
    model: Annotated[str, typer.Option("--model", help="The model to train.")],
    out: Annotated[Path, typer.Option("--out", help="The checkpoint, a .safetensors file.")],
    *,
    numbers: Annotated[
        int | None, typer.Option("--numbers", help="Total of numbers in the state (8 or nearest).")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Override a config field: NAME=VALUE.")
    ] = None,
    draws: Annotated[
        list[str] | None,
        typer.Option("--draw", help="Start a parameter uniform in a range: NAME=LOW:HIGH."),
    ] = None,
    bits: Annotated[int, typer.Option("--bits", help="Bits a number, 1 to 8.")] = 1,
    regime: Annotated[
        str, typer.Option("--regime", help="Quantise once (handoff) or after every token (step).")
    ] = "handoff",
    encoding: Annotated[
        str | None, typer.Option("--encoding", help="bits, keyed, pairs or spelled (pairs).")
    ] = None,
    alphabet: ALPHABET = None,
    query_law: LAW = "uniform",
    options: OPTION = None,
    loss: Annotated[str, typer.Option("--loss", help="mix, ce or hinge.")] = "mix",
    steps: Annotated[
        int | None, typer.Option("--steps", help="Steps of Adam (800 or more, by model).")
    ] = None,
    batch: Annotated[int, typer.Option("--batch", help="Inputs a step.")] = 256,
    rate: Annotated[
        float | None, typer.Option("--rate", help="Greatest step size (0.01 or 0.02, by model).")
    ] = None,
    examples: Annotated[
        int | None, typer.Option("--examples", help="Train on so many inputs, not on fresh ones.")
    ] = None,
    bob: Annotated[int, typer.Option("--bob-hidden", help="Hidden units of the Bob kept.")] = 64,
    seeds: Annotated[
        str, typer.Option("--seeds", help="Restarts; the best on held-out inputs is kept.")
    ] = "0..2",
    seed: Annotated[int, typer.Option("--seed", help="Seed of the inputs.")] = 0,
    as_json: JSON = False,
) -> int:
    """Train a model with its quantiser in the loop, and write a checkpoint (needs torch)."""
    from statebound.experiments.results import check_writable, write_atomically
    from statebound.experiments.training.measured import summary
    from statebound.experiments.training.train import train as work
    from statebound.reductions.checkpoint import write

    if out.suffix != ENDING:
        stem = out.stem.removesuffix(ENDING) or "made"
        raise UsageError("out", out, f"must end in {ENDING}", f"pass {stem}{ENDING}")
    check_writable(out)
    parts = recommended(model, n, regime)
    parts["settings"] = parts.get("settings", {}) | parse_settings(settings)
    given = {"encoding": encoding, "steps": steps, "rate": rate}
    parts |= {name: value for name, value in given.items() if value is not None}
    asked = parse_options(options)
    if alphabet is not None:
        asked["alphabet"] = str(alphabet)
    if query_law != "uniform":
        asked["query_law"] = query_law
    recipe = Recipe(
        problem,
        n,
        asked,
        model,
        numbers,
        draws=parse_draws(draws),
        bits=bits,
        regime=regime,
        loss=loss,
        batch=batch,
        examples=examples,
        bob=bob,
        seeds=number_list(seeds, "seeds"),
        seed=seed,
        **parts,
    )
    progress = output.Progress(quiet=as_json)
    try:
        checkpoint = work(recipe, progress, sys.argv[1:])
    finally:
        progress.close()
    write_atomically(out, write(checkpoint))
    record = {"file": str(out)} | summary(checkpoint)
    output.data(record, compact=as_json)
    if not as_json:
        output.talk(
            f"{model}: {record['state_bits']} bits, success {record['success']:.4f} "
            f"({record['bob']} Bob, {record['engine']}); truncation "
            f"{_shown(record['truncation'])}, wall {_shown(record['wall_ball'])}"
        )
    if record["violates_wall"]:
        output.talk("error: an uncounted bit: success is above the wall")
        return WALL_BROKEN
    return 0


def _shown(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.4f}"


def parse_draws(pairs: list[str] | None) -> dict[str, list[float]]:
    """Read NAME=LOW:HIGH pairs.

    Raises
    ------
    UsageError
        When a pair is something else.

    Examples
    --------
    >>> parse_draws(["log_dt=-2:0"])
    {'log_dt': [-2.0, 0.0]}
    """
    found = {}
    for pair in pairs or []:
        name, _, span = pair.partition("=")
        low, _, high = span.partition(":")
        try:
            found[name] = [float(low), float(high)]
            if not (name and -1e6 < found[name][0] <= found[name][1] < 1e6):
                raise ValueError(pair)
        except ValueError:
            raise UsageError(
                "draw", pair, "must be NAME=LOW:HIGH with LOW <= HIGH", "write log_dt=-2:0"
            ) from None
    return found
