"""Exact tallies: integer counts of (message, query, answer) and of (message, all answers).

Every number that sums a protocol up derives from these counts. With c(m, k, a) the
number of inputs with message m whose answer to query k is a, and c(m, z) that with
whole answer vector z:

* the optimal Bob is right on query k for sum_m max_a c(m, k, a) inputs;
* all queries at once can be right for sum_m max_z c(m, z) inputs (another Bob);
* H(message) = log2 X - (1/X) sum_m c(m) log2 c(m) over X inputs, and likewise for
  the joint laws, so that I(A; message) = H(A) + H(message) - H(A, message).

Counts are integers, so successes are exact fractions; entropies are float64.

Two ways lead there. `tally` walks pairs of a message and a whole answer vector that fit
64 bits together. `tally_classes` is for everything else: inputs with equal rows of
answers form a class, a class stands for its row, and the law of the query may depend on
x by whole numbers w(x, k), or near misses may count in part. There

    c(m, k, a) = sum of w(x, k) over the inputs with message m whose answer to k is a

and right answers are counted in the same units: `totals` says what would be all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from statebound.jit import kernel
from statebound.protocols.message import Bytes
from statebound.protocols.problem import Answers, Counts, Problem, Symbols

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
    totals
        For each query, what `right` is out of: X, unless the query depends on x or
        answers count in part.
    guess
        For each query, how many inputs are answered rightly without a message.
    right_at_once
        On how many inputs all queries can be answered rightly by one Bob; None where
        some queries are never asked of some inputs.
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
    totals: tuple[int, ...]
    guess: tuple[int, ...]
    right_at_once: int | None
    distinct: int
    message_entropy: float
    information: tuple[float, ...]
    joint_information: float

    def success(self, weights: tuple[Fraction, ...]) -> Fraction:
        """Return the optimal Bob's success under a query law."""
        return share(weights, self.right, self.totals)

    def chance(self, weights: tuple[Fraction, ...]) -> Fraction:
        """Return the best success without a message."""
        return share(weights, self.guess, self.totals)


def share(weights: tuple[Fraction, ...], right: Sequence[int], totals: Sequence[int]) -> Fraction:
    """Return the average of ``right / totals`` under a law of the query.

    Examples
    --------
    >>> print(share((Fraction(1, 2), Fraction(1, 2)), (3, 1), (4, 2)))
    5/8
    """
    if len(set(totals)) == 1:  # one denominator: far fewer fractions to cancel
        parts = (w * r for w, r in zip(weights, right, strict=True))
        return sum(parts, Fraction(0)) / totals[0]
    return sum(
        (w * Fraction(r, t) for w, r, t in zip(weights, right, totals, strict=True) if t),
        Fraction(0),
    )


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
        totals=(X,) * queries,
        guess=tuple(int(r) for r in marginal.max(axis=1)),
        right_at_once=at_once,
        distinct=distinct,
        message_entropy=max(0.0, float(H)),
        information=tuple(information),
        joint_information=max(0.0, float(whole_entropy + (scalars[1] - scalars[0]) / X)),
    )


@dataclass(frozen=True)
class Rows:
    """The different rows of answers that inputs have.

    Attributes
    ----------
    answers
        (C, queries) the answers of each class.
    weights
        (C, queries) w(x, k), or (1, queries) where all classes have the same.
    """

    answers: NDArray[np.int64]
    weights: Counts


