"""Two bits: all sets of four words, all column types, and the closed form."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from statebound.protocols.limits.ball import ball
from statebound.protocols.limits.patterns import uniform
from statebound.protocols.limits.two_bit import PROVED_TO, exhaustive, linear, two_bit

F = Fraction


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_walk_over_types_is_the_best_of_all_word_sets(n):
    x = np.arange(2**n)
    apart = np.array([[int(a ^ b).bit_count() for b in x] for a in x])
    least = min(
        int(np.minimum.reduce(apart[[0, *rest]], axis=0).sum())
        for rest in combinations(range(1, 2**n), 3)
    )
    assert exhaustive(n) == 1 - F(least, n * 2**n)


@pytest.mark.parametrize("n", range(2, 15))
def test_even_split_is_the_optimum(n):
    assert two_bit(n) == exhaustive(n) <= ball(uniform(n), 4)


@pytest.mark.slow
@pytest.mark.parametrize("n", range(15, PROVED_TO + 1))
def test_even_split_is_the_optimum_as_far_as_claimed(n):
    assert two_bit(n) == exhaustive(n) <= ball(uniform(n), 4)


@pytest.mark.parametrize(
    "parts", [(1, 1, 0), (1, 1, 1), (3, 2, 1), (4, 3, 2), (5, 0, 0), (4, 4, 4)]
)
def test_closed_form_counts_every_input(parts):
    n = sum(parts)
    signs = 1 - 2 * (np.arange(2**n)[:, None] >> np.arange(n) & 1)
    x, y, z = (part.sum(1) for part in np.split(signs, np.cumsum(parts)[:2], axis=1))
    best = np.max([x + y + z, x - y - z, -x + y - z, -x - y + z], axis=0)
    assert linear(*parts) == F(1, 2) + F(int(best.sum()), n << (n + 1))


def test_no_split_of_longer_inputs_is_better():
    for n in (21, 22, 23, 40):
        splits = [(a, b, n - a - b) for a in range(n + 1) for b in range(n - a + 1)]
        assert two_bit(n) == max(linear(*split) for split in splits if list(split) == sorted(split))
