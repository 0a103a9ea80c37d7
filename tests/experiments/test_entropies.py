"""Entropy estimators against definitions, small exact averages and other libraries."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statebound.errors import UsageError
from statebound.experiments.entropies import (
    ESTIMATORS,
    chao_shen,
    grassberger,
    jackknife,
    miller_madow,
    mutual_information,
    plug_in,
)

COUNTS = st.lists(st.integers(0, 30), min_size=1, max_size=12).filter(any)


@settings(deadline=None, max_examples=80)
@given(COUNTS)
def test_plug_in_is_the_definition(counts: list[int]) -> None:
    n = sum(counts)
    expected = -sum(c / n * math.log2(c / n) for c in counts if c)
    assert plug_in(counts) == pytest.approx(expected, abs=1e-12)
    assert miller_madow(counts) == pytest.approx(
        expected + (sum(c > 0 for c in counts) - 1) / (2 * n) / math.log(2), abs=1e-12
    )


@settings(deadline=None, max_examples=80)
@given(COUNTS)
def test_jackknife_by_leaving_out_each_sample(counts: list[int]) -> None:
    n = sum(counts)
    if n == 1:
        assert jackknife(counts) == 0
        return
    left_out = []
    for i, c in enumerate(counts):
        if c:
            left_out += [plug_in([*counts[:i], c - 1, *counts[i + 1 :]])] * c
    assert jackknife(counts) == pytest.approx(
        n * plug_in(counts) - (n - 1) * sum(left_out) / n, abs=1e-9
    )


def g_by_recurrence(count: int) -> float:
    g = -0.57721566490153286 - math.log(2)
    if count < 2:
        return g
    g += 2
    for m in range(1, count // 2):
        g += 2 / (2 * m + 1)
    return g


@settings(deadline=None, max_examples=80)
@given(COUNTS)
def test_grassberger_by_the_recurrence(counts: list[int]) -> None:
    n = sum(counts)
    expected = math.log(n) - sum(c * g_by_recurrence(c) for c in counts if c) / n
    assert grassberger(counts) == pytest.approx(expected / math.log(2), abs=1e-11)


@settings(deadline=None, max_examples=80)
@given(COUNTS)
def test_chao_shen_by_its_formula(counts: list[int]) -> None:
    n = sum(counts)
    once = counts.count(1)
    coverage = 1 - (once - (once == n)) / n
    total = 0.0
    for c in counts:
        if c:
            q = coverage * c / n
            total -= q * math.log2(q) / (1 - (1 - q) ** n)
    assert chao_shen(counts) == pytest.approx(total, abs=1e-9)


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_order_and_zeros_do_not_matter(name: str) -> None:
    estimator = ESTIMATORS[name]
    assert estimator([5, 0, 2, 1, 1]) == estimator([1, 2, 1, 5])
    assert math.isfinite(estimator([1]))
    assert math.isfinite(estimator([1, 1, 1]))
    assert estimator([10_000] * 8) == pytest.approx(3, abs=2e-3)


def exact_bias(estimator: Callable[[list[int]], float], n: int, p: float) -> float:
    """The average over all samples of n coins, less the truth."""
    truth = -(p * math.log2(p) + (1 - p) * math.log2(1 - p))
    mean = sum(
        math.comb(n, k) * p**k * (1 - p) ** (n - k) * estimator([k, n - k]) for k in range(n + 1)
    )
    return mean - truth


def test_corrections_shrink_the_bias() -> None:
    """Exact averages over all samples of 20 coins."""
    plain = exact_bias(plug_in, 20, 0.3)
    assert plain == pytest.approx(-1 / (40 * math.log(2)), rel=0.2)
    for estimator in (miller_madow, jackknife):
        assert abs(exact_bias(estimator, 20, 0.3)) < abs(plain) / 5


@pytest.mark.parametrize("rate", [0.3, 1.0, 2.5, 6.0])
def test_grassberger_has_no_bias_for_poisson_counts_but_one_term(rate: float) -> None:
    """For a Poisson count c of mean r, E[c G(c)] = r ln r + r E1(2 r): the published identity."""
    from scipy.special import exp1

    mean, weight = 0.0, math.exp(-rate)
    for c in range(1, 80):
        weight *= rate / c
        # the estimator itself tells c G(c): one value among N = c gives log2 c - G(c) / ln 2
        mean += weight * c * (math.log(c) - math.log(2) * grassberger([c]))
    assert mean == pytest.approx(rate * math.log(rate) + rate * float(exp1(2 * rate)), abs=1e-10)


def test_samples_far_fewer_than_values() -> None:
    """2000 samples of 4096 equally likely values: 12 bits, and what estimators make of them."""
    generator = np.random.default_rng(1)
    runs = [np.bincount(generator.integers(0, 4096, 2000), minlength=4096) for _ in range(30)]
    mean = {name: np.mean([f(c) for c in runs]) for name, f in ESTIMATORS.items()}
    assert mean["plug_in"] == pytest.approx(10.52, abs=0.01)
    assert mean["miller_madow"] == pytest.approx(11.09, abs=0.02)
    assert mean["chao_shen"] == pytest.approx(12.06, abs=0.06)
    assert 11.4 < mean["grassberger"] < 12
    # the companion: none of the first two comes near the truth
    assert max(mean["plug_in"], mean["miller_madow"]) < 11.2


def test_independent_variables_look_dependent() -> None:
    generator = np.random.default_rng(2)
    table = np.zeros((256, 256), np.int64)
    np.add.at(table, (generator.integers(0, 256, 2000), generator.integers(0, 256, 2000)), 1)
    assert mutual_information(table) == pytest.approx(4.88, abs=0.05)
    assert mutual_information(table, miller_madow) == pytest.approx(4.36, abs=0.06)
    assert abs(mutual_information(table, chao_shen)) < 0.6


def test_information_of_known_tables() -> None:
    # a fair bit through a channel that flips one time in four
    assert mutual_information([[3, 1], [1, 3]]) == pytest.approx(2 - 2 + 0.75 * math.log2(3) - 1)
    assert mutual_information([[2, 4], [3, 6]]) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("counts", [[], [0, 0], [-1, 2], [0.5, 1.5], [[1, 2]]])
def test_counts_that_are_none(counts: list[object]) -> None:
    with pytest.raises(UsageError, match="counts"):
        plug_in(counts)  # type: ignore[arg-type]


def test_a_table_has_two_axes() -> None:
    with pytest.raises(UsageError, match="table"):
        mutual_information([1, 2, 3])


@pytest.mark.parity
@pytest.mark.filterwarnings("ignore")
def test_agrees_with_infomeasure() -> None:
    im = pytest.importorskip("infomeasure")
    generator = np.random.default_rng(3)
    samples = generator.geometric(0.1, 300)
    counts = np.bincount(samples)
    for ours, theirs in (
        (plug_in, "discrete"),
        (miller_madow, "miller_madow"),
        (chao_shen, "chao_shen"),
    ):
        assert ours(counts) == pytest.approx(
            float(im.entropy(samples, approach=theirs, base=2)), abs=1e-9
        )
    # that library has the form of 1988: psi(c) + (-1)^c / (c + 1) in place of G(c)
    from scipy.special import digamma

    seen = counts[counts > 0]
    older = digamma(seen) + (-1.0) ** seen / (seen + 1)
    newer = np.array([g_by_recurrence(int(c)) for c in seen])
    shift = float((seen * (newer - older)).sum()) / 300 / math.log(2)
    theirs = float(im.entropy(samples, approach="grassberger", base=2))
    assert grassberger(counts) == pytest.approx(theirs - shift, abs=1e-9)


@pytest.mark.parity
@pytest.mark.filterwarnings("ignore")
def test_agrees_with_dit() -> None:
    dit = pytest.importorskip("dit")
    table = np.array([[4, 1, 0], [2, 2, 7]])
    cells = list(product(range(2), range(3)))
    law = dit.Distribution([f"{a}{b}" for a, b in cells], [table[c] / table.sum() for c in cells])
    assert plug_in(table.ravel()) == pytest.approx(dit.shannon.entropy(law), abs=1e-12)
    assert mutual_information(table) == pytest.approx(
        dit.shannon.mutual_information(law, [0], [1]), abs=1e-12
    )
