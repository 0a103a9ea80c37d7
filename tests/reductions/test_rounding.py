"""Coins, stochastic rounding without bias, and residuals that are not lost."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statebound.models import Cell, Config, Field
from statebound.models._lanes import LANES
from statebound.protocols.message import MessageError
from statebound.protocols.problems.index import Index
from statebound.reductions import encoding as encodings
from statebound.reductions import quantiser as quantisers
from statebound.reductions import rounding as roundings
from statebound.reductions.crossing import Crossing
from statebound.reductions.machine import CutMachine, cut
from statebound.reductions.roundings import _coins

from . import coins as reference
from .conftest import fitted_quantisers, quantisations

STOCHASTIC = ("stochastic", "stochastic_private")

# coins ------------------------------------------------------------------------------


@settings(deadline=None, max_examples=60)
@given(
    st.integers(0, 2**70),
    st.integers(0, 40),
    st.integers(-3, 10**6),
    st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32), min_size=1, max_size=5),
    st.sampled_from(["float32", "float64"]),
)
def test_coins_are_the_hash_in_plain_python(seed, field, time, numbers, dtype):
    values = np.array(numbers, dtype)[None, :, None]
    public = _coins.coins(seed, field, np.array([time]), len(numbers))
    private = _coins.coins(seed, field, np.array([time]), len(numbers), values)
    known = [reference.bits_of(v) for v in values[0, :, 0].tolist()]
    for place in range(len(numbers)):
        assert public[0, place, 0] == reference.coin(seed, field, time, place)
        assert private[0, place, 0] == reference.coin(seed, field, time, *known, place)


def test_the_hash_is_that_of_splitmix64():
    """The first outputs of the published generator from state 0 (S. Vigna's test values)."""
    state, found = 0, []
    for _ in range(3):
        found.append(reference.absorb(state, 0))
        state += 0x9E3779B97F4A7C15
    assert found == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


@pytest.mark.parametrize("along", ["seed", "field", "time", "number", "value"])
def test_coins_are_uniform_and_unrelated_along_every_axis(along):
    """Chi-square over 64 bins and of neighbouring pairs over 8 x 8, at six deviations."""
    size = 1 << 13
    places = np.arange(size)
    if along == "time":
        drawn = _coins.coins(3, 1, places, 1).ravel()
    elif along == "number":
        drawn = _coins.coins(3, 1, np.array([7]), size).ravel()
    elif along == "value":
        known = np.nextafter(np.float32(0.3), np.float32(1)) + places * np.float32(2.0**-24)
        drawn = _coins.coins(3, 1, np.array([7]), 1, known[None, None]).ravel()
    else:
        which = [(s, 1) for s in range(size)] if along == "seed" else [(3, f) for f in range(size)]
        drawn = np.array([_coins.coins(s, f, np.array([7]), 1)[0, 0, 0] for s, f in which])
    assert ((drawn >= 0) & (drawn < 1)).all()
    for count in (
        np.bincount((drawn * 64).astype(int), minlength=64),
        np.bincount((drawn[1:] * 8).astype(int) * 8 + (drawn[:-1] * 8).astype(int), minlength=64),
    ):
        expected = count.sum() / 64
        statistic = ((count - expected) ** 2 / expected).sum()
        assert abs(statistic - 63) < 6 * math.sqrt(2 * 63)
    assert len(np.unique(drawn)) == size


# stochastic rounding ----------------------------------------------------------------


def fitted(name: str, bits: int, numbers: int = 3):
    field = Field("x", (numbers,))
    known = np.random.Generator(np.random.PCG64(3)).standard_normal((numbers, 300))
    return quantisers.family(name, bits).fit(bits, field, known)


def inner(quantiser, name: str, lanes: int = 40) -> np.ndarray:
    """Return numbers (1, 3, lanes) inside the range of a quantiser, with whole scales."""
    generator = np.random.Generator(np.random.PCG64(6))
    if name.startswith("absmax"):
        values = generator.uniform(-1, 1, (1, 3, lanes))
        values[:, 0] = 1.0
        return values
    ends = np.array([-np.inf, np.inf])[None, None]
    top = quantiser.decode(quantiser.encode(np.repeat(ends, 3, axis=1)), np.dtype("float64"))
    low, high = top[0, :, :1], top[0, :, 1:]
    low, high = np.maximum(low, -3.0), np.minimum(high, 3.0)
    return (low + (high - low) * generator.random((3, lanes)))[None]


@pytest.mark.parametrize("rounding", STOCHASTIC)
@pytest.mark.parametrize("name", fitted_quantisers())
def test_the_mean_over_seeds_is_the_number(rounding, name):
    """Within a bound that holds for all numbers but with probability 1e-9 (Hoeffding)."""
    bits = max(min(3, quantisers.load(name).most_bits), quantisers.load(name).least_bits)
    quantiser = fitted(name, bits)
    values = inner(quantiser, name)
    codes = quantiser.encode(values)
    here = quantiser.decode(codes, values.dtype)
    there = quantiser.decode(quantiser.neighbour(codes, values > here), values.dtype)
    gap = np.abs(there - here)
    seeds = 400
    total, chosen = np.zeros_like(values), np.zeros(values.shape, bool)
    for seed in range(seeds):
        draw = roundings.family(rounding)(seed)
        back = quantiser.decode(draw.encode(quantiser, values, 0, np.array([4])), values.dtype)
        assert ((back == here) | (back == there)).all()
        chosen |= back != here
        total += back
    allowed = gap * math.sqrt(math.log(2 * values.size / 1e-9) / (2 * seeds))
    assert (np.abs(total / seeds - values) <= allowed + 1e-12 * np.abs(values)).all()
    between = values != here
    assert between.mean() > 0.6
    assert chosen[between].mean() > 0.9


@pytest.mark.parametrize("rounding", STOCHASTIC)
def test_values_of_the_quantiser_stay(rounding, quantisation):
    name, bits = quantisation
    quantiser = fitted(name, bits)
    draw = roundings.family(rounding)(1)
    for dtype in (np.dtype("float32"), np.dtype("float64")):
        values = quantiser.decode(quantiser.encode(inner(quantiser, name).astype(dtype)), dtype)
        back = quantiser.decode(draw.encode(quantiser, values, 0, np.array([4])), dtype)
        assert (back == values).all()


@pytest.mark.parametrize("rounding", STOCHASTIC)
@pytest.mark.parametrize("name", ["uniform", "quantile", "lloyd", "sign", "fp4_e2m1", "fp8_e4m3"])
def test_beyond_the_range_the_outermost_value_is_taken(rounding, name):
    quantiser = fitted(name, quantisers.load(name).least_bits)
    draw = roundings.family(rounding)(1)
    values = np.tile(np.array([[-1e9, -1e5, 1e5, 1e9]]), (3, 20))[None]
    back = quantiser.decode(draw.encode(quantiser, values, 0, np.array([4])), values.dtype)
    assert (back == quantiser.decode(quantiser.encode(values), values.dtype)).all()


def tiles_of(generator) -> np.ndarray:
    values: np.ndarray = generator.standard_normal((2, 3, LANES))
    values[1] = values[0]
    return values


def test_public_coins_are_the_same_for_all_lanes_and_private_ones_are_not():
    quantiser = fitted("uniform", 2)
    generator = np.random.Generator(np.random.PCG64(1))
    equal = np.repeat(generator.uniform(-1, 1, (1, 3, 1)), LANES, axis=2)
    for rounding in STOCHASTIC:
        draw = roundings.family(rounding)(2)
        codes = draw.encode(quantiser, equal, 0, np.array([4]))
        assert (codes == codes[..., :1]).all(), "equal numbers are rounded alike"
    values = tiles_of(generator)
    drawn = _coins.coins(2, 0, np.array([4, 4]), 3)
    assert drawn.shape == (2, 3, 1)
    own = _coins.coins(2, 0, np.array([4, 4]), 3, values)
    assert (own[0] == own[1]).all()
    assert len(np.unique(own)) == 3 * LANES
    other = values.copy()
    other[:, 2] = np.nextafter(other[:, 2], 9)
    moved = _coins.coins(2, 0, np.array([4, 4]), 3, other)
    assert (moved != own).all(), "each coin depends on all numbers that are rounded together"


def test_coins_change_with_seed_time_and_field():
    quantiser = fitted("uniform", 1, 40)
    values = np.zeros((1, 40, 1))

    def codes(seed=0, field=0, time=0):
        draw = roundings.family("stochastic")(seed)
        return draw.encode(quantiser, values, field, np.array([time])).tobytes()

    found = [codes(), codes(seed=1), codes(field=1), codes(time=1)]
    assert len(set(found)) == 4
    assert codes() == found[0]


# drift ------------------------------------------------------------------------------


@dataclass(frozen=True)
class OneSize(Config):
    width: int

    @property
    def numbers(self) -> int:
        return self.width


class Leaky(Cell):
    """h' = (1 - 1/128) h + 0.9 token: a number that a 1 sets and that then fades."""

    name, summary, Config = "leaky_cell", "a slow leak", OneSize

    def __init__(self, config, weights, vocabulary, dtype="float32"):
        super().__init__(config, weights, vocabulary, dtype)
        self.fields = (Field("h", (config.width,), -1.0, 1.0),)

    @classmethod
    def shapes(cls, config, vocabulary):
        return {}

    @classmethod
    def config_of(cls, weights, settings):
        return OneSize(1)

    def scan(self, state, tokens):
        h = state[0]
        for t in range(tokens.shape[1]):
            h = h - h * self.dtype.type(2.0**-7) + self.dtype.type(0.9) * tokens[:, t : t + 1]
        return (h,)


def faded(rounding: str, quantiser: str = "uniform", bits: int = 4, seed: int = 0, width: int = 1):
    """Return h after a 1 and 99 zeros, in a machine that quantises every step."""
    problem = Index(100)
    encoding = encodings.make("bits", problem)
    cell = Leaky(OneSize(width), {}, encoding.vocabulary)
    machine = CutMachine(problem, cell, encoding, quantiser, bits, "step", "random", seed, rounding)
    x = np.zeros((1, 100), np.uint8)
    x[0, 0] = 1
    return machine.features(machine.encode(x))[0]


EXACT = 0.9 * (1 - 2.0**-7) ** 99
BIN = 2 / 2**4


def test_nearest_sticks_where_a_change_is_below_half_a_bin():
    start = 0.9375  # the middle of the bin that 0.9 falls into
    assert start * 2.0**-7 < BIN / 2
    assert faded("nearest").tolist() == [start]
    assert abs(start - EXACT) > 3 * BIN


def test_feedback_follows():
    """q + r obeys the recurrence with q for h, and |r| is at most half a bin."""
    assert abs(faded("feedback")[0] - EXACT) < BIN


@pytest.mark.parametrize("rounding", STOCHASTIC)
def test_stochastic_rounding_follows_in_the_mean(rounding):
    """The recurrence is linear, so the mean follows it exactly; bound from the variance seen."""
    every = np.concatenate([faded(rounding, seed=seed, width=400) for seed in range(3)])
    assert every.std() > BIN / 4
    assert abs(every.mean() - EXACT) < 5 * every.std() / math.sqrt(len(every))


def test_feedback_of_formats_and_scales_follows_too():
    assert abs(faded("feedback", "fp4_e2m1")[0] - EXACT) < 0.5
    assert faded("nearest", "fp4_e2m1").tolist() == [1.0]
    assert abs(faded("feedback", "bf16", 16)[0] - EXACT) < 1e-2


# residuals --------------------------------------------------------------------------


def test_the_residual_is_what_rounding_took_away():
    machine = cut(
        Index(6), "gru", numbers=3, quantiser="uniform", bits=2, regime="step", rounding="feedback"
    )
    x = machine.problem.enumerate(0, 64)
    tokens = machine.encoding.tokens(x)
    state, residual = machine.starts(64), np.zeros((1, 3, LANES), np.float32)
    assert machine.state_bits == 3 * (2 + 32)
    for t in range(6):
        new = machine.cell.scan(state.values, np.ascontiguousarray(_padded(tokens[:, t])))
        state = machine.extend(state, tokens[:, t : t + 1])
        assert state.codes is not None
        kept = state.codes[0][:, 3:].view(np.float32)
        expected = (new[0] + residual) - state.values[0]
        assert (kept == expected)[..., :64].all()
        assert np.abs(kept).max() <= 0.25 + 1e-6, "half a bin of [-1, 1] at 2 bits"
        residual = kept


def _padded(column: np.ndarray) -> np.ndarray:
    lanes = np.zeros((1, 1, LANES), np.int32)
    lanes[0, 0, : len(column)] = column
    return lanes


def test_a_message_without_residuals_is_refused_and_they_matter():
    machine = cut(
        Index(6), "gru", numbers=3, quantiser="uniform", bits=1, regime="step", rounding="feedback"
    )
    x = machine.problem.enumerate(0, 64)
    tokens = machine.encoding.tokens(x)
    message = machine.message(machine.extend(machine.starts(64), tokens[:, :3]))
    for short in (message[:, :1], message[:, :-1]):
        with pytest.raises(MessageError, match="exactly"):
            machine.resume(short, 3)
    bits = np.unpackbits(message, axis=1, bitorder="little")
    bits[:, 3 : machine.state_bits] = 0
    forgotten = machine.resume(np.packbits(bits, axis=1, bitorder="little"), 3)
    whole = machine.message(machine.extend(machine.resume(message, 3), tokens[:, 3:]))
    assert (whole == machine.encode(x)).all()
    assert (machine.message(machine.extend(forgotten, tokens[:, 3:])) != whole).any()


def test_residuals_that_no_encoder_emits_do_no_harm():
    machine = cut(
        Index(6), "gru", numbers=2, quantiser="uniform", bits=1, regime="step", rounding="feedback"
    )
    odd = np.array([np.nan, np.inf, -np.inf, 3e38], np.float32).view(np.uint32)
    bits = np.zeros((4, 2 + 64), np.uint8)
    for row, word in enumerate(odd.tolist()):
        bits[row, 2:34] = [word >> i & 1 for i in range(32)]
    bob = machine.resume(np.packbits(bits, axis=1, bitorder="little"), 4)
    after = machine.extend(bob, np.ones((4, 2), np.int32))
    assert np.isfinite(after.values[0]).all()


def test_a_residual_can_grow_no_further_than_a_float32():
    """Ones for ever, and a quantiser that knows nothing above 6: the residual saturates."""
    field = Field("h", (1,))
    quantiser = quantisers.family("fp4_e2m1", 4).fit(4, field, np.empty((1, 0)))
    crossing = Crossing(0, field, quantiser, roundings.family("feedback")(0), np.dtype("float64"))
    codes = None
    for t in range(1, 4):
        codes, back = crossing.step(np.full((1, 1, LANES), 3e38), codes, t)
        assert (back == 6).all()
    kept = codes[:, 1:].view(np.float32)
    assert np.isfinite(kept).all()
    assert (kept == np.finfo(np.float32).max).all()


def test_every_precision_has_a_neighbour_to_round_to():
    for name, bits in quantisations():
        quantiser = fitted(name, bits)
        values = inner(quantiser, name)
        codes = roundings.family("stochastic")(0).encode(quantiser, values, 0, np.array([1]))
        assert codes.shape[1] == len(quantisers.widths(quantiser.ledger(Field("x", (3,)))))
