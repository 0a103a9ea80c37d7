"""The learned Bob: a readout fitted on public calibration inputs.

Ridge regression of every answer's indicator on the features of the message (for a cut
machine its dequantised numbers), standardised, with an intercept. Two readouts are
fitted, on the numbers alone and on the numbers and their pairwise products (while
those are few), each at several strengths of ridge; the one that answers a held-out
quarter of the fitting sample best is kept. The sample has its own seed, so it is
public and independent of the inputs that Bob is judged on.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from statebound.errors import UsageError
from statebound.protocols.message import Bytes
from statebound.protocols.problem import Answers, Counts, Problem, Symbols
from statebound.protocols.protocol import Protocol, Queries, sent
from statebound.protocols.table import is_partial
from statebound.reductions.machine import CutMachine
from statebound.reductions.map import Mapped

Matrix = NDArray[np.float64]

FIT_SEED = 20250117
FIT_INPUTS = 8192
MEMORY_CAP = 4 << 30  # bytes
_MOST_PRODUCTS = 1024
_RIDGES = (1e-6, 1e-3, 1e-1, 10.0)


def _standardised(features: Matrix) -> tuple[Matrix, Matrix]:
    mean, spread = features.mean(axis=0), features.std(axis=0)
    return mean, np.where(spread > 1e-12, spread, 1.0)


@dataclass
class Readout:
    """A fitted Bob: answers are the largest of linear scores."""

    protocol: Protocol
    products: bool
    mean: Matrix
    spread: Matrix
    weights: Matrix  # (1 + features, queries * alphabet)
    _last: tuple[bytes, Matrix, NDArray[np.intp]] | None = field(default=None, repr=False)

    def _read(self, message: Bytes) -> tuple[Matrix, NDArray[np.intp]]:
        """Return the design of the different messages, and which is whose.

        The last one is kept: one batch is usually asked query after query.
        """
        key = message.tobytes()
        if self._last is None or self._last[0] != key or len(self._last[2]) != len(message):
            kinds, where = np.unique(message, axis=0, return_inverse=True)
            features = self.protocol.features(kinds)
            design = _design(features, self.products, self.mean, self.spread)
            self._last = key, design, where.reshape(-1)
        return self._last[1:]

    def answer(self, message: Bytes, query: Queries) -> Answers:
        """Answer (B,) queries on (B, bytes) messages."""
        design, where = self._read(message)
        problem = self.protocol.problem
        by_query = self.weights.reshape(-1, problem.queries, problem.alphabet)
        best = np.empty(len(query), problem.answer_type)
        for k in np.unique(query):
            asked = query == k
            scores = _valued(problem, design @ by_query[:, k])
            best[asked] = scores.argmax(axis=1)[where[asked]]
        return best


def _valued(problem: Problem, scores: Matrix) -> Matrix:
    """Return what each answer is expected to count, (..., alphabet), from indicators' scores."""
    if problem.credits is None:
        return scores
    valued: Matrix = scores @ problem.credits.T.astype(np.float64)
    return valued


def _design(features: Matrix, products: bool, mean: Matrix, spread: Matrix) -> Matrix:
    z = (features - mean) / spread
    parts = [np.ones((len(z), 1)), z]
    if products:
        i, j = np.triu_indices(z.shape[1])
        parts.append(z[:, i] * z[:, j])
    return np.concatenate(parts, axis=1)


def feature_count(protocol: Protocol) -> int:
    """Return how many numbers a readout of this protocol sees."""
    inner = protocol.protocol if isinstance(protocol, Mapped) else protocol
    return inner.numbers if isinstance(inner, CutMachine) else protocol.state_bits


