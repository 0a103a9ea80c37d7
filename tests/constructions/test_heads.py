"""Codes, Match and Count: gaps by exhaustion, heads against a loop, precisions counted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from statebound.errors import UsageError
from statebound.models.constructions.codes import CODES, make_code
from statebound.models.constructions.heads import Count, Match, attend, scale_for
from statebound.models.constructions.precision import (
    first_exact,
    index_errors,
    match_errors,
    number_errors,
    threshold_errors,
)
from statebound.models.constructions.rounding import Arithmetic

FLOAT32 = Arithmetic("fp32")


@pytest.mark.parametrize("name", sorted(CODES))
@pytest.mark.parametrize("size", [1, 2, 3, 17, 64, 100])
def test_codes_keep_their_gap(name, size):
    code = make_code(name, size)
    every = np.arange(size)
    keys, queries = code.key(every), code.query(every)
    assert keys.shape == queries.shape == (size, code.width)
    product = queries @ keys.T
    assert np.abs(np.diag(product) - code.top).max() < 1e-9
    others = product[~np.eye(size, dtype=bool)]
    assert size == 1 or others.max() <= code.top - code.gap + 1e-9


@pytest.mark.parametrize("name", ["binary", "frequencies", "one_hot", "residues"])
@pytest.mark.parametrize("last", [True, False])
@given(data=st.data())
def test_match_is_the_last_or_first(name, last, data):
    keys = np.array(data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=20)))
    values = np.array(data.draw(st.lists(st.integers(0, 1), min_size=20, max_size=20)))[: len(keys)]
    code = make_code(name, 5)
    head = Match.of(code, 20, last=last)
    asked = np.arange(5)
    read = head(code.query(asked), code.key(keys), 2.0 * values[:, None] - 1, FLOAT32)[:, 0]
    for q in asked:
        found = np.flatnonzero(keys == q)
        if len(found):
            assert abs(read[q]) >= 0.5 - 1e-6
            assert (read[q] > 0) == values[found[-1 if last else 0]]
        else:
            assert abs(read[q]) <= 0.25 + 1e-6


def test_the_winner_has_three_quarters():
    """Whatever the payload: values one-hot by position."""
    code, n = make_code("binary", 2), 200
    same = code.key(np.zeros(n, np.int64))
    read = Match.of(code, n)(same[:1], same, np.eye(n), FLOAT32)[0]
    assert read.argmax() == n - 1
    assert 0.75 - 1e-6 <= read.max() < 0.7501
    nothing = Match.of(code, n)(-same[:1], same, np.eye(n), FLOAT32, none=np.ones(n))[0]
    assert nothing.min() > 0.75 - 1e-6


def test_the_scale_is_the_least_power_of_two():
    for length in range(1, 300):
        for gap in (1, 2):
            K = scale_for(length, gap)
            assert gap * K >= length + 1 > gap * K / 2


@given(data=st.data())
def test_count(data):
    keys = np.array(data.draw(st.lists(st.integers(0, 2), min_size=1, max_size=24)))
    code = make_code("binary", 3)
    head = Count.of(code, 24)
    for q in range(3):
        c = int((keys == q).sum())
        query, rows = code.query(np.array(q)), code.key(keys)
        assert head.number(query, rows, FLOAT32) == c
        assert [head.above(query, rows, thr, FLOAT32) for thr in (c - 1, c)] == [True, False]


def test_attention_is_a_softmax():
    rng = np.random.default_rng(0)
    q, k, v = rng.standard_normal((3, 5)), rng.standard_normal((7, 5)), rng.standard_normal((7, 2))
    weights = 4.0 ** (q @ k.T)
    wanted = weights @ v / weights.sum(1, keepdims=True)
    assert np.abs(attend(q, k, v, Arithmetic("fp64")) - wanted).max() < 1e-12
    assert np.abs(attend(q, k, v, FLOAT32) - wanted).max() < 1e-5
    seen = np.arange(7) <= np.arange(3)[:, None]
    masked = weights * seen
    wanted = masked @ v / masked.sum(1, keepdims=True)
    assert np.abs(attend(q, k, v, Arithmetic("fp64"), seen) - wanted).max() < 1e-12


# Match on its worst payload, wrong positions of n at t = log2 n - 3, ..., log2 n.
@pytest.mark.parametrize(
    ("n", "wrong"),
    [
        (16, [None, 7, 3, 0]),
        (64, [43, 31, 15, 0]),
        (256, [175, 127, 63, 0]),
        pytest.param(1024, [703, 511, 255, 0], marks=pytest.mark.slow),
    ],
)
def test_match_needs_log_n_bits_and_no_fewer(n, wrong):
    low = n.bit_length() - 4
    got = [None if w is None else match_errors(n, low + d) for d, w in enumerate(wrong)]
    assert got == wrong


def test_formats_reach_their_lengths():
    assert match_errors(256, 8) == 0  # bfloat16
    assert match_errors(512, 8) > 0
    last = np.arange(2048 - 63, 2049)
    assert match_errors(2048, 11, last) == 0  # float16
    assert match_errors(4096, 11, np.arange(1, 65)) > 0  # the furthest from the age 0
    assert match_errors(4096, 24, np.arange(4096 - 63, 4097)) == 0


@pytest.mark.parametrize(
    ("code", "first"),
    [
        ("binary", [2, 3]),
        ("one_hot", [2, 2]),
        ("frequencies", [2, 3]),
        ("residues", [2, 2]),
        ("quadratic", [8, 12]),
    ],
)
def test_precision_of_index_by_code(code, first):
    assert [first_exact(lambda t, n=n: index_errors(code, n, t)) for n in (16, 64)] == first


def test_quadratic_codes_need_two_log_n_bits():
    assert index_errors("quadratic", 256, 16) == 0
    assert index_errors("quadratic", 256, 15) > 0
    assert index_errors("binary", 256, 3) == 0


def test_precision_of_counting():
    assert first_exact(lambda t: threshold_errors(16, t)) == 5
    assert first_exact(lambda t: number_errors(16, t)) == 6
    for t, n in ((7, 64), (9, 256)):
        assert threshold_errors(n, t) == 0
        assert threshold_errors(n, t - 1) > 0
    assert number_errors(64, 8) == 0
    assert number_errors(64, 7) > 0


def test_bad_requests():
    with pytest.raises(UsageError, match="choose from"):
        make_code("gray", 4)
    with pytest.raises(UsageError, match="at least 1"):
        make_code("binary", 0)
    code = make_code("binary", 4)
    keys = code.key(np.arange(4))
    with pytest.raises(UsageError, match="built for 3"):
        Match.of(code, 3)(keys, keys, keys, FLOAT32)
