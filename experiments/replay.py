"""Replay: whether Bob's answer depends on nothing but the message and his query.

A general check for a channel beside the message. It is run on every protocol that
brings a Bob, by asking him the same things in different circumstances: right after
Alice made the messages; after she made others; and with messages and queries in another
order and other batches.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from statebound.protocols.problem import Symbols
from statebound.protocols.protocol import Protocol

INPUTS = 512
SEED = 20231105


def replay(protocol: Protocol) -> str | None:
    """Return what is wrong, or None where both players repeat themselves.

    Alice must send the same message for the same input, whatever else she encodes. Bob,
    where the protocol brings one, must give equal answers to equal messages: compared are
    inputs that share a message, where there are such, and every message with itself later.
    """
    problem = protocol.problem
    generator = np.random.Generator(np.random.PCG64(SEED))
    x = problem.sample(generator, INPUTS)
    other = problem.sample(generator, INPUTS)
    first = protocol.encode(x).copy()
    protocol.encode(other)
    order = generator.permutation(INPUTS)
    again = np.concatenate([protocol.encode(part) for part in np.split(x[order], [1, INPUTS // 3])])
    if not np.array_equal(first[order], again):
        return "Alice sent another message for the same input"
    return _bob(protocol, x, other, order) if protocol.has_bob else None


def _bob(protocol: Protocol, x: Symbols, other: Symbols, order: NDArray[np.int64]) -> str | None:
    """Ask Bob right after Alice made the messages, later, and in another order."""
    first = protocol.encode(x).copy()
    every = protocol.problem.queries
    queries = min(every, 64)  # evenly spaced where there are more
    asked = [np.full(INPUTS, k * every // queries, np.int64) for k in range(queries)]
    fresh = np.stack([protocol.answer(first, q) for q in asked], axis=1)
    protocol.encode(other)
    later = np.stack([protocol.answer(first, q) for q in asked], axis=1)
    mixed = np.empty_like(fresh)
    for k in reversed(range(queries)):  # in pieces of other sizes, so that counting calls tells
        for rows in np.split(order, [1, 1 + INPUTS // 3]):
            mixed[rows, k] = protocol.answer(first[rows], asked[k][: len(rows)])
    for name, again, reference in (
        ("later", later, fresh),
        ("in another order", mixed, fresh),
    ):
        wrong = np.argwhere(again != reference)
        if len(wrong):
            return (
                f"asked {name}, Bob changed {len(wrong)} of {again.size} answers to the same "
                f"messages, for example to query {int(asked[wrong[0, 1]][0]) + 1}"
            )
    _, group, size = np.unique(first, axis=0, return_inverse=True, return_counts=True)
    group = group.reshape(-1)
    for g in np.flatnonzero(size > 1):
        answers = fresh[group == g]
        if (answers != answers[0]).any():
            k = int(np.argwhere(answers != answers[0])[0, 1])
            query = int(asked[k][0]) + 1
            return f"{len(answers)} equal messages got different answers to query {query}"
    return None
