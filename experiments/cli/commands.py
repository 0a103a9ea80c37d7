"""The commands. Each imports what it needs when it runs, so that --help stays quick."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from statebound.errors import StateboundError, UsageError
from statebound.experiments.cli import output
from statebound.experiments.cli.app import app
from statebound.experiments.cli.options import (
    ALPHABET,
    BITS,
    BOB,
    JSON,
    LAW,
    OPTION,
    PRECISION,
    PROBLEM,
    QUANTISER,
    RAW,
    ROUNDING,
    N,
    parse_options,
    parse_precision,
    with_request,
)
from statebound.experiments.ranges import number_list
from statebound.experiments.request import Request

WALL_BROKEN = 3
INCOMPLETE = 4


@app.command()
@with_request(engine=True)
def measure(request: Request, *, as_json: JSON = False) -> int:
    """Measure one point: how often Bob is right, and what the message holds."""
    from statebound.experiments.measure import measure as work

    measured = work(request)
    output.data(measured.row, compact=as_json)
    if not as_json:
        output.talk(output.summary(measured.row))
    if measured.broken:
        output.talk(f"error: an uncounted bit: {measured.broken}")
        return WALL_BROKEN
    return 0


@app.command()
def limits(
    problem: PROBLEM,
    n: N,
    *,
    state_bits: Annotated[int | None, typer.Option("--state-bits", help="Message bits M.")] = None,
    success: Annotated[
        str | None, typer.Option("--success", help="Find the bits this success needs.")
    ] = None,
    alphabet: ALPHABET = None,
    query_law: LAW = "uniform",
    options: OPTION = None,
    matrix: Annotated[
        bool, typer.Option("--matrix", help="Add what the whole answer matrix proves.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", help="Draw all M at this n to OUT.png and OUT.svg.")
    ] = None,
    style: Annotated[str, typer.Option("--style", help="paper or slides.")] = "paper",
    as_json: JSON = False,
) -> int:
    """Print what no protocol can pass, for M bits or for a success, or draw it for all M."""
    from statebound.protocols.limits import report

    if (state_bits is not None) + (success is not None) + (out is not None) != 1:
        raise UsageError(
            "state_bits",
            state_bits,
            "exactly one of --state-bits, --success and --out must be given",
            "pass --state-bits M or --success S, or --out STEM for a figure",
        )
    made = Request(problem, n, alphabet, query_law, parse_options(options)).make_problem()
    if out is not None:
        from statebound.experiments.plot import limits as drawn

        return _written(*drawn(made, out, style), as_json)
    if success is not None:
        output.data(report.bits_needed(made, success), compact=as_json)
    else:
        assert state_bits is not None
        record = report.limits(made, state_bits)
        if matrix:
            from statebound.protocols.limits.matrix import answer_matrix, matrix_limits

            record["matrix"] = matrix_limits(answer_matrix(made), state_bits)
        output.data(record, compact=as_json)
    return 0


@app.command()
@with_request(engine=False)
def alice(
    request: Request,
    *,
    x: Annotated[str, typer.Option("--x", help="Alice's input, one digit a symbol.")],
    raw: RAW = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="The message as hex in JSON, for reading only.")
    ] = False,
) -> int:
    """Read x, and write the message to stdout for `statebound bob`."""
    from statebound.experiments.request import subject
    from statebound.experiments.wire import send

    protocol = subject(request)
    message = protocol.encode(protocol.problem.parse(x))
    if as_json:
        record = {
            "state_bits": protocol.state_bits,
            "message_bytes": protocol.message_bytes,
            "message": message.tobytes().hex(),
        }
        output.data(record, compact=True)
        return 0
    if sys.stdout.isatty():
        raise StateboundError("stdout = terminal: a message is bytes; pipe them to statebound bob")
    sys.stdout.buffer.write(send(protocol, message, raw=raw))
    sys.stdout.buffer.flush()
    output.talk(f"{protocol.state_bits} bits in {protocol.message_bytes} bytes")
    return 0


@app.command()
@with_request(engine=False)
def bob(
    request: Request,
    *,
    query: Annotated[str, typer.Option("--query", help="Bob's query, from 1, or in words.")],
    kind: BOB = None,
    raw: RAW = False,
    as_json: JSON = False,
) -> int:
    """Read a message from stdin and print Bob's answer to his query."""
    from statebound.experiments.point import check_bob
    from statebound.experiments.request import subject
    from statebound.experiments.wire import receive, reply

    protocol = subject(request)
    check_bob(protocol, kind)
    asked = protocol.problem.query(query)
    if sys.stdin.isatty():
        raise StateboundError("stdin = terminal: pipe the message of statebound alice into bob")
    message = receive(protocol, sys.stdin.buffer.read(), raw=raw)
    answer, who = reply(protocol, message, asked, kind)
    if as_json:
        record = {
            "query": asked + 1,
            "answer": answer,
            "bob": who,
            "state_bits": protocol.state_bits,
            "message": message.tobytes().hex(),
        }
        output.data(record, compact=True)
    else:
        sys.stdout.write(f"{answer}\n")
    return 0


