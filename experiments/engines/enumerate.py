"""enumerate: every input, exactly.

A streaming protocol's inputs share prefixes, so its states are grown as a prefix tree:
one step a level for all prefixes, about 2^(n+1) steps in all instead of n 2^n. The
upper levels are grown once; below, chunks of prefixes are grown to the leaves and
turned into (message, answers) pairs, so that only those pairs are kept for all inputs.
Chunks go to threads, whose kernels release the interpreter; the pairs do not depend
on their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statebound.errors import UsageError
from statebound.experiments import threads
from statebound.experiments.tally import (
    Keys,
    RowTable,
    Tally,
    answer_keys,
    answer_width,
    message_keys,
    tally,
    tally_classes,
)
from statebound.protocols.message import Bytes
from statebound.protocols.problem import Answers, Problem, Symbols
from statebound.protocols.protocol import Protocol, StreamingProtocol, sent

MEMORY_CAP = 4 << 30  # bytes
_LEAVES = 1 << 13  # leaves a chunk: the states of a chunk stay in the second-level cache
_PREFIXES = 128
_MOST_SHIFTS = 8
_MOST_ANSWERS = 1 << 24  # in the rows of all inputs, where answers do not fit 64 bits


@dataclass(frozen=True)
class BobCount:
    """How often one particular Bob was right over all inputs; see `Tally`."""

    inputs: int
    right: tuple[int, ...]
    totals: tuple[int, ...]
    right_at_once: int


def _narrow(problem: Problem) -> bool:
    """Whether whole answer vectors fit 64 bits, and every query may be asked of every x."""
    if problem.joint or problem.credits is not None or problem.alphabet > 256:
        return False
    zbits = problem.queries * answer_width(problem.alphabet)
    return problem.listed and zbits + problem.inputs.bit_length() <= 65


def too_many_answers(problem: Problem) -> bool:
    """Whether the rows of answers of all inputs are beyond what is counted."""
    if _narrow(problem):
        return False
    return not problem.listed or problem.inputs * problem.queries > _MOST_ANSWERS


def bytes_needed(protocol: Protocol) -> int:
    """Estimate the memory that an exact run takes."""
    problem = protocol.problem
    if not _narrow(problem):
        rows = 12 * problem.queries if problem.inputs <= 1 << 24 else 0
        return problem.inputs * (24 + protocol.message_bytes + rows)
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
    size = f"{need / 2**30:.3g}" if need < 1 << 80 else f"2^{need.bit_length() - 31}"
    if need > MEMORY_CAP:
        raise UsageError(
            "engine",
            "enumerate",
            f"all {_count(problem)} inputs of {problem.name} with n = {problem.n} need "
            f"about {size} GiB, the cap is {MEMORY_CAP >> 30} GiB",
            "take a smaller n or --engine sample",
        )
    if too_many_answers(problem):
        raise UsageError(
            "engine",
            "enumerate",
            f"{problem.queries} answers for each of {problem.inputs} inputs of {problem.name} "
            f"with n = {problem.n} are more than {_MOST_ANSWERS}",
            "take a smaller n or --engine sample",
        )


def _count(problem: Problem) -> str:
    return f"{problem.symbols}^{problem.length}" if problem.product else str(problem.inputs)


def _chunks(protocol: Protocol) -> Iterator[Callable[[], tuple[Bytes, Keys]]]:
    """Yield tasks that return the messages of one chunk and the numbers of its inputs."""
    problem = protocol.problem
    q, n = problem.symbols, problem.length
    if not isinstance(protocol, StreamingProtocol) or not problem.product:
        for start in range(0, problem.inputs, _LEAVES):
            numbers = np.arange(start, min(start + _LEAVES, problem.inputs), dtype=np.uint64)

            def flat(numbers: Keys = numbers) -> tuple[Bytes, Keys]:
                message = protocol.encode(problem.strings(numbers))
                return sent(protocol, message, len(numbers)), numbers

            yield flat
        return
    depth = 0  # levels grown inside a chunk
    while depth < n and q ** (depth + 1) * _PREFIXES <= _LEAVES:
        depth += 1
    top = n - depth
    roots = protocol.start()
    for position in range(top):
        roots = protocol.branch(roots, position)
    suffixes = np.arange(q**depth, dtype=np.uint64) * np.uint64(q**top)
    for start in range(0, q**top, _PREFIXES):
        prefixes = np.arange(start, min(start + _PREFIXES, q**top), dtype=np.uint64)

        def grown(prefixes: Keys = prefixes) -> tuple[Bytes, Keys]:
            state: Any = protocol.take(roots, prefixes.astype(np.int64))
            for position in range(top, n):
                state = protocol.branch(state, position)
            numbers = (suffixes[:, None] + prefixes).reshape(-1)
            return sent(protocol, protocol.message(state), len(numbers)), numbers

        yield grown


def _bytes(problem: Problem, numbers: Keys) -> Symbols:
    return np.asarray(problem.answers(problem.strings(numbers)), np.uint8)


def _answer_names(problem: Problem) -> Callable[[Keys], Keys]:
    """Return the map from numbers of inputs to their answer vectors as integers.

    Parities of bits of x are shifts of the number itself; other answers are computed.
    """
    width = answer_width(problem.alphabet)
    masks: dict[int, int] = {}
    for k, positions in enumerate(problem.structure.parities):
        for position in positions:
            masks[position - k] = masks.get(position - k, 0) | 1 << k
    if problem.symbols != 2 or not 1 <= len(masks) <= _MOST_SHIFTS:
        return lambda numbers: answer_keys(_bytes(problem, numbers), width)

    def shifted(numbers: Keys) -> Keys:
        z = np.zeros_like(numbers)
        for shift, mask in masks.items():
            moved = numbers >> np.uint64(shift) if shift >= 0 else numbers << np.uint64(-shift)
            z ^= moved & np.uint64(mask)
        return z

    return shifted


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
    if not _narrow(problem):
        return _count_classes(protocol)
    zbits = problem.queries * answer_width(problem.alphabet)
    narrow = protocol.state_bits + zbits <= 64
    every = problem.inputs
    answers = np.empty(every, np.uint64)
    held: NDArray[Any] = (
        np.empty(0, np.uint8) if narrow else np.empty((every, protocol.message_bytes), np.uint8)
    )

    name = _answer_names(problem)

    def pair(task: Callable[[], tuple[Bytes, Keys]], at: int) -> int:
        message, numbers = task()
        z = name(numbers)
        if narrow:
            z |= message_keys(message) << np.uint64(zbits)
        else:
            held[at : at + len(z)] = message
        answers[at : at + len(z)] = z
        return len(z)

    _run_in_order(pair, protocol)
    if not narrow:
        answers |= _dense(held) << np.uint64(zbits)
    return tally(answers, problem.queries, problem.alphabet)


def _count_classes(protocol: Protocol) -> Tally:
    """Count by classes of equal rows of answers, one chunk after the other."""
    problem = protocol.problem
    table = RowTable(problem)
    messages, labels = [], []
    for task in _chunks(protocol):
        message, numbers = task()
        messages.append(message)
        labels.append(table.classes(problem.strings(numbers)))
    held = np.concatenate(messages)
    keys = message_keys(held) if protocol.state_bits <= 64 else _dense(held)
    return tally_classes(keys, np.concatenate(labels), table.rows(), problem)


def _run_in_order(
    work: Callable[[Callable[[], tuple[Bytes, Keys]], int], int], protocol: Protocol
) -> None:
    """Run `work` on every chunk; the results of chunk number i start at ``i * chunk size``.

    Only streaming protocols, whose states go in and out, share their work over threads:
    anybody else's Alice is called by one thread.
    """
    problem = protocol.problem
    tasks = _chunks(protocol)
    first = next(tasks)
    size = work(first, 0)  # alone: it compiles what is not compiled yet
    streaming = isinstance(protocol, StreamingProtocol)
    with ThreadPoolExecutor(threads.available() if streaming else 1) as pool:
        jobs = [pool.submit(work, task, (i + 1) * size) for i, task in enumerate(tasks)]
        total = size + sum(job.result() for job in jobs)
    if total != problem.inputs:
        raise AssertionError(f"counted {total} of {problem.inputs} inputs")


def worth(problem: Problem, said: Answers, truth: Answers) -> NDArray[np.int64]:
    """Return what answers count, in units of ``1 / problem.credit_unit``."""
    if problem.credits is None:
        return np.asarray(said == truth, np.int64)
    return np.asarray(problem.credits[said, truth], np.int64)


def count_bob(
    protocol: Protocol, answer: Callable[[Bytes, NDArray[np.int64]], Answers]
) -> BobCount:
    """Count on how many inputs a given Bob is right, by query and at once.

    One chunk after the other in this thread, so that a protocol that keeps something
    between calls is treated as it would be in use.
    """
    problem = protocol.problem
    right = np.zeros(problem.queries, np.int64)
    totals = np.zeros(problem.queries, np.int64)
    at_once = 0
    for task in _chunks(protocol):
        message, numbers = task()
        x = problem.strings(numbers)
        truth, held = problem.answers(x), problem.multiplicities(x)
        every = np.ones(len(x), bool)
        for k in range(problem.queries):
            asked = np.full(len(truth), k, np.int64)
            said = answer(message, asked)
            got, correct = worth(problem, said, truth[:, k]), said == truth[:, k]
            times = np.ones(len(x), np.int64) if held is None else held[:, k]
            right[k] += int((got * times).sum())
            totals[k] += int(times.sum()) * problem.credit_unit
            every &= correct | (times == 0)
        at_once += int(every.sum())
    return BobCount(
        problem.inputs,
        tuple(int(r) for r in right),
        tuple(int(t) for t in totals),
        at_once,
    )


def best_answer(protocol: Protocol, message: Bytes, query: int) -> int | None:
    """Return the best answer to a query for `message` (1, bytes), None if no input sends it.

    All inputs that may be asked this query are tried; of equally good answers the least.
    """
    refuse_if_too_large(protocol)
    problem = protocol.problem
    counts: dict[int, int] = {}
    for task in _chunks(protocol):
        held, numbers = task()
        x = problem.strings(numbers[(held == message).all(axis=1)])
        answers = problem.ask(x, np.full(len(x), query, np.int64))
        times = problem.multiplicities(x)
        weights = np.ones(len(x), np.int64) if times is None else times[:, query]
        for answer in np.unique(answers):
            more = int(weights[answers == answer].sum())
            counts[int(answer)] = counts.get(int(answer), 0) + more
    if not sum(counts.values()):
        return None
    if problem.credits is None:
        return max(sorted(counts), key=counts.__getitem__)
    every = np.zeros(problem.alphabet, np.int64)
    every[list(counts)] = list(counts.values())
    return int((problem.credits @ every).argmax())