def refuse_if_too_large(problem: Problem, features: int) -> None:
    """Refuse a fit whose targets, scores, designs and moments need too much memory.

    Raises
    ------
    UsageError
        When the estimate is above `MEMORY_CAP`.
    """
    problem.refuse_unlisted()
    targets = FIT_INPUTS * problem.queries * (problem.alphabet * 8 * 3 // 2 + 2)
    need = targets + 8 * features * (3 * FIT_INPUTS + 3 * features)
    if need > MEMORY_CAP:
        raise UsageError(
            "n",
            problem.n,
            f"fitting {problem.queries} queries on {features} numbers needs about "
            f"{need / 2**30:.3g} GiB, the cap is {MEMORY_CAP >> 30} GiB",
            "take a smaller n or state, or a Bob of the model's own (--bob model)",
        )


def public_inputs(problem: Problem) -> Symbols:
    """Return the inputs that readouts are fitted on by default."""
    generator = np.random.Generator(np.random.PCG64(FIT_SEED))
    return problem.sample(generator, FIT_INPUTS)


def fit(protocol: Protocol, x: Symbols | None = None) -> Readout:
    """Fit a readout to a protocol, on public inputs unless others are given.

    A table that does not hold every input is fitted on its first half.
    """
    problem = protocol.problem
    if x is None:
        rows = protocol.x if is_partial(protocol) else None
        x = public_inputs(problem) if rows is None else rows[: len(rows) // 2]
    features = protocol.features(sent(protocol, protocol.encode(x), len(x)))
    truth, times = problem.answers(x), problem.multiplicities(x)
    return Readout(protocol, *regress(problem, features, truth, times))


def regress(
    problem: Problem, features: Matrix, truth: Answers, times: Counts | None = None
) -> tuple[bool, Matrix, Matrix, Matrix]:
    """Fit scores of all answers to some queries of a problem.

    Parameters
    ----------
    features
        (X, d) what is seen of each input.
    truth, times
        (X, Q) the answers, and how often each is asked where that depends on the input.

    Returns
    -------
    Whether products take part, mean and spread of the features, and weights
    (1 + features, Q * alphabet) on their design.
    """
    asked = np.ones(truth.shape, np.bool_) if times is None else times > 0
    target = np.eye(problem.alphabet)[truth] - 1.0 / problem.alphabet
    target = (target if times is None else target * asked[:, :, None]).reshape(len(truth), -1)
    mean, spread = _standardised(features)
    cut = len(truth) * 3 // 4
    count = features.shape[1]
    forms = [False] + [True] * (count * (count + 1) // 2 <= _MOST_PRODUCTS)
    best: tuple[float, bool, float] | None = None
    for products in forms:
        design = _design(features, products, mean, spread)
        gram, moment = design[:cut].T @ design[:cut], design[:cut].T @ target[:cut]
        for ridge in _RIDGES:
            weights = _solve(gram, moment, ridge * cut)
            scores = (design[cut:] @ weights).reshape(-1, truth.shape[1], problem.alphabet)
            said = _valued(problem, scores).argmax(axis=2)
            right = float(((said == truth[cut:]) & asked[cut:]).mean())
            if best is None or right > best[0]:
                best = right, products, ridge
    _, products, ridge = best or (0.0, False, _RIDGES[0])
    design = _design(features, products, mean, spread)
    weights = _solve(design.T @ design, design.T @ target, ridge * len(truth))
    return products, mean, spread, weights


def decide(
    problem: Problem, fitted: tuple[bool, Matrix, Matrix, Matrix], features: Matrix
) -> Answers:
    """Return the answers (B, Q) that `regress` found, for features (B, d)."""
    products, mean, spread, weights = fitted
    scores = _design(features, products, mean, spread) @ weights
    scores = scores.reshape(len(features), -1, problem.alphabet)
    best: Answers = _valued(problem, scores).argmax(axis=2).astype(problem.answer_type)
    return best


def _solve(gram: Matrix, moment: Matrix, ridge: float) -> Matrix:
    regular = gram + ridge * np.eye(len(gram))
    regular[0, 0] -= ridge  # the intercept is free
    regular[0, 0] += 1e-9
    solution: Matrix = np.asarray(np.linalg.solve(regular, moment), np.float64)
    return solution
