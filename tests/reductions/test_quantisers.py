"""Laws of every registered quantiser, and references for what the older ones compute."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statebound.errors import UsageError
from statebound.models import Field
from statebound.reductions import quantiser as quantisers
from statebound.reductions.quantiser import Quantiser, widths
from statebound.reductions.quantisers import _codebook, quantile, uniform
from statebound.reductions.quantisers.quantile import Quantile
from statebound.reductions.quantisers.uniform import Uniform

FREE = Field("x", (5,))
DTYPES = ("float32", "float64")


def sample(dtype="float64", size=1024) -> np.ndarray:
    """Five numbers unlike one another: bell, two atoms, constant, tiny, huge and skewed."""
    generator = np.random.Generator(np.random.PCG64(11))
    rows = [
        generator.standard_normal(size),
        np.where(generator.random(size) < 0.9, -1.0, 1.0),
        np.full(size, 0.375),
        1e-7 * generator.random(size),
        1e6 * generator.exponential(size=size) + 5e5,
    ]
    return np.stack(rows).astype(dtype).astype(np.float64)


def fit(quantisation, dtype="float64", field=FREE):
    name, bits = quantisation
    return quantisers.family(name, bits).fit(bits, field, sample(dtype))


def calibrated(quantisation) -> bool:
    return quantisers.load(quantisation[0]).needs_calibration(FREE)


def scaled(quantiser) -> bool:
    return any(line.kind == "scale" for line in quantiser.ledger(FREE))


def lanes(rows) -> np.ndarray:
    return np.ascontiguousarray(rows)[None]


def trials(dtype) -> np.ndarray:
    """Return (1, 5, S): the sample itself, values between and beyond it, sorted."""
    known = sample(dtype)
    middle = (known[:, 1:] + known[:, :-1]) / 2
    beyond = np.stack([np.array([-1e30, -2e6, -1, -0.0, 0, 1e-9, 1, 2e7, 1e30])] * 5)
    return lanes(np.sort(np.concatenate([known, middle, beyond], axis=1), axis=1).astype(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_codes_fit_into_the_bits_that_are_declared(quantisation, dtype):
    quantiser = fit(quantisation, dtype)
    assert quantiser.bits == quantisation[1]
    lines = quantiser.ledger(FREE)
    assert (lines[0].name, lines[0].kind, lines[0].numbers) == ("x", "real", 5)
    assert lines[0].bits == quantiser.bits
    values = trials(dtype)
    codes = quantiser.encode(values)
    assert codes.shape == (1, len(widths(lines)), values.shape[2])
    assert codes.dtype == np.uint32
    assert (codes < 2 ** widths(lines)[:, None]).all()
    back = quantiser.decode(codes, np.dtype(dtype))
    assert back.shape == values.shape
    assert back.dtype == np.dtype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_quantising_again_changes_no_value(quantisation, dtype):
    quantiser = fit(quantisation, dtype)
    once = quantiser.decode(quantiser.encode(trials(dtype)), np.dtype(dtype))
    twice = quantiser.decode(quantiser.encode(once), np.dtype(dtype))
    assert (once == twice).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_larger_numbers_never_get_smaller_codes_or_values(quantisation, dtype):
    quantiser = fit(quantisation, dtype)
    if scaled(quantiser):  # then every lane has values of its own
        return
    codes = quantiser.encode(trials(dtype))
    assert (np.diff(quantiser.decode(codes, np.dtype(dtype)), axis=2) >= 0).all()
    if type(quantiser).neighbour is Quantiser.neighbour:
        assert (np.diff(codes.astype(np.int64), axis=2) >= 0).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_constant_number_comes_back_as_itself(quantisation, dtype):
    if not calibrated(quantisation):
        return
    quantiser = fit(quantisation, dtype)
    constant = lanes(np.full((5, 4), 0.375, dtype))
    back = quantiser.decode(quantiser.encode(constant), np.dtype(dtype))
    assert (back[0, 2] == 0.375).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_infinite_and_huge_numbers_come_back_finite(quantisation, dtype):
    quantiser = fit(quantisation, dtype)
    top = np.finfo(dtype).max
    wild = lanes(np.tile(np.array([-np.inf, -top, -1e30, 1e30, top, np.inf], dtype), (5, 1)))
    codes = quantiser.encode(wild)
    assert (codes < 2 ** widths(quantiser.ledger(FREE))[:, None]).all()
    back = quantiser.decode(codes, np.dtype(dtype))
    assert np.isfinite(back).all()
    assert (back[..., 4] == back[..., 5]).all()
    if calibrated(quantisation):  # the outermost codes
        assert (codes[..., 0] == codes[..., 2]).all()
        assert (back[..., 3] == back[..., 5]).all()
        live = [0, 1, 3, 4]
        assert (codes[0, live, 0] == 0).all()


def test_any_codes_decode(quantisation):
    """Whatever fits the bits can arrive in a message, also what is never sent."""
    quantiser = fit(quantisation)
    generator = np.random.Generator(np.random.PCG64(4))
    held = widths(quantiser.ledger(FREE))[:, None]
    codes = np.concatenate(
        [
            np.broadcast_to(2**held >> np.array([32, 1, 2, 3]), (len(held), 4)),
            2**held - 1 - np.zeros((1, 1), np.int64),
            generator.integers(0, 2**held, (len(held), 100)),
        ],
        axis=1,
    )
    values = quantiser.decode(lanes(codes.astype(np.uint32)), np.dtype("float32"))
    assert np.isfinite(values).all()
    if calibrated(quantisation):
        known = np.abs(sample()).max(axis=1)[:, None]
        assert (np.abs(values[0]) <= known * (1 + 1e-6) + 1e-6).all()


def test_two_fits_are_the_same(quantisation):
    one, other = fit(quantisation).parameters(), fit(quantisation).parameters()
    assert one or not calibrated(quantisation)
    assert one.keys() == other.keys()
    assert all(one[name].tobytes() == other[name].tobytes() for name in one)


def every_value(quantiser) -> tuple[np.ndarray, np.ndarray]:
    """Return all codes of the numbers and their values (5, 2^p), under scale 3 if there is one."""
    size = 2**quantiser.bits
    codes = np.broadcast_to(np.arange(size, dtype=np.uint32), (5, size))
    beside = len(widths(quantiser.ledger(FREE))) - 5
    scale = np.full((beside, size), np.float32(3).view(np.uint32))
    codes = lanes(np.concatenate([codes, scale]))
    return codes, quantiser.decode(codes, np.dtype("float64"))[0]


def test_neighbours_are_next_to_each_other(quantisation):
    """Against all values: nothing lies between, and only the outermost have none."""
    if quantisation[1] > 12:
        return
    quantiser = fit(quantisation)
    codes, values = every_value(quantiser)
    for upwards in (True, False):
        moved = quantiser.neighbour(codes, np.full(values.shape, upwards)[None])
        assert (moved[:, 5:] == codes[:, 5:]).all()
        there = quantiser.decode(moved, np.dtype("float64"))[0]
        for row, to in zip(values, there, strict=True):
            levels = np.unique(row)
            at = np.searchsorted(levels, row)
            onward = np.clip(at + (1 if upwards else -1), 0, len(levels) - 1)
            same = to == row  # codes of one value, or the end
            assert (to[~same] == levels[onward[~same]]).all()
            reached = {float(v) for v in to[~same]}
            assert reached == {float(v) for v in levels[1:] if upwards} | {
                float(v) for v in levels[:-1] if not upwards
            }


def test_a_number_lies_between_its_value_and_a_neighbour(quantisation):
    quantiser = fit(quantisation)
    values = trials("float64")
    if scaled(quantiser):
        values = lanes(np.random.Generator(np.random.PCG64(8)).standard_normal((5, 500)))
    codes = quantiser.encode(values)
    here = quantiser.decode(codes, values.dtype)
    there = quantiser.decode(quantiser.neighbour(codes, values > here), values.dtype)
    outside = here == there
    low, high = np.minimum(here, there), np.maximum(here, there)
    rounding = 1e-12 * np.abs(values)
    assert ((low <= values + rounding) & (values <= high + rounding))[~outside].all()
    assert (~outside).sum() > 400
    if quantisation[1] <= 12 and not scaled(quantiser):
        every = every_value(quantiser)[1]
        ends = every.min(axis=1)[:, None], every.max(axis=1)[:, None]
        inside = (values[0] > ends[0]) & (values[0] < ends[1]) & (values[0] != here[0])
        assert not (outside[0] & inside).any()


def test_more_values_than_codes_are_not_all_kept(quantisation):
    """A scale is no way round it: the numbers of its group share it."""
    name, bits = quantisation
    if bits > 12:
        return
    if calibrated(quantisation) or not name.startswith("absmax"):
        known = np.linspace(-2, 3, 2**bits + 1)[None]
        field = Field("x", (1,))
    else:
        bits = min(bits, 4)  # 16 codes for groups of 32
        known = np.linspace(-2, 3, 32)[:, None]
        field = Field("x", (1, 32))
    quantiser = quantisers.family(name, bits).fit(bits, field, known)
    back = quantiser.decode(quantiser.encode(lanes(known)), np.dtype("float64"))[0]
    assert (back != known).sum() >= known.size - 2**bits > 0


def test_precisions_outside_the_range_are_refused():
    for name, bits in (
        ("sign", 2),
        ("quantile", 13),
        ("lloyd", 13),
        ("uniform", 33),
        ("uniform", 0),
        ("absmax", 1),
        ("absmax_group", 17),
        ("fp16", 8),
        ("fp4_e2m1", 5),
    ):
        with pytest.raises(UsageError, match="bits"):
            quantisers.family(name, bits)
    with pytest.raises(UsageError, match="works at 1 bit a number"):
        quantisers.family("sign", 2)
    with pytest.raises(UsageError, match="works at 16 bits a number"):
        quantisers.family("bf16", 2)
    with pytest.raises(UsageError, match="quantile"):
        quantisers.family("no_such", 3)


def test_a_group_far_from_zero_keeps_its_own_range():
    """Numbers in [5, 6]: no padding and no other lane stretches a range."""
    generator = np.random.Generator(np.random.PCG64(3))
    for width in (3, 5, 48):
        field = Field("x", (width,))
        values = generator.uniform(5, 6, (2, width, 128))
        for name in ("absmax", "absmax_channel", "absmax_group"):
            for bits in (2, 4, 8):
                quantiser = quantisers.family(name, bits).fit(bits, field, np.empty((width, 0)))
                back = quantiser.decode(quantiser.encode(values), np.dtype("float64"))
                step = values.max(axis=1, keepdims=True) / (2 ** (bits - 1) - 1)
                assert (np.abs(back - values) <= step / 2 * (1 + 1e-6)).all()
        for bits in (1, 4, 8):
            known = generator.uniform(5, 6, (width, 1024))
            quantiser = Uniform.fit(bits, field, known)
            values = np.clip(values, known.min(axis=1)[:, None], known.max(axis=1)[:, None])
            back = quantiser.decode(quantiser.encode(values), np.dtype("float64"))
            assert (np.abs(back - values) <= 2.0 ** -(bits + 1)).all()


# uniform ----------------------------------------------------------------------------


def exact_code(s: float, low: float, high: float, bits: int) -> int:
    u = (Fraction(s) - Fraction(low)) / (Fraction(high) - Fraction(low)) * 2**bits
    return min(max(math.floor(u), 0), 2**bits - 1)


def exact_value(code: int, low: float, high: float, bits: int) -> Fraction:
    width = Fraction(high) - Fraction(low)
    return Fraction(low) + (code + Fraction(1, 2)) * width / 2**bits


@settings(deadline=None, max_examples=200)
@given(
    st.floats(-1.25, 1.25, width=32).filter(lambda s: s == 0 or abs(s) > 1e-9),
    st.integers(1, 32),
)
def test_uniform_is_its_formula_exactly_on_the_unit_range(s, bits):
    field = Field("h", (1,), -1.0, 1.0)
    assert not Uniform.needs_calibration(field)
    quantiser = Uniform.fit(bits, field, np.empty((1, 0)))
    code = int(quantiser.encode(np.full((1, 1, 1), s, np.float32))[0, 0, 0])
    assert code == exact_code(s, -1, 1, bits)
    value = quantiser.decode(np.full((1, 1, 1), code, np.uint32), np.dtype("float64"))[0, 0, 0]
    assert Fraction(float(value)) == exact_value(code, -1, 1, bits)


@settings(deadline=None, max_examples=200)
@given(
    st.floats(-50, 50),
    st.floats(0.01, 90),
    st.floats(-0.2, 1.2),
    st.integers(1, 32),
)
def test_uniform_is_its_formula_on_any_range(low, width, at, bits):
    """In float64 only a number at the very edge between two bins may go to the other."""
    high = low + width
    quantiser = Uniform.fit(bits, FREE, np.array([[high, low, (low + high) / 2]]))
    s = low + at * width
    code = int(quantiser.encode(np.full((1, 1, 1), s))[0, 0, 0])
    edge = (Fraction(s) - Fraction(low)) / (Fraction(high) - Fraction(low)) * 2**bits
    if abs(edge - round(edge)) > Fraction(1, 10**3):
        assert code == exact_code(s, low, high, bits)
    else:
        assert abs(code - exact_code(s, low, high, bits)) <= 1
    value = quantiser.decode(np.full((1, 1, 1), code, np.uint32), np.dtype("float64"))[0, 0, 0]
    assert abs(value - float(exact_value(code, low, high, bits))) <= 1e-13 * (abs(low) + width)


def test_uniform_by_hand():
    """Four bins on [-1, 1]: edges -1/2, 0, 1/2; middles -3/4, -1/4, 1/4, 3/4."""
    quantiser = Uniform.fit(2, Field("h", (1,), -1.0, 1.0), np.empty((1, 0)))
    values = lanes(np.array([[-2, -1, -0.51, -0.5, -0.01, 0, 0.49, 0.5, 0.99, 1, 7]], np.float32))
    codes = quantiser.encode(values)
    assert codes[0, 0].tolist() == [0, 0, 0, 1, 1, 2, 2, 3, 3, 3, 3]
    back = quantiser.decode(np.arange(4, dtype=np.uint32)[None, None], np.dtype("float32"))
    assert back[0, 0].tolist() == [-0.75, -0.25, 0.25, 0.75]


def test_uniform_takes_the_range_of_the_sample():
    known = sample()
    parameters = Uniform.fit(4, FREE, known).parameters()
    assert (parameters["low"] == known.min(axis=1)).all()
    assert (parameters["high"] == known.max(axis=1)).all()


def test_uniform_error_is_at_most_half_a_bin():
    known = sample()
    for bits in (1, 4, 12, 24):
        quantiser = Uniform.fit(bits, FREE, known)
        back = quantiser.decode(quantiser.encode(lanes(known)), np.dtype("float64"))[0]
        half = (known.max(axis=1) - known.min(axis=1)) / 2 ** (bits + 1)
        assert (np.abs(back - known) <= half[:, None] * (1 + 1e-6)).all()


# quantile ---------------------------------------------------------------------------


@pytest.mark.parametrize("bits", [1, 2, 3, 8, 10])
def test_quantile_codes_are_equally_probable_on_distinct_numbers(bits):
    known = np.random.Generator(np.random.PCG64(3)).standard_normal((5, 1024))
    quantiser = Quantile.fit(bits, FREE, known)
    codes = quantiser.encode(lanes(known))[0]
    for row in codes:
        assert (np.bincount(row, minlength=2**bits) == 1024 // 2**bits).all()


def test_quantile_separates_all_of_a_sample_that_it_has_codes_for():
    known = np.random.Generator(np.random.PCG64(3)).standard_normal((5, 1024))
    quantiser = Quantile.fit(12, FREE, known)
    codes = quantiser.encode(lanes(known))[0]
    assert all(len(np.unique(row)) == 1024 for row in codes)
    back = quantiser.decode(codes[None], np.dtype("float64"))[0]
    assert (back == known).all()


@pytest.mark.parametrize("bits", [1, 2, 3, 8, 12])
@pytest.mark.parametrize("share", [0.001, 0.1, 0.5, 0.9, 0.999])
def test_quantile_separates_two_atoms_however_rare(bits, share):
    rare = max(1, round(share * 1000))
    known = np.repeat([[-0.3, 0.7]], [rare, 1000 - rare], axis=1)
    quantiser = Quantile.fit(bits, Field("x", (1,)), known)
    codes = quantiser.encode(lanes(known))
    assert len(np.unique(codes)) == 2
    back = quantiser.decode(codes, np.dtype("float32"))
    assert (back[0] == known.astype(np.float32)).all()
    edge = quantiser.encode(lanes(np.array([[0.19, 0.21]])))[0, 0]
    assert edge[0] != edge[1], "the cut is half way between the atoms"


@settings(deadline=None, max_examples=200)
@given(st.lists(st.integers(-6, 6), min_size=1, max_size=40), st.integers(1, 4))
def test_quantile_cuts_are_nearest_to_equal_shares(numbers, bits):
    """Every cut against all gaps between neighbouring distinct values, in fractions."""
    known = np.array(numbers, float)
    thresholds = quantile._cuts(known, 2**bits)
    distinct = sorted(set(numbers))
    assert len(thresholds) == 2**bits - 1
    if len(distinct) == 1:
        assert np.isinf(thresholds).all()
        return
    gaps = [(a + b) / 2 for a, b in pairwise(distinct)]
    shares = [Fraction(sum(v < g for v in numbers), len(numbers)) for g in gaps]
    for i, threshold in enumerate(thresholds.tolist(), start=1):
        target = Fraction(i, 2**bits)
        off = abs(shares[gaps.index(threshold)] - target)
        assert off <= min(abs(s - target) for s in shares) + Fraction(1, 10**12)
    assert (np.diff(thresholds) >= 0).all()


@settings(deadline=None, max_examples=200)
@given(
    st.lists(st.floats(-1e3, 1e3, width=32), min_size=1, max_size=30),
    st.lists(st.floats(-2e3, 2e3, width=32), min_size=1, max_size=30),
    st.integers(1, 6),
    st.sampled_from(DTYPES),
)
def test_quantile_counts_thresholds_and_returns_means(numbers, asked, bits, dtype):
    known = np.array([numbers])
    quantiser = Quantile.fit(bits, Field("x", (1,)), known)
    thresholds = quantiser.thresholds[0]
    values = lanes(np.array([asked], dtype))
    codes = quantiser.encode(values)[0, 0]
    assert codes.tolist() == [sum(t <= float(s) for t in thresholds) for s in values[0, 0]]
    back = quantiser.decode(quantiser.encode(lanes(known)), np.dtype("float64"))[0, 0]
    of_sample = quantiser.encode(lanes(known))[0, 0]
    for code in set(of_sample.tolist()):
        mean = np.mean(np.array(numbers)[of_sample == code])
        np.testing.assert_allclose(back[of_sample == code], mean, rtol=1e-12, atol=1e-12)
    once = quantiser.decode(quantiser.encode(values), np.dtype(dtype))
    assert (quantiser.decode(quantiser.encode(once), np.dtype(dtype)) == once).all()


# sign -------------------------------------------------------------------------------


def test_sign_is_the_sign_and_the_mean_magnitude():
    quantiser = quantisers.family("sign", 1).fit(1, Field("x", (1,)), np.array([[-3.0, 1, 2, 0]]))
    codes = quantiser.encode(lanes(np.array([[-2.0, -0.0, 0.0, 1e-30, -1e-30]])))
    assert codes[0, 0].tolist() == [0, 1, 1, 1, 0]
    back = quantiser.decode(np.array([[[0, 1]]], np.uint32), np.dtype("float32"))
    assert back[0, 0].tolist() == [-1.5, 1.5]


# kernels ----------------------------------------------------------------------------


def test_compiled_and_interpreted_encoders_agree():
    values = lanes(sample(size=40))
    codes = np.empty(values.shape, np.uint32)
    fitted = fit(("quantile", 3))
    _codebook._encode.py_func(values, fitted.thresholds, codes)
    assert (codes == fitted.encode(values)).all()
    fitted = fit(("uniform", 12))
    scale = 2.0**12 / np.where(fitted.high > fitted.low, fitted.high - fitted.low, np.inf)
    uniform._encode.py_func(values, fitted.low, scale, 2.0**12 - 1, codes)
    assert (codes == fitted.encode(values)).all()
