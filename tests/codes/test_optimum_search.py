"""The exact optimum of small tables against published values and all partitions."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statebound.errors import UsageError
from statebound.protocols.optimum_search import optimum, partition_success
from statebound.protocols.problems.index import Index


@pytest.mark.parity
@pytest.mark.parametrize(
    ("n", "m", "value"),
    [
        (1, 0, "1/2"),
        (1, 1, "1"),
        (2, 1, "3/4"),
        (3, 1, "3/4"),
        (3, 2, "5/6"),
        (4, 0, "1/2"),
        (4, 1, "11/16"),
        (4, 2, "13/16"),
        (4, 3, "7/8"),
        (4, 4, "1"),
        (5, 1, "11/16"),
        (5, 2, "31/40"),
        (5, 3, "17/20"),
        (6, 1, "21/32"),
        (6, 2, "3/4"),
    ],
)
def test_index_optimum(n, m, value):
    table = Index(n).enumerate(0, 2**n)
    found = optimum(table, 2**m)
    assert found.exhaustive
    assert found.success == Fraction(value)
    assert partition_success(table, found.partition) == found.success
    assert set(found.partition.tolist()) <= set(range(2**m))


def brute(table, messages, weights=None):
    return max(
        partition_success(table, np.array(labels), weights)
        for labels in product(range(messages), repeat=len(table))
    )


@settings(deadline=None, max_examples=40)
@given(
    st.integers(1, 6),
    st.integers(1, 4),
    st.integers(1, 3),
    st.booleans(),
    st.integers(0, 10**6),
)
def test_any_table_against_all_partitions(inputs, queries, messages, weighted, seed):
    source = np.random.default_rng(seed)
    table = source.integers(0, 2, (inputs, queries), dtype=np.uint8)
    weights = None
    if weighted:
        raw = source.integers(0, 5, queries) + np.eye(1, queries, dtype=int)[0]
        weights = tuple(Fraction(int(r), int(raw.sum())) for r in raw)
    found = optimum(table, messages, weights)
    assert found.exhaustive
    assert found.success == brute(table, messages, weights)
    assert partition_success(table, found.partition, weights) == found.success


@settings(deadline=None, max_examples=80)
@given(st.integers(6, 24), st.integers(3, 4), st.integers(2, 5), st.integers(0, 10**6))
def test_larger_tables_against_all_sets_of_answer_words(inputs, queries, messages, seed):
    # Here greedy choices often fail, so a bound that cuts too much shows.
    source = np.random.default_rng(seed)
    table = source.integers(0, 2, (inputs, queries), dtype=np.uint8)
    words = Index(queries).enumerate(0, 2**queries)
    distance = (table[:, None] != words[None]).sum(2)
    sets = np.array(list(combinations(range(len(words)), messages)))
    least = int(distance[:, sets].min(2).sum(0).min())
    assert optimum(table, messages).success == 1 - Fraction(least, inputs * queries)


def test_xor_neighbours_are_index_on_one_less():
    x = Index(5).enumerate(0, 32)
    chain = x[:, 1:] ^ x[:, :-1]
    assert optimum(chain, 4).success == optimum(Index(4).enumerate(0, 16), 4).success


@pytest.mark.parity
def test_open_chain_of_six():
    # Two message bits on the five neighbour pairs of six bits: a hill climb alone stops at .7625.
    x = Index(6).enumerate(0, 64)
    found = optimum(x[:, 1:] ^ x[:, :-1], 4)
    assert found.exhaustive
    assert found.success == Fraction(31, 40)


def test_a_search_that_gives_up_says_so():
    table = Index(5).enumerate(0, 32)
    found = optimum(table, 8, most_nodes=5)
    assert not found.exhaustive
    assert found.success <= optimum(table, 8).success
    assert partition_success(table, found.partition) == found.success


def test_more_messages_than_words():
    assert optimum(Index(2).enumerate(0, 4), 9).success == 1


def test_bad_tables_are_refused():
    with pytest.raises(UsageError):
        optimum(np.full((2, 2), 2, np.uint8), 2)
    with pytest.raises(UsageError):
        optimum(np.zeros((2, 13), np.uint8), 2)
    with pytest.raises(UsageError):
        optimum(np.zeros((2, 2), np.uint8), 0)
