"""The rate-distortion wall: published values, a second solver, its ends, its inverse."""

from __future__ import annotations

import json
from decimal import Decimal, localcontext
from fractions import Fraction
from math import log2, sqrt
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from statebound.protocols.limits.ball import ball
from statebound.protocols.limits.patterns import profile
from statebound.protocols.limits.rate_distortion import needed_bits, rate_distortion
from statebound.protocols.problem import query_weights

F = Fraction
GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "index_limits.json").read_text())
ROWS = GOLDEN["optimum"] + GOLDEN["limits"]


def flat(n):
    return (F(1, n),) * n


@pytest.mark.parity
@pytest.mark.parametrize("row", ROWS, ids=lambda r: f"{r['n']},{r['state_bits']}")
def test_published_values(row):
    found = rate_distortion(flat(row["n"]), 2, row["state_bits"])
    assert found == pytest.approx(row["rate_distortion"], abs=6e-11)


def slow_inverse_entropy(q, missing):
    """D in [0, 1 - 1/q] with h(D) + D log2(q-1) = missing, in 60 digits."""
    with localcontext() as context:
        context.prec = 60
        two = Decimal(2).ln()
        low, high = Decimal(0), 1 - 1 / Decimal(q)
        for _ in range(220):
            d = (low + high) / 2
            value = -(d * d.ln() + (1 - d) * (1 - d).ln()) / two + d * Decimal(q - 1).ln() / two
            low, high = (d, high) if value < missing else (low, d)
        return low


@pytest.mark.parametrize("q", [2, 4])
@pytest.mark.parametrize("share", [1e-9, 1e-4, 0.01, 0.3, 0.5, 0.9, 0.9999, 1 - 1e-9])
def test_both_ends_keep_their_digits(q, share):
    n, each = 10, int(log2(q))
    bits = share * n * each
    with localcontext() as context:
        context.prec = 60
        missing = each - Decimal(bits) / n  # the float itself, exactly
        error = slow_inverse_entropy(q, missing)
        gain = 1 - 1 / Decimal(q) - error
    found = rate_distortion(flat(n), q, bits)
    assert found - 1 / q == pytest.approx(float(gain), rel=1e-10)
    assert 1 - found == pytest.approx(float(error), rel=1e-6 if share > 0.99999 else 1e-10)


@pytest.mark.parametrize("q", [3, 5, 7])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.8])
def test_odd_alphabets_against_sixty_digits(q, share):
    with localcontext() as context:
        context.prec = 60
        missing = (1 - Decimal(share)) * Decimal(q).ln() / Decimal(2).ln()
    found = rate_distortion(flat(6), q, 6 * share * log2(q))
    assert 1 - found == pytest.approx(float(slow_inverse_entropy(q, missing)), rel=1e-12)


@pytest.mark.parametrize("law", ["zipf", "recency:0.7", "recency:0.99"])
@pytest.mark.parametrize("q", [2, 3])
@pytest.mark.parametrize("bits", [0.5, 3, 9])
def test_primal_meets_the_dual_bound(law, q, bits):
    # Chernoff's relaxation of the fill, maximised over lambda by brute force: any lambda
    # gives a valid bound, and the best one must be the primal value.
    weights = query_weights(law, 14)
    w = np.array([float(a) for a in weights])
    scale = np.exp(np.linspace(-3, 9, 4001))
    moment = np.log((1 + (q - 1) * np.exp(-scale[:, None] * w)) / q).sum(1)
    dual = 1 - ((-bits * np.log(2) - moment) / scale)
    found = rate_distortion(weights, q, bits)
    assert (dual >= found - 1e-12).all()
    assert dual.min() == pytest.approx(found, abs=1e-5)


def test_plain_form_is_false_for_other_laws():
    # One bit and one query that is always asked: certainty, where 1 - hinv(1/2) is .89.
    assert rate_distortion((F(1), F(0)), 2, 1) == 1
    assert rate_distortion(flat(2), 2, 1) == pytest.approx(0.8899721356)


@st.composite
def laws(draw):
    raw = draw(st.lists(st.integers(0, 9), min_size=1, max_size=7).filter(any))
    return tuple(F(a, sum(raw)) for a in raw)


@settings(deadline=None)
@given(weights=laws(), q=st.integers(2, 4), messages=st.integers(1, 3000))
def test_never_below_the_ball(weights, q, messages):
    costs = profile(weights, q)
    assert costs is not None
    assert rate_distortion(weights, q, log2(messages)) >= float(ball(costs, messages)) - 1e-12


@settings(deadline=None)
@given(weights=laws(), q=st.integers(2, 5), share=st.floats(0.001, 0.999))
def test_inverse_round_trip(weights, q, share):
    full = sum(w > 0 for w in weights) * log2(q)
    bits = share * full
    success = rate_distortion(weights, q, bits)
    assume(success < 1 - 1e-9)
    assert needed_bits(weights, q, F(success)) == pytest.approx(bits, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("q", [2, 3, 8])
def test_ends(q):
    weights = query_weights("zipf", 5)
    assert rate_distortion(weights, q, 0) == 1 / q
    assert rate_distortion(weights, q, 5 * log2(q) + 1) == 1
    assert needed_bits(weights, q, F(1, q)) == 0
    assert needed_bits(weights, q, F(1, 50)) == 0
    assert needed_bits(weights, q, F(1)) == pytest.approx(5 * log2(q), rel=1e-15)


def test_small_rates_follow_the_square_root():
    n = 10**5
    gain = rate_distortion(flat(n), 2, 1) - 0.5
    assert gain == pytest.approx(sqrt(np.log(2) / (2 * n)), rel=1e-5)


def test_steep_laws_end_at_one():
    found = [rate_distortion(query_weights("recency:0.5", 2000), 2, m) for m in (1, 10, 100, 1990)]
    assert found == sorted(found)
    assert found[-1] == 1


@pytest.mark.parametrize("tiny", [F(1, 10**6), F(1, 10**10), F(1, 10**12)])
def test_inverse_keeps_its_digits_at_both_ends(tiny):
    n = 10
    with localcontext() as context:
        context.prec = 60
        error = Decimal(tiny.numerator) / tiny.denominator
        two = Decimal(2).ln()
        entropy = -(error * error.ln() + (1 - error) * (1 - error).ln()) / two
    near_one = needed_bits(flat(n), 2, 1 - tiny)
    rounding = 1e-14  # of near_one itself, which is close to n
    assert n - near_one == pytest.approx(n * float(entropy), rel=1e-9, abs=rounding)
    # 1 - h(1/2 + d) = 2 d^2 / ln 2 + O(d^4)
    near_half = needed_bits(flat(n), 2, F(1, 2) + tiny)
    assert near_half == pytest.approx(n * 2 * float(tiny) ** 2 / np.log(2), rel=1e-3)
