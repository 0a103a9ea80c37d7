"""The verbs of sweeps: run one, see how far it is, join what several machines did."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from statebound.errors import UsageError
from statebound.experiments.cli import output
from statebound.experiments.cli.app import app
from statebound.experiments.cli.options import JSON

WALL_BROKEN = 3


@app.command()
def sweep(
    what: Annotated[
        str | None, typer.Argument(help="A .toml file, or a ready experiment's name.")
    ] = None,
    *,
    listed: Annotated[bool, typer.Option("--list", help="List the ready experiments.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="The smaller size that it has.")] = False,
    grid: Annotated[
        list[str] | None,
        typer.Option("--grid", help="Replace a key of the grids: KEY=VALUE,VALUE."),
    ] = None,
    trials: Annotated[int | None, typer.Option("--trials", help="The most inputs drawn.")] = None,
    width: Annotated[
        float | None, typer.Option("--width", help="Stop a sample at this width of its interval.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Results folder (results/NAME-HASH).")
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", help="Processes; 0 for one a core.")] = 0,
    dask: Annotated[
        str | None, typer.Option("--dask", help="Address of a dask scheduler to use instead.")
    ] = None,
    shard: Annotated[str | None, typer.Option("--shard", help="Do part i of N: i/N.")] = None,
    keep_going: Annotated[
        bool, typer.Option("--keep-going/--stop-early", help="Go on after a failure.")
    ] = True,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what there is to do, and do nothing.")
    ] = False,
    print_config: Annotated[
        bool, typer.Option("--print-config", help="Print the file of the sweep as resolved.")
    ] = False,
    style: Annotated[str, typer.Option("--style", help="Of figures: paper or slides.")] = "paper",
    as_json: JSON = False,
) -> int:
    """Measure all points of a file, many at a time, and only those that are missing."""
    from statebound.experiments.plot import check_style
    from statebound.experiments.sweeping import sweep as files

    if listed:
        return _list(as_json)
    if what is None:
        raise UsageError("sweep", None, "names no sweep", "pass a .toml file, or --list")
    check_style(style)
    made = files.read(what, quick=quick)
    made = files.overridden(made, _pairs(grid), trials, width)
    if print_config:
        return _print(made, as_json)
    folder = out or made.folder
    if dry_run:
        return _dry_run(made, folder, shard, as_json)
    return _collect(made, folder, shard, jobs, dask, keep_going, style, as_json)


def _print(made: Any, as_json: bool) -> int:
    if as_json:
        output.data(made.plain(), compact=True)
    else:
        import tomli_w

        sys.stdout.write(tomli_w.dumps(made.plain()))
    return 0


def _pairs(given: list[str] | None) -> dict[str, str]:
    pairs = {}
    for pair in given or []:
        key, _, value = pair.partition("=")
        if not (key and value):
            raise UsageError("grid", pair, "must be KEY=VALUE", "write n=8,16")
        pairs[key] = value
    return pairs


def _list(as_json: bool) -> int:
    from statebound.experiments.sweeping.sweep import ready

    rows = [
        {"sweep": each.name, "title": each.title, "question": each.question} for each in ready()
    ]
    if as_json:
        output.data(rows, compact=True)
    else:
        sys.stdout.write(output.table(rows, {"sweep": "sweep", "title": "shows"}))
    return 0


def _dry_run(made: Any, folder: Path, part: str | None, as_json: bool) -> int:
    from statebound.experiments.results import RUN_FILE, Held, check_config, hold
    from statebound.experiments.sweeping.collect import shard
    from statebound.experiments.sweeping.estimate import seconds
    from statebound.experiments.sweeping.status import progress

    every, notes = made.expanded
    tasks = shard(every, part)
    names = {task.id for task in tasks}
    held = Held()
    if (folder / RUN_FILE).exists():
        check_config(folder, made.config)
        held = hold(folder, lambda _: names)
    rows = [progress(held, task, made.stop) for task in tasks]
    left = [t for t, row in zip(tasks, rows, strict=True) if row["state"] != "finished"]
    about = seconds(left, made.stop)
    if as_json:
        record = {"folder": str(folder), "tasks": rows, "left": len(left), "seconds": about}
        output.data(record | {"notes": notes}, compact=True)
        return 0
    columns = {"task": "task", "label": "what", "state": "state", "done": "blocks", "left": "left"}
    sys.stdout.write(output.table(rows, columns))
    for note in notes:
        output.talk(f"note: {note}")
    guess = "unknown" if about is None else output.duration(about)
    output.talk(f"{len(left)} of {len(rows)} tasks to do, about {guess} of one core, in {folder}")
    return 0


def _collect(
    made: Any,
    folder: Path,
    part: str | None,
    jobs: int,
    dask: str | None,
    keep_going: bool,
    style: str,
    as_json: bool,
) -> int:
    from statebound.experiments import results
    from statebound.experiments.sweeping import workers
    from statebound.experiments.sweeping.collect import collect, shard
    from statebound.experiments.sweeping.warm import warm

    every, notes = made.expanded
    mine = shard(every, part)
    for note in () if as_json else notes:
        output.talk(f"note: {note}")
    jobs = workers.count(jobs)
    run = workers.here if jobs == 1 else workers.beside(jobs, output.talk)
    if dask is not None:
        run = workers.cluster(dask)
    bar = output.Progress(quiet=as_json, every=60)
    try:
        with results.Writer(folder, made.config, sys.argv[1:]) as writer:
            if jobs > 1 or dask is not None:
                warm(mine, made.stop, folder)
            found = collect(every, mine, made.stop, writer, run, bar, keep_going=keep_going)
    finally:
        bar.close()
    rows = results.load(folder) if made.figures and found.finished else []
    figures = _draw(made, folder, style, rows) if rows else []
    if as_json:
        record = {
            "folder": str(folder),
            "tasks": found.tasks,
            "finished": found.finished,
            "figures": figures,
            "failures": found.failures,
            "broken": found.broken,
        }
        output.data(record, compact=True)
    else:
        for path in figures:
            output.talk(f"wrote {path}")
        sys.stdout.write(f"{folder}\n")
        output.talk(f"{found.finished} of {found.tasks} tasks finished")
    for label, reason in found.failures.items():
        output.talk(f"error: {label}: {reason}")
    for text in found.broken:
        output.talk(f"error: an uncounted bit: {text}")
    if found.broken:
        return WALL_BROKEN
    return 1 if found.failures else 0


def _draw(made: Any, folder: Path, style: str, rows: list[dict[str, Any]]) -> list[str]:
    """Draw the figures that a sweep asks for; one that cannot be drawn yet is told of."""
    from statebound.experiments.cli.plot import drawn
    from statebound.experiments.figures._columns import filtered

    written: list[str] = []
    for figure in made.figures:
        try:
            kept = filtered(rows, figure.where)
            stem = folder / figure.name
            written += drawn(figure.kind, kept, stem, style, figure.choices)
        except UsageError as error:
            output.talk(f"note: no figure {figure.name}: {error}")
    return written


@app.command()
def status(
    folders: Annotated[list[Path], typer.Argument(help="Results folders.")],
    *,
    as_json: JSON = False,
) -> int:
    """Say how far results folders are."""
    from statebound.experiments.sweeping.status import status as look

    rows = [look(folder) for folder in folders]
    if as_json:
        output.data(rows, compact=True)
        return 0
    columns = {
        "folder": "folder",
        "verb": "verb",
        "tasks": "tasks",
        "finished": "finished",
        "left": "left",
        "samples_begun": "begun",
        "rows": "rows",
        "writers": "writers",
        "broken": "broken",
    }
    sys.stdout.write(output.table(rows, columns))
    return 0


@app.command()
def combine(
    folders: Annotated[list[Path], typer.Argument(help="Results folders.")],
    *,
    out: Annotated[Path, typer.Option("--out", help="The folder to make.")],
    as_json: JSON = False,
) -> int:
    """Join results folders: every row once, and none that disagree."""
    from statebound.experiments.sweeping.combine import combine as join

    found = join(folders, out)
    if as_json:
        output.data(found, compact=True)
    else:
        sys.stdout.write(f"{out}\n")
        output.talk(f"{found['kept']} of {found['lines']} lines kept, of {found['tasks']} tasks")
    return 0
