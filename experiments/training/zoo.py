"""Make the trained machines that are shipped: ``python -m statebound.experiments.training.zoo``.

The table below says which. A machine whose file was made by the same recipe is not made again,
so an interrupted run goes on where it was; ``--only`` makes those whose names hold a text.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic

from statebound.errors import StateboundError, UsageError
from statebound.experiments.training.defaults import recommended
from statebound.experiments.training.recipe import Recipe

ENDING = ".safetensors"
COMMAND = ["-m", "statebound.experiments.training.zoo"]
LIMIT = 240.0  # seconds a machine
FAMILIES = ("rnn", "gru", "lstm", "s4d", "linear_attention", "deltanet", "mamba")
EVEN = ("lstm", "s4d")  # two numbers a unit
SIZES = {7: (2, 4, 5, 7), 16: (4, 8, 12, 16), 32: (8, 16, 24, 32)}
EVEN_SIZES = SIZES | {7: (2, 4, 6, 8)}
SLOW = ("gru", "lstm", "deltanet", "mamba")  # minutes each at n = 32: half the sizes there
SLOW_SIZES = (16, 32)
STEPPED = ("gru", "linear_attention", "deltanet")
STEP_SIZES = {7: (4, 7), 16: (8, 16)}
FINER = (  # model, n, numbers, bits
    ("gru", 16, 4, 2),
    ("linear_attention", 16, 4, 2),
    ("linear_attention", 16, 4, 4),
    ("deltanet", 16, 4, 4),
)


def machines() -> Iterator[Recipe]:
    """Yield the recipe of every machine, the small ones first."""
    for n in SIZES:
        for model in FAMILIES:
            sizes = (EVEN_SIZES if model in EVEN else SIZES)[n]
            for numbers in SLOW_SIZES if n == 32 and model in SLOW else sizes:
                yield _recipe(n, model, numbers)
        for model in STEPPED:
            for numbers in STEP_SIZES.get(n, ()):
                yield _recipe(n, model, numbers, regime="step")
    for model, n, numbers, bits in FINER:
        yield _recipe(n, model, numbers, bits=bits)


def _recipe(n: int, model: str, numbers: int, bits: int = 1, regime: str = "handoff") -> Recipe:
    parts = recommended(model, n, regime)
    return Recipe("index", n, model=model, numbers=numbers, bits=bits, regime=regime, **parts)


def name(recipe: Recipe) -> str:
    """Return the name of a machine's file, without its ending.

    Examples
    --------
    >>> name(Recipe("index", 16, model="gru", numbers=8, encoding="pairs"))
    'index-16-gru-8x1-handoff-pairs'
    """
    size = f"{recipe.numbers}x{recipe.bits}"
    parts = recipe.problem, recipe.n, recipe.model, size, recipe.regime, recipe.encoding
    return "-".join(map(str, parts))


def made(path: Path, recipe: Recipe) -> bool:
    """Whether a file is there that this recipe made."""
    from statebound.experiments.training.train import plan
    from statebound.reductions.checkpoint import read

    if not path.is_file():
        return False
    try:  # parts that a recipe does not name are as their defaults
        held = Recipe.of(read(path.read_bytes(), path.name).about.recipe)
    except UsageError:
        return False
    return held == plan(recipe).recipe


class _TooLongError(StateboundError):
    pass


def _watch(limit: float, label: str) -> Callable[[int, int, str], None]:
    """Return what a training reports to: it ends the training at the limit."""
    begun = monotonic()

    def say(done: int, total: int, words: str) -> None:
        if monotonic() - begun > limit:
            raise _TooLongError(f"{label}: stopped after {limit:.0f} s at {done} of {total}")

    return say


def make(
    chosen: list[Recipe], folder: Path, limit: float, talk: Callable[[str], None]
) -> tuple[int, int]:
    """Make machines into a folder; return how many were made and how many could not be."""
    from statebound.experiments.results import write_atomically
    from statebound.experiments.training.measured import summary
    from statebound.experiments.training.train import train
    from statebound.reductions.checkpoint import write

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            "out", folder, f"cannot be made ({error.strerror or error})", "choose a writable folder"
        ) from error
    done = failed = 0
    for at, recipe in enumerate(chosen, 1):
        label = name(recipe)
        path = folder / f"{label}{ENDING}"
        if made(path, recipe):
            talk(f"{at}/{len(chosen)} {label}: there already")
            continue
        try:
            checkpoint = train(recipe, _watch(limit, label), COMMAND)
        except _TooLongError as error:
            talk(f"{at}/{len(chosen)} {error}")
            failed += 1
            continue
        data = write(checkpoint)
        write_atomically(path, data)
        done += 1
        found = summary(checkpoint)
        values = [found[key] for key in ("truncation", "best_known", "wall_ball")]
        if found["violates_wall"]:
            raise StateboundError(f"{label}: success {found['success']} is above the wall")
        restarts = [r["held"] if r["success"] is None else r["success"] for r in found["restarts"]]
        talk(
            f"{at}/{len(chosen)} {label}: success {found['success']:.4f} of "
            f"{' '.join(f'{r:.4f}' for r in restarts)}; truncation, code, wall "
            f"{' '.join('-' if v is None else f'{v:.4f}' for v in values)}; "
            f"{len(data)} bytes, {found['cpu_seconds']} s"
        )
    return done, failed


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(
        prog="python -m statebound.experiments.training.zoo", description=__doc__
    )
    here = Path(__file__).resolve().parents[2] / "reductions" / "zoo"
    parser.add_argument("--out", type=Path, default=here, help="folder (the package's own)")
    parser.add_argument("--only", action="append", help="names that hold this text; may repeat")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds a machine")
    parser.add_argument("--list", action="store_true", help="say the names and stop")
    given = parser.parse_args()
    chosen = [
        r for r in machines() if not given.only or any(text in name(r) for text in given.only)
    ]
    if not chosen:
        parser.error(
            f"argument --only: no machine's name holds {' or '.join(given.only)}; see --list"
        )
    if not given.limit > 0:
        parser.error(f"argument --limit: {given.limit} is not a positive number of seconds")
    if given.list:
        sys.stdout.write("".join(f"{name(r)}\n" for r in chosen))
        return 0

    def talk(text: str) -> None:
        sys.stderr.write(text + "\n")

    try:
        done, failed = make(chosen, given.out, given.limit, talk)
    except StateboundError as error:
        talk(f"error: {error}")
        return 2 if isinstance(error, UsageError) else 1
    except KeyboardInterrupt:
        talk("interrupted; machines already made are kept")
        return 130
    talk(f"{done} made, {failed} given up, in {given.out}")
    return 4 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
