"""Random codes: the mean over all codes, listed; fractions; long inputs."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

from statebound.protocols.limits.ball import ball
from statebound.protocols.limits.patterns import profile, uniform
from statebound.protocols.limits.random_coding import (
    ROUNDING,
    random_coding,
    random_coding_exact,
)
from statebound.protocols.problem import query_weights

F = Fraction
GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "index_limits.json").read_text())


@pytest.mark.parity
@pytest.mark.parametrize("row", GOLDEN["limits"], ids=lambda r: f"{r['n']},{r['state_bits']}")
def test_published_values(row):
    found = random_coding(uniform(row["n"]), 2 ** row["state_bits"])
    assert found == pytest.approx(row["random_coding_average"], abs=6e-11)


@pytest.mark.parametrize(
    ("weights", "q", "messages"),
    [
        ((F(1, 2), F(1, 2)), 2, 3),
        ((F(1, 3),) * 3, 2, 3),
        ((F(1, 2), F(1, 3), F(1, 6)), 2, 2),
        ((F(2, 3), F(1, 3)), 3, 2),
        ((F(1, 2), F(1, 2)), 3, 3),
    ],
)
def test_is_the_mean_over_all_codes(weights, q, messages):
    words = list(product(range(q), repeat=len(weights)))
    cost = {
        (y, z): sum((w for w, a, b in zip(weights, y, z, strict=True) if a != b), F(0))
        for y in words
        for z in words
    }
    error = sum(
        min(cost[y, z] for y in code) for code in product(words, repeat=messages) for z in words
    )
    costs = profile(weights, q)
    assert costs is not None
    mean = 1 - error / len(words) ** (messages + 1)
    assert random_coding_exact(costs, messages) == mean


@pytest.mark.parametrize("n", [1, 2, 7, 14])
@pytest.mark.parametrize("q", [2, 3])
def test_floats_stay_within_their_margin(n, q):
    for messages in (1, 2, 3, 17, 256):
        for costs in (uniform(n, q), profile(query_weights("zipf", n), q)):
            assert costs is not None
            exact = random_coding_exact(costs, messages)
            found = F(random_coding(costs, messages))
            assert abs(found - exact) <= ROUNDING / 100
            assert exact <= ball(costs, messages)


@pytest.mark.parametrize("n", [64, 1024, 4096])
def test_long_inputs(n):
    costs = uniform(n)
    values = [random_coding(costs, 2**m) for m in (0, 1, 2, n // 4, n // 2, n - 1, n, n + 60)]
    assert values[0] == pytest.approx(0.5, abs=1e-14)
    assert values == sorted(values)
    assert values[-1] == 1
    for m in (1, n // 4, n // 2, n - 1):
        assert random_coding(costs, 2**m) < ball(costs, 2**m)
