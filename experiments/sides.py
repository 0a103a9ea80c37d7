"""The machines of a comparison: from a name, from options of `measure`, or from a stored row.

A row tells how its machine was made, and the hash of the machine's whole specification, weights
and codebooks included. The machine that is made from the one must have the other, so a row is
either rebuilt exactly or refused. No code that a row names is run: only registered models are.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from statebound import registry
from statebound.errors import StateboundError, UsageError
from statebound.experiments import results
from statebound.experiments.place import row_at
from statebound.experiments.request import Request, protocol_names, subject
from statebound.models._build import PACKAGE
from statebound.reductions.machine import CutMachine
from statebound.reductions.map import Mapped

SHARED = ("problem", "n", "alphabet", "query_law", "options", "engine", "trials", "seed")
_AS_THEY_ARE = ("through", "regime", "encoding", "init", "machine_seed", "dtype")


def machine(name: str | None, options: dict[str, Any], argument: str, shared: Request) -> Request:
    """Return the request of one machine.

    Parameters
    ----------
    name
        What `named` takes, or ``FOLDER#TASK``; None where the options say all.
    options
        Arguments of `measure` that belong to the machine.
    argument
        Which machine it is, for errors.
    shared
        The problem, the engine and the sample.

    Raises
    ------
    UsageError
        When the name or an option is not known, or they contradict each other.
    """
    own = [key for key in Request.__dataclass_fields__ if key not in SHARED]
    for key, value in options.items():
        if key not in own:
            raise UsageError(
                argument,
                f"{key} = {value}",
                "is no argument of one machine",
                f"choose from {', '.join(own)}; what both share is given once",
            )
    if name is None:
        return replace(shared, **options)
    if "#" in name:
        changed = sorted(options.keys() - {"bob"})
        if changed:
            raise UsageError(
                argument,
                name,
                f"a stored row tells its machine whole, so {', '.join(changed)} cannot change",
                "drop the option, or write the machine out",
            )
        return replace(rebuild(find(name, argument), shared, argument), **options)
    given = named(name, argument)
    twice = sorted(given.keys() & options.keys())
    if twice:
        raise UsageError(
            argument, name, f"--{twice[0]} is given beside the name", "drop the name or the option"
        )
    return replace(shared, **given, **options)


def named(name: str, argument: str) -> dict[str, Any]:
    """Return the argument of `measure` that a bare name stands for.

    Parameters
    ----------
    name
        A model, a protocol (also ``table:FILE.npz``), or a trained machine's file.
    argument
        Whose name it is, for the error.

    Raises
    ------
    UsageError
        When it is none of these.

    Examples
    --------
    >>> named("gru", "a"), named("hamming", "b"), named("mine.safetensors", "a")
    ({'model': 'gru'}, {'protocol': 'hamming'}, {'weights': 'mine.safetensors'})
    """
    if name.endswith(".safetensors"):
        return {"weights": name}
    if name.startswith("table:") or name in protocol_names():
        return {"protocol": name}
    if name in registry.names(PACKAGE):
        return {"model": name}
    raise UsageError(
        argument,
        name,
        "is not the name of a model, a protocol or a .safetensors file",
        'choose from statebound models and statebound protocols, or write "--model NAME" or '
        '"--protocol NAME" for what is your own',
    )


def find(place: str, argument: str) -> dict[str, Any]:
    """Return the row that ``FOLDER#TASK`` names; the start of a task is enough.

    Raises
    ------
    UsageError
        When no row or several have this task.
    StateboundError
        When the folder cannot be read.
    """
    folder, _, prefix = place.rpartition("#")
    (row,) = results.whole([row_at(Path(folder), prefix, argument)], Path(folder))
    return row


def rebuild(row: dict[str, Any], shared: Request, argument: str) -> Request:
    """Return the request that makes a row's machine, for the shared problem and engine.

    Raises
    ------
    UsageError
        When the row is of another problem, or does not tell all that made its machine.
    """
    problem = shared.make_problem()
    held = {"problem": row["problem"], "n": row["n"]} | row.get("problem_options", {})
    wanted = {"problem": problem.name, **problem.options(), "n": problem.n}
    other = sorted(k for k in held.keys() | wanted.keys() if held.get(k) != wanted.get(k))
    if other:
        raise UsageError(
            argument,
            ", ".join(f"{k} = {held.get(k)}" for k in other),
            "is another problem than the one that is asked",
            "ask the problem of the row",
        )
    name = row.get("model")
    if name not in registry.names(PACKAGE) or row.get("init") == "file":
        raise UsageError(
            argument,
            name if name is not None else row.get("protocol"),
            "a row tells all of a machine only where its model is one of statebound models, and "
            "its parameters were drawn, constructed or shipped",
            'write it out, as in "hamming --state-bits 4" or "--model NAME --weights FILE"',
        )
    made = _request(row, shared)
    protocol = subject(made)
    inner = protocol.protocol if isinstance(protocol, Mapped) else protocol
    if not isinstance(inner, CutMachine) or inner.spec.digest != row["spec"]:
        raise StateboundError(
            f"{argument}: the machine of this row comes out otherwise here (row of statebound "
            f"{row['version']}); measure it anew"
        )
    return made


def _request(row: dict[str, Any], shared: Request) -> Request:
    kept = {name: row[name] for name in _AS_THEY_ARE}
    widths = {f["name"]: f["bits"] for f in row["fields"] if f["kind"] == "real"}
    given = {name: getattr(shared, name) for name in Request.__dataclass_fields__} | kept
    given |= {"model": row["model"], "rounding": row["rounding"], "bits": row["bits_per_number"]}
    if row["init"] == "trained":  # found by its size, with the quantiser that it was trained with
        given["numbers"] = row["state_numbers"]
    else:
        given |= {"settings": row["config"], "quantiser": row["quantiser"]}
    if row["bits_per_number"] is None:
        given["precision"] = widths
    return Request(**given)