@app.command()
@with_request(engine=False, required=False)
def collide(
    request: Request | None,
    *,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the search.")] = 0,
    method: Annotated[
        str, typer.Option("--method", help="exhaustive, birthday, trails, or auto.")
    ] = "auto",
    out: Annotated[Path | None, typer.Option("--out", help="Also write the certificate.")] = None,
    verify: Annotated[
        Path | None, typer.Option("--verify", help="Check a certificate instead.")
    ] = None,
    as_json: JSON = False,
) -> int:
    """Find two inputs with one message and a query on which Bob must err."""
    from statebound.experiments import collide as work

    if verify is not None:
        faults = work.check(verify)
        if as_json:
            output.data({"valid": not faults, "faults": faults}, compact=True)
        else:
            sys.stdout.write("valid\n" if not faults else "".join(f"{f}\n" for f in faults))
        return 1 if faults else 0
    if request is None:
        raise UsageError(
            "problem", None, "a search needs a problem and a model", "name them, or pass --verify"
        )
    record = work.search(request, method, seed, out)
    output.data(record, compact=as_json)
    if record["certificate"] is None:
        proved = "there is none" if record["exhausted"] else "the search was given up"
        output.talk(f"no collision found: {proved}")
        return 0 if record["exhausted"] else 4
    if not as_json:
        output.talk(work.words(record["certificate"]))
    return 0


@app.command()
def reduce(
    source: Annotated[str, typer.Argument(help="The problem to map from.")],
    target: Annotated[str, typer.Argument(help="The problem to map to.")],
    *,
    x: Annotated[str, typer.Option("--x", help="Alice's input, one digit a symbol.")],
    query: Annotated[str, typer.Option("--query", help="Bob's query, from 1, or in words.")],
    options: OPTION = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Also draw the instance to OUT.png and OUT.svg.")
    ] = None,
    as_json: JSON = False,
) -> int:
    """Map an instance of one problem to another, and show that the answer is kept."""
    from statebound.experiments.reduce import draw, reduced, words

    record = reduced(source, target, x, query, parse_options(options))
    if as_json:
        output.data(record, compact=True)
    else:
        sys.stdout.write(words(record))
    if out is not None:
        for path in draw(record, out):
            output.talk(f"wrote {path}")
    if record["answer"] != record["read_back"]:
        output.talk("error: the map changed the answer")
        return 1
    return 0


