"""Exact tallies: integer counts of (message, query, answer) and of (message, all answers).

Every number that sums a protocol up derives from these counts. With c(m, k, a) the
number of inputs with message m whose answer to query k is a, and c(m, z) that with
whole answer vector z:

* the optimal Bob is right on query k for sum_m max_a c(m, k, a) inputs;
* all queries at once can be right for sum_m max_z c(m, z) inputs (another Bob);
* H(message) = log2 X - (1/X) sum_m c(m) log2 c(m) over X inputs, and likewise for
  the joint laws, so that I(A; message) = H(A) + H(message) - H(A, message).

Counts are integers, so successes are exact fractions; entropies are float64.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from statebound.jit import kernel
from statebound.protocols.message import Bytes
from statebound.protocols.problem import Symbols

Keys = NDArray[np.uint64]


@dataclass(frozen=True)
class Tally:
    """What the counts of one exact run sum up to.

    Attributes
    ----------
    inputs
        X, how many inputs were counted, each equally likely.
    right
        For each query, how many inputs the optimal Bob answers rightly.
    right_at_once
        On how many inputs all queries can be answered rightly by one Bob.
    distinct
        How many different messages occur.
    message_entropy
        H(message) in bits.
    information
        For each query, I(answer; message) in bits.
    joint_information
        I(all answers; message) in bits.
    """

    inputs: int
    right: tuple[int, ...]
    right_at_once: int
    distinct: int
    message_entropy: float
    information: tuple[float, ...]
    joint_information: float

    def success(self, weights: tuple[Fraction, ...]) -> Fraction:
        """Return the optimal Bob's success under a query law."""
        total = sum((w * r for w, r in zip(weights, self.right, strict=True)), Fraction(0))
        return total / self.inputs


def answer_width(alphabet: int) -> int:
    """Return the bits that hold one answer of `alphabet`."""
    return max(1, (alphabet - 1).bit_length())


@kernel
def _message_keys(message: Bytes, out: Keys) -> None:
    for row in range(message.shape[0]):
        key = np.uint64(0)
        for at in range(message.shape[1]):
            key |= np.uint64(message[row, at]) << np.uint64(8 * at)
        out[row] = key


@kernel
def _answer_keys(answers: Symbols, width: int, out: Keys) -> None:
    for row in range(answers.shape[0]):
        key = np.uint64(0)
        for k in range(answers.shape[1]):
            key |= np.uint64(answers[row, k]) << np.uint64(k * width)
        out[row] = key


def message_keys(message: Bytes) -> Keys:
    """Return messages of at most 8 bytes as integers, (B,)."""
    out = np.empty(len(message), np.uint64)
    _message_keys(message, out)
    return out


def answer_keys(answers: Symbols, width: int) -> Keys:
    """Return answer vectors of at most 64 bits as integers, first query lowest."""
    out = np.empty(len(answers), np.uint64)
    _answer_keys(answers, width, out)
    return out


@kernel
def _summarise(
    pairs: Keys,
    queries: int,
    width: int,
    alphabet: int,
    logs: NDArray[np.float64],
    right: NDArray[np.int64],
    marginal: NDArray[np.int64],
    joint: NDArray[np.float64],
    scalars: NDArray[np.float64],
) -> tuple[int, int]:
    """Walk the sorted pairs (message above, answers below) once.

    right (Q,); marginal (Q, alphabet) counts of answers; joint (Q,) sums of c log2 c
    over (message, answer); scalars: sums of c log2 c over messages and over (message,
    answer vector). Returns the number of messages and of inputs right at once.
    """
    total = pairs.shape[0]
    zbits = np.uint64(queries * width)
    zmask = (np.uint64(1) << zbits) - np.uint64(1)
    amask = np.uint64((1 << width) - 1)
    counts = np.zeros((alphabet, queries), np.int64)
    ones = np.zeros(queries, np.int64)
    shifts = np.empty(queries, np.uint64)
    for k in range(queries):
        shifts[k] = np.uint64(k * width)
    binary = alphabet == 2
    distinct = 0
    at_once = 0
    start = 0
    table = logs.shape[0]
    while start < total:
        message = pairs[start] >> zbits
        stop = start + 1
        while stop < total and pairs[stop] >> zbits == message:
            stop += 1
        size = stop - start
        distinct += 1
        if size == 1:
            z = pairs[start] & zmask
            for k in range(queries):
                right[k] += 1
                marginal[k, (z >> shifts[k]) & amask] += 1
            at_once += 1
            start = stop
            continue
        scalars[0] += logs[size] if size < table else size * np.log2(size)
        run = 1
        most = 1
        for i in range(start + 1, stop + 1):
            if i < stop and pairs[i] == pairs[i - 1]:
                run += 1
                continue
            most = max(most, run)
            if run > 1:
                scalars[1] += logs[run] if run < table else run * np.log2(run)
            run = 1
        at_once += most
        if binary:
            ones[:] = 0
            for i in range(start, stop):
                z = pairs[i] & zmask
                for k in range(queries):
                    ones[k] += np.int64((z >> shifts[k]) & np.uint64(1))
            for k in range(queries):
                counts[1, k] = ones[k]
                counts[0, k] = size - ones[k]
        else:
            counts[:] = 0
            for i in range(start, stop):
                z = pairs[i] & zmask
                for k in range(queries):
                    counts[(z >> shifts[k]) & amask, k] += 1
        for k in range(queries):
            best = 0
            for a in range(alphabet):
                c = counts[a, k]
                best = max(best, c)
                marginal[k, a] += c
                if c > 1:
                    joint[k] += logs[c] if c < table else c * np.log2(c)
            right[k] += best
        start = stop
    return distinct, at_once


def _clog(counts: NDArray[np.int64]) -> float:
    """Return the sum of c log2 c."""
    c = counts[counts > 1].astype(np.float64)
    return float((c * np.log2(c)).sum())


def tally(pairs: Keys, queries: int, alphabet: int) -> Tally:
    """Sum up one pair ``message << (queries * width) | answers`` for every input.

    `pairs` is sorted in place. Messages and answer vectors may be any integers that
    name them, as long as the answer vector is made by `answer_keys`.
    """
    width = answer_width(alphabet)
    pairs.sort()
    c = np.arange(1 << 12, dtype=np.float64)
    logs = c * np.log2(np.maximum(c, 1))
    right = np.zeros(queries, np.int64)
    marginal = np.zeros((queries, alphabet), np.int64)
    joint, scalars = np.zeros(queries), np.zeros(2)
    distinct, at_once = _summarise(
        pairs, queries, width, alphabet, logs, right, marginal, joint, scalars
    )
    X = len(pairs)
    log_X = float(np.log2(X))
    H = log_X - scalars[0] / X
    information = []
    for k in range(queries):
        answer_entropy = log_X - _clog(marginal[k]) / X
        information.append(max(0.0, float(answer_entropy + (joint[k] - scalars[0]) / X)))
    zbits = queries * width
    z = pairs & np.uint64((1 << zbits) - 1)
    small = zbits <= 24  # then a table is faster than a sort
    whole = np.bincount(z.view(np.int64)) if small else np.unique(z, return_counts=True)[1]
    whole_entropy = log_X - _clog(whole) / X
    return Tally(
        inputs=X,
        right=tuple(int(r) for r in right),
        right_at_once=at_once,
        distinct=distinct,
        message_entropy=max(0.0, float(H)),
        information=tuple(information),
        joint_information=max(0.0, float(whole_entropy + (scalars[1] - scalars[0]) / X)),
    )
