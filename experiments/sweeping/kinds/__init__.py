"""Verbs other than `measure` that a sweep can run: a module each, with a function `rows`.

``rows(**arguments)`` returns the rows of one task. An argument is a number or a text: lists
are written as on the command line.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from statebound import registry
from statebound.errors import UsageError

Rows = Callable[..., list[dict[str, Any]]]

_TYPES: dict[str, type] = {"int": int, "float": float, "str": str}


def names() -> list[str]:
    """Return the names of the kinds."""
    return registry.names(__name__)


def load(kind: str) -> Rows:
    """Return the function of a kind.

    Raises
    ------
    UsageError
        When there is no such kind.
    """
    if kind not in names():
        known = ", ".join(["measure", *names()])
        raise UsageError("kind", kind, "is not known", f"choose from {known}")
    rows: Rows = registry.load(__name__, kind, "kind").rows
    return rows


def check(kind: str, arguments: Mapping[str, Any]) -> None:
    """Refuse arguments that a kind does not have, or that it lacks.

    Raises
    ------
    UsageError
        When a name is unknown, missing, or a value has the wrong type.
    """
    known = inspect.signature(load(kind)).parameters
    for name, value in arguments.items():
        if name not in known:
            raise UsageError(name, value, f"has no meaning for {kind}", f"use {', '.join(known)}")
        declared = str(known[name].annotation)
        kinds = [_TYPES[part] for part in declared.split(" | ") if part != "None"]
        if type(value) not in kinds and not (float in kinds and type(value) is int):
            raise UsageError(name, value, f"must be {declared}", "write lists as text")
    missing = [n for n, p in known.items() if p.default is p.empty and n not in arguments]
    if missing:
        raise UsageError(missing[0], None, f"is needed by {kind}", "add it to the grid")


def run(kind: str, arguments: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of one task."""
    return load(kind)(**arguments)
