"""The exact optimum of a small problem with N messages, by exhaustive search.

Inputs are uniform and x has the row a_x in {0,1}^K of answers. Best replies on both sides:
Bob's answers to message m are a fixed word y_m, and Alice sends the message whose word is
nearest to her row in the weighted Hamming distance. So the optimum is the choice of N words
of {0,1}^K with the least total distance, sum_x min_m d(a_x, y_m): a facility location
problem.

Branch and bound over sets of words. The gain of adding a set R of words to a set S is at
most the sum of the gains of its members alone (the gain is submodular: for each x the
fall of a minimum by several words is at most the sum of the falls by each; Cornuejols,
Fisher and Nemhauser, 1977). So with r words to come the loss cannot fall below the
present loss less the r greatest single gains, and a branch where this does not beat the
best set known is cut. Shifting all words by s is a symmetry where it maps the rows onto
themselves, as it does for Index for every s; then one word of the set may be taken from
representatives of the shift classes. All quantities are integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np
from numpy.typing import NDArray

from statebound.errors import UsageError

Integers = NDArray[np.int64]
Table = NDArray[np.uint8]
_MOST_QUERIES = 12


@dataclass(frozen=True)
class Optimum:
    """The best protocol found, with what shows it to be best.

    Attributes
    ----------
    success
        The average success of `partition` with the best Bob, exactly.
    partition
        (X,) the message of each input, 0..N-1.
    words
        (N, K) Bob's answers to each message.
    visited
        How many sets of words the search expanded.
    exhaustive
        Whether every branch was expanded or cut by the bound. Only then is `success`
        the optimum; else the search met its limit and `success` is a lower bound.
    """

    success: Fraction
    partition: Integers
    words: Table
    visited: int
    exhaustive: bool


def partition_success(
    table: Table, partition: Integers, weights: tuple[Fraction, ...] | None = None
) -> Fraction:
    """Return the average success of the best Bob for a partition, exactly.

    Parameters
    ----------
    table
        (X, K) answers, 0 or 1.
    partition
        (X,) the message of each input.
    weights
        The law of the query; uniform if None.
    """
    inputs, queries = table.shape
    law = weights or (Fraction(1, queries),) * queries
    right = np.zeros(queries, np.int64)
    for label in np.unique(partition).tolist():
        rows = table[partition == label]
        ones = rows.sum(0, dtype=np.int64)
        right += np.maximum(ones, len(rows) - ones)
    shares = (w * Fraction(r, inputs) for w, r in zip(law, right.tolist(), strict=True))
    return sum(shares, Fraction(0))


def optimum(
    table: Table,
    messages: int,
    weights: tuple[Fraction, ...] | None = None,
    most_nodes: int = 1_000_000,
) -> Optimum:
    """Return the optimum for `messages` messages over uniform inputs.

    Parameters
    ----------
    table
        (X, K) answers f(x, k), 0 or 1, K at most 12.
    messages
        N, at least 1.
    weights
        The law of the query; uniform if None.
    most_nodes
        Where to give up.

    Raises
    ------
    UsageError
        When the table is not of 0 and 1, too wide, or there is no message.

    Examples
    --------
    >>> rows = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.uint8)
    >>> found = optimum(rows, 2)
    >>> str(found.success), found.exhaustive
    ('3/4', True)
    """
    if table.ndim != 2 or not table.size or (table > 1).any():
        raise UsageError("table", table.shape, "must be rows of answers 0 and 1", "pass (X, K)")
    queries = table.shape[1]
    if queries > _MOST_QUERIES:
        raise UsageError(
            "table", table.shape, f"has more than {_MOST_QUERIES} queries", "pass a smaller one"
        )
    if messages < 1:
        raise UsageError("messages", messages, "must be at least 1", "pass a positive number")
    law = weights or (Fraction(1, queries),) * queries
    scale = lcm(*(w.denominator for w in law))
    price = np.array([int(w * scale) for w in law], np.int64)
    words = ((np.arange(1 << queries)[:, None] >> np.arange(queries)) & 1).astype(np.uint8)
    distance = (table[:, None, :] ^ words[None]).astype(np.int64) @ price
    search = _Search(distance, min(messages, len(words)), most_nodes)
    search.run(_representatives(table))
    chosen = words[search.best]
    partition = distance[:, search.best].argmin(1)
    success = 1 - Fraction(search.loss, scale * len(table))
    return Optimum(success, partition, chosen, search.visited, search.exhaustive)


def _representatives(table: Table) -> list[int]:
    """Return one word of each class under the shifts that keep the rows."""
    queries = table.shape[1]
    number = table.astype(np.int64) @ (1 << np.arange(queries))
    count = np.bincount(number, minlength=1 << queries)
    every = np.arange(1 << queries)
    shifts = every[[bool((count[every ^ s] == count).all()) for s in every]]
    return np.flatnonzero((every[:, None] ^ shifts).min(1) == every).tolist()


class _Search:
    """Branch and bound for the set of words (columns) with the least total of row minima."""

    def __init__(self, distance: Integers, size: int, most_nodes: int) -> None:
        self.distance = distance
        self.size = size
        self.most_nodes = most_nodes
        self.visited = 0
        self.exhaustive = True
        self.loss = int(distance.sum()) + 1
        self.best: list[int] = []

    def run(self, first: list[int]) -> None:
        """Search all sets with a member in `first`."""
        every = np.arange(self.distance.shape[1])
        for word in first:
            self._extend([word], self.distance[:, word], every[every != word])

    def _extend(self, chosen: list[int], near: Integers, left: Integers) -> None:
        self.visited += 1
        loss = int(near.sum())
        missing = self.size - len(chosen)
        if loss < self.loss:  # a smaller set counts: words may repeat
            self.loss, self.best = loss, list(chosen)
        if missing == 0 or not len(left):
            return
        gain = np.maximum(near[:, None] - self.distance[:, left], 0).sum(0)
        order = np.argsort(-gain, kind="stable")
        left, gain = left[order], gain[order]
        total = np.concatenate([[0], np.cumsum(gain)])
        for i, word in enumerate(left.tolist()):
            # Sets that use none of the first i words gain at most the next `missing`.
            if loss - int(total[min(i + missing, len(left))] - total[i]) >= self.loss:
                return
            if self.visited >= self.most_nodes:
                self.exhaustive = False
                return
            self._extend([*chosen, word], np.minimum(near, self.distance[:, word]), left[i + 1 :])
