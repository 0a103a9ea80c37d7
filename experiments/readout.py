"""The learned Bob: a readout fitted on public calibration inputs.

Ridge regression of every answer's indicator on the features of the message (for a cut
machine its dequantised numbers), standardised, with an intercept. Two readouts are
fitted, on the numbers alone and on the numbers and their pairwise products (while
those are few), each at several strengths of ridge; the one that answers a held-out
quarter of the fitting sample best is kept. The sample has its own seed, so it is
public and independent of the inputs that Bob is judged on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from statebound.protocols.message import Bytes
from statebound.protocols.problem import Problem, Symbols
from statebound.protocols.protocol import Protocol, Queries

Matrix = NDArray[np.float64]

FIT_SEED = 20250117
FIT_INPUTS = 8192
_MOST_PRODUCTS = 1024
_RIDGES = (1e-6, 1e-3, 1e-1, 10.0)


def _standardised(features: Matrix) -> tuple[Matrix, Matrix]:
    mean, spread = features.mean(axis=0), features.std(axis=0)
    return mean, np.where(spread > 1e-12, spread, 1.0)


@dataclass(frozen=True)
class Readout:
    """A fitted Bob: answers are the largest of linear scores."""

    protocol: Protocol
    products: bool
    mean: Matrix
    spread: Matrix
    weights: Matrix  # (1 + features, queries * alphabet)

    def answer(self, message: Bytes, query: Queries) -> Symbols:
        """Answer (B,) queries on (B, bytes) messages."""
        kinds, where = np.unique(message, axis=0, return_inverse=True)
        design = _design(self.protocol.features(kinds), self.products, self.mean, self.spread)
        problem = self.protocol.problem
        scores = (design @ self.weights).reshape(-1, problem.queries, problem.alphabet)
        best: Symbols = scores.argmax(axis=2).astype(np.uint8)
        return best[where.reshape(-1), query]


def _design(features: Matrix, products: bool, mean: Matrix, spread: Matrix) -> Matrix:
    z = (features - mean) / spread
    parts = [np.ones((len(z), 1)), z]
    if products:
        i, j = np.triu_indices(z.shape[1])
        parts.append(z[:, i] * z[:, j])
    return np.concatenate(parts, axis=1)


def public_inputs(problem: Problem) -> Symbols:
    """Return the inputs that readouts are fitted on by default."""
    generator = np.random.Generator(np.random.PCG64(FIT_SEED))
    return problem.sample(generator, FIT_INPUTS)


def fit(protocol: Protocol, x: Symbols | None = None) -> Readout:
    """Fit a readout to a protocol, on public inputs unless others are given."""
    problem = protocol.problem
    x = public_inputs(problem) if x is None else x
    features = protocol.features(protocol.encode(x))
    truth = problem.answers(x)
    target = np.eye(problem.alphabet)[truth].reshape(len(x), -1) - 1.0 / problem.alphabet
    mean, spread = _standardised(features)
    cut = len(x) * 3 // 4
    count = features.shape[1]
    forms = [False] + [True] * (count * (count + 1) // 2 <= _MOST_PRODUCTS)
    best: tuple[float, bool, float] | None = None
    for products in forms:
        design = _design(features, products, mean, spread)
        gram, moment = design[:cut].T @ design[:cut], design[:cut].T @ target[:cut]
        for ridge in _RIDGES:
            weights = _solve(gram, moment, ridge * cut)
            scores = (design[cut:] @ weights).reshape(-1, problem.queries, problem.alphabet)
            right = float((scores.argmax(axis=2) == truth[cut:]).mean())
            if best is None or right > best[0]:
                best = right, products, ridge
    _, products, ridge = best or (0.0, False, _RIDGES[0])
    design = _design(features, products, mean, spread)
    weights = _solve(design.T @ design, design.T @ target, ridge * len(x))
    return Readout(protocol, products, mean, spread, weights)


def _solve(gram: Matrix, moment: Matrix, ridge: float) -> Matrix:
    regular = gram + ridge * np.eye(len(gram))
    regular[0, 0] -= ridge  # the intercept is free
    regular[0, 0] += 1e-9
    solution: Matrix = np.linalg.solve(regular, moment)
    return solution
