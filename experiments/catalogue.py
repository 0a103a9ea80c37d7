"""catalogue: what the state of every model holds, measured from a message.

For each family at its default size, and for published models layer by layer: the fields,
the numbers, and the bits of a message that a cut machine packs for one input. Nothing
here is typed: the numbers are those of the fields, and a message of another length than
they promise is an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from statebound.errors import StateboundError
from statebound.models import Field
from statebound.models._build import family
from statebound.protocols.problems.index import Index
from statebound.reductions.machine import CutMachine, cut

TOKENS = 8  # what the measured message has read
QUANTISER, BITS = "bf16", 16


def held(field: Field) -> str:
    """Return a field's name and shape for reading."""
    return f"{field.name} {'x'.join(map(str, field.shape))}"


def measured(model: str, settings: Mapping[str, int | str] | None) -> tuple[CutMachine, int]:
    """Return a cut machine at random parameters, and the bits of a message of its."""
    machine = cut(
        Index(TOKENS), model, settings=settings, init="random", quantiser=QUANTISER, bits=BITS
    )
    message = machine.encode(np.ones((1, TOKENS), np.uint8))
    if message.shape[1] != -(-machine.state_bits // 8):
        raise StateboundError(
            f"{model}: a message of {message.shape[1]} bytes for {machine.state_bits} bits"
        )
    return machine, machine.state_bits


def row(model: str, size: str, layers: int, settings: Mapping[str, int | str] | None) -> Any:
    """Return one line of the table.

    Examples
    --------
    >>> found = row("gla", "default", 1, None)
    >>> found["fields"], found["numbers"], found["state_bits"]
    ('S 1x8x1', 8, 128)
    """
    machine, bits = measured(model, settings)
    cell = machine.cell
    return {
        "model": model,
        "size": size,
        "layers": layers,
        "fields": ", ".join(held(f) for f in cell.fields),
        "numbers": layers * sum(f.numbers for f in cell.fields),
        "state_bits": layers * bits,
        "growing": layers * cell.growing,
    }


def catalogue(names: list[str], *, published: bool = True) -> list[dict[str, Any]]:
    """Return the lines of these models, defaults first, then published sizes."""
    rows = [row(name, "default", 1, None) for name in names]
    if not published:
        return rows
    rows += [
        row(name, known.model, known.layers, known.settings)
        for name in names
        for known in family(name).published
    ]
    return rows


def page(rows: list[dict[str, Any]]) -> str:
    """Return the table as a page of Markdown, with the command that makes it."""
    lines = [
        "# Models and their states",
        "",
        "Made by `statebound models --table`: every line was measured from the message that a cut "
        f"machine packed after {TOKENS} tokens, at {BITS} bits a number ({QUANTISER}). Fields are "
        "those of one layer, numbers and bits of all layers. *Growing* counts the numbers that "
        "every further token adds: 0 for a model of fixed state.",
        "",
        "Live numbers only: a convolution of c tokens keeps c - 1 columns, where many "
        "implementations store c; `rwkv4` keeps a mean and a mass where they store a numerator, a "
        "denominator and their maximum.",
        "",
        "| model | size | layers | fields of a layer | numbers | bits | growing |",
        "| --- | --- | ---: | --- | ---: | ---: | ---: |",
    ]
    lines += [
        f"| `{r['model']}` | {r['size']} | {r['layers']} | {r['fields']} | {r['numbers']:,} "
        f"| {r['state_bits']:,} | {r['growing']:,} |"
        for r in rows
    ]
    return "\n".join(lines) + "\n"
