"""Trees: components as a state, the star gadget, tours, and graphs to try them on."""

from __future__ import annotations

import itertools
from math import ceil, log2

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statebound import measure
from statebound.errors import UsageError
from statebound.models.constructions.istree_walk import IsTreeWalk
from statebound.protocols.codes.partition import Partition
from statebound.protocols.graphs import FAULTS, decode, mutated, random_tree
from statebound.protocols.message import MessageError
from statebound.protocols.partitions import Partitions
from statebound.protocols.problems.index import Index
from statebound.protocols.problems.istree import IsTree


def components(n, edges) -> tuple[int, bool]:
    """Return the number of components and whether there is a cycle, by union-find."""
    parent = list(range(n + 1))

    def root(v):
        while parent[v] != v:
            v = parent[v]
        return v

    parts, cycle = n, False
    for a, b in edges:
        here, there = root(a), root(b)
        cycle |= here == there
        parts -= here != there
        parent[here] = there
    return parts, cycle


def test_the_star_gadget_by_union_find():
    """Every x and k, n = 4..11: n - 1 edges, a tree where x_k differs from the next bit."""
    for n in range(4, 12):
        problem = IsTree(n)
        x = problem.enumerate(0, problem.inputs)
        answers = problem.answers(x)
        vectors, counts = np.unique(answers, axis=0, return_counts=True)
        assert len(vectors) == 2 ** (n - 3)
        assert set(counts.tolist()) == {2}
        assert np.array_equal(problem.answers(1 - x), answers)  # x and its complement
        for row, held in zip(x, answers, strict=True):
            edges = problem.edges(row)
            for k in range(problem.queries):
                whole = [*edges, problem.bob_edge(k)]
                assert len(whole) == n - 1
                tree = components(n, whole) == (1, False)
                assert tree == held[k] == (row[k] != row[k + 1])


@pytest.mark.parametrize(("n", "bits"), [(8, 12.0), (16, 33.3), (32, 86.7), (64, 216.7)])
def test_bits_of_a_partition(n, bits):
    graphs = Partitions(n)
    bell = [1]
    for size in range(n):  # the recurrence over the block of the last element
        choices = np.array([1], object)
        for i in range(size):
            choices = np.append(choices, choices[-1] * (size - i) // (i + 1))
        bell.append(int(sum(c * b for c, b in zip(choices, bell, strict=True))))
    assert graphs.count == bell[n]
    assert round(log2(graphs.count), 1) == bits
    assert graphs.state_bits == ceil(log2(graphs.count)) + 1
    assert Partition(IsTree(n)).state_bits == graphs.state_bits


@pytest.mark.parametrize("n", range(1, 9))
def test_ranks_number_all_partitions_in_order(n):
    graphs = Partitions(n)
    rank = np.arange(graphs.count)
    labels = graphs.unrank(rank)
    assert np.array_equal(graphs.rank(labels), rank)
    top = np.maximum.accumulate(labels, axis=1)
    assert (labels[:, 0] == 0).all()
    assert (labels[:, 1:] <= top[:, :-1] + 1).all()
    assert labels.tolist() == sorted(labels.tolist())
    assert len(np.unique(labels, axis=0)) == graphs.count


@pytest.mark.parametrize("n", [24, 25, 26, 64, 255])
def test_ranks_of_large_partitions(n):
    graphs = Partitions(n)
    generator = np.random.default_rng(n)
    state = graphs.read(generator.integers(1, n + 1, (20, n // 2, 2)))
    message = graphs.pack(state)
    assert message.shape == (20, ceil(graphs.state_bits / 8))
    back = graphs.unpack(message)
    assert np.array_equal(back.labels, state.labels)
    assert np.array_equal(back.cycle, state.cycle)
    last = np.array([graphs.count - 1], dtype=graphs.rank(state.labels).dtype)
    assert graphs.unrank(last).tolist() == [list(range(n))]


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 12), st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), max_size=15))
def test_any_stream_of_edges(n, pairs):
    """Loops and repeated edges too; read in two parts, with the message in between."""
    graphs = Partitions(n)
    edges = [(a % n + 1, b % n + 1) for a, b in pairs]
    stream = np.array(edges, np.int64).reshape(1, -1, 2)
    half = len(edges) // 2
    state = graphs.unpack(graphs.pack(graphs.read(stream[:, :half])))
    state = graphs.read(stream[:, half:], state)
    graph = nx.MultiGraph(edges)
    graph.add_nodes_from(range(1, n + 1))
    parts = [sorted(part) for part in nx.connected_components(graph)]
    by_label = [
        sorted((np.flatnonzero(state.labels[0] == label) + 1).tolist())
        for label in range(int(state.labels.max()) + 1)
    ]
    assert by_label == sorted(parts)
    assert bool(state.tree[0]) == nx.is_tree(graph)
    assert (len(parts), bool(state.cycle[0])) == components(n, edges)
    assert bool(state.cycle[0]) == (not nx.is_forest(graph))


