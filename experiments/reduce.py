"""reduce: one instance mapped from problem to problem, in words and drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from statebound.errors import UsageError
from statebound.protocols.problem import Problem, make
from statebound.protocols.problems.istree import IsTree
from statebound.reductions.map import make as make_map


def reduced(
    source: str, target: str, x: str, query: int | str, options: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Map the input x (digits) and a query (from 1, or in words), and answer both.

    Examples
    --------
    >>> record = reduced("index", "istree", "10110", 2)
    >>> record["answer"], record["target_answer"], record["target_x"]
    (0, 0, '011011')
    """
    if not x:
        raise UsageError("x", x, "must hold at least one symbol", "write 10110")
    problem = _problem_of(source, x, options or {})
    through = make_map(problem, target)
    symbols = problem.parse(x)
    asked = np.array([problem.query(query)])
    held = problem.multiplicities(symbols)
    if held is not None and not held[0, asked[0]]:
        raise UsageError(
            "query",
            query,
            f"is never asked where x is {x}: it is {problem.query_text(int(asked[0]))}",
            "ask what agrees with x",
        )
    image = through.instance(symbols)
    there = through.query(asked)
    said = through.target.ask(image, there)
    record: dict[str, Any] = {
        "source": source,
        "target": target,
        "n": problem.n,
        "target_n": through.target.n,
        "target_options": {k: v for k, v in through.target.options().items() if k != "n"},
        "x": x,
        "query": int(asked[0]) + 1,
        "target_x": through.target.text(image[0]),
        "target_query": int(there[0]) + 1,
        "target_query_text": through.target.query_text(int(there[0])),
        "answer": int(problem.ask(symbols, asked)[0]),
        "target_answer": int(said[0]),
        "read_back": int(through.answer(asked, said)[0]),
        "statement": through.statement,
    }
    if isinstance(through.target, IsTree):
        record["alice_edges"] = through.target.edges(image[0])
        record["bob_edge"] = list(through.target.bob_edge(int(there[0])))
    return record


def _problem_of(name: str, x: str, options: dict[str, Any]) -> Problem:
    """Return the problem of the size at which its inputs are as long as x."""
    symbols = x.count(",") + 1 if "," in x else len(x)
    for n in (symbols, symbols + 2):  # IsTree has two more vertices than symbols
        try:
            made = make(name, n, options)
        except UsageError as error:
            if error.argument != "n":
                raise
            continue
        if made.length == symbols:
            return made
    return make(name, symbols, options)


def words(record: dict[str, Any]) -> str:
    """Return a record for reading."""
    options = "".join(f", {k} {v}" for k, v in record["target_options"].items() if v != "uniform")
    asked = record["target_query_text"]
    number = str(record["target_query"])
    there = number if asked == number else f"{number} ({asked})"
    back = "" if record["target_answer"] == record["read_back"] else f" = {record['read_back']}"
    lines = [
        f"{record['source']}  n = {record['n']}, x = {record['x']}, query {record['query']}: "
        f"answer {record['answer']}",
        f"{record['target']}  n = {record['target_n']}{options}, x = {record['target_x']}, query "
        f"{there}: answer {record['target_answer']}{back}",
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