class RowTable:
    """Numbers the rows of answers and multiplicities in the order in which they come."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._known: dict[bytes, int] = {}
        self._answers: list[Answers] = []
        self._weights: list[Counts] = []

    def classes(self, x: Symbols) -> NDArray[np.int64]:
        """Return the class of each input, (B,)."""
        answers = np.ascontiguousarray(self.problem.answers(x), self.problem.answer_type)
        held = self.problem.multiplicities(x)
        parts: list[NDArray[np.uint8]] = [answers.view(np.uint8).reshape(len(x), -1)]
        if held is not None:
            wide = np.ascontiguousarray(held, np.int64)
            parts.append(wide.view(np.uint8).reshape(len(x), -1))
        rows = np.ascontiguousarray(np.concatenate(parts, axis=1))
        keys = rows.view(np.dtype((np.void, rows.shape[1]))).reshape(-1)
        kinds, first, which = np.unique(keys, return_index=True, return_inverse=True)
        numbers = np.empty(len(kinds), np.int64)
        for i, kind in enumerate(kinds):
            key = kind.tobytes()
            if key not in self._known:
                self._known[key] = len(self._known)
                self._answers.append(answers[first[i]].copy())
                if held is not None:
                    self._weights.append(np.asarray(held[first[i]], np.int64).copy())
            numbers[i] = self._known[key]
        found: NDArray[np.int64] = numbers[which.reshape(-1)]
        return found

    def rows(self) -> Rows:
        """Return what was met so far."""
        answers = np.stack(self._answers).astype(np.int64)
        flat = np.ones((1, answers.shape[1]), np.int64)
        return Rows(answers, np.stack(self._weights) if self._weights else flat)


@kernel
def _by_class(
    message: Counts,
    label: Counts,
    count: Counts,
    answers: Counts,
    weights: Counts,
    values: Counts,
    counts: Counts,
    right: Counts,
    joint: NDArray[np.float64],
    alone: NDArray[np.float64],
) -> None:
    """Walk (message, class, count) triples in order of the message.

    answers (C, Q), weights (C or 1, Q); counts (alphabet, Q) comes and leaves as zeros;
    right (Q,); joint and alone (Q,) are sums of c log2 c over (message, answer) and over
    messages. With values (alphabet, alphabet) the best answer is that of most credit.
    """
    total, queries = message.shape[0], answers.shape[1]
    graded = values.shape[0] == counts.shape[0]
    many = weights.shape[0] > 1
    best = np.zeros(queries, np.int64)
    start = 0
    while start < total:
        stop = start
        best[:] = 0
        while stop < total and message[stop] == message[start]:
            c = label[stop]
            w = c if many else 0
            for k in range(queries):
                a = answers[c, k]
                counts[a, k] += count[stop] * weights[w, k]
                best[k] = max(best[k], counts[a, k])
            stop += 1
        if graded:
            for k in range(queries):
                best[k] = 0
                for said in range(counts.shape[0]):
                    worth = np.int64(0)
                    for a in range(counts.shape[0]):
                        worth += values[said, a] * counts[a, k]
                    best[k] = max(best[k], worth)
        for k in range(queries):
            right[k] += best[k]
            size = np.int64(0)
            for i in range(start, stop):
                c = counts[answers[label[i], k], k]
                if c > 0:
                    joint[k] += c * np.log2(c)
                    size += c
                counts[answers[label[i], k], k] = 0
            if size > 0:
                alone[k] += size * np.log2(size)
        start = stop


def _densely(answers: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """Return answers renamed query by query to 0, 1, ..., and how many names there are."""
    renamed = np.empty_like(answers)
    most = 1
    for k in range(answers.shape[1]):
        kinds, which = np.unique(answers[:, k], return_inverse=True)
        renamed[:, k] = which.reshape(-1)
        most = max(most, len(kinds))
    return renamed, most


def tally_classes(message: Keys, label: NDArray[np.int64], rows: Rows, problem: Problem) -> Tally:
    """Sum up the message and the class of every input, (X,) each.

    Messages may be any integers that name them.
    """
    X, classes = len(message), np.uint64(len(rows.answers))
    names, numbers = np.unique(message, return_inverse=True)
    pairs = numbers.reshape(-1).astype(np.uint64) * classes + label.astype(np.uint64)
    pairs, count = np.unique(pairs, return_counts=True)
    sender, kind = (pairs // classes).astype(np.int64), (pairs % classes).astype(np.int64)
    queries = rows.answers.shape[1]
    answers, most = rows.answers, problem.alphabet
    values = np.zeros((0, 0), np.int64) if problem.credits is None else problem.credits
    if problem.credits is None:
        answers, most = _densely(answers)
    counts = np.zeros((most, queries), np.int64)

    def walk(sender: Counts) -> tuple[Counts, NDArray[np.float64], NDArray[np.float64]]:
        right = np.zeros(queries, np.int64)
        joint, alone = np.zeros(queries), np.zeros(queries)
        _by_class(sender, kind, count, answers, rows.weights, values, counts, right, joint, alone)
        return right, joint, alone

    right, joint, alone = walk(sender)
    guess, marginal, _ = walk(np.zeros_like(sender))
    share_of = rows.weights[kind] if len(rows.weights) > 1 else rows.weights
    totals = (share_of * count[:, None]).sum(axis=0)
    T = np.maximum(totals, 1).astype(np.float64)
    information = np.maximum(0.0, np.log2(T) + (joint - alone - marginal) / T)

    _, whole = np.unique(rows.answers, axis=0, return_inverse=True)  # rows of answers alone
    both, of_both = _sums(sender * np.int64(classes) + whole.reshape(-1)[kind], count)
    first = np.flatnonzero(np.diff(both // np.int64(classes), prepend=-1))
    asked = bool((rows.weights > 0).all())
    at_once = int(np.maximum.reduceat(of_both, first).sum()) if asked else None
    sizes = _sums(sender, count)[1]
    entropy = float(np.log2(X)) - _clog(sizes) / X
    whole_entropy = float(np.log2(X)) - _clog(_sums(whole.reshape(-1)[kind], count)[1]) / X
    return Tally(
        inputs=X,
        right=tuple(int(r) for r in right),
        totals=tuple(int(t) * problem.credit_unit for t in totals),
        guess=tuple(int(g) for g in guess),
        right_at_once=at_once,
        distinct=len(names),
        message_entropy=max(0.0, entropy),
        information=tuple(float(i) for i in information),
        joint_information=max(0.0, float(whole_entropy + (_clog(of_both) - _clog(sizes)) / X)),
    )


def _sums(keys: NDArray[np.int64], count: Counts) -> tuple[NDArray[np.int64], Counts]:
    """Return the different keys in order and the sum of the counts of each."""
    kinds, which = np.unique(keys, return_inverse=True)
    sums = np.zeros(len(kinds), np.int64)
    np.add.at(sums, which.reshape(-1), count)
    return kinds, sums
