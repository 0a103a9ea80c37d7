"""Contexts, queries and answers of the constructed retrieval tasks."""

from __future__ import annotations

import numpy as np

from statebound.models.constructions.rounding import Array
from statebound.models.constructions.tasks import NONE, Task

EVERY_N = 8  # of Index: contexts with all queries


def queries(task: Task) -> int:
    """Return how many queries there are: n positions, or V symbols."""
    return task.n if task.name == "index" else task.symbols


def answers(task: Task, context: Array) -> Array:
    """Return the answer to every query (B, queries) on contexts (B, n), -1 for none.

    Examples
    --------
    >>> answers(Task("gram", 4, 3), np.array([[0, 1, 0, 2]])).tolist()
    [[2, 0, -1]]
    """
    if task.name == "index":
        return np.array(context, np.int64)
    found = np.full((len(context), task.symbols), NONE, np.int64)
    row = np.arange(len(context))
    for before, after in zip(context.T[:-1], context.T[1:], strict=True):
        found[row, before] = after  # a later occurrence takes the place of an earlier one
    return found


def pairs(task: Task, trials: int, draw: np.random.Generator) -> tuple[Array, Array, Array, bool]:
    """Return contexts (B, n), a query each (B,), its answer (B,), and whether these are all."""
    every = task.name == "index" and task.n <= EVERY_N
    if every:
        x = np.arange(2**task.n)[:, None] >> np.arange(task.n) & 1
        context, query = np.repeat(x, task.n, axis=0), np.tile(np.arange(task.n), len(x))
    else:
        context = draw.integers(0, task.symbols, (trials, task.n))
        query = draw.integers(0, queries(task), trials)
    return context, query, answers(task, context)[np.arange(len(query)), query], every
