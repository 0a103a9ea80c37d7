"""Fingerprints for equality: one-sided, and wrong with probability exactly 2^-M."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statebound.errors import UsageError
from statebound.protocols.fingerprint import (
    agrees,
    collisions,
    false_equal,
    fingerprint,
    rank,
    subsets,
)
from statebound.protocols.message import MessageError
from statebound.protocols.problems.index import Index


@settings(deadline=None, max_examples=50)
@given(st.integers(1, 200), st.integers(0, 40), st.integers(0, 2**40))
def test_equal_strings_always_agree(n, m, seed):
    x = Index(n).sample(np.random.default_rng(seed), 4)
    message = fingerprint(x, m, seed)
    assert message.shape == (4, -(-m // 8))
    assert agrees(message, x, m, seed).all()


@pytest.mark.parametrize(("n", "m"), [(1, 1), (2, 2), (3, 2), (2, 4), (4, 3)])
def test_error_over_all_coins_is_exactly_two_to_minus_m(n, m):
    # All 2^(nM) choices of M subsets, every nonzero difference.
    coins = Index(n * m).enumerate(0, 2 ** (n * m)).reshape(-1, m, n).astype(int)
    for d in Index(n).enumerate(1, 2**n).astype(int):
        agree = ~((coins @ d) % 2).any(axis=1)
        assert Fraction(int(agree.sum()), len(coins)) == false_equal(m)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("n", "m"), [(6, 0), (6, 2), (6, 5), (6, 9)])
def test_collisions_count_the_strings_that_agree(n, m, seed):
    every = Index(n).enumerate(0, 2**n)
    for x in (every[0], every[37]):
        message = np.repeat(fingerprint(x[None], m, seed), len(every), axis=0)
        assert agrees(message, every, m, seed).sum() - 1 == collisions(n, m, seed)


def test_average_over_seeds_meets_the_exact_error():
    # For one fixed pair each seed is a trial of chance 1/8; 6 standard errors.
    x, y = Index(40).sample(np.random.default_rng(1), 2)
    hits = sum(bool(agrees(fingerprint(x[None], 3, s), y[None], 3, s)[0]) for s in range(4000))
    assert abs(hits / 4000 - 1 / 8) < 6 * (1 / 8 * 7 / 8 / 4000) ** 0.5


def test_subsets_are_public_and_fair():
    a = subsets(100, 50, 7)
    assert (a == subsets(100, 50, 7)).all()
    assert (a != subsets(100, 50, 8)).any()
    assert abs(a.mean() - 0.5) < 6 * 0.5 / 5000**0.5


@pytest.mark.parity
def test_subsets_are_the_same_on_every_machine():
    assert subsets(8, 2, 0).tolist() == [
        [1, 1, 1, 1, 1, 0, 1, 0],
        [1, 0, 0, 0, 0, 1, 0, 0],
    ]


@settings(deadline=None, max_examples=50)
@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 2**20))
def test_rank_against_the_span(rows, columns, seed):
    matrix = np.random.default_rng(seed).integers(0, 2, (rows, columns), dtype=np.uint8)
    picks = Index(rows).enumerate(0, 2**rows).astype(int)
    span = np.unique((picks @ matrix.astype(int)) % 2, axis=0)
    assert len(span) == 2 ** rank(matrix)


def test_bad_messages_and_sizes_are_refused():
    x = Index(9).sample(np.random.default_rng(0), 1)
    message = fingerprint(x, 5, 0)
    message[0, 0] |= 1 << 7
    with pytest.raises(MessageError):
        agrees(message, x, 5, 0)
    for arguments in ((0, 1, 0), (1, -1, 0), (1, 1, -1)):
        with pytest.raises(UsageError):
            subsets(*arguments)
