"""The verb that tells what the state of somebody's model holds, from its configuration."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from statebound.errors import UsageError
from statebound.experiments.cli import output
from statebound.experiments.cli.app import app
from statebound.experiments.cli.options import JSON


def _size(name: str, text: str) -> Any:
    return typer.Option(f"--{name}", help=text)


@app.command()
def capacity(
    config: Annotated[
        Path | None, typer.Argument(help="A config.json of transformers, or its folder.")
    ] = None,
    *,
    family: Annotated[
        str | None, typer.Option("--family", help="A model_type, where there is no file.")
    ] = None,
    layers: Annotated[int | None, _size("layers", "Layers.")] = None,
    width: Annotated[int | None, _size("width", "Width of the model.")] = None,
    state: Annotated[int | None, _size("state", "State numbers a channel, or its width.")] = None,
    kernel: Annotated[int | None, _size("kernel", "Tokens of the convolution.")] = None,
    heads: Annotated[int | None, _size("heads", "Heads.")] = None,
    kv_heads: Annotated[int | None, _size("kv-heads", "Heads of keys and values.")] = None,
    head_dim: Annotated[int | None, _size("head-dim", "Size of a head.")] = None,
    window: Annotated[int | None, _size("window", "Tokens of a sliding window.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Any other key of the configuration: K=V.")
    ] = None,
    dtype: Annotated[
        str | None, typer.Option("--dtype", help="Of the model: float32, bfloat16, float16.")
    ] = None,
    alphabet: Annotated[
        int | None, typer.Option("--alphabet", help="Symbols a token; else the vocabulary.")
    ] = None,
    n: Annotated[int | None, typer.Option("--n", help="Compare at this length too.")] = None,
    against: Annotated[
        Path | None, typer.Option("--against", help="Another config.json to compare with.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Draw bits against length to OUT.png and OUT.svg.")
    ] = None,
    style: Annotated[str, typer.Option("--style", help="paper or slides.")] = "paper",
    as_json: JSON = False,
) -> int:
    """Tell what a model's state holds, from its config.json: bits by part, and when they end."""
    from statebound.experiments.capacity import report
    from statebound.experiments.capacity.config import load

    if (config is None) == (family is None):
        raise UsageError(
            "config", config, "exactly one of CONFIG and --family must be given", "name one"
        )
    values = {"model_type": family} if config is None else load(config)
    sizes = {
        "layers": layers,
        "width": width,
        "state": state,
        "kernel": kernel,
        "heads": heads,
        "kv_heads": kv_heads,
        "head_dim": head_dim,
        "window": window,
    }
    chosen: dict[str, Any] = {k: v for k, v in sizes.items() if v is not None}
    record = report.capacity(
        values,
        settings=chosen | _pairs(settings),
        options=tuple(chosen),
        dtype=dtype,
        alphabet=alphabet,
        n=n,
    )
    record = {"config": None if config is None else str(config), **record}
    other = None
    if against is not None:
        other = report.capacity(load(against), alphabet=alphabet)
        record["against"] = {"config": str(against), **report.against(record, other)}
    if as_json:
        output.data(record, compact=True)
    else:
        from statebound.experiments.capacity.words import words

        sys.stdout.write(words(record))
    if out is not None:
        from statebound.experiments.capacity.draw import draw

        for path in draw(record, other, out, style):
            output.talk(f"wrote {path}")
    return 0


def _pairs(pairs: list[str] | None) -> dict[str, Any]:
    """Read KEY=VALUE; a value is JSON if it can be, else text."""
    import json

    found: dict[str, Any] = {}
    for pair in pairs or []:
        name, _, value = pair.partition("=")
        if not (name and value):
            raise UsageError("set", pair, "must be KEY=VALUE", "write state_size=16")
        try:
            found[name] = json.loads(value)
        except (ValueError, RecursionError):
            found[name] = value
    return found
