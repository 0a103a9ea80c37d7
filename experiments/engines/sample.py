"""sample: fresh random inputs, all queries of each, one particular Bob.

Every x gives one number in [0, 1], its share of right answers under the query law;
the numbers of different x are independent, so a betting interval holds for their mean
(the answers within one x are dependent and are never counted as separate trials).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from statebound.protocols.message import Bytes
from statebound.protocols.problem import Problem, Symbols
from statebound.protocols.protocol import Protocol, sent

BLOCK = 1024


@dataclass(frozen=True)
class SampleTally:
    """What a sample of x's gave, in order.

    Attributes
    ----------
    values
        (trials,) share of right answers on each x.
    right
        For each query, on how many x's it was answered rightly.
    right_at_once
        On how many x's all queries were answered rightly.
    """

    values: NDArray[np.float64]
    right: NDArray[np.int64]
    right_at_once: int

    @staticmethod
    def joined(tallies: Sequence[SampleTally]) -> SampleTally:
        """Return the tally of these samples in their order."""
        return SampleTally(
            np.concatenate([t.values for t in tallies]),
            np.sum([t.right for t in tallies], axis=0),
            sum(t.right_at_once for t in tallies),
        )

    def __add__(self, other: SampleTally) -> SampleTally:
        """Return the tally of this sample followed by another."""
        return SampleTally.joined([self, other])


def count_inputs(
    protocol: Protocol,
    answer: Callable[[Bytes, NDArray[np.int64]], Symbols],
    x: Symbols,
) -> SampleTally:
    """Count these inputs (B, length), drawn independently and uniformly."""
    problem = protocol.problem
    message = sent(protocol, protocol.encode(x), len(x))
    truth = problem.answers(x)
    correct = np.empty(truth.shape, bool)
    for k in range(problem.queries):
        correct[:, k] = answer(message, np.full(len(x), k, np.int64)) == truth[:, k]
    weights = np.array([float(w) for w in problem.weights])
    values = np.clip((correct * weights).sum(axis=1), 0.0, 1.0)
    return SampleTally(values, correct.sum(axis=0), int(correct.all(axis=1).sum()))


def draw_block(problem: Problem, seed: int, block: int, size: int) -> Symbols:
    """Draw block number `block` of a sample; it depends on nothing else."""
    sequence = np.random.SeedSequence((seed, block))
    return problem.sample(np.random.Generator(np.random.PCG64(sequence)), size)


def count(
    protocol: Protocol,
    answer: Callable[[Bytes, NDArray[np.int64]], Symbols],
    trials: int,
    seed: int,
) -> SampleTally:
    """Count `trials` fresh inputs, in blocks that are seeded one by one."""
    sizes = [min(BLOCK, trials - at) for at in range(0, trials, BLOCK)]
    blocks = (draw_block(protocol.problem, seed, i, size) for i, size in enumerate(sizes))
    return SampleTally.joined([count_inputs(protocol, answer, x) for x in blocks])
