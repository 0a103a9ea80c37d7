"""A page for each limit: its statement, its proof or source, and what computes it."""

from __future__ import annotations

from inspect import getdoc

from statebound import registry
from statebound.experiments.reference.docstrings import body, markdown, members, summary, table
from statebound.protocols.limits import report
from statebound.protocols.problem import make

PACKAGE = "statebound.protocols.limits"
EXAMPLE_N = 16


def pages() -> dict[str, str]:
    """Return the page of every limit; a module named after another is on its page."""
    return {f"reference/limit-{name}.md": page(name) for name in heads()}


def heads() -> list[str]:
    """Return the modules that are not named after another one.

    Examples
    --------
    >>> "streaming" in heads(), "streaming_game" in heads()
    (True, False)
    """
    every = registry.names(PACKAGE)
    return [name for name in every if not any(name.startswith(f"{other}_") for other in every)]


def page(name: str) -> str:
    """Return the page of one limit."""
    module = registry.load(PACKAGE, name, "limit")
    lines = [f"# Limit: {name.replace('_', ' ')}", "", markdown(getdoc(module) or ""), ""]
    if name in report.WALLS:
        lines += _values(name)
    lines += members(module)
    for other in registry.names(PACKAGE):
        if other.startswith(f"{name}_"):
            helper = registry.load(PACKAGE, other, "limit")
            lines += [f"## {summary(helper)}", "", f"Module `{other}`.", "", markdown(body(helper))]
            lines += ["", *members(helper, "###")]
    return "\n".join(lines) + "\n"


def _values(name: str) -> list[str]:
    problem = make("index", EXAMPLE_N)
    rows = []
    for bits in range(EXAMPLE_N + 1):
        record = report.limits(problem, bits)
        rows.append((bits, record[name], record.get(f"{name}_fraction")))
    return [
        f"## On Index with n = {EXAMPLE_N}",
        *table(("M", "value", "exactly"), rows),
        "A dash: not proved there, or no short fraction. All of them side by side: "
        "[Limits](../limits.md).",
        "",
    ]
