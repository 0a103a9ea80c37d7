"""The limits against every encoder and every set of words, where these can be listed."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from statebound.protocols.limits.ball import ball
from statebound.protocols.limits.one_bit import one_bit
from statebound.protocols.limits.optimum import optimum
from statebound.protocols.limits.patterns import profile
from statebound.protocols.limits.random_coding import random_coding_exact
from statebound.protocols.limits.rate_distortion import rate_distortion

F = Fraction
LAWS = {
    1: [(F(1),)],
    2: [(F(1, 2), F(1, 2)), (F(2, 3), F(1, 3)), (F(1), F(0))],
    3: [
        (F(1, 3),) * 3,
        (F(1, 2), F(1, 4), F(1, 4)),
        (F(4, 7), F(2, 7), F(1, 7)),
        (F(1, 2), F(1, 2), F(0)),
    ],
    4: [
        (F(1, 4),) * 4,
        (F(12, 25), F(6, 25), F(4, 25), F(3, 25)),
        (F(2, 5), F(2, 5), F(1, 10), F(1, 10)),
    ],
}
SIZES = [(1, 2, 2), (2, 2, 4), (3, 2, 8), (4, 2, 5), (2, 3, 9), (3, 3, 4), (2, 4, 4)]


def costs_between_words(weights, q):
    """Cost of z under word y, in units of 1/unit: (q^n, q^n) integers, and the unit."""
    words = np.array(list(product(range(q), repeat=len(weights))))
    unit = np.lcm.reduce([w.denominator for w in weights])
    whole = np.array([int(w * unit) for w in weights])
    return ((words[:, None] != words[None]) * whole).sum(-1), int(unit)


def best_of_all_word_sets(weights, q, messages):
    table, unit = costs_between_words(weights, q)
    total = len(table)
    least = min(
        int(np.minimum.reduce(table[[0, *rest]], axis=0).sum())
        for rest in combinations(range(1, total), messages - 1)
    )
    return 1 - F(least, unit * total)


@pytest.mark.parametrize(("n", "q", "most"), SIZES)
def test_ball_is_never_below_the_best_set_of_words(n, q, most):
    met = 0
    for weights in LAWS[n]:
        costs = profile(weights, q)
        assert costs is not None
        for messages in range(1, most + 1):
            best = best_of_all_word_sets(weights, q, messages)
            wall = ball(costs, messages)
            assert best <= wall
            assert random_coding_exact(costs, messages) <= best
            assert wall <= rate_distortion(weights, q, np.log2(messages)) + 1e-12
            met += best == wall
    assert met >= len(LAWS[n])  # one message at the least: a wall that is met is no excuse


@pytest.mark.parametrize(("n", "q", "most"), SIZES)
def test_optimum_interval_holds_the_true_optimum(n, q, most):
    for weights in LAWS[n]:
        for bits in range(most.bit_length()):
            best = best_of_all_word_sets(weights, q, min(1 << bits, q**n))
            found = optimum(weights, q, bits, profile(weights, q))
            assert found.high is not None
            assert found.low <= best <= found.high
            if found.closed:
                assert found.low == best


@pytest.mark.parametrize("weights", [w for n in (1, 2, 3) for w in LAWS[n]])
@pytest.mark.parametrize("messages", [1, 2, 3])
def test_no_encoder_passes_the_ball(weights, messages):
    # Every function from inputs to messages, each with the Bob that is right most often.
    n = len(weights)
    x = np.array(list(product((0, 1), repeat=n)))
    best = F(0)
    for encoder in product(range(messages), repeat=len(x)):
        right = F(0)
        for m in set(encoder):
            ones = x[np.array(encoder) == m].sum(0)
            size = encoder.count(m)
            right += sum(w * max(int(a), size - int(a)) for w, a in zip(weights, ones, strict=True))
        best = max(best, right / len(x))
    costs = profile(weights, 2)
    assert costs is not None
    assert best <= ball(costs, messages)
    assert best == best_of_all_word_sets(weights, 2, min(messages, len(x)))


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_one_bit_wall_is_met_for_every_law(n):
    for weights in LAWS[n]:
        costs = profile(weights, 2)
        assert costs is not None
        assert ball(costs, 2) == best_of_all_word_sets(weights, 2, 2)
    assert one_bit(n) == best_of_all_word_sets(LAWS[n][0], 2, 2)


def test_one_bit_is_the_mean_of_a_majority():
    for n in range(1, 13):
        x = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
        ones = x.sum(1)
        assert one_bit(n) == F(int(np.maximum(ones, n - ones).sum()), n * 2**n)
