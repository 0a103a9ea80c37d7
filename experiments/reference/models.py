"""A page for each model: its recurrence, its state, its parameters and known sizes."""

from __future__ import annotations

import sys
from dataclasses import fields
from inspect import cleandoc, getdoc
from types import ModuleType

from statebound import registry
from statebound.experiments.catalogue import BITS, QUANTISER, TOKENS, held
from statebound.experiments.reference.docstrings import body, markdown, summary, table
from statebound.models import Cell, Field
from statebound.models._build import PACKAGE, family
from statebound.protocols.problems.index import Index
from statebound.reductions.machine import CutMachine, cut
from statebound.reductions.zoo import sizes


def pages() -> dict[str, str]:
    """Return the page of every model."""
    return {f"reference/model-{name}.md": page(name) for name in registry.names(PACKAGE)}


def page(name: str) -> str:
    """Return the page of one model.

    Examples
    --------
    >>> print(page("gru").splitlines()[0])
    # Model: gru
    """
    module, cell = registry.load(PACKAGE, name, "model"), family(name)
    machine = cut(Index(TOKENS), name, init="random", quantiser=QUANTISER, bits=BITS)
    lines = [f"# Model: {name}", "", markdown(f"{summary(module)}."), "", markdown(body(module))]
    lines += ["", "## Its state", "", *_state(machine), *_published(cell)]
    lines += ["## Its size and parameters", "", *_config(cell, machine)]
    for shared in formulas(module):
        lines += [f"## Built from: {summary(shared)}", "", markdown(body(shared)), ""]
    lines += ["## Try it", "", "```sh", f"statebound measure index --n 8 --model {name}", "```", ""]
    lines += ["All states side by side: [Models and their states](../models.md)."]
    return "\n".join(lines) + "\n"


def formulas(module: ModuleType) -> list[ModuleType]:
    """Return the shared modules that hold formulas a model is built from, in their order.

    Examples
    --------
    >>> [m.__name__ for m in formulas(registry.load(PACKAGE, "attention", "model"))]
    ['statebound.models._attention', 'statebound.models._cache']
    """
    found: dict[str, ModuleType] = {}
    for held_there in vars(module).values():
        home = sys.modules.get(getattr(held_there, "__module__", None) or "")
        if home is None or not home.__name__.startswith(f"{PACKAGE}._"):
            continue
        if "\n    " in cleandoc(home.__doc__ or ""):
            found[home.__name__] = home
    return list(found.values())


def _state(machine: CutMachine) -> list[str]:
    cell = machine.cell
    rows = [(held(f), f.numbers, _bounds(f), f.growing) for f in cell.fields]
    config = ", ".join(f"{key} = {value}" for key, value in cell.settings().items())
    return [
        f"At its default size ({config}), after {TOKENS} tokens of Index:",
        *table(("field", "numbers", "bounds", "a token adds"), rows),
        f"Together {machine.numbers} numbers, which are {machine.state_bits} message bits at "
        f"{BITS} bits a number (`{QUANTISER}`).",
        "",
    ]


def _bounds(field: Field) -> str:
    low = "" if field.low is None else f"from {field.low:g}"
    high = "" if field.high is None else f"to {field.high:g}"
    return f"{low} {high}".strip()


def _published(cell: type[Cell]) -> list[str]:
    if not cell.published:
        return []
    rows = [
        (known.model, known.layers, ", ".join(f"{k} = {v}" for k, v in known.settings.items()))
        for known in cell.published
    ]
    return ["Published sizes:", *table(("model", "layers", "size of a layer"), rows)]


def _config(cell: type[Cell], machine: CutMachine) -> list[str]:
    lines = [markdown(getdoc(cell.Config) or ""), ""]
    lines += [f"- `--set`: {', '.join(f'`{f.name}`' for f in fields(cell.Config))}."]
    lines += [f"- `--init`: {', '.join(f'`{name}`' for name in cell.inits)}."]
    lines += [f"- `--encoding`: `{cell.encoding}` unless another is named."]
    lines += [f"- Trained machines that come along: {sizes(cell.name) or 'none'}.", ""]
    lines += ["Parameters at this size, by the names of a [weight file](../weights.md):"]
    shapes = machine.cell.weights.items()
    return lines + table(
        ("name", "shape"), [(f"`{name}`", "x".join(map(str, a.shape)) or "1") for name, a in shapes]
    )
