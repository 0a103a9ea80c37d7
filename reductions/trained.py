"""What is asked of a machine, settled with the checkpoint that it is made from.

Arguments that are not given are as in training; those that contradict it are refused.
Another quantiser may be put in the place of the trained one, with precisions and a regime of
its own: then only the encoder is the trained one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from statebound.errors import UsageError
from statebound.models import Cell
from statebound.protocols.problem import Problem
from statebound.reductions import quantiser as quantisers
from statebound.reductions.bob import Network
from statebound.reductions.checkpoint import Checkpoint
from statebound.reductions.crossing import entry_of
from statebound.reductions.quantisers.trained import Trained

TRAINED = Trained.name


@dataclass(frozen=True)
class Wanted:
    """The arguments of a machine by the names of the command line; None: not given."""

    model: str | None
    numbers: int | None = None
    bits: int | None = None
    precision: Mapping[str, int] = field(default_factory=dict)
    regime: str | None = None
    quantiser: str | None = None
    rounding: str = "nearest"
    encoding: str | None = None
    init: str | None = None
    machine_seed: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    dtype: str | None = None

    @property
    def own_quantiser(self) -> bool:
        """Whether a trained machine keeps its quantiser."""
        return self.quantiser in (None, TRAINED)


def settle(wanted: Wanted, checkpoint: Checkpoint) -> Wanted:
    """Return the arguments with all that the checkpoint tells.

    Raises
    ------
    UsageError
        When an argument contradicts it.
    """
    about = checkpoint.about
    for name in ("model", "numbers", "encoding"):
        _agree(name, getattr(wanted, name), getattr(about, name))
    if ":" in about.model and wanted.model is None:  # module:factory would run on a file's word
        raise UsageError(
            "model",
            about.model,
            "is named by the checkpoint and is code, which no file may have run",
            f"if you trust that code, pass --model {about.model} too",
        )
    for name, value in wanted.settings.items():
        if about.settings.get(name, value) != value:
            _contradict("set", f"{name}={value}", f"{name}={about.settings[name]}")
    held = {name: book.bits for name, book in checkpoint.codebooks.items()}
    bits, precision = wanted.bits, dict(wanted.precision)
    if wanted.own_quantiser:
        _agree("regime", wanted.regime, about.regime)
        for name, p in held.items():
            asked = precision.get(name, bits)
            if asked not in (None, p):
                given = "precision" if name in precision else "bits"
                _contradict(given, asked, f"{p} bit{'s' * (p > 1)} a number of {name}")
        bits, precision = min(held.values()), precision | held
    elif bits is None and not precision:
        kind = quantisers.load(wanted.quantiser or TRAINED)
        if all(kind.least_bits <= p <= kind.most_bits for p in held.values()):
            bits, precision = min(held.values()), held
    return replace(
        wanted,
        model=about.model,
        numbers=None,  # the weights tell
        bits=bits,
        precision=precision,
        regime=wanted.regime or about.regime,
        quantiser=wanted.quantiser or TRAINED,
        encoding=about.encoding,
        settings=about.settings | dict(wanted.settings),
        dtype=wanted.dtype or about.dtype,
    )


def _agree(name: str, asked: object, held: object) -> None:
    if asked is not None and asked != held:
        _contradict(name, asked, held)


def _contradict(name: str, asked: object, held: object) -> NoReturn:
    raise UsageError(
        name,
        asked,
        f"contradicts the trained machine, which has {held}",
        f"drop --{name.replace('_', '-')}, or take another machine",
    )


def check(checkpoint: Checkpoint, cell: Cell) -> None:
    """Refuse a checkpoint whose parts do not belong to the cell that its weights make.

    Raises
    ------
    UsageError
        When its settings, numbers or codebooks are those of another.
    """
    about = checkpoint.about
    said, made = about.settings, cell.settings()
    if said != made:
        _unfit(f"settings {said}", str(made))
    if about.numbers != sum(f.numbers for f in cell.fields):
        _unfit(f"{about.numbers} numbers", str(sum(f.numbers for f in cell.fields)))
    held = {name: len(book.levels) for name, book in checkpoint.codebooks.items()}
    needed = {f.name: entry_of(f).numbers for f in cell.fields}
    if held != needed:
        _unfit(f"quantisers of {held}", str(needed))


def quantisers_of(checkpoint: Checkpoint, cell: Cell) -> list[quantisers.Quantiser]:
    """Return the quantiser of each field of a cell that fits."""
    books = [checkpoint.codebooks[f.name] for f in cell.fields]
    return [
        Trained(book.bits, book.thresholds.astype(float), book.levels.astype(float))
        for book in books
    ]


def network_of(checkpoint: Checkpoint, problem: Problem, numbers: int) -> Network | None:
    """Return the machine's own Bob on a problem, None where he was trained on another.

    Raises
    ------
    UsageError
        When he reads or answers something else.
    """
    if not checkpoint.bob or not trained_on(checkpoint, problem):
        return None
    reads, says = checkpoint.bob[0][0].shape[1], len(checkpoint.bob[-1][1])
    if (reads, says) != (numbers, problem.queries * problem.alphabet):
        _unfit(
            f"a Bob from {reads} numbers to {says} scores",
            f"{numbers} to {problem.queries * problem.alphabet}",
        )
    return Network(checkpoint.bob, problem.queries, problem.alphabet)


def trained_on(checkpoint: Checkpoint, problem: Problem) -> bool:
    """Whether a checkpoint was trained on exactly this problem."""
    about = checkpoint.about
    asked = about.problem, about.n, about.problem_options
    return asked == (problem.name, problem.n, options_of(problem))


def options_of(problem: Problem) -> dict[str, Any]:
    """Return the options of a problem as checkpoints and rows have them, without n."""
    return {name: value for name, value in problem.options().items() if name != "n"}


def _unfit(held: str, needed: str) -> NoReturn:
    raise UsageError(
        "weights",
        held,
        f"does not fit the model and the problem, which need {needed}",
        "pass the checkpoint that belongs to them",
    )
