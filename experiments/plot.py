"""From rows to files: picks the walls, draws, and saves with command and data hash."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from statebound.errors import UsageError
from statebound.experiments import results
from statebound.experiments.curves import code_points, collapse_curves, limits_curves
from statebound.protocols.problem import Problem, make
from statebound.protocols.problems.istree import IsTree

Row = dict[str, Any]
STYLES = ("paper", "slides")
MAX_VERTICES = 40


def problem_of(row: Row) -> Problem:
    """Return the problem that a row is about."""
    return make(row["problem"], row["n"], row.get("problem_options", {}))


def check_style(style: str) -> None:
    """Refuse an unknown style."""
    if style not in STYLES:
        raise UsageError("style", style, "is not a known style", "choose paper or slides")


def collapse(rows: list[Row], stem: Path, style: str = "paper") -> tuple[list[Path], list[str]]:
    """Draw the collapse figure of rows to ``stem.png`` and ``stem.svg``.

    Returns the files and notes on what was left out.
    """
    from statebound.experiments.figures import collapse as figure_of
    from statebound.experiments.figures._lines import select
    from statebound.experiments.figures._save import save

    check_style(style)
    kept, _ = select(rows)
    problem = problem_of(kept[0])
    most = max(*(row["state_bits"] for row in kept), problem.structure.effective_n)
    figure, notes = figure_of.make(rows, collapse_curves(problem, most), style)
    return save(figure, stem, results.command_line(), results.digest(rows)), notes


def gap(rows: list[Row], stem: Path, style: str = "paper") -> tuple[list[Path], list[str]]:
    """Draw where machines lose success to ``stem.png`` and ``stem.svg``.

    Returns the files and notes on what was left out.
    """
    from statebound.experiments.figures import gap as figure_of
    from statebound.experiments.figures._save import save

    check_style(style)
    figure, notes = figure_of.make(rows, style)
    return save(figure, stem, results.command_line(), results.digest(rows)), notes


KINDS = {"collapse": collapse, "gap": gap}


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
    curves, points = limits_curves(problem), code_points(problem)
    figure, notes = figure_of.make(about, curves, points, style)
    digest = results.digest({"about": about, "curves": curves, "points": points})
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
