"""Rounding against numpy's own formats and a formula; sums in their stated order."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from statebound.errors import UsageError
from statebound.models.constructions.ledger import Ledger, bits_for
from statebound.models.constructions.rounding import Arithmetic, round_to

NUMBERS = st.floats(-1e30, 1e30).filter(lambda x: x == 0 or abs(x) > 1e-30)


def scaled(x: float, bits: int) -> float:
    """Round by scaling to an integer, whose ties go to even in Python."""
    mantissa, exponent = math.frexp(x)
    return math.ldexp(round(math.ldexp(mantissa, bits)), exponent - bits)


@given(NUMBERS, st.integers(2, 24))
def test_rounding_is_to_nearest_even(x, bits):
    assert round_to(np.array(x), bits) == scaled(x, bits)


@given(st.floats(2**-14, 65504).flatmap(lambda x: st.sampled_from((x, -x))))
def test_float16_and_float32_agree_with_numpy(x):
    assert round_to(np.array(x), 11) == np.float64(np.float16(x))
    assert Arithmetic("fp32")(np.array(x)) == np.float32(x)


def test_ties_and_infinities():
    assert round_to(np.array([257.0, 259.0, 3.0, np.inf, -np.inf]), 8).tolist() == [
        *(256.0, 260.0, 3.0),
        *(np.inf, -np.inf),
    ]


@given(NUMBERS, NUMBERS, st.integers(2, 24))
def test_operations_are_correctly_rounded(x, y, bits):
    t = Arithmetic(bits)
    a, b = float(t(np.array(x))), float(t(np.array(y)))
    if abs(a) < 1e15 and abs(b) < 1e15:
        got = Fraction(float(t.add(t(np.array(a)), t(np.array(b)))))
        exact = Fraction(a) + Fraction(b)
        if exact:
            _, exponent = np.frexp(float(exact))
            assert abs(got - exact) <= Fraction(2) ** (int(exponent) - bits - 1)


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=33))
def test_sums_of_small_integers_are_exact(numbers):
    x = np.array(numbers, float)
    t = Arithmetic(12)
    assert t.total(t(x)) == x.sum()
    assert t.dot(t(x), t(x)) == (x * x).sum()
    assert t.apply(t(x)[None], np.diag(x)).tolist() == [(x * x).tolist()]


def test_a_sum_stalls_where_its_bits_end():
    t = Arithmetic(4)
    ones = np.ones(64)
    assert t.dot(ones, ones) == 16  # one by one
    assert t.total(ones) == 64  # as a tree


@pytest.mark.parametrize("bits", [1, 25, 52, "fp8", 0, -3])
def test_other_precisions_are_refused(bits):
    with pytest.raises(UsageError, match=r"significand_bits = .*must be"):
        Arithmetic(bits)


def test_a_ledger_adds_its_fields():
    ledger = Ledger("x", 3, 4, {"a": 5, "b": 6}, 7, 8, 9, None)
    assert ledger.recurrent_bits == 11
    assert ledger.record()["recurrent_bits"] == 11
    assert [bits_for(v) for v in range(1, 10)] == [0, 1, 2, 2, 3, 3, 3, 3, 4]
