"""Stored symbols and all queries at once: played out on every input."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statebound.protocols.limits import all_correct as whole
from statebound.protocols.limits import truncation as stored
from statebound.protocols.limits.truncation import truncation, whole_symbols

F = Fraction


@pytest.mark.parametrize("q", [2, 3, 4, 5])
def test_whole_symbols_is_the_greatest_power_that_fits(q):
    for messages in range(1, 300):
        m = whole_symbols(q, messages, 100)
        assert q**m <= messages < q ** (m + 1)
    assert whole_symbols(q, 10**9, 3) == 3


@pytest.mark.parametrize(
    ("weights", "q"),
    [((F(1, 4),) * 4, 2), ((F(1, 7), F(4, 7), F(2, 7)), 2), ((F(1, 2), F(0), F(1, 2)), 3)],
)
def test_success_of_storing_the_heaviest(weights, q):
    n = len(weights)
    order = sorted(range(n), key=lambda k: -weights[k])
    for m in range(n + 1):
        kept = set(order[:m])
        right = F(0)
        for x in product(range(q), repeat=n):
            right += sum(weights[k] for k in range(n) if k in kept or x[k] == 0)
        assert truncation(weights, q, q**m) == right / q**n
    assert truncation(weights, q, q**n + 5) == 1


def test_equal_bits_follow_the_line():
    n = 37
    for m in range(n + 1):
        assert truncation((F(1, n),) * n, 2, 2**m) == F(1, 2) + F(m, 2 * n)


@settings(deadline=None)
@given(
    raw=st.lists(st.integers(0, 9), min_size=1, max_size=12).filter(any),
    q=st.integers(2, 5),
    success=st.fractions(0, 1, max_denominator=500),
)
def test_needed_symbols_are_the_fewest(raw, q, success):
    weights = tuple(F(a, sum(raw)) for a in raw)
    messages = stored.needed_messages(weights, q, success)
    assert truncation(weights, q, messages) >= success
    if messages > 1:
        assert truncation(weights, q, messages // q) < success


@pytest.mark.parametrize(("n", "q"), [(1, 2), (5, 2), (16, 2), (4, 3), (3, 6)])
def test_all_correct_is_the_share_of_listed_vectors(n, q):
    for messages in (1, 2, 3, 12, 96, q**n - 1, q**n, q**n + 1):
        assert whole.all_correct(n, q, messages) == min(F(1), F(messages, q**n))


def test_all_correct_of_long_inputs():
    assert whole.all_correct(4096, 2, 2**2048) == F(1, 2**2048)
    assert whole.all_correct(10**6, 2, 2 ** (10**6 - 3)) == F(1, 8)


@settings(deadline=None)
@given(n=st.integers(1, 60), q=st.integers(2, 5), success=st.fractions(0, 1))
def test_all_correct_inverse(n, q, success):
    least = whole.needed_messages(n, q, success)
    assert whole.all_correct(n, q, least) >= success
    if least > 1:
        assert whole.all_correct(n, q, least - 1) < success
