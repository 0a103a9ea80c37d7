"""What belongs to a problem at one size, whatever the machine: walls, codes, truth, gadget."""

from __future__ import annotations

from typing import Any

import numpy as np

from statebound.experiments.curves import code_points, collapse_curves
from statebound.experiments.page.grid import BEYOND, CODES, Size, command
from statebound.experiments.request import Request
from statebound.protocols.problem import Problem, Symbols, make
from statebound.protocols.problems.istree import IsTree
from statebound.reductions.map import make as make_map


def walls(size: Size) -> dict[str, Any]:
    """Return the wall over state bits, chance, and the codes beneath, with their commands."""
    problem = make(size.problem, size.n, {})
    curves = collapse_curves(problem, BEYOND * size.length)
    kept = ("protocol", "state_bits", "success", "success_fraction")
    points = [
        {name: point[name] for name in kept}
        | {
            "command": command(
                Request(
                    size.problem,
                    size.n,
                    protocol=point["protocol"],
                    state_bits=point["state_bits"],
                )
            )
        }
        for point in code_points(problem)
        if point["protocol"] in CODES and point["success_fraction"] is not None
    ]
    return {
        "problem": size.problem,
        "n": size.n,
        "length": size.length,
        "queries": problem.queries,
        "effective_n": problem.structure.effective_n,
        "chance": curves["chance"][0][1],
        "wall": curves["ball"],
        "command": f"statebound limits {size.problem} --n {size.n} --state-bits",
        "codes": points,
    }


def truth(size: Size) -> dict[str, Any]:
    """Return what only the referee knows: the right answers, and the graph of each input.

    Returns
    -------
    dict
        ``answers``: for each input, in the order of `Problem.enumerate`, a digit for each
        query. ``graph``: for each input the bits of the IsTree instance that is drawn, the
        input itself or its image under the reduction. ``vertices`` of that graph,
        ``edges``: Bob's, by query, and ``trees``: whether it is one, a digit each.
    """
    problem = make(size.problem, size.n, {})
    x = problem.enumerate(0, problem.inputs)
    target: Problem = problem
    image, asked = x, np.arange(problem.queries)
    if not isinstance(problem, IsTree):
        through = make_map(problem, IsTree.name)
        target, image, asked = through.target, through.instance(x), through.query(asked)
    assert isinstance(target, IsTree)
    return {
        "problem": size.problem,
        "n": size.n,
        "answers": _digits(problem.answers(x).astype(np.uint8)),
        "graph": _digits(image),
        "trees": _digits(target.answers(image)[:, asked]),
        "vertices": target.n,
        "edges": [list(target.bob_edge(int(k))) for k in asked],
    }


def _digits(rows: Symbols) -> list[str]:
    return ["".join(map(str, row)) for row in rows.tolist()]
