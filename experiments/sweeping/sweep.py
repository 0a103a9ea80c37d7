"""A sweep as its file says it, with what the command line overrides.

A TOML file has a ``title``, a ``question``, a ``kind`` (``measure`` unless another verb), a
table ``stop`` with ``trials`` and ``width``, tables ``[[grid]]``, tables ``[[figure]]`` with
the arguments of ``statebound plot``, and a table ``quick`` whose keys replace those of every
grid that has them, and its ``stop``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any

from statebound import __version__
from statebound.errors import UsageError
from statebound.experiments import results
from statebound.experiments.figures._columns import Choices
from statebound.experiments.plot import KINDS
from statebound.experiments.sweeping import grid
from statebound.experiments.sweeping.task import MEASURE, Stop, Task

READY = "statebound.experiments.sweeps"

_TOP = ("title", "question", "kind", "stop", "grid", "figure", "quick")


@dataclass(frozen=True)
class Drawing:
    """A figure to draw: the arguments of ``statebound plot``, and the stem of its files."""

    kind: str
    choices: Choices
    where: tuple[tuple[str, str], ...]
    name: str

    @classmethod
    def of(cls, held: Mapping[str, Any]) -> Drawing:
        """Return the figure that a table describes.

        Raises
        ------
        UsageError
            When a key is unknown, or there is no such figure.
        """
        texts = ("kind", "x", "y", "group", "facet", "name")
        for key, value in held.items():
            if key not in (*texts, "where") or not isinstance(
                value, dict if key == "where" else str
            ):
                raise UsageError(
                    "figure",
                    f"{key} = {value!r}",
                    "has no meaning",
                    f"use {', '.join(texts)}, texts, and a table where",
                )
        kind = held.get("kind", "")
        if kind not in KINDS:
            raise UsageError(
                "figure", kind, "is not a known figure", f"choose from {', '.join(KINDS)}"
            )
        choices = Choices.of(**{key: held.get(key) for key in ("x", "y", "group", "facet")})
        where = tuple((column, str(value)) for column, value in held.get("where", {}).items())
        return cls(kind, choices, where, held.get("name", kind))

    def plain(self) -> dict[str, Any]:
        """Return the table that describes it."""
        held: dict[str, Any] = {"kind": self.kind, **self.choices.given()}
        if self.where:
            held["where"] = dict(self.where)
        return held | ({} if self.name == self.kind else {"name": self.name})


@dataclass(frozen=True)
class Sweep:
    """Which tasks, and until when.

    Attributes
    ----------
    name
        A short name, for the folder.
    kind, grids, stop
        See the module.
    figures
        The figures to draw at the end.
    title, question
        What it shows and settles, for people.
    """

    name: str
    kind: str
    grids: tuple[grid.Axes, ...]
    stop: Stop
    figures: tuple[Drawing, ...] = ()
    title: str = ""
    question: str = ""

    @cached_property
    def config(self) -> dict[str, Any]:
        """What names the results: all but the rule by which samples stop.

        The digest is of the tasks, and so of what is in the files that they name.
        """
        tasks = self.expanded[0]
        return {
            "verb": "sweep",
            "kind": self.kind,
            "grids": list(self.grids),
            "tasks": len(tasks),
            "digest": results.digest([task.id for task in tasks]),
            "version": __version__,
        }

    @cached_property
    def expanded(self) -> tuple[list[Task], list[str]]:
        """The tasks in order, and notes on what is left out."""
        return grid.tasks(self.kind, self.grids)

    @property
    def folder(self) -> Path:
        """Where results go unless said otherwise."""
        return Path("results") / f"{self.name}-{results.digest(self.config)[:10]}"

    def plain(self) -> dict[str, Any]:
        """Return the sweep as its file could say it, with nothing left to resolve."""
        made: dict[str, Any] = {"title": self.title, "question": self.question, "kind": self.kind}
        made["stop"] = {k: v for k, v in asdict(self.stop).items() if v is not None}
        made["grid"] = [
            {k: v if len(v) > 1 else v[0] for k, v in each.items()} for each in self.grids
        ]
        made["figure"] = [figure.plain() for figure in self.figures]
        return {k: v for k, v in made.items() if v}


def read(where: str, *, quick: bool = False) -> Sweep:
    """Return the sweep in a file, or a ready one by its name.

    Raises
    ------
    UsageError
        When there is none, or it is no such file.
    """
    path = Path(where)
    if path.suffix != ".toml" and not path.is_file():
        ready = {file.stem: file for file in _files()}
        if where not in ready:
            raise UsageError(
                "sweep",
                where,
                "is neither a file nor a ready experiment",
                f"pass a .toml file, or one of {', '.join(ready)}",
            )
        path = ready[where]
    try:
        held = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(
            "sweep", where, f"cannot be read ({error.strerror or error})", "pass a .toml file"
        ) from error
    except ValueError as error:
        raise UsageError("sweep", where, f"is not TOML ({error})", "mend the file") from error
    except RecursionError as error:
        raise UsageError("sweep", where, "is nested too deeply", "mend the file") from error
    return made(held, path.stem, quick=quick)


def ready() -> list[Sweep]:
    """Return the ready experiments, by name."""
    return [read(str(path)) for path in _files()]


def _files() -> list[Path]:
    folder = Path(str(resources.files(READY)))
    return sorted(folder.glob("*.toml"))


def made(held: Mapping[str, Any], name: str, *, quick: bool = False) -> Sweep:
    """Return the sweep that plain data describes.

    Raises
    ------
    UsageError
        When a part is unknown, missing or of the wrong type.
    """
    for key in held:
        if key not in _TOP:
            raise UsageError("sweep", key, "is not a part", f"use {', '.join(_TOP)}")
    grids = [grid.axes(each) for each in _tables(held, "grid")]
    if not grids:
        raise UsageError("grid", None, "is missing", "add a table [[grid]]")
    stop = _stop(held.get("stop", {}))
    if quick:
        grids, stop = _smaller(held, grids, stop)
    texts = {key: held.get(key, "") for key in ("title", "question")}
    for key, value in [*texts.items(), ("kind", held.get("kind", MEASURE))]:
        if not isinstance(value, str):
            raise UsageError(key, value, "must be a text", "write it in quotes")
    return Sweep(
        f"{name}-quick" if quick else name,
        held.get("kind", MEASURE),
        tuple(grids),
        stop,
        tuple(Drawing.of(each) for each in _tables(held, "figure")),
        **texts,
    )


def overridden(
    sweep: Sweep, changes: Mapping[str, str], trials: int | None, width: float | None
) -> Sweep:
    """Return a sweep with keys of its grids replaced, and another rule.

    Raises
    ------
    UsageError
        When no grid has such a key.
    """
    values = grid.axes({key: _values(text) for key, text in changes.items()})
    for key in values:
        if not any(key in each for each in sweep.grids):
            raise UsageError("grid", key, "is in no grid of this sweep", "add it to the file")
    grids = tuple(each | {k: v for k, v in values.items() if k in each} for each in sweep.grids)
    stop = replace(
        sweep.stop,
        trials=sweep.stop.trials if trials is None else trials,
        width=sweep.stop.width if width is None else width,
    )
    return replace(sweep, grids=grids, stop=stop)


def _values(text: str) -> list[Any]:
    """Return the parts of a list, each what it would be in a file without quotes, else text."""
    found: list[Any] = []
    for part in text.split(","):
        try:
            found.append(tomllib.loads(f"value = {part}")["value"])
        except ValueError:
            found.append(part.strip())
    return found


def _smaller(
    held: Mapping[str, Any], grids: list[grid.Axes], stop: Stop
) -> tuple[list[grid.Axes], Stop]:
    """Return grids and rule with what the table ``quick`` says instead."""
    if "quick" not in held:
        raise UsageError("quick", None, "this sweep has no table [quick]", "drop --quick")
    quick = dict(_table(held, "quick"))
    stop = _stop(asdict(stop) | _table(quick, "stop"))
    quick.pop("stop", None)
    smaller = grid.axes(quick)
    for key in smaller:
        if not any(key in each for each in grids):
            raise UsageError("quick", key, "is in no grid", "drop it")
    return [each | {k: v for k, v in smaller.items() if k in each} for each in grids], stop


def _stop(held: Any) -> Stop:
    if not isinstance(held, dict) or held.keys() - {"trials", "width"}:
        raise UsageError("stop", held, "must be a table of trials and width", "write trials = 4096")
    return Stop(**held)


def _table(held: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = held.get(key, {})
    if not isinstance(value, dict):
        raise UsageError(key, value, "must be a table", f"write [{key}]")
    return value


def _tables(held: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    value = held.get(key, [])
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise UsageError(key, value, "must be tables", f"write [[{key}]]")
    return value
