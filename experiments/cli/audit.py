"""The verb that looks into somebody else's model."""

from __future__ import annotations

from typing import Annotated

import typer

from statebound.experiments.cli import output
from statebound.experiments.cli.app import app
from statebound.experiments.cli.options import JSON

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
    as_json: JSON = False,
) -> int:
    """Find a model's state, split it, restore it elsewhere, and report what holds what."""
    from statebound.errors import UsageError
    from statebound.experiments.audit import report
    from statebound.experiments.audit.bench import plan
    from statebound.experiments.audit.examine import audit as work
    from statebound.experiments.audit.load import load

    if not 12 <= tokens <= 4096:
        raise UsageError("tokens", tokens, "must be in 12..4096", "pass a length such as 24")
    if not 0 <= probes <= 10**6:
        raise UsageError("probes", probes, "must be in 0..1000000", "pass a number such as 400")
    made = load(subject, seed)
    how = plan(made.landmarks, made.windows, tokens=tokens, probes=probes)
    found = work(made, seed=seed, how=how)
    if as_json:
        output.data(found.record(), compact=True)
    else:
        report.show(found)
    if not found.ok:
        output.talk(f"error: {found.subject} {report.headline(found)}")
        return NOT_SPLIT
    return 0
