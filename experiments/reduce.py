"""reduce: one instance mapped from problem to problem, in words and drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from statebound.errors import UsageError
from statebound.protocols.problem import make
from statebound.protocols.problems.istree import IsTree
from statebound.reductions.map import make as make_map


def reduced(source: str, target: str, x: str, query: int) -> dict[str, Any]:
    """Map the input x (digits) and a query (from 1), and answer both.

    Examples
    --------
    >>> record = reduced("index", "istree", "10110", 2)
    >>> record["answer"], record["target_answer"], record["target_x"]
    (0, 0, '011011')
    """
    if not x:
        raise UsageError("x", x, "must hold at least one symbol", "write 10110")
    problem = make(source, len(x))
    through = make_map(problem, target)
    symbols = problem.parse(x)
    asked = problem.query(query)
    image = through.instance(symbols)
    there = int(through.query(np.array([asked]))[0])
    record: dict[str, Any] = {
        "source": source,
        "target": target,
        "n": problem.n,
        "target_n": through.target.n,
        "x": x,
        "query": query,
        "target_x": "".join(str(int(s)) for s in image[0]),
        "target_query": there + 1,
        "answer": int(problem.answers(symbols)[0, asked]),
        "target_answer": int(through.target.answers(image)[0, there]),
        "statement": through.statement,
    }
    if isinstance(through.target, IsTree):
        record["alice_edges"] = through.target.edges(image[0])
        record["bob_edge"] = list(through.target.bob_edge(there))
    return record


def words(record: dict[str, Any]) -> str:
    """Return a record for reading."""
    lines = [
        f"{record['source']}  n = {record['n']}, x = {record['x']}, query {record['query']}: "
        f"answer {record['answer']}",
        f"{record['target']}  n = {record['target_n']}, x = {record['target_x']}, query "
        f"{record['target_query']}: answer {record['target_answer']}",
    ]
    if "alice_edges" in record:
        edges = " ".join(f"{a}-{b}" for a, b in record["alice_edges"])
        a, b = record["bob_edge"]
        kind = "a tree" if record["target_answer"] else "not a tree"
        lines += [f"Alice's edges  {edges}", f"Bob's edge     {a}-{b}", f"The graph is {kind}."]
    return "\n".join([*lines, f"Kept: {record['statement']}."]) + "\n"


def draw(record: dict[str, Any], stem: Path) -> list[Path]:
    """Draw the target instance where it is a graph; returns the files written."""
    if "alice_edges" not in record:
        raise UsageError("out", stem, "only graphs are drawn", "drop --out")
    from statebound.experiments.plot import graph

    return graph(record, stem)
