"""Intervals cover as often as they say, tests alarm as rarely as they say."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statebound.errors import UsageError
from statebound.experiments import estimates
from statebound.experiments.estimates import (
    Interval,
    betting_interval,
    binary_entropy,
    certified_bits,
    certified_bits_by_query,
    clopper_pearson,
    confidence_sequence,
    exceeds,
)

Draw = Callable[[np.random.Generator], np.ndarray]

LAWS: dict[str, tuple[float, Draw]] = {
    "fair coins": (0.5, lambda g: g.integers(0, 2, 150).astype(float)),
    "rare failures": (0.97, lambda g: (g.random(150) < 0.97).astype(float)),
    "rare successes": (0.03, lambda g: (g.random(150) < 0.03).astype(float)),
    "block means": (0.8, lambda g: g.binomial(16, 0.8, 200) / 16),
    "narrow": (0.88, lambda g: 0.88 + 0.004 * (2 * g.random(200) - 1)),
    "alternating laws": (
        0.5,
        lambda g: np.where(np.arange(150) % 2, g.integers(0, 2, 150), 0.4 + 0.2 * g.random(150)),
    ),
}


def misses(law: str, runs: int, shrink: float = 1.0) -> int:
    """Count runs whose interval, shrunk about its middle, leaves out the true mean."""
    mean, draw = LAWS[law]
    generator = np.random.default_rng(20_240_501)
    missed = 0
    for _ in range(runs):
        found = betting_interval(draw(generator), 0.9)
        low = found.best - shrink * (found.best - found.low)
        high = found.best + shrink * (found.high - found.best)
        missed += not low <= mean <= high
    return missed


def too_many(missed: int, runs: int, level: float) -> bool:
    """Whether so many misses contradict the level, wrong once in a million times."""
    kept, out_of = Fraction(level).limit_denominator(100).as_integer_ratio()
    tail = sum(
        math.comb(runs, j) * (out_of - kept) ** j * kept ** (runs - j)
        for j in range(missed, runs + 1)
    )
    return 10**6 * tail < out_of**runs


@pytest.mark.parametrize("law", sorted(LAWS))
def test_the_betting_interval_covers(law: str) -> None:
    assert not too_many(misses(law, 300), 300, 0.9)


def test_an_interval_made_too_narrow_is_noticed() -> None:
    assert too_many(misses("fair coins", 300, shrink=0.4), 300, 0.9)
    assert too_many(misses("block means", 300, shrink=0.4), 300, 0.9)


def test_the_betting_interval_is_useful() -> None:
    x = np.random.default_rng(3).binomial(64, 0.8, 4096) / 64
    found = betting_interval(x)
    deviation = math.sqrt(0.8 * 0.2 / 64 / 4096)
    assert found.high - found.low < 2 * 1.96 * deviation * 2.2
    assert found.low < 0.8 < found.high


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=40),
    st.floats(0.5, 0.999),
)
def test_an_interval_holds_its_mean_and_mirrors(x: list[float], level: float) -> None:
    found = betting_interval(x, level)
    assert 0 <= found.low <= found.best <= found.high <= 1
    assert found == betting_interval(np.array(x), level)
    mirror = betting_interval(1 - np.array(x), level)
    assert mirror.low == pytest.approx(1 - found.high, abs=1e-9)
    assert mirror.high == pytest.approx(1 - found.low, abs=1e-9)


def test_ends_agree_with_a_plain_loop() -> None:
    """The capital by a loop over exact-order products, scanned over a fine grid."""
    x = np.random.default_rng(5).random(60) ** 2
    a = 0.1
    kept = []
    for m in np.arange(1, 2000) / 2000:
        more = less = 1.0
        past: list[float] = []
        total, spread, top = 0.5, 0.25, 0.0
        for i, value in enumerate(x):
            variance = spread / (i + 1)
            stake = math.sqrt(2 * math.log(2 / a) / (len(x) * variance))
            more *= 1 + min(stake, 0.75 / m) * (value - m)
            less *= 1 - min(stake, 0.75 / (1 - m)) * (value - m)
            top = max(top, more, less)
            past.append(value)
            total += value
            spread += (value - total / (i + 2)) ** 2
        if top < 2 / a:
            kept.append(m)
    found = betting_interval(x, 0.9)
    assert found.low == pytest.approx(min(kept), abs=6e-4)
    assert found.high == pytest.approx(max(kept), abs=6e-4)


def test_constant_values() -> None:
    ones = betting_interval(np.ones(500))
    assert (ones.best, ones.high) == (1.0, 1.0)
    assert 0.98 < ones.low < 1
    zeros = betting_interval(np.zeros(500))
    assert (zeros.low, zeros.best) == (0.0, 0.0)
    assert zeros.high == pytest.approx(1 - ones.low, abs=1e-12)


def test_stakes_do_not_look_ahead() -> None:
    x = np.random.default_rng(8).random(50)
    other = x.copy()
    other[30:] = 1 - other[30:]
    first, second = (estimates._stakes(values, 3.0, 50) for values in (x, other))
    assert (first[:31] == second[:31]).all()
    assert (first[31:] != second[31:]).any()
    for n in (1, 2, 20):  # nor do they know how many values come, but how many were planned
        assert (estimates._stakes(x[:n], 3.0, 50) == first[:n]).all()


def test_epochs_share_the_error_out() -> None:
    first, error = estimates.FIRST, 0.05
    planned = [estimates._epoch(n, error)[0] for n in (1, first, first + 1, 2 * first, 5 * first)]
    assert planned == [first, first, 2 * first, 2 * first, 8 * first]
    parts = [estimates._epoch(first << j, error)[1] for j in range(3000)]
    assert all(a > b for a, b in pairwise(parts))
    assert 0.999 * error < sum(parts) < error


@pytest.fixture
def early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let epochs be so short that a short sequence has several."""
    monkeypatch.setattr(estimates, "FIRST", 8)


