"""enumerate: every input, exactly.

A streaming protocol's inputs share prefixes, so its states are grown as a prefix tree:
one step a level for all prefixes, about 2^(n+1) steps in all instead of n 2^n. The
upper levels are grown once; below, chunks of prefixes are grown to the leaves and
turned into (message, answers) pairs, so that only those pairs are kept for all inputs.
Chunks go to threads, whose kernels release the interpreter; the pairs do not depend
on their order.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statebound.errors import UsageError
from statebound.experiments.tally import (
    Keys,
    Tally,
    answer_keys,
    answer_width,
    message_keys,
    tally,
)
from statebound.protocols.message import Bytes
from statebound.protocols.problem import Problem, Symbols
from statebound.protocols.protocol import Protocol, StreamingProtocol

MEMORY_CAP = 4 << 30  # bytes
_LEAVES = 1 << 13  # leaves a chunk: the states of a chunk stay in the second-level cache
_PREFIXES = 128


@dataclass(frozen=True)
class BobCount:
    """How often one particular Bob was right over all inputs."""

    inputs: int
    right: tuple[int, ...]
    right_at_once: int


def bytes_needed(protocol: Protocol) -> int:
    """Estimate the memory that an exact run takes."""
    problem = protocol.problem
    zbits = problem.queries * answer_width(problem.alphabet)
    wide = protocol.state_bits + zbits > 64
    each = 2 * 8 if not wide else 2 * 8 + 3 * (protocol.message_bytes + 16)
    return problem.inputs * each


def refuse_if_too_large(protocol: Protocol) -> None:
    """Refuse, before any work, a run beyond the memory cap.

    Raises
    ------
    UsageError
        When the estimate is above `MEMORY_CAP`.
    """
    problem = protocol.problem
    need = bytes_needed(protocol)
    if need > MEMORY_CAP or problem.queries * answer_width(problem.alphabet) > 64:
        raise UsageError(
            "engine",
            "enumerate",
            f"all {problem.symbols}^{problem.length} inputs of {problem.name} with n = "
            f"{problem.n} need about {need / 2**30:.3g} GiB, the cap is {MEMORY_CAP >> 30} GiB",
            "take a smaller n or --engine sample",
        )


def _digits(problem: Problem, first: int, count: int, places: int) -> Symbols:
    """Return `count` strings of `places` symbols from number `first` on."""
    number = np.arange(first, first + count, dtype=np.int64)
    powers = problem.symbols ** np.arange(places, dtype=np.int64)
    return (number[:, None] // powers % problem.symbols).astype(np.uint8)


def _chunks(protocol: Protocol) -> Iterator[Callable[[], tuple[Bytes, Symbols]]]:
    """Yield tasks that return the messages and inputs of one chunk."""
    problem = protocol.problem
    q, n = problem.symbols, problem.length
    if not isinstance(protocol, StreamingProtocol):
        for start in range(0, problem.inputs, _LEAVES):
            stop = min(start + _LEAVES, problem.inputs)

            def flat(start: int = start, stop: int = stop) -> tuple[Bytes, Symbols]:
                x = problem.enumerate(start, stop)
                return protocol.encode(x), x

            yield flat
        return
    depth = 0  # levels grown inside a chunk
    while depth < n and q ** (depth + 1) * _PREFIXES <= _LEAVES:
        depth += 1
    top = n - depth
    roots = protocol.start()
    for position in range(top):
        roots = protocol.branch(roots, position)
    suffixes = _digits(problem, 0, q**depth, depth)
    for start in range(0, q**top, _PREFIXES):
        stop = min(start + _PREFIXES, q**top)

        def grown(start: int = start, stop: int = stop) -> tuple[Bytes, Symbols]:
            state: Any = protocol.take(roots, np.arange(start, stop))
            for position in range(top, n):
                state = protocol.branch(state, position)
            count = stop - start
            x = np.empty((len(suffixes), count, n), np.uint8)
            x[:, :, :top] = _digits(problem, start, count, top)
            x[:, :, top:] = suffixes[:, None]
            return protocol.message(state), x.reshape(-1, n)

        yield grown


def _dense(message: NDArray[Any]) -> Keys:
    """Number the distinct messages (B, bytes) of any size."""
    padded = np.zeros((len(message), -(-message.shape[1] // 8) * 8), np.uint8)
    padded[:, : message.shape[1]] = message
    words = padded.view(np.uint64)
    order = np.lexsort(words.T)
    ordered = words[order]
    new = np.ones(len(message), np.uint64)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    numbers = np.empty(len(message), np.uint64)
    numbers[order] = np.cumsum(new) - np.uint64(1)
    return numbers


def count_optimal(protocol: Protocol) -> Tally:
    """Count messages and answers over all inputs: what the optimal Bob works from."""
    refuse_if_too_large(protocol)
    problem = protocol.problem
    width = answer_width(problem.alphabet)
    zbits = problem.queries * width
    narrow = protocol.state_bits + zbits <= 64
    every = problem.inputs
    answers = np.empty(every, np.uint64)
    held: NDArray[Any] = (
        np.empty(0, np.uint8) if narrow else np.empty((every, protocol.message_bytes), np.uint8)
    )

    def pair(task: Callable[[], tuple[Bytes, Symbols]], at: int) -> int:
        message, x = task()
        z = answer_keys(problem.answers(x), width)
        if narrow:
            z |= message_keys(message) << np.uint64(zbits)
        else:
            held[at : at + len(x)] = message
        answers[at : at + len(x)] = z
        return len(x)

    _run_in_order(pair, protocol)
    if not narrow:
        answers |= _dense(held) << np.uint64(zbits)
    return tally(answers, problem.queries, problem.alphabet)


def _run_in_order(
    work: Callable[[Callable[[], tuple[Bytes, Symbols]], int], int], protocol: Protocol
) -> None:
    """Run `work` on every chunk; chunk number i starts at input ``i * chunk size``."""
    problem = protocol.problem
    tasks = _chunks(protocol)
    first = next(tasks)
    size = work(first, 0)  # alone: it compiles what is not compiled yet
    with ThreadPoolExecutor(max(1, min(8, os.cpu_count() or 1))) as pool:
        jobs = [pool.submit(work, task, (i + 1) * size) for i, task in enumerate(tasks)]
        total = size + sum(job.result() for job in jobs)
    if total != problem.inputs:
        raise AssertionError(f"counted {total} of {problem.inputs} inputs")


def count_bob(
    protocol: Protocol, answer: Callable[[Bytes, NDArray[np.int64]], Symbols]
) -> BobCount:
    """Count on how many inputs a given Bob is right, by query and at once.

    One chunk after the other in this thread, so that a protocol that keeps something
    between calls is treated as it would be in use.
    """
    problem = protocol.problem
    right = np.zeros(problem.queries, np.int64)
    at_once = 0
    for task in _chunks(protocol):
        message, x = task()
        truth = problem.answers(x)
        correct = np.empty(truth.shape, bool)
        for k in range(problem.queries):
            asked = np.full(len(x), k, np.int64)
            correct[:, k] = answer(message, asked) == truth[:, k]
        right += correct.sum(axis=0)
        at_once += int(correct.all(axis=1).sum())
    return BobCount(problem.inputs, tuple(int(r) for r in right), at_once)


def matching_answers(protocol: Protocol, message: Bytes, query: int) -> NDArray[np.int64]:
    """Count the answers to one query over all inputs that send `message` (1, bytes)."""
    refuse_if_too_large(protocol)
    counts = np.zeros(protocol.problem.alphabet, np.int64)
    for task in _chunks(protocol):
        sent, x = task()
        same = (sent == message).all(axis=1)
        answers = protocol.problem.answers(x[same])[:, query]
        counts += np.bincount(answers, minlength=len(counts))
    return counts
