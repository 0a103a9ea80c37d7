"""The page of the command line: every verb, argument and option of the program itself."""

from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import Any, get_args

import typer.main

from statebound.experiments.cli import application
from statebound.experiments.reference.docstrings import markdown, table

PAGE = "reference/command-line.md"


def pages() -> dict[str, str]:
    """Return the one page."""
    return {PAGE: page()}


def verbs() -> dict[str, Any]:
    """Return the commands by name, sorted; those of a group by two words.

    Examples
    --------
    >>> {"measure", "limits", "explain", "demo turing"} <= set(verbs())
    True
    """

    def flat(group: Any, before: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, verb in group.commands.items():
            inner = hasattr(verb, "commands")
            found |= flat(verb, f"{before}{name} ") if inner else {before + name: verb}
        return found

    return dict(sorted(flat(typer.main.get_command(application()), "").items()))


def page() -> str:
    """Return the reference of all verbs."""
    lines = ["# Command line", "", "Data goes to stdout, talk to stderr. Exit codes: 0 done; 1 the"]
    lines += [
        "work failed; 2 the request makes no sense; 3 a proved wall was broken; 4 incomplete;"
    ]
    lines += ["130 interrupted. `statebound VERB --help` says the same as this page.", ""]
    functions = _functions(application())
    for name, verb in verbs().items():
        kinds = _kinds(functions[name])
        lines += [f"## {name}", "", markdown(verb.help or ""), "", "```text"]
        lines += [_usage(name, verb, kinds), "```", "", *_parameters(verb, kinds)]
    return "\n".join(lines) + "\n"


def _usage(name: str, verb: Any, kinds: dict[str, str]) -> str:
    words = ["statebound", name]
    for given in verb.params:
        if given.param_type_name == "argument":
            shown = given.name.upper() + "..." * (given.nargs == -1)
            words.append(shown if given.required else f"[{shown}]")
        elif given.required:
            words.append(f"{given.opts[0]} {kinds[given.name]}")
    return " ".join([*words, "[OPTIONS]"])


def _functions(app: typer.Typer, before: str = "") -> dict[str, Any]:
    """Return the function behind every verb, by the names of `verbs`."""
    found: dict[str, Any] = {}
    for info in app.registered_commands:
        if info.callback is not None:
            found[before + (info.name or info.callback.__name__.replace("_", "-"))] = info.callback
    for group in app.registered_groups:
        name = group.name or (group.typer_instance and group.typer_instance.info.name)
        if group.typer_instance is not None:
            found |= _functions(group.typer_instance, f"{before}{name} ")
    return found


def _kinds(function: Any) -> dict[str, str]:
    """Return what each parameter of a verb takes, from the annotations of its function."""
    words = {int: "N", float: "X", str: "TEXT", Path: "PATH", bool: ""}
    kinds = {}
    for parameter in signature(function, eval_str=True).parameters.values():
        kind = get_args(parameter.annotation)[0]  # Annotated[KIND, typer.Option(...)]
        held = [k for k in get_args(kind) if k is not type(None)] or [kind]
        kinds[parameter.name] = words.get(held[0], "TEXT")
    return kinds


def _parameters(verb: Any, kinds: dict[str, str]) -> list[str]:
    rows = []
    for given in verb.params:
        if given.name == "help":
            continue
        option = given.param_type_name != "argument"
        names = ", ".join(f"`{word}`" for word in (*given.opts, *given.secondary_opts))
        name = names if option else f"`{given.name.upper()}`"
        rows.append((name, kinds[given.name], _default(given), markdown(given.help or "")))
    return table(("option", "value", "default", "meaning"), rows) if rows else []


def _default(given: Any) -> str:
    if given.required:
        return "must be given"
    value = given.default
    if value is None or value is False or callable(value) or value == []:
        return ""
    return f"`{value}`"
