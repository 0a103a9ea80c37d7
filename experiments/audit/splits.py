"""Splits against the unsplit run, in every way that a state can be gone on from."""

from __future__ import annotations

import math

from statebound.errors import StateboundError
from statebound.experiments.audit.bench import Bench, distance
from statebound.experiments.audit.cut import Run
from statebound.experiments.audit.record import Split
from statebound.experiments.audit.subject import Outputs, Tokens

TAIL = 3
"""Single tokens that follow the chunks."""


def pairs(bench: Bench) -> dict[int, tuple[Run, Run]]:
    """Return Alice and a template for each handoff, each having read in one call."""
    cut = bench.cut
    return {
        h: (cut.template(bench.x[:h]), cut.template(bench.other[:h])) for h in bench.plan.handoffs
    }


def chunk_sizes(left: int, which: int) -> list[int]:
    """Return sizes of at least two that sum to `left`, not all equal, or one for everything.

    Examples
    --------
    >>> chunk_sizes(9, 0), chunk_sizes(9, 1), chunk_sizes(9, 2), chunk_sizes(8, 0)
    ([4, 5], [9], [2, 2, 2, 3], [3, 3, 2])
    """
    if which % 3 == 1 or left < 4:
        return [left]
    wanted = (4, 3, 5, 7) if which % 3 == 0 else (2, 3, 5, 7)
    size = next((s for s in wanted if left % s), 4)
    sizes, rest = [size] * (left // size), left % size
    if rest == 1:
        sizes[-1] += 1
    elif rest:
        sizes.append(rest)
    return sizes


def steps(
    bench: Bench, ready: dict[int, tuple[Run, Run]], *, positions: bool, hidden: bool = True
) -> Split:
    """Let Bob go on token by token."""
    errors, way = {}, "steps" if hidden else "state alone"
    for h, (alice, template) in ready.items():
        bob = bench.bob(alice, template) if hidden else bench.cut.transplant(alice)
        tokens = bench.x[h : h + bench.plan.steps]
        goal = bench.whole[h : h + len(tokens)]
        errors[h] = _error(bench, way, bob, tokens, [], goal, positions=positions)
    return summed(bench, way, positions, errors)


def chunks(bench: Bench, ready: dict[int, tuple[Run, Run]]) -> tuple[Split, Split]:
    """Let Bob go on in chunks, and then by three single tokens.

    Not at handoff 1: Alice's call of one token may be the code of steps.
    """
    during, after = {}, {}
    total, told = bench.plan.tokens, bench.cut.positions
    for which, (h, (alice, template)) in enumerate(ready.items()):
        if h == 1:
            continue
        bob = bench.bob(alice, template)
        left = total - h - TAIL
        sizes, end = chunk_sizes(left, which), slice(total - TAIL, total)
        tokens, goal = bench.x[h : h + left], bench.whole[h : h + left]
        during[h] = _error(bench, "chunks", bob, tokens, sizes, goal, positions=told)
        tail, goal = bench.x[end], bench.whole[end]
        after[h] = _error(bench, "after chunks", bob, tail, [], goal, positions=told)
    return summed(bench, "chunks", told, during), summed(bench, "after chunks", told, after)


def _error(
    bench: Bench,
    way: str,
    bob: Run,
    tokens: Tokens,
    sizes: list[int],
    goal: Outputs,
    *,
    positions: bool,
) -> float:
    """Return how far Bob is from the goal; inf where the subject refuses to go on like this."""
    try:
        return distance(bench.cut.read(bob, tokens, sizes, positions=positions), goal)
    except StateboundError as error:
        bench.refused[way] = str(error)
        return math.inf


def from_the_start(bench: Bench, ready: Run, *, against_steps: bool) -> Split:
    """Let Alice read token by token as well; optionally so for the unsplit run too.

    `ready` is the template at the middle handoff.
    """
    cut, h = bench.cut, bench.plan.middle
    more = bench.plan.steps
    alice = cut.template(bench.x[:h], sizes=[])
    template = cut.template(bench.other[:h], sizes=[]) if against_steps else ready
    said = cut.read(bench.bob(alice, template), bench.x[h : h + more], [])
    if against_steps:
        whole = cut.read(cut.begin(), bench.x[: h + more], [])[h:]
    else:
        whole = bench.whole[h : h + more]
    way = "steps against steps" if against_steps else "steps from the start"
    return summed(bench, way, cut.positions, {h: distance(said, whole)})


def summed(bench: Bench, way: str, positions: bool, errors: dict[int, float]) -> Split:
    """Return the worst of some errors, by handoff."""
    worst = max(errors, key=lambda h: errors[h])
    error = errors[worst]
    shown = error / bench.scale if bench.scale else error
    return Split(
        way=way,
        positions=positions and bench.subject.takes_start,
        handoffs=tuple(errors),
        error=shown if math.isfinite(shown) else None,
        worst=worst if error else None,
        right=error <= bench.tolerance,
    )
