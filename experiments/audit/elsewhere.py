"""Where else a model could keep a state: globals, class attributes, defaults, closures.

Copies of a model share all of these, so what is kept here survives into another run.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from typing import Any

from statebound.experiments.audit import walk

MOST = 20_000
"""Leaves looked at; more than that is no place to keep a state."""

_LIBRARIES = {"torch", "numpy", "builtins", "collections", "functools", "abc", "typing", "enum"}


def fingerprint(root: Any) -> dict[str, str]:
    """Return a digest of everything outside `root` that its classes can write to, by name."""
    found: dict[str, str] = {}
    for name in sorted(_modules(root)):
        for where, value in _places(name, sys.modules[name]):
            for leaf in walk.walk(value):
                if isinstance(leaf, walk.Leaf):
                    spelled = walk.text(leaf.path)
                    dot = "." if leaf.path and leaf.path[0][0] == "attr" else ""
                    found[f"{where}{dot}{spelled}"] = walk.digest(leaf.value)
                if len(found) >= MOST:
                    return found
    return found


def changed(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """Return the names that are new, gone, or hold something else."""
    names = [*after, *(name for name in before if name not in after)]
    return [name for name in names if before.get(name) != after.get(name)]


def _modules(root: Any) -> set[str]:
    names = {base.__module__ for _, value in walk.objects(root) for base in type(value).__mro__}
    return {
        name
        for name in names
        if name in sys.modules
        and name.partition(".")[0] not in _LIBRARIES
        and not name.startswith("statebound.")
    }


def _places(name: str, module: types.ModuleType) -> Iterator[tuple[str, Any]]:
    """Yield what a module and its own classes and functions hold, one after another."""
    for key, value in list(vars(module).items()):
        if key.startswith("__"):
            continue
        where = f"{name}.{key}"
        own = getattr(value, "__module__", None) == name
        if isinstance(value, type) and own:
            yield from _class(where, value)
        elif isinstance(value, types.FunctionType):
            if own:
                yield from _function(where, value)
        elif not isinstance(value, type | types.ModuleType):
            yield where, value


def _class(where: str, owner: type) -> Iterator[tuple[str, Any]]:
    for key, value in list(vars(owner).items()):
        if isinstance(value, types.FunctionType):
            yield from _function(f"{where}.{key}", value)
        elif not key.startswith("__"):
            yield f"{where}.{key}", value


def _function(where: str, function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    yield f"{where}.__dict__", dict(vars(function))
    yield f"{where}.__defaults__", function.__defaults__
    yield f"{where}.__kwdefaults__", function.__kwdefaults__
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            held = cell.cell_contents
        except ValueError:  # not filled yet
            continue
        if isinstance(held, types.FunctionType | type):
            continue
        yield f"{where}.<{name}>", held
