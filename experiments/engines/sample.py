"""sample: fresh random inputs, all queries of each, one particular Bob.

Every x gives one number in [0, 1], its share of right answers under the query law;
the numbers of different x are independent, so a betting interval holds for their mean
(the answers within one x are dependent and are never counted as separate trials).

Where there are too many queries to list, a few are drawn for each x from their law: the
share of right answers to them has the same mean, and is independent from x to x.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from statebound.protocols.message import Bytes
from statebound.protocols.problem import Answers, Problem, Symbols
from statebound.protocols.protocol import Protocol, sent

BLOCK = 1024
Answer = Callable[[Bytes, NDArray[np.int64]], Answers]

DRAWN = 16  # queries of each x, where they cannot be listed


@dataclass(frozen=True)
class SampleTally:
    """What a sample of x's gave, in order.

    Attributes
    ----------
    values
        (trials,) share of right answers on each x.
    right
        For each query, on how many x's it was answered rightly; empty where queries are
        drawn.
    totals
        What `right` is out of: all x's, unless the query depends on x or answers count
        in part.
    right_at_once
        On how many x's all queries were answered rightly; None where queries are drawn.
    """

    values: NDArray[np.float64]
    right: NDArray[np.int64]
    totals: NDArray[np.int64]
    right_at_once: int | None

    @staticmethod
    def joined(tallies: Sequence[SampleTally]) -> SampleTally:
        """Return the tally of these samples in their order."""
        drawn = any(t.right_at_once is None for t in tallies)
        return SampleTally(
            np.concatenate([t.values for t in tallies]),
            np.sum([t.right for t in tallies], axis=0),
            np.sum([t.totals for t in tallies], axis=0),
            None if drawn else sum(t.right_at_once or 0 for t in tallies),
        )

    def __add__(self, other: SampleTally) -> SampleTally:
        """Return the tally of this sample followed by another."""
        return SampleTally.joined([self, other])


def count_inputs(
    protocol: Protocol,
    answer: Answer,
    x: Symbols,
    generator: np.random.Generator | None = None,
) -> SampleTally:
    """Count these inputs (B, length), drawn independently and uniformly.

    The generator draws the queries where they are too many to list.
    """
    problem = protocol.problem
    message = sent(protocol, protocol.encode(x), len(x))
    if not problem.listed:
        return _count_drawn(problem, message, answer, x, generator or _generator(0, 0))
    truth = problem.answers(x)
    correct = np.empty(truth.shape, bool)
    unit = problem.credit_unit
    got = np.empty(truth.shape, np.int64) if problem.credits is not None else correct
    for k in range(problem.queries):
        said = answer(message, np.full(len(x), k, np.int64))
        correct[:, k] = said == truth[:, k]
        if problem.credits is not None:
            got[:, k] = problem.credits[said, truth[:, k]]
    times = problem.multiplicities(x)
    if times is None:
        weights = np.array([float(w) for w in problem.weights])
        values = np.clip((got * weights).sum(axis=1) / unit, 0.0, 1.0)
        totals = np.full(problem.queries, len(x) * unit, np.int64)
        return SampleTally(values, got.sum(axis=0), totals, int(correct.all(axis=1).sum()))
    values = np.clip((got * times).sum(axis=1) / times.sum(axis=1) / unit, 0.0, 1.0)
    right, totals = (got * times).sum(axis=0), times.sum(axis=0) * unit
    return SampleTally(values, right, totals, int((correct | (times == 0)).all(axis=1).sum()))


def _count_drawn(
    problem: Problem, message: Bytes, answer: Answer, x: Symbols, generator: np.random.Generator
) -> SampleTally:
    queries = problem.draw(generator, x, DRAWN)
    correct = np.empty(queries.shape, bool)
    for i in range(DRAWN):
        correct[:, i] = answer(message, queries[:, i]) == problem.ask(x, queries[:, i])
    none = np.zeros(0, np.int64)
    return SampleTally(correct.mean(axis=1), none, none, None)


def _generator(*numbers: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(numbers)))


def draw_block(problem: Problem, seed: int, block: int, size: int) -> Symbols:
    """Draw block number `block` of a sample; it depends on nothing else."""
    return problem.sample(_generator(seed, block), size)


def count_block(
    protocol: Protocol, answer: Answer, seed: int, block: int, size: int
) -> SampleTally:
    """Count block number `block` of a sample; it depends on no other block."""
    x = draw_block(protocol.problem, seed, block, size)
    return count_inputs(protocol, answer, x, _generator(seed, block, 1))


def count(
    protocol: Protocol,
    answer: Answer,
    trials: int,
    seed: int,
) -> SampleTally:
    """Count `trials` fresh inputs, in blocks that are seeded one by one."""
    sizes = [min(BLOCK, trials - at) for at in range(0, trials, BLOCK)]
    return SampleTally.joined(
        [count_block(protocol, answer, seed, i, size) for i, size in enumerate(sizes)]
    )