EPOCHS = (8, 16, 32, 64, 128, 256)


@pytest.mark.usefixtures("early")
@pytest.mark.parametrize("law", sorted(LAWS))
def test_a_confidence_sequence_covers_at_all_times(law: str) -> None:
    """Whoever stops at the worst moment of all is still right as often as the level says.

    The mean is outside at some time if in some epoch a bettor on either side refutes it.
    """
    mean, draw = LAWS[law]
    generator = np.random.default_rng(20_240_502)
    runs, level, missed = 400, 0.9, 0
    for _ in range(runs):
        x = draw(generator)
        missed += any(
            exceeds(x[:n], mean, (1 - level) / 2, watched=True)
            or exceeds(1 - x[:n], 1 - mean, (1 - level) / 2, watched=True)
            for n in EPOCHS
        )
    assert not too_many(missed, runs, level)


@pytest.mark.usefixtures("early")
def test_one_who_stops_when_the_mean_is_outside() -> None:
    """The same through the interval itself, looked at as often as a sweep looks."""
    mean, draw = LAWS["block means"]
    generator = np.random.default_rng(4)
    runs, level, missed, narrow = 150, 0.9, 0, 0
    for _ in range(runs):
        x = draw(generator)
        refuted = False
        for n in (1, 2, 4, 8, 16, 32, 64, 128):
            found = confidence_sequence(x[:n], level)
            outside = not found.low <= mean <= found.high
            refuted = refuted or outside
            sides = [exceeds(x[:n], mean, 0.05, watched=True)]
            sides.append(exceeds(1 - x[:n], 1 - mean, 0.05, watched=True))
            assert outside <= any(sides)  # else it was widened to hold its own mean
        missed += refuted
        narrow += abs(found.best - mean) > 0.25 * (found.high - found.low) / 2
    assert not too_many(missed, runs, level)
    assert too_many(narrow, runs, level)


@pytest.mark.parametrize(("n", "most"), [(1024, 1.12), (3000, 1.7), (4096, 1.5), (16384, 1.7)])
@pytest.mark.parametrize("spread", [1, 64])
def test_a_confidence_sequence_costs_a_little_width(n: int, most: float, spread: int) -> None:
    """Less than twice what it is where the number of values was fixed beforehand."""
    x = np.random.default_rng(3).binomial(spread, 0.8, n) / spread
    plain, watched = betting_interval(x), confidence_sequence(x)
    ratio = (watched.high - watched.low) / (plain.high - plain.low)
    assert 1.0 < ratio < most
    assert watched.low < 0.8 < watched.high


def test_the_capital_is_a_martingale() -> None:
    """Summed over all sequences of a fair coin the final capital is exactly 1 on average."""
    n = 10
    for planned in (n, 3 * n):
        capital = 0.0
        for bits in product((0.0, 1.0), repeat=n):
            x = np.array(bits)
            played = np.minimum(estimates._stakes(x, 2.0, planned), estimates.CAP / 0.5)
            capital += float(np.prod(1 + played * (x - 0.5)))
        assert capital / 2**n == pytest.approx(1, abs=1e-12)


def test_alarms_are_rare_and_come_when_due() -> None:
    generator = np.random.default_rng(11)
    runs, error = 2000, 0.05
    alarms = sum(exceeds(generator.integers(0, 2, 200), 0.5, error) for _ in range(runs))
    assert alarms > 0
    assert not too_many(alarms, runs, 1 - error)
    # the companion: a wall put too low is not respected, and the count shows it
    false = sum(exceeds(generator.integers(0, 2, 200), 0.45, error) for _ in range(runs))
    assert too_many(false, runs, 1 - error)


