"""Engines on every problem against counting by hand, and no success above a wall."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from fractions import Fraction
from math import log2

import networkx as nx
import numpy as np
import pytest

from statebound.errors import UsageError
from statebound.experiments.engines import automaton, sample
from statebound.experiments.engines.enumerate import best_answer, count_bob, count_optimal
from statebound.experiments.estimates import betting_interval
from statebound.experiments.tally import share
from statebound.protocols.limits.report import wall
from statebound.protocols.message import pack
from statebound.protocols.problem import make
from statebound.protocols.protocol import Protocol
from statebound.protocols.transitions import Transitions

from .cases import CASES, label, made

EVERY = pytest.mark.parametrize("case", CASES, ids=label)
WALLED = [case for case in CASES if made(case).structure.walled]


class Lookup(Protocol):
    """A table of messages, one for each input, and a table of answers."""

    def __init__(self, problem, bits, values, answers=None):
        self.problem, self.state_bits = problem, bits
        self.values, self.answers = np.asarray(values, np.uint32), answers
        x = problem.enumerate(0, problem.inputs)
        self.at = {row.tobytes(): i for i, row in enumerate(x)}

    def encode(self, x):
        held = self.values[[self.at[row.tobytes()] for row in x]]
        widths = np.array([self.state_bits] if self.state_bits else [], np.int64)
        return pack(np.broadcast_to(held, (1, len(widths), len(x))), widths, len(x))

    @property
    def has_bob(self):
        return self.answers is not None

    def answer(self, message, query):
        values = message[:, 0] if self.state_bits else np.zeros(len(message), int)
        return self.answers[values, query].astype(self.problem.answer_type)

    def describe(self):
        return {"protocol": "lookup"}


def credit(problem, said, true):
    if problem.credits is None:
        return int(said == true)
    return int(problem.credits[said, true])


def brute(problem, values):
    """Return the best Bob's answers, what is right and its total, all by dictionaries."""
    x = problem.enumerate(0, problem.inputs)
    truth, times = problem.answers(x), problem.multiplicities(x)
    best = np.zeros((max(values) + 1, problem.queries), np.int64)
    right, totals, information = [], [], []
    for k in range(problem.queries):
        counts = defaultdict(Counter)
        for i, m in enumerate(values):
            w = 1 if times is None else int(times[i, k])
            if w:
                counts[m][int(truth[i, k])] += w
        total, got = sum(c.total() for c in counts.values()), 0
        marginal = sum((Counter(c) for c in counts.values()), Counter())
        shared = 0.0
        for m, held in counts.items():
            worth = {a: sum(w * credit(problem, a, b) for b, w in held.items()) for a in marginal}
            if problem.credits is not None:
                for a in range(problem.alphabet):
                    worth[a] = sum(w * credit(problem, a, b) for b, w in held.items())
            best[m, k] = max(worth, key=lambda a: (worth[a], -a))
            got += worth[best[m, k]]
            size = held.total()
            shared += sum(
                c / total * log2(c * total / (size * marginal[a])) for a, c in held.items()
            )
        right.append(got)
        totals.append(total * problem.credit_unit)
        information.append(shared)
    return best, right, totals, information


def table(case, bits, seed=0):
    problem = made(case)
    generator = np.random.default_rng(seed)
    return problem, generator.integers(0, 1 << bits, problem.inputs).tolist()


@EVERY
def test_the_enumeration_agrees_with_counting_by_hand(case):
    for bits in (1, 3):
        problem, values = table(case, bits)
        best, right, totals, information = brute(problem, values)
        protocol = Lookup(problem, bits, values, best)
        tally = count_optimal(protocol)
        assert list(tally.right) == right
        assert list(tally.totals) == totals
        assert tally.information == pytest.approx(information, abs=1e-9)
        assert tally.distinct == len(set(values))
        sizes = Counter(values)
        entropy = -sum(c / len(values) * log2(c / len(values)) for c in sizes.values())
        assert tally.message_entropy == pytest.approx(entropy, abs=1e-9)
        counted = count_bob(protocol, protocol.answer)
        assert (list(counted.right), list(counted.totals)) == (right, totals)
        assert tally.success(problem.weights) == share(problem.weights, right, totals)
        rows = [row.tobytes() for row in problem.answers(problem.enumerate(0, problem.inputs))]
        pairs = Counter(zip(values, rows, strict=True))
        whole = sum(max(c for (m, _), c in pairs.items() if m == v) for v in set(values))
        times = problem.multiplicities(problem.enumerate(0, problem.inputs))
        asked = times is None or (times > 0).all()
        assert tally.right_at_once == (whole if asked else None)
        if asked:
            assert counted.right_at_once <= whole


