"""The walk against union-find: all small graphs, random large ones, and the test that is none."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from statebound.errors import UsageError
from statebound.models.constructions.istree_walk import IsTreeWalk, naive_walk
from statebound.models.constructions.rounding import Arithmetic


def is_tree(n: int, edges) -> bool:
    parent = list(range(n + 1))

    def root(v: int) -> int:
        while parent[v] != v:
            v = parent[v]
        return v

    parts = n
    for a, b in edges:
        here, there = root(a), root(b)
        parts -= here != there
        parent[here] = there
    return parts == 1 and len(edges) == n - 1


def graphs(n: int, m: int) -> np.ndarray:
    """Return all graphs (B, m, 2)."""
    pairs = list(itertools.combinations(range(1, n + 1), 2))
    found = list(itertools.combinations(pairs, m))
    return np.array(found, np.int64).reshape(len(found), m, 2)


def test_all_graphs_up_to_five_vertices():
    seen = 0
    for n in range(1, 6):
        for m in range(n * (n - 1) // 2 + 1):
            every = graphs(n, m)
            seen += len(every)
            wanted = [is_tree(n, g) for g in every.tolist()]
            assert IsTreeWalk(n, m)(every).tree.tolist() == wanted
    assert seen == sum(2 ** (n * (n - 1) // 2) for n in range(1, 6))


@pytest.mark.slow
def test_all_graphs_of_six_vertices_and_five_edges():
    every = graphs(6, 5)
    found = IsTreeWalk(6, 5)(every)
    assert found.tree.tolist() == [is_tree(6, g) for g in every.tolist()]
    assert found.tree.sum() == 6**4  # Cayley


def test_the_length_of_the_walk_is_no_test():
    wrong = missed = seen = 0
    for n in (6, 7):
        every = graphs(n, n - 1)
        trees = np.array([is_tree(n, g) for g in every.tolist()])
        accepted = naive_walk(n, every)
        seen += len(every)
        wrong += int((accepted & ~trees).sum())
        missed += int((trees & ~accepted).sum())
    assert (wrong, missed, seen) == (2685, 0, 57267)


def test_two_triangles_with_a_common_edge():
    """Somewhere among its orders the walk is fooled by length, and never by its visits."""
    theta = [(1, 2), (1, 3), (1, 4), (2, 3), (2, 4)]
    orders = np.array(list(itertools.permutations(theta)))
    assert naive_walk(6, orders).any()
    found = IsTreeWalk(6, 5)(orders)
    assert not found.tree.any()
    assert found.visited.max() == 4


@pytest.mark.parametrize("n", [8, 16, pytest.param(48, marks=pytest.mark.slow)])
def test_random_trees_and_near_trees(n):
    rng = np.random.default_rng(n)
    batch = []
    for case in range(40):
        names = rng.permutation(n) + 1
        edges = [[names[j], names[rng.integers(0, j)]] for j in range(1, n)]
        if case % 2:
            a, b = rng.choice(n, 2, replace=False) + 1
            edges[rng.integers(n - 1)] = [a, b]
        batch.append([e[:: rng.choice([-1, 1])] for e in rng.permutation(edges).tolist()])
    found = IsTreeWalk(n, n - 1)(np.array(batch))
    wanted = [is_tree(n, g) for g in batch]
    assert found.tree.tolist() == wanted
    assert 20 <= sum(wanted) < 40
    assert (found.visited[wanted] == n).all()


def test_the_chain_of_thought_is_linear_in_records_and_n_log_n_in_digits():
    for n in (4, 8, 16, 32):
        path = np.array([[[i, i + 1] for i in range(1, n)]])
        found = IsTreeWalk(n, n - 1)(path)
        assert found.records == 8 * (n - 1)
        digits = found.ledger.tokens_written
        assert digits <= 8 * (n - 1) * (1 + 4 * np.log2(4 * n))
        assert found.ledger.recurrent_bits <= 10 * np.log2(2 * n)
    assert IsTreeWalk(5, 3)(graphs(5, 3)).ledger.tokens_written == 0  # the edges are counted


def test_it_needs_its_bits():
    """At 3 bits ages of the many tokens are confused, and some trees are lost."""
    rng = np.random.default_rng(0)
    every = graphs(5, 4)[rng.permutation(210)[:60]]
    wanted = [is_tree(5, g) for g in every.tolist()]
    assert IsTreeWalk(5, 4, Arithmetic(6))(every).tree.tolist() == wanted
    assert IsTreeWalk(5, 4, Arithmetic(3))(every).tree.tolist() != wanted


def test_bad_graphs():
    with pytest.raises(UsageError, match=r"vertices are 1\.\.3"):
        IsTreeWalk(3, 2)([[[0, 1], [1, 2]]])
    with pytest.raises(UsageError, match="must be"):
        IsTreeWalk(3, 2)([[[1, 2]]])
    with pytest.raises(UsageError, match="at least 1"):
        IsTreeWalk(0, 0)
