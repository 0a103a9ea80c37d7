"""The ball bound: published values, its other formula, its inverse, its relaxation."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import pairwise
from math import comb, log2
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statebound.protocols.limits import patterns
from statebound.protocols.limits.ball import ball, needed_bits, needed_messages
from statebound.protocols.limits.patterns import profile, uniform
from statebound.protocols.problem import query_weights

F = Fraction
GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "index_limits.json").read_text())


@pytest.mark.parity
@pytest.mark.parametrize("row", GOLDEN["optimum"], ids=lambda r: f"{r['n']},{r['state_bits']}")
def test_small_values_as_fractions(row):
    assert ball(uniform(row["n"]), 2 ** row["state_bits"]) == F(row["ball_bound"])


@pytest.mark.parity
@pytest.mark.parametrize("row", GOLDEN["limits"], ids=lambda r: f"{r['n']},{r['state_bits']}")
def test_large_values(row):
    found = ball(uniform(row["n"]), 2 ** row["state_bits"])
    assert float(found) == pytest.approx(row["ball_bound"], rel=1e-15)


@pytest.mark.parity
@pytest.mark.parametrize("row", GOLDEN["codes"], ids=lambda r: r["code"])
def test_codes_meet_the_ball_and_need_all_their_bits(row):
    costs, messages = uniform(row["n"]), 2 ** row["state_bits"]
    assert ball(costs, messages) == F(row["optimum"])
    assert needed_messages(costs, F(row["optimum"])) == messages


@pytest.mark.parametrize("n", [1, 2, 5, 12, 33])
@pytest.mark.parametrize("messages", [1, 2, 3, 7, 64, 1000])
def test_equals_the_sum_over_radii(n, messages):
    inside, error = 0, F(0)
    for t in range(n):
        inside += comb(n, t)
        error += max(F(0), 1 - F(messages * inside, 2**n))
    assert ball(uniform(n), messages) == 1 - error / n


def test_long_inputs_do_not_underflow():
    n = 4096
    costs = uniform(n)
    assert ball(costs, 1) == F(1, 2)
    assert ball(costs, 2**n) == 1
    assert ball(costs, 2 ** (n - 1)) == 1 - F(1, 2 * n)
    values = [ball(costs, 2**m) for m in (1, 2, 3, 64, 1024, 2048, 4000, 4095)]
    assert all(a < b for a, b in pairwise(values))
    assert float(values[5]) == pytest.approx(0.889505, abs=5e-7)
    for m, value in ((1, values[0]), (2048, values[5]), (4095, values[-1])):
        assert needed_messages(costs, value) == 2**m
        assert needed_bits(2**m) == m


@st.composite
def laws(draw):
    raw = draw(st.lists(st.integers(0, 12), min_size=1, max_size=6).filter(any))
    return tuple(F(a, sum(raw)) for a in raw)


@settings(deadline=None)
@given(n=st.integers(1, 40), q=st.integers(2, 5), data=st.data())
def test_uniform_inverse_is_exact(n, q, data):
    costs = uniform(n, q)
    messages = data.draw(st.integers(1, q**n))
    assert needed_messages(costs, ball(costs, messages)) == messages


@settings(deadline=None)
@given(weights=laws(), q=st.integers(2, 4), success=st.fractions(F(1, 50), 1, max_denominator=999))
def test_inverse_is_the_least_number_of_messages(weights, q, success):
    costs = profile(weights, q)
    assert costs is not None
    least = needed_messages(costs, success)
    assert 1 <= least <= costs.total
    assert ball(costs, least) >= success
    if success <= F(1, q):
        assert least == 1
    if least > 1:
        assert ball(costs, least - 1) < success
    low, high = 1, costs.total
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if ball(costs, middle) >= success else (middle + 1, high)
    assert least == low


@settings(deadline=None)
@given(weights=laws(), q=st.integers(2, 4), messages=st.integers(1, 200))
def test_more_messages_never_lower_the_wall(weights, q, messages):
    costs = profile(weights, q)
    assert costs is not None
    assert F(1, q) <= ball(costs, messages) <= ball(costs, messages + 1) <= 1


@settings(deadline=None)
@given(weights=laws(), q=st.integers(2, 4))
def test_profile_counts_every_vector_once(weights, q):
    costs = profile(weights, q)
    assert costs is not None
    layers = list(costs.layers())
    assert [c for c, _ in layers] == sorted({c for c, _ in layers})
    assert sum(count for _, count in layers) == costs.total
    mean = F(sum(c * count for c, count in layers), costs.unit * costs.total)
    assert mean == 1 - F(1, q)
    assert layers[-1][0] == costs.unit  # every query wrong costs 1


def test_queries_never_asked_change_nothing():
    three = profile((F(1, 2), F(1, 4), F(1, 4)))
    five = profile((F(0), F(1, 2), F(1, 4), F(0), F(1, 4)))
    assert three is not None
    assert five is not None
    for messages in range(1, 9):
        assert ball(three, messages) == ball(five, messages)
    assert needed_messages(five, F(1)) == 8


@pytest.mark.parametrize("law", ["uniform", "zipf", "recency:0.5", "recency:0.9"])
@pytest.mark.parametrize("q", [2, 3])
def test_every_way_to_count_patterns_agrees(law, q, monkeypatch):
    weights = query_weights(law, 9)
    groups = tuple(patterns.grouped(weights))
    exact = patterns._weighted.__wrapped__(groups, q)
    monkeypatch.setattr(patterns, "GROUPED", 0)
    spread = patterns._weighted.__wrapped__(groups, q)
    assert exact.exact
    if exact.unit <= patterns._GRID:
        assert spread.exact
        assert list(spread.layers()) == list(exact.layers())
    for messages in (1, 2, 5, 16, 100, 300):
        low, high = ball(exact, messages), ball(spread, messages)
        assert low <= high <= low + spread.slack
    for success in (F(3, 5), F(7, 8), F(99, 100)):
        assert needed_messages(spread, success) <= needed_messages(exact, success)


def test_rounded_costs_stay_above_the_exact_wall_on_a_coarse_grid(monkeypatch):
    weights = query_weights("zipf", 10)
    groups = tuple(patterns.grouped(weights))
    exact = patterns._weighted.__wrapped__(groups, 2)
    monkeypatch.setattr(patterns, "GROUPED", 0)
    monkeypatch.setattr(patterns, "_GRID", 1 << 11)
    coarse = patterns._weighted.__wrapped__(groups, 2)
    assert coarse.slack > F(1, 1000)
    looser = 0
    for messages in range(1, 200):
        low, high = ball(exact, messages), ball(coarse, messages)
        assert low <= high <= low + coarse.slack
        looser += low < high
    assert looser > 100


def test_laws_out_of_reach_have_no_profile():
    assert profile(query_weights("zipf", 2000)) is None
    assert profile(query_weights("uniform", patterns.EXACT_BITS + 1)) is None
    assert profile(query_weights("recency:0.5", 300)) is not None


def test_log_of_a_long_integer():
    assert needed_bits(1) == 0
    assert needed_bits(3**5000) == pytest.approx(5000 * log2(3), rel=1e-15)