@EVERY
def test_the_optimal_bob_of_one_message(case):
    problem, values = table(case, 2)
    best, *_ = brute(problem, values)
    protocol = Lookup(problem, 2, values)
    x = problem.enumerate(0, problem.inputs)[:1]
    times = problem.multiplicities(x)
    for k in {0, problem.queries - 1}:
        if times is None or times[0, k]:
            assert best_answer(protocol, protocol.encode(x), k) == best[values[0], k]


@EVERY
def test_a_sample_agrees_with_the_enumeration(case):
    problem, values = table(case, 2)
    best, right, totals, _ = brute(problem, values)
    protocol = Lookup(problem, 2, values, best)
    exact = float(share(problem.weights, right, totals))
    counted = sample.count(protocol, protocol.answer, 3000, seed=4)
    interval = betting_interval(counted.values, 1 - 1e-6)
    assert interval.low <= exact <= interval.high
    assert interval.high - interval.low < 0.2
    shares = counted.right / np.maximum(counted.totals, 1)
    assert shares == pytest.approx(np.array(right) / np.maximum(totals, 1), abs=0.25)


def test_queries_that_are_drawn_have_the_same_mean():
    """The engine's way for queries beyond lists, at a size where both ways work."""
    for name, options in (("equality", {}), ("greater_than", {"pairs": "prefix"})):
        problem = make(name, 4, options)
        values = np.random.default_rng(0).integers(0, 4, problem.inputs).tolist()
        best, right, totals, _ = brute(problem, values)
        protocol = Lookup(problem, 2, values, best)
        problem.listed = False
        counted = sample.count(protocol, protocol.answer, 3000, seed=1)
        problem.listed = True
        assert counted.right_at_once is None
        interval = betting_interval(counted.values, 1 - 1e-6)
        exact = float(share(problem.weights, right, totals))
        assert interval.low <= exact <= interval.high


def improved(problem, values):
    """Let inputs go to the message whose Bob serves them best, a few times: a good code."""
    x = problem.enumerate(0, problem.inputs)
    truth, times = problem.answers(x), problem.multiplicities(x)
    law = np.array([float(w) for w in problem.weights])
    each = law if times is None else times / times.sum(axis=1, keepdims=True)
    for _ in range(4):
        best, *_ = brute(problem, values)
        served = np.stack([((truth == b) * each).sum(axis=1) for b in best], axis=1)
        values = served.argmax(axis=1).tolist()
    return values


@pytest.mark.parametrize("case", WALLED, ids=label)
def test_no_table_of_messages_is_above_a_wall(case):
    problem = made(case)
    highest = 0.0
    for bits, seed in itertools.product((0, 1, 2, 3), range(4)):
        _, values = table(case, bits, seed)
        if seed > 1 and problem.inputs <= 256:
            values = improved(problem, values)
        tally = count_optimal(Lookup(problem, bits, values))
        success = tally.success(problem.weights)
        bound = wall(problem, tally.distinct)
        assert success <= bound
        if bits:
            highest = max(highest, float(success / wall(problem, 1 << bits)))
    assert highest > 0.5  # the walls are not far away


@pytest.mark.parametrize(("n", "messages"), [(1, 2), (2, 2), (3, 2), (4, 2), (2, 3), (3, 3)])
@pytest.mark.parametrize("law", ["uniform", "recency:1/2"])
def test_augmented_index_by_exhaustion(n, messages, law):
    """Every encoder there is: none is above the ball wall of Index, and the proof is needed."""
    problem = make("augmented_index", n, {"query_law": law})
    x = problem.enumerate(0, problem.inputs)
    encoders = np.indices((messages,) * len(x), np.uint8).reshape(len(x), -1).T
    weights = problem.structure.weights
    total = [0] * len(encoders)
    right = np.zeros((n, len(encoders)), np.int64)
    for k, m in itertools.product(range(n), range(messages)):
        prefixes = defaultdict(list)
        for i, row in enumerate(x):
            prefixes[tuple(row[:k])].append(i)
        for rows in prefixes.values():
            sent = encoders[:, rows] == m
            ones = (sent & (x[rows, k] == 1)).sum(axis=1)
            right[k] += np.maximum(ones, sent.sum(axis=1) - ones)
    unit = max(w.denominator for w in weights) * len(weights)
    total = sum(int(w * unit) * right[k] for k, w in enumerate(weights))
    best = Fraction(int(total.max()), unit * len(x))
    assert all((w * unit).denominator == 1 for w in weights)
    assert best <= wall(problem, messages)
    values = encoders[int(total.argmax())].tolist()
    bits = (messages - 1).bit_length()
    assert count_optimal(Lookup(problem, bits, values)).success(problem.weights) == best
    if law == "uniform" and messages == 2:
        assert best == wall(problem, 2)  # at one bit it is met


