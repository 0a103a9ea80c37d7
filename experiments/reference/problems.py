"""A page for each problem: its definition, its size, its limits and its maps."""

from __future__ import annotations

from inspect import getdoc, signature
from typing import Any

from statebound import registry
from statebound.errors import UsageError
from statebound.experiments.reference.docstrings import body, markdown, summary, table
from statebound.protocols.limits import report
from statebound.protocols.problem import PACKAGE, Problem, make, parameters
from statebound.reductions.map import PACKAGE as MAPS

SIZES = (8, 6, 4, 12)
MOST_ROWS = 16
WALLS = ("optimum_low", "ball", "rate_distortion", "all_correct")


def pages() -> dict[str, str]:
    """Return the page of every problem."""
    return {f"reference/problem-{name}.md": page(name) for name in registry.names(PACKAGE)}


def example(name: str) -> Problem:
    """Return a problem at the first of `SIZES` that it can have."""
    for n in SIZES:
        try:
            return make(name, n)
        except UsageError as error:
            refused = error
    raise refused


def page(name: str) -> str:
    """Return the page of one problem.

    Examples
    --------
    >>> print(page("istree").splitlines()[0])
    # Problem: istree
    """
    module = registry.load(PACKAGE, name, "problem")
    kind = module.PROBLEM
    lines = [f"# Problem: {name}", "", _sentence(module, name), "", markdown(body(module)), ""]
    lines += ["## What it takes", "", markdown(getdoc(kind) or ""), ""]
    lines += table(("option", "type", "default"), _options(kind))
    lines += [
        f"Never erring takes, in bits: {kind.cost}. A query on the command line is "
        f"{kind.query_form}.",
        "",
    ]
    problem = example(name)
    lines += [f"## At n = {problem.n}", "", *_facts(problem), *_limits(problem)]
    lines += ["## Maps", "", *_maps(name), "", "## Try it", "", "```sh"]
    lines += [f"statebound limits {name} --n {problem.n} --state-bits 4"]
    lines += [f"statebound measure {name} --n {problem.n} --protocol send_nothing", "```", ""]
    lines += ["All problems side by side: [Problems](../problems.md)."]
    return "\n".join(lines) + "\n"


def _sentence(module: Any, name: str) -> str:
    text = summary(module)
    start, colon, rest = text.partition(": ")
    return markdown(f"{rest[:1].upper()}{rest[1:]}." if colon and start == name else f"{text}.")


def _options(kind: type[Problem]) -> list[tuple[Any, ...]]:
    found = signature(kind, eval_str=True).parameters
    rows: list[tuple[Any, ...]] = [("`n`", "int", "must be given")]
    for option, sort in parameters(kind).items():
        rows.append((f"`{option}`", sort.__name__, f"`{found[option].default}`"))
    return rows


def _facts(problem: Problem) -> list[str]:
    structure = problem.structure
    rows = [
        ("length of x", problem.length),
        ("symbols", problem.symbols),
        ("queries", problem.queries),
        ("possible answers q", problem.alphabet),
        ("law of the query", problem.law),
        ("independent uniform answers (effective n)", structure.effective_n or None),
        ("bits for never erring", problem.deterministic_bits),
        ("walls", f"none: {structure.reason}" if not structure.walled else "proved"),
    ]
    if structure.basis:
        rows.append(("they hold although answers depend on one another, because", structure.basis))
    return table(("", ""), rows)


def _limits(problem: Problem) -> list[str]:
    if not problem.structure.walled:
        return []
    full = report.bits_needed(problem, "1")["bits_needed"]["ball_whole"]
    if full is None:
        return []
    step = -(-full // MOST_ROWS)
    rows: list[tuple[Any, ...]] = []
    for bits in sorted({*range(0, full, step), full}):
        found = report.limits(problem, bits)
        rows.append((bits, *(found[wall] for wall in WALLS)))
    headings = ("M", "best code known", "ball wall", "rate-distortion wall", "all right at once")
    return [
        "The best success with M message bits, see [Limits](../limits.md):",
        *table(headings, rows),
    ]


def _maps(name: str) -> list[str]:
    lines = []
    for stem in registry.names(MAPS):
        source, _, target = stem.partition("_to_")
        if name in (source, target):
            other = target if name == source else source
            way = "to" if name == source else "from"
            said = summary(registry.load(MAPS, stem, "map")).partition(": ")[2]
            lines.append(f"- {way} [{other}](problem-{other}.md): {markdown(said)}.")
    return lines or ["None is known to this tool."]
