"""What training finds: commands of `statebound learn`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from statebound.experiments.cli import output
from statebound.experiments.cli.app import app
from statebound.experiments.cli.options import JSON
from statebound.experiments.ranges import number_list

WALL_BROKEN = 3
UNLIMITED = "unlimited"

learn = typer.Typer(
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Show what training finds, and what it cannot (needs torch).",
)
app.add_typer(learn, name="learn")

MODEL = Annotated[str, typer.Option("--model", help="The model to train.")]
NUMBERS = Annotated[int, typer.Option("--numbers", help="Total of numbers in the state.")]
BITS = Annotated[int, typer.Option("--bits", help="Bits a number.")]
SEEDS = Annotated[str, typer.Option("--seeds", help="Restarts, all of them shown.")]
OUT = Annotated[Path | None, typer.Option("--out", help="Draw to OUT.png and OUT.svg.")]
STYLE = Annotated[str, typer.Option("--style", help="paper or slides.")]


@learn.command()
def data(
    *,
    model: MODEL = "linear_attention",
    n: Annotated[int, typer.Option("--n", help="Size of Index, at most 16.")] = 16,
    numbers: NUMBERS = 8,
    bits: BITS = 1,
    examples: Annotated[
        str, typer.Option("--examples", help="How many inputs to learn from: numbers, unlimited.")
    ] = "32,128,512,2048,unlimited",
    seeds: SEEDS = "0..2",
    steps: Annotated[
        int | None, typer.Option("--steps", help="Steps of Adam (what the model needs).")
    ] = None,
    out: OUT = None,
    style: STYLE = "paper",
    as_json: JSON = False,
) -> int:
    """Train on more and more examples: the wall is for any number of them."""
    return _show(
        "data",
        out,
        style,
        as_json=as_json,
        model=model,
        n=n,
        numbers=numbers,
        bits=bits,
        examples=counts(examples),
        seeds=number_list(seeds, "seeds"),
        steps=steps,
    )


@learn.command()
def length(
    *,
    model: MODEL = "gru",
    sizes: Annotated[str, typer.Option("--n", help="Lengths to run at.")] = "8,12,16,20,24,32",
    trained: Annotated[str, typer.Option("--trained", help="Lengths to train at.")] = "8,16",
    numbers: NUMBERS = 8,
    bits: BITS = 1,
    seeds: SEEDS = "0..2",
    steps: Annotated[
        int | None, typer.Option("--steps", help="Steps of Adam (what the model needs).")
    ] = None,
    trials: Annotated[
        int, typer.Option("--trials", help="Inputs drawn where not all are run.")
    ] = 4096,
    out: OUT = None,
    style: STYLE = "paper",
    as_json: JSON = False,
) -> int:
    """Train at one length, run at others with the same state, beside the wall of each."""
    return _show(
        "length",
        out,
        style,
        as_json=as_json,
        model=model,
        lengths=number_list(sizes, "n"),
        trained_at=number_list(trained, "trained"),
        numbers=numbers,
        bits=bits,
        seeds=number_list(seeds, "seeds"),
        steps=steps,
        trials=trials,
    )


@learn.command()
def hybrid(
    *,
    task: Annotated[str, typer.Option("--task", help="index or recall.")] = "index",
    sizes: Annotated[str, typer.Option("--n", help="Lengths of the context.")] = "8,16,32,64",
    seeds: SEEDS = "0..2",
    steps: Annotated[int, typer.Option("--steps", help="Steps of Adam, the same at each n.")] = 500,
    batch: Annotated[int, typer.Option("--batch", help="Contexts a step.")] = 32,
    trials: Annotated[
        int, typer.Option("--trials", help="Contexts drawn where not all are run.")
    ] = 1000,
    out: OUT = None,
    style: STYLE = "paper",
    as_json: JSON = False,
) -> int:
    """Train a hybrid from scratch beside the constructed one: existing is not being learned."""
    return _show(
        "hybrid",
        out,
        style,
        as_json=as_json,
        task=task,
        sizes=number_list(sizes, "n"),
        seeds=number_list(seeds, "seeds"),
        steps=steps,
        batch=batch,
        trials=trials,
    )


def counts(text: str) -> tuple[int | None, ...]:
    """Read numbers of examples, of which one may be ``unlimited``.

    Examples
    --------
    >>> counts("32,2^7..2^9,unlimited")
    (32, 128, 256, 512, None)
    """
    parts = [part.strip() for part in text.split(",")]
    numbers = [part for part in parts if part != UNLIMITED]
    found: tuple[int | None, ...] = number_list(",".join(numbers), "examples") if numbers else ()
    return found + (None,) * (len(numbers) < len(parts))


def _show(what: str, out: Path | None, style: str, *, as_json: bool, **options: Any) -> int:
    from statebound.experiments.learn import record as work
    from statebound.experiments.plot import check_style
    from statebound.experiments.results import check_stem

    check_style(style)
    if out is not None:
        check_stem(out)
    progress = output.Progress(quiet=as_json)
    try:
        made = work.record(what, progress, **options)
    finally:
        progress.close()
    if as_json:
        output.data(made, compact=True)
    else:
        sys.stdout.write(output.table(made["rows"], work.COLUMNS[what]))
    if out is not None:
        for path in work.draw(made, out, style):
            output.talk(str(path))
    if any(row.get("violates_wall") for row in made["rows"]):
        output.talk("error: an uncounted bit: a success is above its wall")
        return WALL_BROKEN
    return 0
