"""Finding variants: one file, one variant, its stem the name that users type.

A module of a room's variant folder counts as a variant unless its name starts with
an underscore. Users' own variants come as ``module:factory`` or through an
entry-point group, and need no edit here.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Callable
from functools import cache
from importlib.metadata import entry_points
from types import ModuleType
from typing import Any

from statebound.errors import UsageError


def names(package: str) -> list[str]:
    """Return the sorted stems of the variant files in `package`.

    Examples
    --------
    >>> "index" in names("statebound.protocols.problems")
    True
    """
    folder = importlib.import_module(package)
    found = pkgutil.iter_modules(folder.__path__)
    return sorted(m.name for m in found if not m.name.startswith("_") and not m.ispkg)


def load(package: str, name: str, argument: str) -> ModuleType:
    """Import variant `name` of `package`; an unknown name is a `UsageError`."""
    known = names(package)
    if name not in known:
        raise UsageError(argument, name, "is not a known name", f"choose from {', '.join(known)}")
    return importlib.import_module(f"{package}.{name}")


def factory(spec: str, argument: str, group: str | None = None) -> Callable[..., Any]:
    """Return the object that ``module:attribute`` (or an entry point of `group`) names.

    Raises
    ------
    UsageError
        When the module cannot be imported or holds no such callable.
    """
    if ":" not in spec and group is not None:
        for point in entry_points(group=group):
            if point.name == spec:
                loaded: Callable[..., Any] = point.load()
                return loaded
    module_name, _, attribute = spec.partition(":")
    if "" not in sys.path:  # the console script lacks the current folder, python -m has it
        sys.path.insert(0, "")
    try:
        module = importlib.import_module(module_name)
    except Exception as error:  # whatever the module does
        kind = "" if isinstance(error, ImportError) else f"{type(error).__name__}: "
        raise UsageError(
            argument,
            spec,
            f"module {module_name} cannot be imported ({kind}{error})",
            "write module:factory with a module on the import path",
        ) from error
    found = getattr(module, attribute, None)
    if not callable(found):
        raise UsageError(
            argument,
            spec,
            f"module {module_name} has no callable {attribute!r}",
            "name a function that returns the object",
        )
    made: Callable[..., Any] = found
    return made


@cache
def external(group: str) -> tuple[str, ...]:
    """Return the names that installed packages register under `group`; read once."""
    return tuple(sorted(point.name for point in entry_points(group=group)))