def test_a_wall_that_is_not_there_would_be_broken():
    """Equality passes the wall that independent answers would have: it has none, rightly."""
    problem = make("equality", 6)
    parity = [bin(7 * i).count("1") % 4 for i in range(problem.inputs)]
    tally = count_optimal(Lookup(problem, 2, parity))
    assert wall(problem, 4) is None
    assert tally.success(problem.weights) > wall(make("index", 64), 4)


def test_word_problems_do_not_collapse():
    """log2 |G| bits suffice at any length: an automaton whose states are the products."""
    for group, longest in (("s3", 6), ("z4", 7)):
        for n in (1, 3, longest):
            problem = make("word_problem", n, {"group": group})
            elements = problem.elements
            number = {tuple(e): i for i, e in enumerate(elements)}
            step = [[number[tuple(b[a])] for b in elements] for a in elements]
            machine = Transitions(problem, np.array([step] * n), elements)
            assert number[tuple(range(problem.queries))] == 0  # the start is the identity
            assert machine.state_bits == problem.deterministic_bits
            tally = count_optimal(machine)
            assert tally.success(problem.weights) == 1
            assert count_bob(machine, machine.answer).right_at_once == problem.inputs


def test_the_prefix_tree_is_left_out_where_inputs_are_no_product():
    problem = make("mqar", 2, {"keys": 3, "values": 3})
    table = np.random.default_rng(0).integers(0, 8, (problem.length, 8, problem.symbols))
    machine = Transitions(problem, table)
    x = problem.enumerate(0, problem.inputs)
    values = np.unique(machine.encode(x), axis=0, return_inverse=True)[1].reshape(-1).tolist()
    _, right, totals, _ = brute(problem, values)
    tally = count_optimal(machine)
    assert (list(tally.right), list(tally.totals)) == (right, totals)
    with pytest.raises(UsageError, match="parities"):
        automaton.refuse(machine)


def test_how_many_partitions_there_are():
    """log2 Bell(n) bits for the partition in the next test; the numbers that docs give."""
    bell, row = [], [1]
    for _ in range(65):
        bell.append(row[0])
        row = list(itertools.accumulate([row[-1], *row]))
    found = {n: round(log2(bell[n]), 1) for n in (8, 16, 32, 64)}
    assert found == {8: 12.0, 16: 33.3, 32: 86.7, 64: 216.7}


@pytest.mark.parametrize("n", [4, 5, 8, 24])
def test_a_partition_and_a_bit_decide_any_tree(n):
    """For any graph of Alice's: the partition into components, and whether there is a cycle.

    Bob joins the components by his edges. Judged by another library on random trees, and on
    trees with one edge replaced.
    """
    generator = np.random.default_rng(n)
    seen = Counter()
    for _ in range(300):
        tree = nx.random_labeled_tree(n, seed=int(generator.integers(1 << 30)))
        edges = [list(e) for e in tree.edges]
        if generator.random() < 0.6:
            edges[int(generator.integers(n - 1))] = sorted(
                generator.choice(n, 2, replace=False).tolist()
            )
        generator.shuffle(edges)
        cut_at = int(generator.integers(0, n))
        parent, cycle = list(range(n)), False

        def root(v, parent=parent):
            while parent[v] != v:
                v = parent[v]
            return v

        for a, b in edges[:cut_at]:
            cycle |= root(a) == root(b)
            parent[root(a)] = root(b)
        partition = [root(v) for v in range(n)]  # all that crosses, with the bit
        for a, b in edges[cut_at:]:
            here, there = partition[a], partition[b]
            cycle |= here == there
            partition = [there if v == here else v for v in partition]
        answer = not cycle and len(set(partition)) == 1
        graph = nx.MultiGraph(edges)
        graph.add_nodes_from(range(n))
        truth = nx.is_connected(graph) and graph.number_of_edges() == n - 1
        assert answer == truth
        seen[truth] += 1
    assert min(seen[True], seen[False]) > 50
