"""The interval of the optimum: closed where it is known, in order everywhere."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest

from statebound.protocols.limits.ball import ball
from statebound.protocols.limits.blocks import TABLE, best_blocks
from statebound.protocols.limits.optimum import optimum
from statebound.protocols.limits.patterns import profile, uniform
from statebound.protocols.limits.random_coding import random_coding, random_coding_exact
from statebound.protocols.limits.rate_distortion import rate_distortion
from statebound.protocols.limits.two_bit import two_bit
from statebound.protocols.problem import query_weights

F = Fraction
GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "index_limits.json").read_text())


def interval(n, bits):
    return optimum((F(1, n),) * n, 2, bits, uniform(n))


@pytest.mark.parity
@pytest.mark.parametrize("row", GOLDEN["optimum"], ids=lambda r: f"{r['n']},{r['state_bits']}")
def test_small_optima_are_closed(row):
    found = interval(row["n"], row["state_bits"])
    assert found.low == found.high == F(row["optimum"])
    assert found.closed
    assert found.low_exact


@pytest.mark.parity
@pytest.mark.parametrize("row", GOLDEN["codes"], ids=lambda r: r["code"])
def test_optimal_codes_close_the_interval(row):
    found = interval(row["n"], row["state_bits"])
    assert found.low == found.high == F(row["optimum"])


@pytest.mark.parametrize("n", range(1, 15))
def test_everything_is_in_order(n):
    weights = (F(1, n),) * n
    for bits in range(n + 1):
        found = interval(n, bits)
        mean = (
            random_coding_exact(uniform(n), 2**bits)
            if n * 2**bits < 10**5
            else F(random_coding(uniform(n), 2**bits)) - F(1, 10**12)
        )
        assert mean <= found.low <= found.high
        assert found.high <= rate_distortion(weights, 2, bits) + 1e-12
        assert found.low >= F(1, 2) + F(bits, 2 * n)


@pytest.mark.parametrize("n", [3, 9, 16, 20])
def test_ends_grow_with_the_message(n):
    found = [interval(n, bits) for bits in range(n + 2)]
    assert all(a.low <= b.low and a.high <= b.high for a, b in pairwise(found))
    assert found[0].low == found[0].high == F(1, 2)
    assert found[n].low == found[n + 1].low == 1


def test_two_bits_are_known_where_the_ball_is_not_met():
    found = interval(16, 2)
    assert found.low == found.high == two_bit(16)
    assert found.high_source == "all codes of four words searched"
    assert not interval(40, 2).closed


def test_random_codes_carry_the_floor_at_length():
    found = interval(256, 64)
    assert found.low_source == "a random code"
    assert not found.low_exact
    assert found.low < random_coding(uniform(256), 2**64) < found.high
    assert float(found.low) == pytest.approx(0.777690, abs=1e-6)


@pytest.mark.parametrize("law", ["zipf", "recency:0.8"])
@pytest.mark.parametrize("q", [2, 3])
def test_other_laws_and_alphabets(law, q):
    weights = query_weights(law, 8)
    costs = profile(weights, q)
    for bits in range(10):
        found = optimum(weights, q, bits, costs)
        assert 1 / q <= found.low <= found.high <= 1
        if q == 2 and bits in (0, 1, 8):
            assert found.closed


def test_without_a_profile_only_the_floor_is_left():
    weights = query_weights("zipf", 50)
    found = optimum(weights, 2, 7, None)
    assert found.high is None
    assert found.low_source == "the heaviest symbols stored"
    assert found.low == F(1, 2) + sum(sorted(weights)[-7:]) / 2


@pytest.mark.parametrize(
    ("n", "bits"), [(1, 0), (1, 1), (24, 12), (TABLE, 30), (300, 3), (300, 298), (4096, 4084)]
)
def test_blocks_use_exactly_their_bits(n, bits):
    value, text = best_blocks(n, bits)
    used = length = 0
    for part in text.split(" + "):
        copies, _, rest = part.rpartition(" x ")
        many = int(copies or 1)
        head, _, kind = rest.partition(" ")
        if kind in ("stored", "guessed"):
            many, size, message = int(head), 1, int(kind == "stored")
        else:
            size, message = map(int, rest[rest.index("[") + 1 : rest.index("]")].split(","))
            size -= rest.endswith("less a bit")
        assert many > 0
        length, used = length + many * size, used + many * message
    assert (length, used) == (n, bits)
    assert F(1, 2) + F(bits, 2 * n) <= value <= ball(uniform(n), 2**bits)


def test_golay_blocks_beat_hamming_blocks():
    assert best_blocks(46, 24) == (F(897, 1024), "2 x Golay [23,12]")
