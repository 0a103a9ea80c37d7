"""Samples in blocks: which are wanted, when there are enough, and the row they give.

A decision looks at the blocks in their order, from the first, and never at how many happen to
be there: so it is the same for any number of workers, and after any interruption.
"""

from __future__ import annotations

import json

from statebound.errors import StateboundError
from statebound.experiments import blocks
from statebound.experiments.blocks import Counts
from statebound.experiments.results import Held, Row
from statebound.experiments.sweeping.task import Stop

CHUNK = 8
"""Blocks that a worker counts before it reports."""


def in_order(held: Held, task: str, stop: Stop) -> list[Counts]:
    """Return the blocks from the first to before the first that is missing."""
    found = held.blocks.get(task, {})
    counted: list[Counts] = []
    for block in range(blocks.number(stop.trials)):
        counts = found.get((block, blocks.size_of(block, stop.trials)))
        if counts is None:
            break
        counted.append(_counts(counts, task))
    return counted


def _counts(text: str, task: str) -> Counts:
    try:
        return Counts.from_plain(json.loads(text))
    except ValueError as error:
        raise StateboundError(f"a block of task {task} is damaged ({error})") from error


def enough(counted: list[Counts], stop: Stop) -> int | None:
    """Return how many of these blocks finish a sample; None where more are needed.

    With a width it is looked at after 1, 2, 4, ... blocks.
    """
    if stop.width is not None:
        looked = 1
        while looked <= len(counted):
            if blocks.width(counted[:looked]) <= stop.width:
                return looked
            looked *= 2
    every = blocks.number(stop.trials)
    return every if len(counted) == every else None


def wanted(held: Held, task: str, stop: Stop) -> list[int]:
    """Return the blocks to count next: all, or up to where the width is looked at again."""
    there = held.blocks.get(task, {})
    last = blocks.number(stop.trials)
    if stop.width is not None:
        done, look = len(in_order(held, task, stop)), 1
        while look <= done:
            look *= 2
        last = min(last, look)
    return [b for b in range(last) if (b, blocks.size_of(b, stop.trials)) not in there]


def finished(facts: Row, counted: list[Counts], rows: int, stop: Stop) -> Row:
    """Return the row of these blocks."""
    from statebound.experiments.measure import sampled

    return sampled(facts, counted, rows, watched=stop.width is not None).row


def so_far(held: Held, task: str) -> list[Row]:
    """Return the row of the blocks that there are, in one list, or none.

    How far it will go is not known here: the interval is of the kind that allows for that.
    """
    sizes: dict[int, int] = {}
    for block, size in held.blocks.get(task, {}):
        sizes[block] = max(size, sizes.get(block, 0))
    counted: list[Counts] = []
    while len(counted) in sizes:
        block = len(counted)
        counted.append(_counts(held.blocks[task][block, sizes[block]], task))
    return [finished(held.facts[task], counted, 1, Stop(width=0.5))] if counted else []