@app.command()
def run(
    problem: Annotated[str, typer.Argument(help="index or istree.")] = "index",
    *,
    n: Annotated[int | None, typer.Option("--n", help="Size; 16 answers by default.")] = None,
    models: Annotated[
        str | None, typer.Option("--models", help="Comma-separated, or all of fixed size.")
    ] = None,
    codes: Annotated[
        str | None, typer.Option("--codes", help="Codes to compare with, or none.")
    ] = None,
    bits: BITS = None,
    precision: PRECISION = None,
    quantiser: QUANTISER = None,
    rounding: ROUNDING = "nearest",
    seeds: Annotated[
        str | None,
        typer.Option(
            "--machine-seeds", help="Draw machines with these seeds (0..2, but trained if shipped)."
        ),
    ] = None,
    engine: Annotated[
        str, typer.Option("--engine", help="enumerate, automaton, sample, or auto.")
    ] = "auto",
    trials: Annotated[int, typer.Option("--trials", help="Inputs a sample draws.")] = 4096,
    seed: Annotated[int, typer.Option("--seed", help="Seed of samples.")] = 0,
    out: Annotated[Path | None, typer.Option("--out", help="Results folder.")] = None,
    style: Annotated[str, typer.Option("--style", help="paper or slides.")] = "paper",
    as_json: JSON = False,
) -> int:
    """Show how success collapses when the state holds fewer bits than the input."""
    from statebound import registry
    from statebound.experiments.cli.plot import drawn
    from statebound.experiments.run import CODES, MODELS, execute, plan
    from statebound.models._build import PACKAGE, family, growing

    chosen = MODELS if models is None else tuple(models.split(","))
    if chosen == ("all",):
        every = registry.names(PACKAGE)
        chosen = tuple(name for name in every if not growing(family(name)))
        without = [name for name in every if name not in chosen]
        if without and not as_json:
            output.talk(
                f"note: without {', '.join(without)}, whose states grow with the input and share "
                "no axis with the others; name them in --models to measure them"
            )
    compared = CODES if codes is None else tuple(codes.split(","))
    planned = plan(
        problem,
        n,
        chosen,
        () if compared == ("none",) else compared,
        bits,
        None if seeds is None else number_list(seeds, "machine_seeds"),
        engine,
        trials,
        seed,
        quantiser=quantiser,
        rounding=rounding,
        precision=parse_precision(precision),
    )
    for note in () if as_json else planned.notes:
        output.talk(f"note: {note}")
    folder = out or Path("results") / f"{problem}-{planned.digest}"
    progress = output.Progress(quiet=as_json)
    try:
        rows, broken = execute(planned, folder, sys.argv[1:], progress)
    finally:
        progress.close()
    figures = drawn("collapse", rows, folder / "collapse", style)
    if as_json:
        record = {"folder": str(folder), "rows": len(rows), "figures": figures, "broken": broken}
        output.data(record, compact=True)
    else:
        columns = {
            "model": "model",
            "protocol": "code",
            "init": "init",
            "regime": "regime",
            "machine_seed": "seed",
            "state_bits": "M",
            "success": "success",
            "wall_ball": "ball limit",
            "needed_bits": "needed bits",
            "efficiency": "efficiency",
            "message_entropy": "entropy",
            "engine": "engine",
        }
        sys.stdout.write(output.table(rows, columns))
        for path in [str(folder), *figures]:
            output.talk(f"wrote {path}")
    for text in broken:
        output.talk(f"error: an uncounted bit: {text}")
    return WALL_BROKEN if broken else 0


def _written(files: list[Path], notes: list[str], as_json: bool) -> int:
    for note in notes:
        output.talk(f"note: {note}")
    if as_json:
        output.data({"figures": [str(path) for path in files]}, compact=True)
    else:
        sys.stdout.write("".join(f"{path}\n" for path in files))
    return 0


@app.command()
def doctor(*, as_json: JSON = False) -> int:
    """Check this installation and say what it can do."""
    from statebound.experiments.doctor import examine

    record = examine()
    if as_json:
        output.data(record, compact=True)
    else:
        for name, value in record["facts"].items():
            sys.stdout.write(f"{name:18} {value}\n")
        for check in record["checks"]:
            state = "ok" if check["ok"] else "FAILED"
            sys.stdout.write(f"{state:6} {check['name']}: {check['detail']}\n")
    return 0 if record["ok"] else 1
