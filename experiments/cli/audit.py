"""The verb that looks into somebody else's model."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from statebound.experiments.cli import output
from statebound.experiments.cli.app import app
from statebound.experiments.cli.options import JSON
from statebound.experiments.ranges import number_list

NOT_SPLIT = 1


@app.command()
def audit(
    subject: Annotated[
        str,
        typer.Argument(
            help="module:factory, a transformers model folder, or a config.json (random weights)."
        ),
    ],
    *,
    tokens: Annotated[int, typer.Option("--tokens", help="Least length of the runs.")] = 24,
    probes: Annotated[
        int, typer.Option("--probes", help="Calls that the search for dead parts may take.")
    ] = 400,
    seed: Annotated[int, typer.Option("--seed", help="Of tokens, noise and random weights.")] = 0,
    survive: Annotated[
        bool | None,
        typer.Option(
            "--survive/--no-survive",
            help="Measure what survives rounding (by default up to 500,000 parameters).",
        ),
    ] = None,
    bits: Annotated[str | None, typer.Option("--bits", help="Bits a number to try: 2,4,8.")] = None,
    quantiser: Annotated[
        str | None, typer.Option("--quantiser", help="One alone, see `statebound quantisers`.")
    ] = None,
    quality: Annotated[
        float, typer.Option("--quality", help="Agreement that the mixed precision keeps.")
    ] = 0.99,
    html: Annotated[Path | None, typer.Option("--html", help="Write a page to this file.")] = None,
    as_json: JSON = False,
) -> int:
    """Find a model's state, split it, restore it elsewhere, and report what holds what."""
    from statebound.errors import UsageError
    from statebound.experiments.audit import page, report
    from statebound.experiments.audit import survive as rounding
    from statebound.experiments.audit.bench import plan
    from statebound.experiments.audit.examine import audit as work
    from statebound.experiments.audit.load import load

    if not 12 <= tokens <= 4096:
        raise UsageError("tokens", tokens, "must be in 12..4096", "pass a length such as 24")
    if not 0 <= probes <= 10**6:
        raise UsageError("probes", probes, "must be in 0..1000000", "pass a number such as 400")
    if not 0 < quality <= 1:
        raise UsageError("quality", quality, "must be in (0, 1]", "pass a share such as 0.99")
    tried = rounding.BITS if bits is None else tuple(number_list(bits, "bits"))
    rounding.check(quantiser, tried)
    made = load(subject, seed)
    how = plan(made.landmarks, made.windows, tokens=tokens, probes=probes)
    found = work(made, seed=seed, how=how)
    wanted = survive
    if wanted is None:
        wanted = found.ok and found.facts.get("parameters", 0) <= rounding.SMALL
    if wanted:
        left = rounding.survive(
            made, found, seed=seed, bits=tried, quantiser=quantiser, quality=quality
        )
        found = replace(found, survival=left)
    if html is not None:
        page.write(found, html, ["statebound", *sys.argv[1:]])
    if as_json:
        output.data(found.record(), compact=True)
    else:
        report.show(found)
    if not found.ok:
        output.talk(f"error: {found.subject} {report.headline(found)}")
        return NOT_SPLIT
    return 0
