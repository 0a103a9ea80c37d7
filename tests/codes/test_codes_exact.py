"""Codes whose success is a known fraction, and the algebra behind them."""

from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statebound.protocols.codes._blocks import block_success, most_blocks
from statebound.protocols.codes._cosets import Cosets
from statebound.protocols.codes.golay import Golay, powers
from statebound.protocols.codes.hamming import Hamming
from statebound.protocols.codes.linear import Linear, draw_columns
from statebound.protocols.codes.majority import Majority, agreement
from statebound.protocols.problems.index import Index


@pytest.mark.parity
@pytest.mark.parametrize(
    ("code", "n", "m", "value"),
    [
        (Hamming, 3, 1, Fraction(3, 4)),
        (Hamming, 7, 4, Fraction(7, 8)),
        (Hamming, 15, 11, Fraction(15, 16)),
        (Hamming, 31, 26, Fraction(31, 32)),
        (Hamming, 63, 57, Fraction(63, 64)),
        (Hamming, 14, 8, Fraction(7, 8)),
        (Golay, 23, 12, Fraction(897, 1024)),
        (Golay, 69, 36, Fraction(897, 1024)),
        (Majority, 2, 1, Fraction(3, 4)),
        (Majority, 4, 1, Fraction(11, 16)),
        (Majority, 8, 1, Fraction(163, 256)),
    ],
)
def test_published_success(code, n, m, value):
    assert code(Index(n), m).success() == value


def test_golay_success_by_counting_cosets():
    # Perfect: the 2^11 cosets are exactly the words of weight 0 to 3.
    code = Golay(Index(23), 12)
    weights = np.bincount(code.cosets.weight)
    assert weights.tolist() == [comb(23, j) for j in range(4)]
    assert code.success() == 1 - Fraction(sum(j * comb(23, j) for j in range(4)), 23 * 2**11)


@pytest.mark.slow
def test_golay_success_by_every_input():
    problem = Index(23)
    code = Golay(problem, 12)
    wrong = 0
    for start in range(0, 2**23, 2**20):
        x = problem.enumerate(start, start + 2**20)
        wrong += int((code.decode(code.encode(x)) != x).sum())
    assert 1 - Fraction(wrong, 23 * 2**23) == Fraction(897, 1024)


def test_golay_code_has_distance_seven_and_is_cyclic():
    code = Cosets(11, powers())
    info = ((np.arange(4096)[:, None] >> np.arange(12)) & 1).astype(np.uint8)
    words = code.complete(info)
    weights = np.bincount(words.sum(1), minlength=24)
    # Weight distribution of the binary Golay code.
    assert {w: int(c) for w, c in enumerate(weights) if c} == {
        0: 1,
        7: 253,
        8: 506,
        11: 1288,
        12: 1288,
        15: 506,
        16: 253,
        23: 1,
    }
    assert not code.syndrome(np.roll(words, 1, axis=1)).any()


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 7), st.integers(1, 5), st.integers(0, 1000))
def test_coset_table_finds_a_nearest_codeword(checks, info, seed):
    columns = draw_columns(np.random.PCG64(seed), info, checks)
    code = Cosets(checks, columns)
    every = ((np.arange(2**info)[:, None] >> np.arange(info)) & 1).astype(np.uint8)
    words = code.complete(every)
    assert not code.syndrome(words).any()
    assert (words[:, checks:] == every).all()
    x = np.random.default_rng(seed).integers(0, 2, (30, checks + info), dtype=np.uint8)
    found = (code.complete(code.quantise(x)) != x).sum(1)
    best = (x[:, None] != words[None]).sum(2).min(1)
    assert (found == best).all()
    assert (found == code.weight[code.syndrome(x)]).all()


def test_parity_checks_are_orthogonal_to_the_generator():
    code = Linear(Index(14), 8).cosets
    h = ((code.columns[None] >> np.arange(code.checks)[:, None]) & 1).astype(np.int64)
    g = code.complete(np.eye(8, dtype=np.uint8)).astype(np.int64)
    assert not ((g @ h.T) & 1).any()
    assert (g[:, code.checks :] == np.eye(8)).all()


@pytest.mark.parity
@pytest.mark.parametrize(
    ("n", "m", "value"),
    [(8, 4, Fraction(53, 64)), (7, 4, Fraction(7, 8)), (15, 11, Fraction(15, 16))],
)
def test_search_finds_the_best_linear_code_where_it_is_common(n, m, value):
    # The ball bound at these sizes, so no code of any kind does better.
    assert Linear(Index(n), m, tries=200).success() == value


def test_more_tries_never_hurt_and_seeds_differ():
    few, many = (Linear(Index(24), 12, tries=t).success() for t in (1, 40))
    assert few < many
    assert Linear(Index(24), 12, seed=1).describe() != Linear(Index(24), 12).describe()


def test_drawn_columns_avoid_waste():
    columns = draw_columns(np.random.PCG64(0), 11, 4)
    assert sorted(columns.tolist()) == [c for c in range(16) if c.bit_count() >= 2]
    again = draw_columns(np.random.PCG64(0), 22, 4)
    assert all((again == c).sum() == 2 for c in columns)


@pytest.mark.parametrize("size", range(1, 12))
def test_majority_agreement_by_enumeration(size):
    x = Index(size).enumerate(0, 2**size)
    ones = x.sum(1)
    assert agreement(size) == Fraction(int(np.maximum(ones, size - ones).sum()), size * 2**size)


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 40), st.data())
def test_majority_blocks_are_nearly_equal(n, data):
    m = data.draw(st.integers(1, n))
    low, high = Majority(Index(n), m).describe()["block_sizes"]
    assert low == n // m
    assert high == -(-n // m)


@settings(deadline=None, max_examples=200)
@given(st.integers(0, 60), st.integers(-2, 62), st.sampled_from([(3, 1), (7, 4), (23, 12)]))
def test_as_many_blocks_as_fit(n, m, block):
    places, info = block
    fits = [
        b for b in range(1, 61) if 0 <= m <= n and b * info <= m and m - b * info <= n - b * places
    ]
    assert most_blocks(n, m, places, info) == max(fits, default=0)


def test_default_checks_are_the_best():
    for n, m in combinations(range(1, 22), 2):
        m, n = min(n, m), max(n, m)  # noqa: PLW2901
        if m > n - 2:
            continue
        best = Hamming(Index(n), m)
        for r in range(2, 5):
            if most_blocks(n, m, 2**r - 1, 2**r - 1 - r):
                other = Hamming(Index(n), m, checks=r).success()
                assert other <= best.success()
                assert other * n == block_success(Index(n), m, 2**r - 1, 2**r - 1 - r)
