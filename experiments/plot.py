"""From rows to files: picks the walls, draws, and saves with command and data hash."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from statebound.errors import UsageError
from statebound.experiments import curves, results
from statebound.experiments.figures._columns import NOTHING, Choices, Row
from statebound.experiments.figures._lines import select
from statebound.protocols.problem import Problem, make
from statebound.protocols.problems.istree import IsTree

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLES = ("paper", "slides")
MAX_VERTICES = 40


def problem_of(row: Row) -> Problem:
    """Return the problem that a row is about."""
    return make(row["problem"], row["n"], row.get("problem_options", {}))


def check_style(style: str) -> None:
    """Refuse an unknown style."""
    if style not in STYLES:
        raise UsageError("style", style, "is not a known style", "choose paper or slides")


def _collapse(rows: list[Row]) -> tuple[Any, ...]:
    kept, _ = select(rows)
    problem = problem_of(kept[0])
    return (curves.collapse_curves(problem, _most(kept, problem)),)


def _cliff(rows: list[Row]) -> tuple[Any, ...]:
    kept, _ = select(rows)
    problem = problem_of(kept[0])
    return (curves.cliff_curves(problem, _most(kept, problem)),)


def _rescaled(rows: list[Row]) -> tuple[Any, ...]:
    kept, _ = select(rows, sizes=True)
    first = {row["n"]: problem_of(row) for row in kept}
    rate = max(
        (row["state_bits"] / row["effective_n"] for row in kept if row["effective_n"]), default=1
    )
    found = {}
    for n, problem in first.items():
        answers = problem.structure.effective_n
        found[n] = curves.collapse_curves(problem, ceil(rate * answers)) if answers else {}
    alike = kept[0]["query_law"] == "uniform"
    known = any(held.get("rate_distortion") for held in found.values())
    return found, curves.rate_limit(kept[0]["alphabet"]) if alike and known else []


def _phase(rows: list[Row]) -> tuple[Any, ...]:
    from statebound.experiments.figures.phase import LEVELS

    kept, _ = select(rows, sizes=True)
    first = {row["n"]: row for row in kept}
    problems = [problem_of(row) for row in first.values()]
    return (curves.contours(problems, LEVELS),)


def _most(rows: list[Row], problem: Problem) -> int:
    sizes: list[int] = [row["state_bits"] for row in rows]
    return max(*sizes, problem.structure.effective_n)


@dataclass(frozen=True)
class Kind:
    """A figure of rows: the module of its name, and what is computed for it from rows.

    `computed` returns what the module's `make` takes between the rows and the style.
    """

    name: str
    summary: str
    computed: Callable[[list[Row]], tuple[Any, ...]] = lambda _: ()

    def make(
        self, rows: list[Row], style: str = "paper", choices: Choices = NOTHING
    ) -> tuple[Figure, list[str]]:
        """Return the figure of rows, and notes on what was left out.

        Raises
        ------
        UsageError
            When the rows or the choices do not suit the figure.
        """
        check_style(style)
        module = import_module(f"statebound.experiments.figures.{self.name}")
        takes: tuple[str, ...] = getattr(module, "TAKES", ())
        for option, value in choices.given().items():
            if option not in takes:
                rule = f"the figure {self.name} has no choice of {option}"
                other = " or ".join(f"--{name}" for name in takes)
                more = f"; it takes {other}" if takes else ""
                raise UsageError(option, value, rule + more, f"drop --{option}, or draw lines")
        if not rows:
            raise UsageError("rows", "[]", "there is nothing to draw", "measure a point first")
        chosen = (choices,) if takes else ()
        figure, notes = module.make(rows, *self.computed(rows), style, *chosen)
        return figure, notes

    def __call__(
        self, rows: list[Row], stem: Path, style: str = "paper", choices: Choices = NOTHING
    ) -> tuple[list[Path], list[str]]:
        """Draw rows to ``stem.png`` and ``stem.svg``; return the files and the notes."""
        from statebound.experiments.figures._save import save

        figure, notes = self.make(rows, style, choices)
        return save(figure, stem, results.command_line(), results.digest(rows)), notes


_ALL = (
    Kind("collapse", "success against M with the walls of one n", _collapse),
    Kind("rescaled", "many n on one axis M / n", _rescaled),
    Kind("phase", "success over n and M, with the contours of the wall", _phase),
    Kind("retention", "what is told of each position, by M"),
    Kind("budget", "where each bit of the state goes"),
    Kind("gap", "where machines lose success, from the wall down"),
    Kind("cliff", "all answers at once beside the average", _cliff),
    Kind("precision", "many coarse numbers or few fine ones, at equal M"),
    Kind("drift", "what rounding after every token costs, by n"),
    Kind("cot", "success against thinking steps"),
    Kind("lines", "any column against any other"),
)
KINDS = {kind.name: kind for kind in _ALL}
OF_ANY_ROWS = ("cot", "lines")
"""Figures that are also of rows of other verbs than `measure`."""
collapse, gap = KINDS["collapse"], KINDS["gap"]


def limits(problem: Problem, stem: Path, style: str = "paper") -> tuple[list[Path], list[str]]:
    """Draw the limits of a problem and what codes reach to ``stem.png`` and ``stem.svg``.

    Returns the files and notes on what was left out.
    """
    from statebound.experiments.figures import limits as figure_of
    from statebound.experiments.figures._save import save

    check_style(style)
    if not problem.structure.walled:
        raise UsageError(
            "out",
            stem,
            f"no limit of {problem.name} is proved ({problem.structure.reason})",
            "drop --out",
        )
    about = {
        "problem": problem.name,
        "n": problem.n,
        "effective_n": problem.structure.effective_n,
        "alphabet": problem.alphabet,
        "query_law": problem.law,
    }
    walls, points = curves.limits_curves(problem), curves.code_points(problem)
    figure, notes = figure_of.make(about, walls, points, style)
    digest = results.digest({"about": about, "curves": walls, "points": points})
    return save(figure, stem, results.command_line(), digest), notes


def graph(record: dict[str, Any], stem: Path) -> list[Path]:
    """Draw the IsTree instance of a `reduced` record.

    Raises
    ------
    UsageError
        When it has more vertices than can be drawn apart.
    """
    if record["target_n"] > MAX_VERTICES:
        raise UsageError(
            "out",
            stem,
            f"the graph has {record['target_n']} vertices, at most {MAX_VERTICES} are drawn",
            "take a shorter x, or drop --out",
        )
    from matplotlib.figure import Figure

    from statebound.experiments.figures import gadget
    from statebound.experiments.figures._save import save
    from statebound.experiments.figures._style import style

    with style("paper"):
        n = record["target_n"]
        figure = Figure(figsize=(3.6, max(3.0, 0.5 + n * 0.17)))
        figure.set_layout_engine("constrained")
        problem = IsTree(n)
        x = problem.parse(record["target_x"])[0]
        gadget.draw_graph(figure.add_subplot(), problem, x, record["target_query"] - 1)
    return save(figure, stem, results.command_line(), results.digest(record))