@pytest.mark.parametrize("n", [4, 8, 16, 32, 64])
def test_random_trees_and_non_trees_agree_with_networkx(n):
    """A tree, and each fault, streamed up to Bob's edge: the state's bits, and he decides."""
    graphs = Partitions(n)
    generator = np.random.default_rng(n)
    for fault in ("none", *FAULTS):
        for _ in range(12):
            edges = random_tree(n, generator) if fault == "none" else mutated(n, fault, generator)
            given_edges = np.array([edges[:-1]])
            message = graphs.pack(graphs.read(given_edges))
            assert message.nbytes == ceil(graphs.state_bits / 8)
            bob = graphs.join(graphs.unpack(message), np.array([edges[-1]]))
            graph = nx.MultiGraph(edges)
            graph.add_nodes_from(range(1, n + 1))
            assert len(graph) == n
            assert bool(bob.tree[0]) == nx.is_tree(graph) == (fault == "none")
            assert len(edges) == n - 1 + {"extra": 1, "missing": -1}.get(fault, 0)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_pruefer_strings_are_all_trees_once(n):
    trees = {
        frozenset(frozenset(edge) for edge in decode(np.array(string, np.int64)))
        for string in itertools.product(range(1, n + 1), repeat=n - 2)
    }
    assert len(trees) == n ** (n - 2)  # Cayley
    assert all(nx.is_tree(nx.Graph([tuple(edge) for edge in tree])) for tree in trees)


@pytest.mark.parametrize("n", [5, 12, 40])
def test_pruefer_strings_as_another_library_reads_them(n):
    generator = np.random.default_rng(n)
    for _ in range(10):
        string = generator.integers(1, n + 1, n - 2)
        theirs = nx.from_prufer_sequence((string - 1).tolist())
        mine = nx.Graph([(a - 1, b - 1) for a, b in decode(string)])
        assert nx.utils.edges_equal(mine.edges, theirs.edges)


@pytest.mark.parametrize("n", range(4, 13))
def test_the_components_decide_istree_without_error(n):
    row = measure("istree", n, protocol="partition", bob="model")
    assert row["success_fraction"] == "1/1"
    assert row["state_bits"] == ceil(log2(Partitions(n).count)) + 1
    assert row["all_correct"] == 1.0
    assert not row["violates_wall"]


@pytest.mark.parametrize("n", [16, 32, 64])
def test_the_components_decide_large_istree(n):
    protocol = Partition(IsTree(n))
    generator = np.random.default_rng(n)
    x = protocol.problem.sample(generator, 40)
    message, wanted = protocol.encode(x), protocol.problem.answers(x)
    for k in generator.integers(0, n - 3, 5):
        assert np.array_equal(protocol.answer(message, np.full(40, k)), wanted[:, k])


def test_a_stream_of_edges_is_an_automaton():
    row = measure("istree", 7, protocol="partition", engine="automaton")
    assert row["success"] == 1.0
    assert row["distinct_messages"] == 32


@pytest.mark.parametrize("n", range(4, 13))
def test_parities_decide_istree_with_n_minus_3_bits_and_no_fewer(n):
    row = measure("istree", n, protocol="truncation", state_bits=n - 3, bob="model")
    assert row["success_fraction"] == "1/1"
    assert row["wall_ball"] == 1.0
    assert row["deterministic_bits"] == n - 3
    if n > 4:
        less = measure("istree", n, protocol="truncation", state_bits=n - 4)
        same = measure("index", n - 3, protocol="truncation", state_bits=n - 4)
        assert less["wall_ball"] == same["wall_ball"] < 1
        assert less["wall_rate_distortion"] == same["wall_rate_distortion"]
        assert less["success"] == same["success"] <= less["wall_ball"]


@pytest.mark.parametrize("n", [2, 5, 9, 30])
def test_a_tour_of_a_tree_has_2n_minus_1_vertices(n):
    """2 (n - 1) darts, each once: depth first from vertex 1, and the walk of lookups."""
    generator = np.random.default_rng(n)
    for _ in range(10):
        edges = random_tree(n, generator)
        tour = [1]
        for a, b, kind in nx.dfs_labeled_edges(nx.Graph(edges), 1):
            if a != b and kind in ("forward", "reverse"):
                tour.append(b if kind == "forward" else a)
        assert len(tour) == 2 * n - 1
        assert set(tour) == set(range(1, n + 1))
        assert tour[0] == tour[-1] == 1
    if n < 30:
        found = IsTreeWalk(n, n - 1)(np.array([edges]))
        assert found.tree.all()
        assert (found.visited == n).all()
        assert found.records == 8 * (n - 1)  # 4 for each dart: 2 copied, 2 on its way


def test_other_requests_are_refused():
    with pytest.raises(UsageError, match="graphs"):
        Partition(Index(5))
    with pytest.raises(UsageError, match="14 bits for 8"):
        Partition(IsTree(8), 13)
    assert Partition(IsTree(8), 14).state_bits == 14
    with pytest.raises(UsageError, match=r"1\.\.255"):
        Partitions(256)
    with pytest.raises(UsageError, match="vertices"):
        mutated(3, "moved", np.random.default_rng(0))
    graphs = Partitions(8)
    with pytest.raises(MessageError, match="4140 partitions"):
        graphs.unpack(np.array([[4140 % 256, 4140 // 256]], np.uint8))
