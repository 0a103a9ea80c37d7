"""The leaderboard: trained machines measured anew, best use of their bits first.

Efficiency is what a machine's success needs, by the ball wall, over the bits that it has.
Up to `EXACT_N` inputs are all run and the optimal Bob answers; above, the machine's own Bob
answers on a sample, and efficiency goes by the lower end of the interval. The other restarts
are as they were measured when the machine was trained.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib.resources import as_file
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from statebound.errors import UsageError
from statebound.experiments import results
from statebound.experiments.measure import measure
from statebound.experiments.request import Request
from statebound.protocols.limits import report
from statebound.reductions import zoo
from statebound.reductions.zoo import Shipped

SIZES = (7, 16, 32)
EXACT_N = 16  # of binary inputs
TRIALS = 4096
SEED = 1  # training draws its inputs from the streams of seed 0
COLUMNS = {
    "file": "machine",
    "model": "family",
    "regime": "regime",
    "size": "size",
    "success": "success",
    "own_success": "own Bob",
    "needed_bits": "needed",
    "efficiency": "efficiency",
}
_INTRODUCTION = f"""\
Every machine that was trained on Index, at equal bits. The *efficiency* is `needed` / M, where
`needed` is the least bits with which the ball wall allows the success. What truncation (M raw
bits kept) reaches, the best code that is known, and the wall are above each table. Up to
n = {EXACT_N} the success is exact, over all inputs, with the optimal Bob, and `own Bob` is what the
machine's own network reaches. Above, its own Bob answers on {TRIALS} inputs (seed {SEED}), the
interval has level 95 %, and `needed` goes by its lower end. `restarts` are all the seeds that
were trained, as they were measured then, the kept one in bold; it was chosen by success on
held-out inputs. All
of them are in the figure."""
IMAGE = Path("images") / "leaderboard"

Row = dict[str, Any]
Say = Callable[[int, int, str], None]


def leaderboard(
    sizes: Sequence[int] = SIZES, say: Say | None = None, folder: Traversable | None = None
) -> dict[str, Any]:
    """Measure every trained machine for Index at some n.

    Parameters
    ----------
    sizes
        Which n.
    say
        Called with (done, total, name) as it goes.
    folder
        Where the checkpoints are; the shipped ones by default.

    Returns
    -------
    dict
        ``sizes``, and ``rows``, a row for each machine by n, by M, and by efficiency.

    Raises
    ------
    UsageError
        When there is none.
    """
    there = zoo.shipped() if folder is None else zoo.listed(folder)
    held = [each for each in there if each.about.problem == "index" and each.about.n in sizes]
    if not held:
        found = sorted({each.about.n for each in there if each.about.problem == "index"})
        raise UsageError(
            "n",
            ", ".join(map(str, sizes)),
            "no trained machine for Index is there at this size",
            f"choose from {', '.join(map(str, found))}" if found else "pass another --folder",
        )
    rows = []
    for at, each in enumerate(held):
        if say is not None:
            say(at, len(held), each.file.name)
        rows.append(_row(each))
    if say is not None:
        say(len(held), len(held), "measured")
    rows.sort(key=_rank)
    return {"sizes": sorted(set(sizes)), "rows": rows}


def _rank(row: Row) -> tuple[Any, ...]:
    best = -(row["efficiency"] or 0), -row["success"]
    return row["n"], row["state_bits"], *best, row["file"]


def _row(each: Shipped) -> Row:
    about = each.about
    exact = about.n <= EXACT_N and about.problem_options.get("alphabet", 2) == 2
    with as_file(each.file) as path:
        request = Request(
            about.problem,
            about.n,
            options=dict(about.problem_options),
            weights=str(path),
            engine="enumerate" if exact else "sample",
            bob="optimal" if exact else "model" if each.load().bob else "learned",
            trials=TRIALS,
            seed=SEED,
        )
        found = measure(request).row
    limits = report.limits(request.make_problem(), found["state_bits"])
    keys = (
        "state_bits",
        "regime",
        "encoding",
        "engine",
        "bob",
        "trials",
        "seed",
        "success",
        "success_low",
        "success_high",
        "interval_level",
        "own_success",
        "best_known",
        "wall_ball",
        "needed_bits",
        "efficiency",
        "violates_wall",
        "leak",
        "spec",
    )
    name = each.file.name.removesuffix(zoo.ENDING)
    bits = about.bits
    size = f"{about.numbers} x {bits if isinstance(bits, int) else 'mixed'}"
    said = about.measured
    restarts = [
        {"seed": r["seed"], "success": r["held"] if r["success"] is None else r["success"]}
        for r in said.get("restarts", [])
    ]
    return {
        "file": name,
        "n": about.n,
        "model": about.model,
        "numbers": about.numbers,
        "bits": bits,
        "size": size,
        **{key: found[key] for key in keys},
        "truncation": limits["truncation"],
        "restarts": restarts,
        "kept": said.get("kept"),
        "recorded": said["success"],
        "agrees": abs(found["success"] - said["success"]) < 1e-12 if exact else None,
    }


def groups(rows: Sequence[Row]) -> Iterator[tuple[int, int, list[Row]]]:
    """Yield n, M and the rows of each."""
    for n, bits in sorted({(row["n"], row["state_bits"]) for row in rows}):
        yield n, bits, [row for row in rows if (row["n"], row["state_bits"]) == (n, bits)]


def page(record: dict[str, Any], command: str, image: str) -> str:
    """Return the page of a record, in Markdown."""
    lines = [
        "# Leaderboard",
        "",
        f"Made by `{command}`; nothing below is written by hand.",
        "",
        *_INTRODUCTION.splitlines(),
        "",
        f"![Success of all seeds by family and state bits, under the walls]({image})",
    ]
    for n in record["sizes"]:
        mine = [row for row in record["rows"] if row["n"] == n]
        if not mine:
            continue
        lines += ["", f"## n = {n}"]
        for _, bits, rows in groups(mine):
            first = rows[0]
            lines += [
                "",
                f"**M = {bits}**: truncation {_four(first['truncation'])}, best known code "
                f"{_four(first['best_known'])}, ball wall {_four(first['wall_ball'])}",
                "",
                "| machine | family | size | success | own Bob | restarts | needed | efficiency |",
                "| --- | --- | --- | --- | --- | --- | --- | --- |",
            ]
            lines += [_line(row) for row in rows]
    return "\n".join(lines) + "\n"


def _line(row: Row) -> str:
    success = _four(row["success"])
    if row["interval_level"] is not None:
        success += f" [{_four(row['success_low'])}, {_four(row['success_high'])}]"
    restarts = " ".join(
        f"**{_four(r['success'])}**" if r["seed"] == row["kept"] else _four(r["success"])
        for r in row["restarts"]
    )
    family = row["model"] if row["regime"] == "handoff" else f"{row['model']}, {row['regime']}"
    needed = "-" if row["needed_bits"] is None else f"{row['needed_bits']:.2f}"
    efficiency = "-" if row["efficiency"] is None else f"{row['efficiency']:.3f}"
    cells = (
        f"`{row['file']}`",
        family,
        row["size"],
        success,
        _four(row["own_success"]),
        restarts or "-",
        needed,
        efficiency,
    )
    return f"| {' | '.join(cells)} |"


def _four(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def write(record: dict[str, Any], out: Path, command: str) -> list[Path]:
    """Write the page, and its figure into ``images`` beside it; return the files."""
    files = draw(record, out.parent / IMAGE)
    text = page(record, command, f"{IMAGE.as_posix()}.png")
    results.write_atomically(out, text.encode())
    return [out, *files]


def draw(record: dict[str, Any], stem: Path, style: str = "paper") -> list[Path]:
    """Draw a record to ``stem.png`` and ``stem.svg``."""
    from statebound.experiments.figures import leaderboard as figures
    from statebound.experiments.figures._save import save

    figure = figures.make(record["rows"], style)
    return save(figure, stem, results.command_line(), results.digest(record))
