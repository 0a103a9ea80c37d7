"""Demonstrations: each a command of `statebound demo`.

The commands are made from the files of `statebound.experiments.demos`: the parameters of a
file's ``record`` are the options of its command.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer

from statebound import registry
from statebound.errors import UsageError
from statebound.experiments.cli import output
from statebound.experiments.cli.app import app
from statebound.experiments.cli.options import JSON

PACKAGE = "statebound.experiments.demos"
PAUSE = 1.0  # seconds
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

_POSITIONAL = ("machine",)
_OPTIONS: dict[str, Any] = {
    "n": Annotated[int, typer.Option("--n", help="Size: bits of Alice, vertices, or tokens.")],
    "model": Annotated[str, typer.Option("--model", help="Model, see `statebound models`.")],
    "numbers": Annotated[int | None, typer.Option("--numbers", help="Numbers in the state.")],
    "bits": Annotated[int, typer.Option("--bits", help="Bits a number.")],
    "state_bits": Annotated[int | None, typer.Option("--state-bits", help="Message bits M.")],
    "query": Annotated[int | None, typer.Option("--query", help="Bob's index (drawn).")],
    "guess": Annotated[float | None, typer.Option("--guess", help="Somebody's guess.")],
    "seed": Annotated[int, typer.Option("--seed", help="Seed of all that is drawn.")],
    "machine": Annotated[
        str, typer.Argument(help=f"{', '.join(MACHINES)}, or a file that ends in .tm.")
    ],
    "text": Annotated[str | None, typer.Option("--input", help="What is on the tape.")],
    "by": Annotated[str, typer.Option("--by", help="hybrid or regex.")],
    "budget": Annotated[int, typer.Option("--budget", help="The most steps.")],
    "code": Annotated[
        str | None, typer.Option("--code", help="The hybrid's addresses: bin, quad, rns, or rot.")
    ],
    "significand": Annotated[
        int | None,
        typer.Option("--significand", help="The hybrid's precision, 24 bits if not set."),
    ],
}
_SHOWN: dict[str, tuple[Any, Any]] = {
    "auto": (
        Annotated[bool, typer.Option("--auto", help="Go on by the clock, not by keys.")],
        False,
    ),
    "pause": (
        Annotated[float | None, typer.Option("--pause", help=f"Seconds a step ({PAUSE:g}).")],
        None,
    ),
    "as_json": (JSON, False),
}

demo = typer.Typer(rich_markup_mode=None, help="Show a construction at work; alone, list them.")
app.add_typer(demo, name="demo")


@demo.callback(invoke_without_command=True)
def listed(
    context: typer.Context,
    *,
    page: Annotated[
        Path | None, typer.Option("--html", help="Write the page for lectures, one file.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Of the machines on that page (0).")
    ] = None,
    as_json: JSON = False,
) -> None:
    """Show a construction at work; alone, list them."""
    if page is None and seed is not None:
        raise UsageError("seed", seed, "is that of the page", "add --html, or write it last")
    if context.invoked_subcommand is not None:
        if page is not None:
            raise UsageError("html", page, "is the page alone", "drop the demonstration's name")
        return
    if page is not None:
        _write_page(page, seed or 0, as_json)
        return
    rows = [{"demo": name, "shows": module.SUMMARY} for name, module in demos().items()]
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


def demos() -> dict[str, ModuleType]:
    """Return the module of every demonstration by the name of its command."""
    return {
        stem.replace("_", "-"): registry.load(PACKAGE, stem, "demo")
        for stem in registry.names(PACKAGE)
    }


def _seconds(auto: bool, pause: float | None) -> float:
    if pause is None:
        return PAUSE
    if not auto:
        raise UsageError("pause", pause, "is for demonstrations that go on alone", "add --auto")
    if not 0 <= pause <= 3600:
        raise UsageError("pause", pause, "must be 0 to 3600 seconds", "pass 1, say")
    return pause


def _command(name: str, module: ModuleType) -> Callable[..., int]:
    """Return a command with the parameters of a demonstration's ``record``."""

    def command(auto: bool, pause: float | None, as_json: bool, **given: Any) -> int:
        wait = _seconds(auto, pause)
        made = module.record(**given)
        if as_json:
            output.data(made, compact=True)
        else:
            from statebound.experiments.demos._show import show

            show(name, lambda width: module.steps(made, width), auto=auto, pause=wait)
        code, reason = module.outcome(made) if hasattr(module, "outcome") else (0, "")
        if code:
            output.talk(f"error: {reason}")
        return int(code)

    own = [
        inspect.Parameter(
            p.name,
            p.POSITIONAL_OR_KEYWORD if p.name in _POSITIONAL else p.KEYWORD_ONLY,
            default=p.default,
            annotation=_OPTIONS[p.name],
        )
        for p in inspect.signature(module.record).parameters.values()
    ]
    shared = [
        inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for n, (kind, default) in _SHOWN.items()
    ]
    command.__signature__ = inspect.Signature([*own, *shared])  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in [*own, *shared]}
    command.__doc__ = module.SUMMARY
    return command


for _name, _module in demos().items():
    demo.command(_name)(_command(_name, _module))
