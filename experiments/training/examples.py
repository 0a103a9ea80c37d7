"""What there is to learn from: inputs as one-hot picks of tokens, and all their answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from statebound.errors import UsageError
from statebound.protocols.problem import Problem, Symbols
from statebound.reductions.encoding import Encoding

if TYPE_CHECKING:
    from torch import Tensor

MOST_SCORES = 1 << 14
BATCHES = 50  # that are drawn at once


@dataclass(frozen=True)
class Batch:
    """B inputs.

    Attributes
    ----------
    picks
        (T, B, q) one-hot.
    truth
        (B, Q) whole numbers.
    law
        (Q) or (B, Q): how much each answer counts; sums to 1 over the queries.
    """

    picks: Tensor
    truth: Tensor
    law: Tensor


class Examples:
    """Makes batches of one problem in one encoding.

    Attributes
    ----------
    choices
        (T, q) whole numbers: the token of each symbol at each time.

    Raises
    ------
    UsageError
        When there are too many answers to learn all at once.
    """

    def __init__(self, problem: Problem, encoding: Encoding) -> None:
        import torch

        if problem.queries * problem.alphabet > MOST_SCORES:
            raise UsageError(
                "n",
                problem.n,
                f"has {problem.queries} queries of {problem.alphabet} answers, at most "
                f"{MOST_SCORES} scores are learned at once",
                "take a smaller n",
            )
        self.problem = problem
        blocks = [encoding.block(a) for a in range(problem.length)]
        self.choices = torch.from_numpy(np.concatenate(blocks, 1).T.astype(np.int64))
        self._place = np.repeat(np.arange(problem.length), [b.shape[1] for b in blocks])
        law = torch.tensor([float(w) for w in problem.weights], dtype=torch.float32)
        self._law = law / law.sum()

    def batch(self, x: Symbols) -> Batch:
        """Return inputs (B, length) as a batch."""
        import torch

        symbols = torch.from_numpy(x[:, self._place].T.astype(np.int64))
        picks = torch.nn.functional.one_hot(symbols, self.problem.symbols).to(torch.float32)
        truth = torch.from_numpy(self.problem.answers(x).astype(np.int64))
        times = self.problem.multiplicities(x)
        law = self._law
        if times is not None:
            law = torch.from_numpy((times / times.sum(axis=1, keepdims=True)).astype(np.float32))
        return Batch(picks, truth, law)

    def stream(
        self, size: int, generator: np.random.Generator, among: int | None
    ) -> Iterator[Batch]:
        """Yield batches for ever: of fresh inputs, or of `among` that are drawn once."""
        kept = None if among is None else self.problem.sample(generator, among)
        while True:
            if kept is None:
                x = self.problem.sample(generator, size * BATCHES)
            else:
                x = kept[generator.integers(0, len(kept), size * BATCHES)]
            every = self.batch(x)
            for first in range(0, len(x), size):
                some = slice(first, first + size)
                law = every.law if every.law.ndim == 1 else every.law[some]
                yield Batch(every.picks[:, some].contiguous(), every.truth[some], law)
