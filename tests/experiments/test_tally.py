"""Tallies against dictionaries: every number counted again, slowly, from its definition."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statebound.experiments.engines import enumerate as enumeration
from statebound.experiments.engines.enumerate import best_answer, count_bob, count_optimal
from statebound.protocols.problem import Problem, Structure, query_weights
from statebound.protocols.problems.index import Index
from statebound.protocols.problems.istree import IsTree
from statebound.protocols.protocol import Protocol
from statebound.reductions.machine import cut


class Correlated(Problem):
    """Dependent answers in 0..2: the symbol, a sum modulo 3, and a constant."""

    name = "correlated"

    def __init__(self, n: int) -> None:
        self.n = self.length = n
        self.queries, self.symbols, self.alphabet = n + 2, 2, 3

    @property
    def structure(self) -> Structure:
        weights = query_weights("zipf", self.queries)
        return Structure(3, self.n, weights, independent=False, index_stream=False)

    def answers(self, x):
        total = x.sum(axis=1, dtype=np.uint8)[:, None] % 3
        return np.concatenate([x, total, np.zeros_like(total)], axis=1).astype(np.uint8)


class Lookup(Protocol):
    """Sends the entry of a list that belongs to the number of x, as M little-endian bits."""

    def __init__(self, problem, bits: int, values: list[int]) -> None:
        self.problem, self.state_bits = problem, bits
        rows = [list(v.to_bytes(self.message_bytes, "little")) for v in values]
        self.rows = np.array(rows, np.uint8).reshape(len(values), self.message_bytes)

    def encode(self, x):
        return self.rows[(x * self.problem.symbols ** np.arange(x.shape[1])).sum(axis=1)]

    def answer(self, message, query):
        return ((message.sum(axis=1) + query) % self.problem.alphabet).astype(np.uint8)

    def describe(self):
        return {"protocol": "lookup"}


def entropy(labels) -> float:
    counts = Counter(labels).values()
    total = sum(counts)
    return -sum(c / total * log2(c / total) for c in counts)


def brute(problem, messages):
    """Return right, at once, distinct, H, information by query and jointly."""
    x = problem.enumerate(0, problem.inputs)
    answers = [tuple(map(int, row)) for row in problem.answers(x)]
    assert len(messages) == len(answers)
    groups: dict = {}
    for message, answer in zip(messages, answers, strict=True):
        groups.setdefault(message, []).append(answer)
    right = tuple(
        sum(max(Counter(a[k] for a in g).values()) for g in groups.values())
        for k in range(problem.queries)
    )
    at_once = sum(max(Counter(g).values()) for g in groups.values())
    H = entropy(messages)

    def shared(of) -> float:
        return entropy(of) + H - entropy(list(zip(of, messages, strict=True)))

    by_query = [shared([a[k] for a in answers]) for k in range(problem.queries)]
    return right, at_once, len(groups), H, by_query, shared(answers)


def agree(tally, wanted) -> None:
    right, at_once, distinct, H, by_query, joint = wanted
    assert (tally.right, tally.right_at_once, tally.distinct) == (right, at_once, distinct)
    assert tally.message_entropy == pytest.approx(H, abs=1e-9)
    assert tally.information == pytest.approx(by_query, abs=1e-9)
    assert tally.joint_information == pytest.approx(joint, abs=1e-9)


PROBLEMS = [
    Index(1),
    Index(5),
    Index(3, alphabet=3),
    Index(2, alphabet=5),
    Index(4, query_law="recency:0.3"),
    IsTree(4),
    IsTree(7, "zipf"),
    Correlated(4),
]


@settings(deadline=None, max_examples=40)
@given(st.sampled_from(PROBLEMS), st.sampled_from([0, 1, 2, 5, 13, 64, 67, 130]), st.data())
def test_against_dictionaries(problem, bits, data):
    pool = data.draw(st.lists(st.integers(0, 2**bits - 1), min_size=1, max_size=6), label="pool")
    drawn = st.lists(st.sampled_from(pool), min_size=problem.inputs, max_size=problem.inputs)
    values = data.draw(drawn, label="messages")
    tally = count_optimal(Lookup(problem, bits, values))
    agree(tally, brute(problem, values))
    success = tally.success(problem.weights)
    assert success == sum(
        (
            w * Fraction(r, problem.inputs)
            for w, r in zip(problem.weights, tally.right, strict=True)
        ),
        Fraction(0),
    )
    # stored <= I(x; message) = H <= log2 distinct <= M, and the Bobs in their order
    H, small = tally.message_entropy, 1e-9
    stored = sum(tally.information) if problem.structure.independent else tally.joint_information
    assert stored <= H + small
    assert log2(tally.distinct) + small >= H
    assert tally.distinct <= 2**bits
    assert max(tally.information) <= tally.joint_information + small
    if problem.structure.independent and isinstance(problem, Index):
        assert Fraction(tally.right_at_once, problem.inputs) == Fraction(
            tally.distinct, problem.inputs
        )
    protocol = Lookup(problem, bits, values)
    bob = count_bob(protocol, protocol.answer)
    assert all(b <= r for b, r in zip(bob.right, tally.right, strict=True))
    assert bob.right_at_once <= tally.right_at_once


@settings(deadline=None, max_examples=15)
@given(st.sampled_from(PROBLEMS), st.data())
def test_best_answer(problem, data):
    values = data.draw(
        st.lists(st.integers(0, 3), min_size=problem.inputs, max_size=problem.inputs)
    )
    query = data.draw(st.integers(0, problem.queries - 1))
    protocol = Lookup(problem, 2, values)
    x = problem.enumerate(0, problem.inputs)
    answers = problem.answers(x)[:, query]
    wanted = Counter(int(a) for a, m in zip(answers, values, strict=True) if m == values[0])
    found = best_answer(protocol, protocol.encode(x[:1]), query)
    assert wanted[found] == max(wanted.values())
    assert found == min(a for a, times in wanted.items() if times == wanted[found])


@pytest.mark.parametrize("problem", [Index(15), Index(9, alphabet=3), IsTree(17)], ids=str)
def test_many_chunks(problem):
    """Inputs that take several chunks and threads, with messages beyond 64 bits too."""
    assert problem.inputs > enumeration._LEAVES
    number = np.arange(problem.inputs)
    values = [int(v) for v in (number * 2654435761 + number // 7) % 11]
    right, at_once, distinct, H, by_query, joint = brute(problem, values)
    for bits in (4, 80):
        agree(
            count_optimal(Lookup(problem, bits, values)),
            (right, at_once, distinct, H, by_query, joint),
        )


MODELS = [
    ("gru", 3),
    ("rnn", 3),
    ("s4d", 4),
    ("linear_attention", 3),
    ("sliding_window", 3),
]


@pytest.mark.parametrize("problem", [Index(8), IsTree(9), Index(4, alphabet=3)], ids=str)
@pytest.mark.parametrize("regime", ["handoff", "step"])
@pytest.mark.parametrize(("model", "numbers"), MODELS)
def test_tree_equals_flat_enumeration(model, numbers, regime, problem):
    """The prefix tree gives what one flat run over every whole input gives."""
    machine = cut(problem, model, numbers=numbers, bits=2, regime=regime)
    x = problem.enumerate(0, problem.inputs)
    messages = [bytes(row) for row in machine.encode(x)]
    agree(count_optimal(machine), brute(problem, messages))


@pytest.mark.parametrize("regime", ["handoff", "step"])
def test_tree_equals_flat_enumeration_over_many_chunks(regime):
    problem = Index(14)
    machine = cut(problem, "gru", numbers=3, bits=3, regime=regime)
    messages = [bytes(row) for row in machine.encode(problem.enumerate(0, problem.inputs))]
    agree(count_optimal(machine), brute(problem, messages))