def test_a_broken_wall_is_proved_at_a_strict_level() -> None:
    generator = np.random.default_rng(12)
    x = generator.binomial(32, 0.56, 4096) / 32
    assert exceeds(x, Fraction(55, 100), 1e-8)
    assert not exceeds(x, Fraction(56, 100), 1e-8)
    assert not exceeds(np.ones(10_000), 1, 0.5)
    assert exceeds(np.ones(10), 0, 1e-3)
    assert not exceeds(np.zeros(10), 0, 1e-3)


def test_exceeds_uses_the_best_moment() -> None:
    x = np.concatenate([np.ones(60), np.zeros(60)])
    assert exceeds(x, 0.5, 1e-3)
    assert not exceeds(x[::-1], 0.5, 1e-3)


@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
def test_clopper_pearson_covers_at_every_p(level: float) -> None:
    """Coverage summed exactly over all outcomes; never below the level."""
    n = 17
    ends = [clopper_pearson(k, n, level) for k in range(n + 1)]
    for p in np.linspace(0, 1, 401):
        covered = sum(
            math.comb(n, k) * p**k * (1 - p) ** (n - k)
            for k in range(n + 1)
            if ends[k].low <= p <= ends[k].high
        )
        assert covered >= level - 1e-12


def test_a_shorter_clopper_pearson_would_not_cover() -> None:
    n, level = 17, 0.95
    ends = [clopper_pearson(k, n, 0.8) for k in range(n + 1)]
    worst = min(
        sum(
            math.comb(n, k) * p**k * (1 - p) ** (n - k)
            for k in range(n + 1)
            if ends[k].low <= p <= ends[k].high
        )
        for p in np.linspace(0, 1, 401)
    )
    assert worst < level


def test_clopper_pearson_ends_solve_their_tails() -> None:
    found = clopper_pearson(7, 20, 0.9)
    upper = sum(math.comb(20, k) * found.low**k * (1 - found.low) ** (20 - k) for k in range(7, 21))
    lower = sum(math.comb(20, k) * found.high**k * (1 - found.high) ** (20 - k) for k in range(8))
    assert upper == pytest.approx(0.05, rel=1e-10)
    assert lower == pytest.approx(0.05, rel=1e-10)
    none, every = clopper_pearson(0, 9), clopper_pearson(9, 9)
    assert (none.low, every.high) == (0.0, 1.0)
    assert none.high == pytest.approx(1 - 0.025 ** (1 / 9), rel=1e-12)
    assert every.low == pytest.approx(0.025 ** (1 / 9), rel=1e-12)


@pytest.mark.parity
def test_clopper_pearson_published() -> None:
    # 10 of 100 at 95 %: the interval printed in tables is 4.9 % to 17.6 %
    found = clopper_pearson(10, 100)
    assert (round(found.low, 3), round(found.high, 3)) == (0.049, 0.176)


def test_certified_bits() -> None:
    assert certified_bits(0.5, 100) == 0
    assert certified_bits(0.3, 100) == 0
    assert certified_bits(1.0, 100) == 100
    assert certified_bits(0.75, 8) == pytest.approx(8 * (1 - 2 + 0.75 * math.log2(3)))
    assert certified_bits_by_query([0.75, 0.75]) == pytest.approx(certified_bits(0.75, 2))
    # concavity: success spread unevenly certifies more than its average
    assert certified_bits_by_query([0.9, 0.6]) > certified_bits(0.75, 2)
    assert binary_entropy(0.11) == pytest.approx(0.499915958, abs=1e-9)
    assert binary_entropy(1e-300) < 1e-296


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: clopper_pearson(3, 0), "trials"),
        (lambda: clopper_pearson(3, 2), "successes"),
        (lambda: clopper_pearson(1, 2, 1.0), "level"),
        (lambda: betting_interval([]), "values"),
        (lambda: betting_interval([0.5, math.nan]), "values"),
        (lambda: betting_interval([0.5, 1.1]), "values"),
        (lambda: betting_interval([0.5], 0.0), "level"),
        (lambda: exceeds([0.5], 1.5, 0.1), "wall"),
        (lambda: exceeds([0.5], 0.5, 0.0), "error"),
        (lambda: certified_bits(0.9, -1), "n"),
        (lambda: binary_entropy(1.5), "p"),
    ],
)
def test_requests_without_meaning(call: Callable[[], object], argument: str) -> None:
    with pytest.raises(UsageError) as caught:
        call()
    assert caught.value.argument == argument


def test_an_interval_is_frozen() -> None:
    with pytest.raises(AttributeError):
        clopper_pearson(1, 2).low = 0.0  # type: ignore[misc]
    assert Interval(0.0, 0.5, 1.0, 0.95) == Interval(0.0, 0.5, 1.0, 0.95)
