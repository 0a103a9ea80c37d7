"""What blocks of a sample counted, and the row that they add up to.

A sampled point is measured block by block, each a fixed number of fresh x's drawn from
(seed, block). What is kept of a block, `Counts`, is plain data: stored, read back and joined
in block order it gives the same row as a run that was never interrupted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statebound.experiments import estimates
from statebound.experiments.engines import sample
from statebound.experiments.engines.sample import SampleTally
from statebound.protocols.limits import report
from statebound.protocols.message import Bytes
from statebound.protocols.problem import Answers, Problem
from statebound.protocols.protocol import Protocol

LEVEL = 0.95
LEAK_ERROR = 1e-6

Answer = Callable[[Bytes, NDArray[np.int64]], Answers]


@dataclass(frozen=True)
class Counts:
    """What one block counted, JSON-able.

    Attributes
    ----------
    trials
        How many x's.
    scale, values
        The share of right answers on each x, in order, in units of ``1 / scale``: whole
        numbers, or where the law of the query makes them no multiples, fractions of scale 1.
    right, totals
        For each query how often it was answered rightly, and out of what; empty where
        queries are drawn.
    at_once
        On how many x's all queries were answered rightly; None where queries are drawn.
    own
        What the protocol's own Bob reached on average, where he is counted besides.
    """

    trials: int
    scale: int
    values: tuple[float, ...]
    right: tuple[int, ...]
    totals: tuple[int, ...]
    at_once: int | None
    own: float | None = None

    @classmethod
    def of(cls, tally: SampleTally, problem: Problem, own: SampleTally | None = None) -> Counts:
        """Return the counts of a tally."""
        scale = problem.queries * problem.credit_unit if problem.listed else sample.DRAWN
        whole = np.rint(tally.values * scale)
        if np.abs(whole - tally.values * scale).max(initial=0.0) < 1e-9:
            values: tuple[float, ...] = tuple(whole.astype(int).tolist())
        else:
            scale, values = 1, tuple(tally.values.tolist())
        return cls(
            len(tally.values),
            scale,
            values,
            tuple(tally.right.tolist()),
            tuple(tally.totals.tolist()),
            tally.right_at_once,
            None if own is None else float(own.values.mean()),
        )

    @classmethod
    def from_plain(cls, data: dict[str, Any]) -> Counts:
        """Return the counts in what `plain` gave.

        Raises
        ------
        ValueError
            When it is something else.
        """
        try:
            plain: dict[str, Any] = {
                k: tuple(v) if isinstance(v, list) else v for k, v in data.items()
            }
            made = cls(**plain)
            whole = (made.trials, made.scale, *made.right, *made.totals)
            sound = all(type(v) is int for v in whole) and made.scale > 0
            sound = sound and len(made.values) == made.trials > 0
            sound = sound and all(0 <= v <= made.scale for v in made.values)
        except TypeError as error:
            raise ValueError(str(error)) from error
        if not sound:
            raise ValueError("no counts of a block")
        return made

    def plain(self) -> dict[str, Any]:
        """Return JSON-able data."""
        return asdict(self)


def number(trials: int) -> int:
    """Return how many blocks a sample of `trials` has."""
    return -(-trials // sample.BLOCK)


def size_of(block: int, trials: int) -> int:
    """Return how many x's block number `block` of a sample of `trials` holds."""
    return max(0, min(sample.BLOCK, trials - block * sample.BLOCK))


def count(
    protocol: Protocol,
    answer: Answer,
    seed: int,
    block: int,
    size: int,
    own: Answer | None = None,
) -> Counts:
    """Count one block of fresh inputs, with `own` also what another Bob reaches on them."""
    tally = sample.count_block(protocol, answer, seed, block, size)
    other = None if own is None else sample.count_block(protocol, own, seed, block, size)
    return Counts.of(tally, protocol.problem, other)


def shares(blocks: Sequence[Counts]) -> NDArray[np.float64]:
    """Return the share of right answers on every x, in block order."""
    return np.concatenate([np.array(block.values, np.float64) / block.scale for block in blocks])


def width(blocks: Sequence[Counts]) -> float:
    """Return the width of the confidence sequence after these blocks."""
    found = estimates.confidence_sequence(shares(blocks), LEVEL)
    return found.high - found.low


def values(
    problem: Problem, state_bits: int, blocks: Sequence[Counts], rows: int, *, watched: bool
) -> dict[str, Any]:
    """Return the columns that a sample fills.

    Parameters
    ----------
    problem, state_bits
        What was measured.
    blocks
        In block order, from the first.
    rows
        R: a wall may be said to be broken with probability at most 1e-6 / R.
    watched
        Whether somebody looked at the blocks before he decided how many there are: then the
        interval is of the kind that allows it.

    Returns
    -------
    The columns, and ``above_ball``: whether the sample shows that a proved limit was passed.
    """
    x = shares(blocks)
    find = estimates.confidence_sequence if watched else estimates.betting_interval
    interval = find(x, LEVEL)
    trials = len(x)
    structure = problem.structure
    certified = None
    if structure.walled and problem.alphabet == 2 and structure.uniform:
        certified = estimates.certified_bits(interval.low, structure.effective_n)
    wall = report.wall(problem, 2**state_bits)
    by_query = None
    if problem.listed:
        right, totals = (
            np.sum([getattr(block, name) for block in blocks], axis=0).tolist()
            for name in ("right", "totals")
        )
        by_query = [r / t if t else None for r, t in zip(right, totals, strict=True)]
    at_once: int | None = 0
    for block in blocks:
        at_once = None if at_once is None or block.at_once is None else at_once + block.at_once
    own: float | None = None
    known = [(block.own, block.trials) for block in blocks if block.own is not None]
    if len(known) == len(blocks):
        own = sum(value * size for value, size in known) / trials
    return {
        "trials": trials,
        "success": interval.best,
        "success_fraction": None,
        "success_low": interval.low,
        "success_high": interval.high,
        "interval_level": LEVEL,
        "success_by_query": by_query,
        "all_correct": None if at_once is None else at_once / trials,
        "distinct_messages": None,
        "message_entropy": None,
        "utilisation": None,
        "information_by_query": None,
        "stored_bits": None,
        "certified_bits": certified,
        "needed_bits": needed(problem, Fraction(interval.low)),
        "optimal_success": None,
        "own_success": own,
        "above_ball": wall is not None
        and estimates.exceeds(x, wall, LEAK_ERROR / rows, watched=watched),
    }


def needed(problem: Problem, success: Fraction) -> float | None:
    """Return log2 of the least N whose ball reaches `success`."""
    if success <= 0:
        return 0.0 if problem.structure.walled else None
    found: float | None = report.bits_needed(problem, success)["bits_needed"]["ball"]
    return found
