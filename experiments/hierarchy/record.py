"""From a request to a record, its table, and its figure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from statebound.errors import UsageError
from statebound.experiments import results
from statebound.experiments.hierarchy import bits, hops, ledgers, passes
from statebound.experiments.plot import check_style

WHAT = ("bits", "hops", "passes", "ledger")
SIZES = {
    "bits": tuple(2**j for j in range(3, 11)),
    "hops": (4, 256),
    "passes": (1024,),
    "ledger": (1024,),
}
_OPTIONS: dict[str, dict[str, Any]] = {
    "bits": {"success": 0.99, "trials": 400, "seed": 0},
    "hops": {"trials": 400, "seed": 0},
    "passes": {"trials": 400, "seed": 0},
    "ledger": {},
}
_COLUMNS = {
    "bits": bits.COLUMNS,
    "hops": hops.COLUMNS,
    "passes": passes.COLUMNS,
    "ledger": {"n": "n", **ledgers.COLUMNS},
}


def record(
    what: str = "bits",
    sizes: Sequence[int] | None = None,
    *,
    success: float | None = None,
    trials: int | None = None,
    seed: int | None = None,
) -> dict[str, Any]:
    """Return one part of the hierarchy as a JSON-able record.

    Parameters
    ----------
    what
        bits, hops, passes or ledger.
    sizes
        n; a list of its own for each part by default.
    success
        That fixed states must reach, for bits; 0.99 by default.
    trials, seed
        Inputs drawn at each size where not all are run, 400 by default, and their seed.

    Raises
    ------
    UsageError
        When an option has no meaning for this part, or a value is out of range.
    """
    if what not in WHAT:
        raise UsageError("what", what, "is not a part", f"choose from {', '.join(WHAT)}")
    given = {"success": success, "trials": trials, "seed": seed}
    for argument, value in given.items():
        if value is not None and argument not in _OPTIONS[what]:
            raise UsageError(argument, value, f"has no meaning for {what}", f"drop --{argument}")
    options = _OPTIONS[what] | {k: v for k, v in given.items() if v is not None}
    if not 1 <= options.get("trials", 1) <= 100_000:
        raise UsageError("trials", trials, "must be 1..100000", "pass 400, say")
    if options.get("seed", 0) < 0:
        raise UsageError("seed", seed, "must not be negative", "pass 0")
    if not 0.5 < options.get("success", 1) <= 1:
        raise UsageError("success", success, "must be above 1/2, at most 1", "pass 0.99")
    sizes = tuple(sizes or SIZES[what])
    if what == "bits":
        rows = bits.rows(sizes, **options)
    elif what == "hops":
        rows = hops.rows(sizes, **options)
    elif what == "passes":
        rows = passes.rows(sizes, **options)
    else:
        rows = [{"n": n, **row} for n in sizes for row in ledgers.ledgers(n)]
    return {"what": what, "sizes": list(sizes), **options, "rows": rows}


def columns(what: str) -> dict[str, str]:
    """Return the columns of a part's table: key to heading."""
    return _COLUMNS[what]


def draw(made: dict[str, Any], stem: Path, style: str = "paper") -> list[Path]:
    """Draw a record to ``stem.png`` and ``stem.svg``.

    Raises
    ------
    UsageError
        When the style is unknown, or the part has no figure.
    """
    check_drawable(made["what"], made["sizes"], stem, style)
    from statebound.experiments.figures import hierarchy as figures
    from statebound.experiments.figures._save import save

    figure = figures.make(made, style)
    return save(figure, stem, results.command_line(), results.digest(made))


def check_drawable(what: str, sizes: Sequence[int] | None, stem: Path, style: str) -> None:
    """Refuse an unknown style, a path that names no file, and what has no figure."""
    check_style(style)
    results.check_stem(stem)
    if what == "ledger":
        raise UsageError("out", stem, "the ledger has no figure", "drop --out")
    if what == "bits" and sizes is not None and len(set(sizes)) == 1:
        raise UsageError("out", stem, "a figure of bits takes more than one n", "pass 2^4..2^10")
