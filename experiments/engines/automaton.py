"""automaton: exact success of a finite automaton at any length.

A machine that is quantised after every token is a finite automaton, so only distinct
states matter. Forwards in time this carries P(s), the probability of each reached
state, and for every query k whose answer is a parity of bits of x the signed measure

    D_k(s) = E[(-1)^(answer k) 1(state = s)],

which follows the same transitions as P, with a change of sign on the branch x_a = 1 of
every position a in the parity. At the end the optimal Bob's success on query k is
1/2 + 1/2 sum_s |D_k(s)|, and P and D_k give I(answer k; state).

Queries do not interact: a block of them is taken through all remaining steps, from
sorted lists of incoming transitions, while it stays in the cache. sum_s |D_k(s)| never
grows, so a block whose sums have all fallen below `FORGOTTEN` is dropped.

Error. Halving is exact; a sum of m terms errs by at most (m - 1) u times the sum of
their magnitudes, u = 2^-53, and |D_k(s)| <= P(s). Added over all states and steps this
bounds the error of sum_s |D_k(s)|, to first order; `error`, which is about the success
and so about half of it, leaves the halving out to cover the rest.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from statebound.errors import UsageError
from statebound.experiments import threads
from statebound.experiments.tally import message_keys
from statebound.jit import kernel
from statebound.protocols.message import Bytes
from statebound.protocols.problem import Problem
from statebound.protocols.protocol import Protocol, StreamingProtocol

MOST_STATES = 1 << 20
MEMORY_CAP = 4 << 30
FORGOTTEN = 1e-13
_BLOCK = 8  # queries taken together
_TABLE_BITS = 20  # messages of up to so many bits are told apart by a table
_LOOK = 8  # steps between looks at what is forgotten

Index = NDArray[np.int32]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Step:
    """The transitions of one position, by the state they lead to.

    `source` lists ``2 * state + symbol`` of every transition, sorted by target; those
    into state s stand at ``first[s]`` to ``first[s + 1]``.
    """

    source: Index
    first: Index


@dataclass(frozen=True)
class AutomatonResult:
    """What the automaton engine finds.

    Attributes
    ----------
    success
        (queries,) success of the optimal Bob on each.
    error
        Bound on the absolute error of each.
    information
        (queries,) I(answer; state) in bits.
    entropy
        H(last state) in bits.
    states
        How many last states are reached.
    most
        The largest number of states at any time.
    """

    success: Floats
    error: float
    information: Floats
    entropy: float
    states: int
    most: int


@kernel
def _incoming(target: NDArray[np.int64], states: int, source: Index, first: Index) -> None:
    """Sort the transitions by target, stably: target[v * S + s] of state s, symbol v."""
    half = target.shape[0] // 2
    first[:] = 0
    for t in target:
        first[t + 1] += 1
    for s in range(states):
        first[s + 1] += first[s]
    at = first[:states].copy()
    for s in range(half):
        for v in range(2):
            t = target[v * half + s]
            source[at[t]] = 2 * s + v
            at[t] += 1


@kernel
def _forward(D: Floats, source: Index, first: Index, sign: Floats, out: Floats) -> None:
    """One step for a block of queries: D (states, K), sign (K,) of the branch x = 1."""
    K = D.shape[1]
    for s in range(first.shape[0] - 1):
        for k in range(K):
            out[s, k] = 0.0
        for e in range(first[s], first[s + 1]):
            old = source[e] >> 1
            if source[e] & 1:
                for k in range(K):
                    out[s, k] += sign[k] * D[old, k]
            else:
                for k in range(K):
                    out[s, k] += D[old, k]
        for k in range(K):
            out[s, k] *= 0.5


def _distinct(message: Bytes, bits: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return one row of every distinct message, and for every row the number of its kind."""
    if bits <= _TABLE_BITS:
        keys = message_keys(message).astype(np.int64)
        row = np.full(1 << bits, -1, np.int64)
        row[keys[::-1]] = np.arange(len(keys) - 1, -1, -1)  # the first of equal rows stays
        met = row >= 0
        number = np.cumsum(met) - 1
        return row[met], number[keys]
    rows = np.ascontiguousarray(message)
    kinds = rows.view(np.dtype((np.void, rows.shape[1]))).reshape(-1)
    _, chosen, target = np.unique(kinds, return_index=True, return_inverse=True)
    return chosen.astype(np.int64), target.reshape(-1).astype(np.int64)


