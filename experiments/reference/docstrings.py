"""Docstrings, numpy style with indented formulas, as Markdown."""

from __future__ import annotations

import re
from inspect import Parameter, getdoc, isclass, isfunction, signature
from types import ModuleType
from typing import Any

FENCE = "```"
_CODE = re.compile(r"(``[^`]+``|`[^`]+`)")
_STRESS = re.compile(r"(\*\*\S.*?\S\*\*|(?<![\w*])\*\w[\w -]*\*(?![\w*(]))")
_SPECIAL = re.compile(r"([\\*_<>\[\]])")
_ITEM = re.compile(r"(?:[*-]|\d+\.) ")


def markdown(text: str) -> str:
    r"""Return a docstring as Markdown.

    Indented blocks become blocks of code, examples Python, underlined words headings;
    signs that Markdown would take for its own are kept as they are.

    Examples
    --------
    >>> print(markdown("A state::\n\n    h' = a * h\n\nwith ``a`` < 1."))
    A state:
    <BLANKLINE>
    ```text
    h' = a * h
    ```
    <BLANKLINE>
    with `a` &lt; 1.
    """
    lines = text.strip("\n").splitlines()
    made: list[str] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        if at + 1 < len(lines) and line and set(lines[at + 1]) == {"-"}:
            made += ["", f"**{line}**", ""]
            at += 2
            made += _section(line, lines, at)
            at = _end(lines, at)
        elif line.startswith("    ") and (not made or made[-1] == ""):
            block, at = _block(lines, at)
            made += _fenced(block)
        elif line.startswith(">>>"):
            stop = next((i for i in range(at, len(lines)) if not lines[i]), len(lines))
            made += _fenced(lines[at:stop], "python")
            at = stop
        else:
            before = made[-1] if made else ""
            if _ITEM.match(line) and before and not re.match(rf"  |{_ITEM.pattern}", before):
                made.append("")
            made.append(_prose(line))
            at += 1
    return re.sub(r"\n{3,}", "\n\n", "\n".join(made)).strip()


def _prose(line: str) -> str:
    """Return a line of prose with code kept and other signs escaped."""
    item = _ITEM.match(line)
    start = item[0] if item else line[: len(line) - len(line.lstrip())]
    parts = _CODE.split(line[len(start) :])
    shown = [f"`{part.strip('`')}`" if i % 2 else _escaped(part) for i, part in enumerate(parts)]
    return re.sub(r"::$", ":", start + "".join(shown))


def _escaped(text: str) -> str:
    """Return prose in which stressed words stay stressed and all else stands for itself."""
    parts = _STRESS.split(text)
    for i, part in enumerate(parts):
        stars = "" if i % 2 == 0 else "**" if part.startswith("**") else "*"
        parts[i] = stars + _plain(part[len(stars) : len(part) - len(stars)]) + stars
    return "".join(parts)


def _plain(text: str) -> str:
    entities = {"<": "&lt;", ">": "&gt;"}
    text = text.replace("&", "&amp;")
    return _SPECIAL.sub(lambda m: entities.get(m[1], "\\" + m[1]), text)


def _block(lines: list[str], at: int) -> tuple[list[str], int]:
    """Return an indented block and where it ends; blank lines inside belong to it."""
    stop = at
    while stop < len(lines) and (lines[stop].startswith("    ") or not lines[stop]):
        stop += 1
    block = [line[4:] for line in lines[at:stop]]
    while block and not block[-1]:
        block.pop()
    return block, stop


def _fenced(block: list[str], language: str = "text") -> list[str]:
    return ["", f"{FENCE}{language}", *block, FENCE, ""]


def _end(lines: list[str], at: int) -> int:
    """Return where a section that starts at `at` ends: at the next underlined word."""
    for i in range(at, len(lines) - 1):
        if lines[i] and set(lines[i + 1]) == {"-"}:
            return i
    return len(lines)


def _section(name: str, lines: list[str], at: int) -> list[str]:
    """Return the body of a numpy section: examples, or names each with a text."""
    body = lines[at : _end(lines, at)]
    while body and not body[-1]:
        body.pop()
    if name == "Examples":
        return _fenced(body, "python")
    made: list[str] = []
    for line in body:
        if not line:
            made.append("")
        elif line.startswith("    "):
            made.append("  " + _prose(line.strip()))
        elif name in ("Parameters", "Attributes", "Raises"):
            made.append(f"- `{line}`:")
        else:
            made.append(_prose(line))
    return made


def summary(documented: Any) -> str:
    """Return the first line of a docstring, without its full stop."""
    return (getdoc(documented) or "").partition("\n")[0].rstrip(".")


def body(documented: Any) -> str:
    """Return a docstring without its first line, indents kept."""
    return (getdoc(documented) or "").partition("\n")[2].strip("\n")


def members(module: ModuleType, level: str = "##") -> list[str]:
    """Return what a module offers: its public classes and functions with their docstrings."""
    made: list[str] = []
    for name, held in vars(module).items():
        own = getattr(held, "__module__", None) == module.__name__
        if name.startswith("_") or not own or not (isclass(held) or isfunction(held)):
            continue
        made += [f"{level} `{name}`", "", f"`{name}{arguments(held)}`", ""]
        made += [markdown(getdoc(held) or ""), ""]
    return made


def arguments(held: Any) -> str:
    """Return the names of the arguments of a function or class, in brackets."""
    try:
        found = signature(held).parameters.values()
    except ValueError:
        return "(...)"
    stars: dict[Any, str] = {Parameter.VAR_POSITIONAL: "*", Parameter.VAR_KEYWORD: "**"}
    shown = [stars.get(p.kind, "") + p.name for p in found if p.name != "self"]
    return f"({', '.join(shown)})"


def table(headings: tuple[str, ...], rows: list[tuple[Any, ...]]) -> list[str]:
    """Return a table in Markdown; None is a dash, floats have six digits."""

    def shown(value: Any) -> str:
        if value is None:
            return "-"
        return f"{value:.6f}" if isinstance(value, float) else str(value).replace("|", "\\|")

    lines = [headings, ("---",) * len(headings), *rows]
    return ["", *(f"| {' | '.join(map(shown, line))} |" for line in lines), ""]
