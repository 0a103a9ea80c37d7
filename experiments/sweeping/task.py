"""The unit that sweeps are made of: one task, and the rule by which it is finished."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from statebound import __version__
from statebound.errors import UsageError
from statebound.experiments import results
from statebound.experiments.request import Request

MEASURE = "measure"


@dataclass(frozen=True)
class Stop:
    """When a sample is large enough, looked at after whole blocks in order.

    Attributes
    ----------
    trials
        The most x's that are drawn.
    width
        The width of the interval at which fewer will do; None to draw them all.
    """

    trials: int = 4096
    width: float | None = None

    def __post_init__(self) -> None:
        """Check."""
        if type(self.trials) is not int or self.trials < 1:
            raise UsageError("trials", self.trials, "must be a whole number from 1", "pass 4096")
        if self.width is not None:
            number = isinstance(self.width, int | float) and not isinstance(self.width, bool)
            if not number or not 0 < self.width < 1:
                raise UsageError("width", self.width, "must be between 0 and 1", "pass 0.02")


@dataclass(frozen=True)
class Task:
    """What one row, or a few rows, come from.

    Attributes
    ----------
    kind
        Which verb measures it: `MEASURE`, or a module of `sweeping.kinds`.
    arguments
        What it is called with, JSON-able; of `MEASURE` the fields of a `Request` but trials.
    """

    kind: str
    arguments: dict[str, Any]

    @cached_property
    def id(self) -> str:
        """A hash of all that determines the numbers: files by content, the rule not."""
        determinants = dict(self.arguments)
        for name in ("weights", "protocol"):
            path = str(determinants.get(name) or "")
            path = path.removeprefix("table:") if name == "protocol" else path
            if (path and path != determinants[name]) or (name == "weights" and path):
                determinants[name] = _content(name, Path(path))
        if self.kind != MEASURE:
            determinants = {"kind": self.kind, "arguments": determinants}
        return results.task_id(determinants | {"version": __version__})

    @property
    def label(self) -> str:
        """A few words for people."""
        shown = {k: v for k, v in self.arguments.items() if v not in (None, {}, [])}
        head = [self.kind] if self.kind != MEASURE else []
        head += [str(shown.pop(k)) for k in ("problem", "model", "protocol") if k in shown]
        for name, usual in (("query_law", "uniform"), ("rounding", "nearest"), ("engine", "auto")):
            if shown.get(name) == usual:
                del shown[name]
        return " ".join(head + [f"{k}={_short(v)}" for k, v in shown.items() if v != 0])


def _short(value: Any) -> str:
    if isinstance(value, dict):
        return ",".join(f"{k}:{v}" for k, v in value.items())
    return str(value)


def _content(name: str, path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise UsageError(
            name, path, f"cannot be read ({error.strerror or error})", "pass an existing file"
        ) from error


def of(request: Request) -> Task:
    """Return the task that measures a request."""
    arguments = asdict(request)
    del arguments["trials"]
    return Task(MEASURE, arguments)