def _explore(protocol: StreamingProtocol[object]) -> tuple[list[Step], list[Floats], float]:
    """Follow all reached states; returns the steps, P before each step and after, the error."""
    problem = protocol.problem
    state = protocol.start()
    P = np.ones(1)
    steps: list[Step] = []
    laws = [P]
    error = 0.0
    held = 0
    for position in range(problem.length):
        grown = protocol.branch(state, position)
        count = len(P)
        chosen, target = _distinct(protocol.message(grown), protocol.state_bits)
        held += 4 * len(target) + 4 * len(chosen) + 8 * len(chosen)
        if len(chosen) > MOST_STATES or held > MEMORY_CAP:
            raise UsageError(
                "engine",
                "automaton",
                f"after symbol {position + 1} the machine has reached {len(chosen)} states, "
                f"the cap is {MOST_STATES} states or {MEMORY_CAP >> 30} GiB of transitions",
                "take fewer state bits, or --engine sample",
            )
        source, first = np.empty(2 * count, np.int32), np.empty(len(chosen) + 1, np.int32)
        _incoming(target, len(chosen), source, first)
        steps.append(Step(source, first))
        after = np.empty((len(chosen), 1))
        _forward(P[:, None], source, first, np.ones(1), after)
        P = after[:, 0]
        error += float(((np.diff(first) - 1) * P).sum()) * 2.0**-53
        laws.append(P)
        state = protocol.take(grown, chosen.astype(np.int64))
    return steps, laws, error


def _block(
    steps: list[Step], laws: list[Floats], parities: list[tuple[int, ...]]
) -> tuple[Floats, Floats]:
    """Return the sums of |D| and the informations of a block of queries."""
    begin = min(min(p) for p in parities)
    K = len(parities)
    most = max(len(law) for law in laws[begin:])
    buffers = np.empty((2, most, K))
    D = buffers[0, : len(laws[begin])]
    D[:] = laws[begin][:, None]
    for t in range(begin, len(steps)):
        sign = np.array([-1.0 if t in p else 1.0 for p in parities])
        step = steps[t]
        new = buffers[(t - begin + 1) % 2, : len(step.first) - 1]
        _forward(D, step.source, step.first, sign, new)
        D = new
        look = t % _LOOK == 0 and t > max(max(p) for p in parities)
        if look and float(np.abs(D).sum(axis=0).max()) < FORGOTTEN:
            return np.zeros(K), np.zeros(K)
    P = laws[-1][:, None]
    total = np.abs(D).sum(axis=0)
    one, zero = np.maximum(P - D, 0) / 2, np.maximum(P + D, 0) / 2
    joint = _plogp(one).sum(axis=0) + _plogp(zero).sum(axis=0)
    answer = _plogp(one.sum(axis=0)) + _plogp(zero.sum(axis=0))
    return total, np.maximum(0.0, joint - answer - _plogp(P).sum())


def _plogp(p: Floats) -> Floats:
    """Return p log2 p, 0 at 0."""
    return p * np.log2(np.where(p > 0, p, 1.0))


def fits(problem: Problem) -> bool:
    """Whether this engine can answer for a problem: every answer is a parity of bits."""
    return bool(problem.structure.parities) and problem.symbols == 2 and problem.product


def refuse(protocol: Protocol) -> None:
    """Refuse a protocol that this engine cannot run."""
    if not isinstance(protocol, StreamingProtocol) or not protocol.is_automaton:
        raise UsageError(
            "engine",
            "automaton",
            "this protocol does not go on from its messages alone",
            "use --regime step, or another engine",
        )
    if not fits(protocol.problem):
        raise UsageError(
            "engine",
            "automaton",
            f"the answers of {protocol.problem.name} here are not parities of bits of x",
            "use --engine enumerate or sample",
        )


def run(protocol: StreamingProtocol[object]) -> AutomatonResult:
    """Return the exact success of an automaton's optimal Bob, by query.

    Raises
    ------
    UsageError
        When the protocol is no automaton, an answer is no parity of bits of x, or too
        many states are reached.
    """
    refuse(protocol)
    steps, laws, error = _explore(protocol)
    parities = protocol.problem.structure.parities
    blocks = [list(parities[i : i + _BLOCK]) for i in range(0, len(parities), _BLOCK)]
    with ThreadPoolExecutor(threads.available()) as pool:
        found = list(pool.map(lambda block: _block(steps, laws, block), blocks))
    total = np.concatenate([f[0] for f in found])
    P = laws[-1]
    return AutomatonResult(
        success=0.5 + 0.5 * np.minimum(total, 1.0),
        error=error + len(P) * 2.0**-53 + FORGOTTEN,
        information=np.concatenate([f[1] for f in found]),
        entropy=max(0.0, float(-_plogp(P).sum())),
        states=len(P),
        most=max(len(law) for law in laws),
    )
