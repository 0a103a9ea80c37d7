"""The trained machines that are shipped: what there is, and the one for a size.

They are checkpoints in the folder ``zoo`` beside this file. Only their headers are read until
one is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

from statebound.errors import UsageError
from statebound.models._build import default_numbers, family
from statebound.protocols.problem import Problem
from statebound.reductions import checkpoint as checkpoints
from statebound.reductions.checkpoint import About, Checkpoint
from statebound.reductions.trained import TRAINED, Wanted, options_of

FOLDER: Traversable = files("statebound.reductions").joinpath("zoo")
ENDING = ".safetensors"


@dataclass(frozen=True)
class Shipped:
    """One trained machine: its file, and what it is."""

    file: Traversable
    about: About

    def load(self) -> Checkpoint:
        """Return the whole of it."""
        return checkpoints.read(self.file.read_bytes(), self.file.name)

    @property
    def size(self) -> str:
        """Say its size: numbers, bits a number, regime and encoding."""
        bits = self.about.bits
        each = str(bits)
        if isinstance(bits, dict):
            each = f"({', '.join(f'{name}={p}' for name, p in sorted(bits.items()))})"
        return f"{self.about.numbers}x{each} {self.about.regime} {self.about.encoding}"


_LISTED: dict[str, tuple[Shipped, ...]] = {}  # by folder: headers are read once


def shipped() -> tuple[Shipped, ...]:
    """Return every trained machine in the order of file names."""
    key = str(FOLDER)
    if key not in _LISTED:
        _LISTED[key] = listed(FOLDER)
    return _LISTED[key]


def listed(folder: Traversable) -> tuple[Shipped, ...]:
    """Return every trained machine in a folder, none where there is no folder."""
    if not folder.is_dir():
        return ()
    found = sorted((f for f in folder.iterdir() if f.name.endswith(ENDING)), key=lambda f: f.name)
    every = []
    for file in found:
        with file.open("rb") as held:
            head = held.read(8)
            head += held.read(min(int.from_bytes(head, "little"), checkpoints.MOST_HEADER))
        every.append(Shipped(file, checkpoints.read_about(head, file.name)))
    return tuple(every)


def of(
    problem: Problem, model: str, regime: str | None = None, bits: int | None = None
) -> list[Shipped]:
    """Return the trained machines of a model for exactly this problem, smallest first."""
    asked = problem.name, problem.n, options_of(problem)
    found = [
        each
        for each in shipped()
        if (each.about.problem, each.about.n, each.about.problem_options) == asked
        and each.about.model == model
        and regime in (None, each.about.regime)
        and bits in (None, each.about.bits)
    ]
    return sorted(found, key=lambda each: each.about.numbers)


def sizes(model: str) -> str:
    """Say for which problems and n trained machines of a model are shipped."""
    found: dict[str, set[int]] = {}
    for each in shipped():
        if each.about.model == model:
            found.setdefault(each.about.problem, set()).add(each.about.n)
    return "; ".join(
        f"{name} {', '.join(map(str, sorted(n)))}" for name, n in sorted(found.items())
    )


def choose(problem: Problem, wanted: Wanted) -> Checkpoint | None:
    """Return the trained machine that is asked for, or meant where nothing is said against.

    Trained is the default where a machine is shipped for exactly this size, unless a seed,
    another quantiser, rounding, or arithmetic is asked for: those belong to parameters that
    are drawn. Without an encoding the model's own comes first.

    Raises
    ------
    UsageError
        When it is asked for and not shipped.
    """
    insisted = wanted.init == TRAINED or (wanted.init is None and wanted.quantiser == TRAINED)
    if not insisted and not _meant(wanted):
        return None
    there = [] if wanted.model is None else of(problem, wanted.model, wanted.regime or "handoff")
    if there and wanted.model is not None:
        kind = family(wanted.model)
        numbers = wanted.numbers or default_numbers(kind, wanted.settings)
        fits = [each for each in there if _fits(each.about, wanted, numbers)]
        if fits:
            return min(fits, key=lambda each: _distance(each.about, kind.encoding)).load()
    if not insisted:
        return None
    every = [] if wanted.model is None else of(problem, wanted.model)
    argument = "init" if wanted.init == TRAINED else "quantiser"
    raise UsageError(
        argument,
        TRAINED,
        f"no trained {wanted.model} of this size is shipped for {problem.name} at n = {problem.n}",
        f"choose from {', '.join(each.size for each in every)}"
        if every
        else "pass --weights with a file of statebound train, or take another init",
    )


def _meant(wanted: Wanted) -> bool:
    """Whether nothing that is asked for speaks against trained parameters."""
    return (
        wanted.init is None
        and wanted.machine_seed is None
        and wanted.quantiser is None
        and wanted.rounding == "nearest"
    )


def _distance(about: About, encoding: str) -> tuple[bool, str]:
    return about.encoding != encoding, about.encoding


def _fits(about: About, wanted: Wanted, numbers: int) -> bool:
    bits = wanted.bits or 1
    held = (
        about.bits if isinstance(about.bits, dict) else dict.fromkeys(wanted.precision, about.bits)
    )
    return (
        (isinstance(about.bits, dict) or bits == about.bits)
        and all(wanted.precision.get(name, bits) == p for name, p in held.items())
        and about.numbers == numbers
        and wanted.encoding in (None, about.encoding)
        and wanted.dtype in (None, about.dtype)
        and all(about.settings.get(name, value) == value for name, value in wanted.settings.items())
    )
