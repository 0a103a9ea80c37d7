"""istree: two stars and one edge more make a tree, or a cycle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from statebound.errors import UsageError
from statebound.experiments.demos._page import Line, Span, Step, Story, aligned, counted, level

SUMMARY = "Alice's two stars and Bob's edge: a tree or a cycle."
LEAST, MOST = 4, 40


def record(n: int = 8, state_bits: int | None = None, seed: int = 1) -> dict[str, Any]:
    """Draw one graph of IsTree, answer every query, and state the limits.

    Parameters
    ----------
    n
        Vertices, 4 to 40.
    state_bits
        M of the limits; half of the n - 3 answers if None.
    seed
        What draws x and the query.

    Returns
    -------
    Alice's edges, for the query (``shown``) and for one with the other answer, where there
    is one, Bob's edge and the cycle that it closes (null for a tree); all answers; the limits.

    Raises
    ------
    UsageError
        When a size does not fit.
    """
    if not LEAST <= n <= MOST:
        raise UsageError("n", n, f"must be {LEAST}..{MOST} here", "pass a size in that range")
    if seed < 0:
        raise UsageError("seed", seed, "must not be negative", "pass 0")
    import numpy as np

    from statebound.protocols.limits.report import limits
    from statebound.protocols.problems.istree import IsTree

    problem = IsTree(n)
    generator = np.random.Generator(np.random.PCG64(seed))
    x = problem.sample(generator, 1)
    answers = problem.answers(x)[0].tolist()
    first = int(generator.integers(0, problem.queries))
    other = [k for k in range(problem.queries) if answers[k] != answers[first]]
    shown = []
    for k in [first, *other[:1]]:
        edge = problem.bob_edge(k)
        cycle = None if answers[k] else [*edge, n - 1 + int(x[0, k])]
        shown.append({"query": k + 1, "edge": list(edge), "tree": bool(answers[k]), "cycle": cycle})
    M = problem.queries // 2 if state_bits is None else state_bits
    return {
        "demo": "istree",
        "problem": "istree",
        "seed": seed,
        "x": problem.text(x[0]),
        "edges": [list(edge) for edge in problem.edges(x[0])],
        "answers": answers,
        "shown": shown,
        **limits(problem, M),
    }


def steps(record: dict[str, Any], width: int) -> list[Step]:
    """Tell the record."""
    story = Story()
    n, x, edges = record["n"], record["x"], record["edges"]
    hubs = n - 1, n
    story.scene("Alice's stars")
    story.step(
        f"There are {n} vertices. {hubs[0]} and {hubs[1]} are hubs.",
        f"Alice has {len(x)} bits. A bit 0 joins its vertex to hub {hubs[0]}, "
        f"a bit 1 to hub {hubs[1]}.",
    )
    story.step("", *aligned([("vertex", range(1, n - 1)), ("bit", x)], width))
    story.step("", *drawing(edges, n, None))

    for at, case in enumerate(record["shown"]):
        a, b = case["edge"]
        k = case["query"]
        story.scene("Bob's edge" if at == 0 else "Another edge")
        story.step(["Bob has ", (f"k = {k}", "bob"), f", and joins vertex {a} to vertex {b}."])
        story.step("", *drawing(edges, n, (a, b)))
        bits = f"Bit {a} is {x[a - 1]} and bit {b} is {x[b - 1]}: "
        if case["tree"]:
            story.step("", f"{bits}they differ, so the edge joins the two stars.")
            story.step([f"{n} vertices, {n - 1} edges, no cycle: ", ("a tree", "right"), "."])
        else:
            walk = " - ".join(map(str, [*case["cycle"], a]))
            story.step("", f"{bits}equal, so both hang at hub {case['cycle'][2]}.")
            story.step([f"The edge closes {walk}: ", ("a cycle, no tree", "wrong"), "."])

    story.scene("What Bob must know")
    story.step("The graph is a tree exactly where bit k and bit k+1 differ.")
    named = ["tree" if a else "cycle" for a in record["answers"]]
    story.step("", *aligned([("k", range(1, n - 2)), ("", named)], width))
    story.step(
        "",
        f"These {counted(n - 3, 'answer')} are independent fair bits.",
        "Bob may be asked for each. So this is Index again, in a graph.",
    )
    M, wall = record["state_bits"], record["ball"]
    story.scene("The wall")
    story.step(
        f"If what Alice hands over has {counted(M, 'bit')}, then for any model:",
        "",
        level("a coin", record["chance"], width),
    )
    story.step(level(f"best known, {M} bits", record["optimum_low"], width))
    story.step(level("any protocol", wall, width))
    story.step("", f"Never wrong takes {counted(n - 3, 'bit')}.")
    return story.steps


def drawing(edges: Sequence[Sequence[int]], n: int, extra: tuple[int, int] | None) -> list[Line]:
    r"""Return the two stars, hub left and leaves right, and an edge between leaves beside them.

    Examples
    --------
    >>> from statebound.experiments.demos._page import plain
    >>> print("\n".join(map(plain, drawing([(1, 4), (2, 5), (3, 5)], 5, (1, 2)))))
      4 ─── 1 ─╮
      5 ─┬─ 2 ─╯
         └─ 3
    """
    wide = len(str(n))
    lines: list[Line] = []
    inside = False
    for hub in (n - 1, n):
        leaves = [a for a, b in edges if b == hub]
        if not leaves:
            lines.append(f"  {hub:>{wide}}" + (" " * (wide + 6) + "│" if inside else ""))
        for at, leaf in enumerate(leaves):
            label = f"{hub:>{wide}} ─" if at == 0 else " " * (wide + 2)
            last = at == len(leaves) - 1
            joint = "─" if len(leaves) == 1 else "┬" if at == 0 else "└" if last else "├"
            line: list[Span] = [f"  {label}{joint}─ ", f"{leaf:<{wide}}"]
            if extra is not None and leaf in extra:
                line = [f"  {label}{joint}─ ", (f"{leaf:<{wide}}", "bob")]
                line.append((" ─╯" if inside else " ─╮", "bob"))
                inside = not inside
            elif inside:
                line.append(("  │", "bob"))
            lines.append(line)
    return lines
