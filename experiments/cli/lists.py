"""The verbs that list what there is."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from statebound.experiments.cli import output
from statebound.experiments.cli.app import app
from statebound.experiments.cli.options import JSON

INCOMPLETE = 4


@app.command()
def models(
    *,
    as_table: Annotated[
        bool,
        typer.Option("--table", help="Measure every state, published sizes too, as Markdown."),
    ] = False,
    as_json: JSON = False,
) -> int:
    """List the models; `growing` is how many numbers a token adds to a state of default size.

    `trained` says for which problems and n trained machines are shipped.
    """
    if as_table:
        from statebound import registry
        from statebound.experiments import catalogue
        from statebound.models._build import PACKAGE

        measured = catalogue.catalogue(registry.names(PACKAGE))
        if as_json:
            output.data(measured, compact=True)
        else:
            sys.stdout.write(catalogue.page(measured))
        return 0
    from statebound import registry
    from statebound.models._build import GROUP, PACKAGE, family, growing
    from statebound.reductions.zoo import sizes

    rows: list[dict[str, Any]] = []
    for name in [*registry.names(PACKAGE), *registry.external(GROUP)]:
        cell = family(name)
        rows.append(
            {
                "model": name,
                "summary": cell.summary,
                "encoding": cell.encoding,
                "parameters": ", ".join(cell.inits),
                "trained": sizes(name),
                "growing": growing(cell),
                "config": ", ".join(cell.Config.names()),
            }
        )
    return _list(rows, as_json)


@app.command()
def quantisers(*, as_json: JSON = False) -> int:
    """List the quantisers, and the precisions that they have."""
    from statebound import registry
    from statebound.models import Field
    from statebound.reductions.quantiser import PACKAGE, load

    bounded, free = Field("h", (1,), -1.0, 1.0), Field("h", (1,))
    rows: list[dict[str, Any]] = []
    for name in registry.names(PACKAGE):
        kind = load(name)
        low, high = kind.least_bits, kind.most_bits
        needs = [kind.needs_calibration(field) for field in (bounded, free)]
        rows.append(
            {
                "quantiser": name,
                "bits": f"{low}" if low == high else f"{low}..{high}",
                "calibrated": {0: "no", 1: "unbounded fields", 2: "yes"}[sum(needs)],
                "summary": kind.summary,
            }
        )
    return _list(rows, as_json)


@app.command()
def protocols(*, as_json: JSON = False) -> int:
    """List the codes and controls that --protocol takes."""
    from inspect import getdoc

    from statebound import registry
    from statebound.experiments.request import protocol_names

    rows: list[dict[str, Any]] = []
    for name, room in sorted(protocol_names().items()):
        module = registry.load(room, name, "protocol")
        rows.append(
            {
                "protocol": name,
                "kind": room.rpartition(".")[2].removesuffix("s"),
                "summary": (getdoc(module) or "").splitlines()[0].rstrip("."),
            }
        )
    return _list(rows, as_json)


@app.command()
def problems(*, as_json: JSON = False) -> int:
    """List the problems, what never erring costs, and the maps between them."""
    from inspect import getdoc

    from statebound import registry
    from statebound.protocols.problem import PACKAGE, parameters
    from statebound.reductions.map import PACKAGE as MAPS

    rows: list[dict[str, Any]] = []
    maps = registry.names(MAPS)
    for name in registry.names(PACKAGE):
        module = registry.load(PACKAGE, name, "problem")
        kind = module.PROBLEM
        to = [m.partition("_to_")[2] for m in maps if m.startswith(f"{name}_to_")]
        rows.append(
            {
                "problem": name,
                "summary": (getdoc(module) or "").splitlines()[0].rstrip("."),
                "options": ", ".join(["n", *parameters(kind)]),
                "bits for certainty": kind.cost,
                "query": kind.query_form,
                "maps to": ", ".join(to),
            }
        )
    return _list(rows, as_json)


def _list(rows: list[dict[str, Any]], as_json: bool) -> int:
    if as_json:
        output.data(rows, compact=True)
    else:
        sys.stdout.write(output.table(rows, {key: key for key in rows[0]}))
    return 0
