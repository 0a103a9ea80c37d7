"""Every listed code, built from its definition and counted input by input."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from itertools import product
from math import comb
from pathlib import Path

import numpy as np
import pytest

from statebound.protocols.limits import codes_known as known
from statebound.protocols.limits.ball import ball
from statebound.protocols.limits.blocks import best_blocks
from statebound.protocols.limits.codes_small import SMALL
from statebound.protocols.limits.patterns import uniform

F = Fraction
GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "index_limits.json").read_text())


def coset_leaders(columns, rows):
    """Count coset leaders by weight: the fewest columns that add to each syndrome."""
    least = np.full(1 << rows, 99)
    least[0] = 0
    syndrome = np.arange(1 << rows)
    for column in columns:
        least = np.minimum(least, least[syndrome ^ column] + 1)
    return tuple(np.bincount(least).tolist())


def distance_counts(words, n):
    """Count inputs by distance from the nearest of `words`, per word."""
    weight = np.zeros(1 << n, np.uint8)
    for k in range(n):
        weight[1 << k : 2 << k] = weight[: 1 << k] + 1
    least = np.full(1 << n, 99, np.uint8)
    inputs = np.arange(1 << n)
    for word in words:
        np.minimum(least, weight[inputs ^ word], out=least)
    counts = np.bincount(least)
    assert (counts % len(words) == 0).all()
    return tuple((counts // len(words)).tolist())


def span(rows):
    words = [0]
    for row in rows:
        words += [row ^ word for word in words]
    return words


def cyclic(generator, n, bits):
    """Return the words of the cyclic code of length n that `generator` generates."""
    words = span([generator << i for i in range(bits)])
    assert {((w << 1) & (2**n - 1)) | w >> (n - 1) for w in words} == set(words)
    return words


def powers(polynomial):
    """Return 1, a, a^2, ... of a root a of a binary polynomial, over a whole period."""
    degree, found, element = polynomial.bit_length() - 1, [], 1
    while not found or element != 1:
        found.append(element)
        element <<= 1
        if element >> degree:
            element ^= polynomial
    return found


PRIMITIVE = {4: 0x13, 5: 0x25, 6: 0x43, 7: 0x83, 8: 0x11D, 12: 0x1053, 16: 0x1100B}


@pytest.mark.parametrize("r", range(2, 12))
def test_hamming(r):
    code = known.hamming(r)
    columns = range(1, 2**r)
    assert code.leaders == coset_leaders(columns, r)
    assert (code.n, code.bits) == (len(columns), len(columns) - r)
    assert code.success == 1 - F(1, code.n + 1)


@pytest.mark.parametrize("r", range(2, 11))
def test_extended_hamming(r):
    code = known.extended_hamming(r)
    columns = [1 << r | c for c in range(2**r)]
    assert code.leaders == coset_leaders(columns, r + 1)
    assert (code.n, code.bits) == (len(columns), len(columns) - r - 1)


@pytest.mark.parametrize("m", known.BCH_DEGREES)
def test_two_error_bch(m):
    a = powers(PRIMITIVE[m])
    assert len(a) == 2**m - 1
    columns = [a[i] | a[3 * i % len(a)] << m for i in range(len(a))]
    code = known.two_error_bch(m)
    assert code.leaders == coset_leaders(columns, 2 * m)
    assert (code.n, code.bits) == (len(columns), len(columns) - 2 * m)


@pytest.mark.parametrize("m", known.ZETTERBERG_DEGREES)
def test_zetterberg(m):
    a = powers(PRIMITIVE[2 * m])
    assert len(a) == 2 ** (2 * m) - 1
    step = len(a) // (2**m + 1)
    columns = a[::step]
    code = known.zetterberg(m)
    assert code.leaders == coset_leaders(columns, 2 * m)
    assert (code.n, code.bits) == (len(columns), len(columns) - 2 * m)


def golay_generator():
    # x^11 + x^10 + x^6 + x^5 + x^4 + x^2 + 1
    return 0b110001110101


def named(name):
    return next(code for code in known.SINGLE if code.name == name)


def test_golay():
    # A parity check of the cyclic code: column i is x^i modulo the generator.
    columns = powers(golay_generator())
    assert len(columns) == 23
    assert named("Golay [23,12]").leaders == coset_leaders(columns, 11) == (1, 23, 253, 1771)
    longer = [c | 1 << 11 for c in columns] + [1 << 11]
    assert named("extended Golay [24,12]").leaders == coset_leaders(longer, 12)
    assert named("extended Golay [24,12]").success == F(21143, 24576)


def nordstrom_robinson():
    """The 256 words of 16 bits as Gray images of the octacode over the integers mod 4."""
    rows = np.array(
        [
            [3, 1, 2, 1, 0, 0, 0, 1],
            [0, 3, 1, 2, 1, 0, 0, 1],
            [0, 0, 3, 1, 2, 1, 0, 1],
            [0, 0, 0, 3, 1, 2, 1, 1],
        ]
    )
    gray = np.array([0b00, 0b01, 0b11, 0b10])
    messages = np.array(list(product(range(4), repeat=4)))
    return (gray[messages @ rows % 4] << 2 * np.arange(8)).sum(1)


def test_nordstrom_robinson():
    words = nordstrom_robinson()
    apart = [int(a ^ b).bit_count() for a in words for b in words if a != b]
    assert min(apart) == 6
    whole, less = named("Nordstrom-Robinson [16,8]"), named("punctured Nordstrom-Robinson [15,8]")
    assert whole.leaders == distance_counts(words, 16)
    assert whole.success == F(869, 1024)
    assert less.leaders == distance_counts(words & 0x7FFF, 15)
    assert less.success == F(279, 320)


def test_codes_far_from_the_ball():
    line = [sum((i >> j & 1) << i for i in range(16)) for j in range(4)]
    cases = {
        "Reed-Muller [16,5]": (span([0xFFFF, *line]), 16, F(6231, 8192)),
        "simplex [15,4]": (span([row >> 1 for row in line]), 15, F(565, 768)),
        "BCH [15,5]": (cyclic(0b10100110111, 15, 5), 15, F(1195, 1536)),
    }
    for name, (words, n, success) in cases.items():
        code = named(name)
        assert code.leaders == distance_counts(words, n)
        assert code.success == success < ball(uniform(n), 2**code.bits)


@pytest.mark.parametrize("size", SMALL, ids=str)
def test_searched_codes(size):
    n, bits = size
    leaders, columns = SMALL[size]
    assert len(columns) == n
    assert coset_leaders(columns, n - bits) == leaders
    assert sum(leaders) == 2 ** (n - bits)


@pytest.mark.parity
@pytest.mark.parametrize("row", GOLDEN["codes"], ids=lambda r: r["code"])
def test_published_values(row):
    sizes = {(c.n, c.bits): c for c in known.known_codes(24)}
    assert sizes[row["n"], row["state_bits"]].success == F(row["optimum"])


def test_ball_is_met_exactly_by_perfect_and_quasi_perfect_codes():
    met = Counter()
    for code in known.known_codes(260):
        wall = ball(uniform(code.n), 2**code.bits)
        filled = all(a == comb(code.n, j) for j, a in enumerate(code.leaders[:-1]))
        assert code.success <= wall
        assert filled == (code.success == wall)
        met[filled] += 1
    assert met[True] > 30
    assert met[False] > 10


@pytest.mark.parametrize("n", range(1, 41))
def test_last_bits_are_known_exactly(n):
    # M >= n - floor(log2(n+1)): Hamming blocks beside stored bits have radius 1.
    for bits in range(n - (n + 1).bit_length() + 1, n):
        value, _ = best_blocks(n, bits)
        assert value == 1 - (1 - F(1, 2 ** (n - bits))) / n == ball(uniform(n), 2**bits)


@pytest.mark.parametrize(("n", "bits"), [(6, 3), (7, 4), (8, 3), (9, 5), (10, 4)])
def test_dropping_the_worst_bit_costs_no_more_than_its_share(n, bits):
    columns = range(1, 8) if (n, bits) == (7, 4) else SMALL[n, bits][1]
    words = []
    for x in range(2**n):
        syndrome = 0
        for k, column in enumerate(columns):
            syndrome ^= column * (x >> k & 1)
        if syndrome == 0:
            words.append(x)
    assert len(words) == 2**bits
    mean = F(sum(j * a for j, a in enumerate(distance_counts(words, n))), 2 ** (n - bits))
    shorter = []
    for k in range(n):
        cut = [(w & (1 << k) - 1) | w >> (k + 1) << k for w in words]
        least = np.min([[(x ^ w).bit_count() for x in range(2 ** (n - 1))] for w in cut], axis=0)
        shorter.append(F(int(least.sum()), 2 ** (n - 1)))
    assert min(shorter) <= mean * (n - 1) / n
