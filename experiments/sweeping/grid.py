"""From a grid to tasks: every combination of its lists.

A grid is a table of keys and values, a list where a key takes several. Of the kind `measure`
the keys are the arguments of a `Request`, with dots into tables (``set.layers``), and two that
give the size of a state by what crosses: ``total_bits``, numbers times bits, and ``rate``, that
over the bits of all answers. Where a model has no state of that size, the nearest above is
taken for a rate, and the combination left out, with a note, for an exact total.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from statebound import registry
from statebound.errors import UsageError
from statebound.experiments.ranges import number_list
from statebound.experiments.request import Request, protocol_names
from statebound.experiments.sweeping import kinds
from statebound.experiments.sweeping.task import MEASURE, Task, of

MOST_TASKS = 1_000_000

_TABLES = {"set": "settings", "option": "options", "precision": "precision"}
_SIZES = ("total_bits", "rate")
_NO_AXES = ("trials", "settings", "options")  # said otherwise
Axes = dict[str, list[Any]]


def axes(grid: Mapping[str, Any]) -> Axes:
    """Return the values of every key, in a list each; ranges written as text are spelled out.

    Raises
    ------
    UsageError
        When a value is no finite number, text, or list of them.
    """
    found: Axes = {}
    for key, value in grid.items():
        if isinstance(value, dict):
            found |= axes({f"{key}.{name}": inner for name, inner in value.items()})
            continue
        listed = list(value) if isinstance(value, list) else [value]
        if not listed:
            raise UsageError(key, "[]", "is an empty list", "give a value, or drop the key")
        for each in listed:
            if not isinstance(each, bool | int | float | str):
                raise UsageError(key, each, "must be a number or a text", "nest no lists")
            if isinstance(each, float) and not math.isfinite(each):
                raise UsageError(key, each, "must be finite", "write a number")
        found[key] = [spelt for each in listed for spelt in _spelt(key, each)]
    return found


def _spelt(key: str, value: Any) -> list[Any]:
    whole = "int" in str(Request.__annotations__.get(key, "int" if key == "total_bits" else ""))
    if whole and isinstance(value, str):
        return list(number_list(value, key))
    return [value]


def tasks(kind: str, grids: Sequence[Mapping[str, Any]]) -> tuple[list[Task], list[str]]:
    """Return the tasks of grids in order, each once, and notes on what was left out.

    Raises
    ------
    UsageError
        When a key or a name is unknown, or a value has the wrong type.
    """
    found: dict[str, Task] = {}
    notes: list[str] = []
    for grid in grids:
        held = axes(grid)
        count = 1
        for values in held.values():
            count *= len(values)
        if count > MOST_TASKS:
            raise UsageError("grid", count, f"has more than {MOST_TASKS} tasks", "split it")
        combinations = (dict(zip(held, point, strict=True)) for point in product(*held.values()))
        made = (
            _measures(held, combinations, notes) if kind == MEASURE else _others(kind, combinations)
        )
        for task in made:
            found.setdefault(task.id, task)
    if not found:
        raise UsageError("grid", "none", "gives no task", "; ".join(notes) or "add a [[grid]]")
    return list(found.values()), notes


def _others(kind: str, combinations: Iterator[dict[str, Any]]) -> Iterator[Task]:
    for arguments in combinations:
        kinds.check(kind, arguments)
        yield Task(kind, arguments)


def _measures(
    held: Axes, combinations: Iterator[dict[str, Any]], notes: list[str]
) -> Iterator[Task]:
    fields = Request.__dataclass_fields__
    for key in held:
        name, dot, _ = key.partition(".")
        if dot and name in _TABLES:
            continue
        if key in _NO_AXES or (key not in fields and key not in _SIZES):
            known = [
                *(f for f in fields if f not in _NO_AXES),
                *_SIZES,
                *(f"{t}.*" for t in _TABLES),
            ]
            raise UsageError("grid", key, "is not a key", f"use {', '.join(known)}")
    both = [key for key in (*_SIZES, "numbers") if key in held]
    if len(both) > 1:
        raise UsageError("grid", " and ".join(both), "say the same thing", "keep one of them")
    for name in ("problem", "n"):
        if name not in held:
            raise UsageError("grid", name, "is missing", f"add {name}")
    _check_names(held)
    checked: set[str] = set()
    for point in combinations:
        request = _request(point, notes)
        if request is None:
            continue
        about = repr(
            (request.problem, request.n, request.alphabet, request.query_law, request.options)
        )
        if about not in checked:
            request.make_problem()
            checked.add(about)
        yield of(request)


def _check_names(held: Axes) -> None:
    from statebound.models._build import family

    for model in held.get("model", ()):
        family(model)
    known = protocol_names()
    for name in held.get("protocol", ()):
        if ":" not in str(name) and name not in known and name not in registry.external(_GROUP):
            raise UsageError(
                "protocol",
                name,
                "is not a known protocol",
                f"choose from {', '.join(sorted(known))}",
            )


_GROUP = "statebound.protocols"


def _request(point: dict[str, Any], notes: list[str]) -> Request | None:
    """Return the request of one combination; None, and a note, where a state cannot be had."""
    plain: dict[str, Any] = {}
    size: tuple[str, Any] | None = None
    for key, value in point.items():
        name, dot, inner = key.partition(".")
        if dot:
            typed = str(value) if isinstance(value, float) else value  # as it would be typed
            plain.setdefault(_TABLES[name], {})[inner] = typed
        elif key in _SIZES:
            size = key, value
        else:
            plain[key] = value
    try:
        request = Request.from_plain(plain)
    except TypeError as error:
        text, _, rest = str(error).partition(" must be ")
        raise UsageError("grid", text, f"must be {rest}", "mend its value") from error
    return request if size is None else _sized(request, plain, *size, notes=notes)


def _sized(
    request: Request, plain: dict[str, Any], key: str, value: Any, *, notes: list[str]
) -> Request | None:
    if not isinstance(value, int | float) or isinstance(value, bool) or value <= 0:
        raise UsageError(key, value, "must be a number above 0", "pass 0.5 or 16")
    total = value
    if key == "total_bits" and not isinstance(value, int):
        raise UsageError(key, value, "must be a whole number", "pass 16, or use rate")
    if key == "rate":
        structure = request.make_problem().structure
        if not structure.walled:
            raise UsageError(
                "rate", value, f"{request.problem} has no size to compare with", "use numbers"
            )
        answers = structure.effective_n * (structure.alphabet - 1).bit_length()
        total = max(1, round(value * answers))
    if request.model is None:
        return Request.from_plain(plain | {"state_bits": int(total)})
    from statebound.reductions.machine import check_quantisation

    _, bits = check_quantisation(
        request.quantiser,
        request.bits,
        request.precision,
        request.regime or "handoff",
        request.rounding,
    )
    what = f"{request.model}: no state of {total} bits at {bits} bits a number"
    if key == "total_bits" and total % bits:
        notes.append(what)
        return None
    numbers = max(1, round(total / bits))
    for near in (numbers, numbers + 1) if key == "rate" else (numbers,):
        if _has(request, near, bits):
            return Request.from_plain(plain | {"numbers": near})
    notes.append(what)
    return None


def _has(request: Request, numbers: int, bits: int) -> bool:
    """Whether a model has a state of so many numbers, or is shipped with one if trained."""
    from statebound.models._build import family

    assert request.model is not None
    if request.init == "trained":
        from statebound.reductions import zoo

        shipped = zoo.of(request.make_problem(), request.model, bits=bits)
        return any(each.about.numbers == numbers for each in shipped)
    try:
        family(request.model).Config.of(numbers, request.settings)
    except UsageError as error:
        if error.argument != "numbers":
            raise
        return False
    return True
