"""How near the constructed codes come to the wall, at sizes that matter."""

from fractions import Fraction
from math import comb, sqrt

import numpy as np
import pytest

from statebound.protocols.codes.polar import Polar
from statebound.protocols.codes.syndrome_trellis import SyndromeTrellis
from statebound.protocols.codes.trellis import Trellis
from statebound.protocols.problems.index import Index


def ball(n, state_bits):
    """Fill 2^n inputs, cheapest error patterns first, 2^M inputs a pattern."""
    left, total = 2**n, 0
    for j in range(n + 1):
        here = min(left, 2**state_bits * comb(n, j))
        total += here * j
        left -= here
    return float(1 - Fraction(total, n * 2**n))


@pytest.mark.parity
def test_ball_golden():
    assert ball(1024, 512) == pytest.approx(0.888505, abs=1e-6)
    assert ball(4096, 2048) == pytest.approx(0.889505, abs=1e-6)


CASES = [
    (Polar, 1024, 128, {"list_size": 32}, 0.006, 2000),
    (Polar, 1024, 512, {"list_size": 32}, 0.006, 300),
    (Polar, 1024, 768, {"list_size": 32}, 0.006, 150),
    (Polar, 4096, 2048, {"list_size": 128}, 0.004, 60),
    (Trellis, 1024, 512, {"memory": 12}, 0.006, 2000),
    (Trellis, 1024, 512, {"memory": 10}, 0.0085, 500),
    (Trellis, 1024, 256, {"memory": 10}, 0.0085, 500),
    (Trellis, 1024, 128, {"memory": 10}, 0.0075, 1500),
    (SyndromeTrellis, 1024, 768, {"height": 10}, 0.0055, 256),
    (SyndromeTrellis, 1024, 768, {"height": 12}, 0.0045, 128),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "n", "m", "options", "gap", "blocks"),
    CASES,
    ids=[f"{c[0].name}-{c[1]}-{c[2]}-{'-'.join(map(str, c[3].values()))}" for c in CASES],
)
def test_gap_to_the_ball(kind, n, m, options, gap, blocks):
    # Blocks are independent: five standard errors of the block mean on the near side must
    # lie within the gap, and on the far side they must not pass the wall.
    code = kind(Index(n), m, **options)
    x = code.problem.sample(np.random.default_rng(2024), blocks)
    right = (code.decode(code.encode(x)) == x).mean(1)
    mean, error = right.mean(), right.std(ddof=1) / sqrt(blocks)
    wall = ball(n, m)
    assert mean - 5 * error > wall - gap, (wall - mean, error)
    assert mean + 5 * error < wall
