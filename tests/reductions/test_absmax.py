"""Symmetric integers with scales from the state: exact references, and no way to escape them."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statebound.models import Field
from statebound.reductions import quantiser as quantisers
from statebound.reductions.quantisers import _absmax

NAMES = ("absmax", "absmax_channel", "absmax_group")
SINGLE, DOUBLE = np.dtype("float32"), np.dtype("float64")
LARGEST = float(np.finfo(np.float32).max)


def fit(name, bits, shape):
    field = Field("x", shape)
    return quantisers.family(name, bits).fit(bits, field, np.empty((field.numbers, 0)))


def groups(name, shape) -> list[range]:
    """Return which numbers share a scale, from the definition."""
    numbers = math.prod(shape)
    if name == "absmax":
        size = numbers
    elif name == "absmax_channel":
        size = shape[-1] if shape else 1
    else:
        size = 32
    return [range(at, min(at + size, numbers)) for at in range(0, numbers, size)]


def exact(values: list[float], bits: int) -> tuple[list[Fraction], float]:
    """Return P v / s for the numbers of one group, and s."""
    top = 2 ** (bits - 1) - 1
    scale = float(np.float32(min(max(map(abs, values)), LARGEST)))
    if scale < 2.0**-126:
        return [Fraction(0)] * len(values), 0.0
    return [Fraction(v) / Fraction(scale) * top for v in values], scale


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(), (1,), (3,), (48,), (2, 5), (3, 4, 5), (70,), (2, 33)])
@pytest.mark.parametrize("bits", [2, 3, 8, 16])
@pytest.mark.parametrize("dtype", [SINGLE, DOUBLE], ids=str)
def test_against_fractions(name, shape, bits, dtype):
    generator = np.random.Generator(np.random.PCG64(1))
    numbers, top = math.prod(shape), 2 ** (bits - 1) - 1
    spread = 10.0 ** generator.integers(-12, 9, (1, numbers, 6))
    values = (generator.standard_normal((2, numbers, 6)) * spread).astype(dtype)
    quantiser = fit(name, bits, shape)
    codes = quantiser.encode(values)
    parts = groups(name, shape)
    lines = quantiser.ledger(Field("x", shape))
    assert [(f.kind, f.numbers, f.bits) for f in lines] == [
        ("real", numbers, bits),
        ("scale", len(parts), 32),
    ]
    scales = codes[:, numbers:].view(np.float32)
    assert scales.shape[1] == len(parts)
    back = quantiser.decode(codes, dtype)
    for tile, lane in ((0, 0), (0, 5), (1, 2)):
        for g, part in enumerate(parts):
            shares, scale = exact([float(values[tile, c, lane]) for c in part], bits)
            assert scales[tile, g, lane] == scale
            for c, share in zip(part, shares, strict=True):
                code = int(codes[tile, c, lane])
                q = code - 2**bits if code >= 2 ** (bits - 1) else code
                assert abs(q - min(max(share, -top), top)) <= Fraction(1, 2) + Fraction(1, 10**9)
                assert back[tile, c, lane] == dtype.type(q / top * scale)


def test_ties_go_to_even_integers():
    quantiser = fit("absmax", 4, (8,))
    values = np.array([7.0, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 6.5])[None, :, None]
    codes = quantiser.encode(values)[0, :8, 0].astype(int)
    assert (codes - 16 * (codes >= 8)).tolist() == [7, 0, 2, 2, 0, -2, -2, 6]


FLOATS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False, width=32),
    st.floats(-(2.0**-124), 2.0**-124, width=32),  # around the smallest normal number
    st.floats(-1, 1, width=32),
    st.sampled_from([0.0, -0.0, LARGEST, -LARGEST, 2.0**-126, -(2.0**-126), 2.0**-149]),
)


@settings(deadline=None, max_examples=300)
@given(
    st.lists(FLOATS, min_size=1, max_size=40),
    st.sampled_from(NAMES),
    st.integers(2, 16),
    st.sampled_from([SINGLE, DOUBLE]),
)
def test_what_an_encoder_emits_is_kept(numbers, name, bits, dtype):
    """The same codes again, scales too; only where a scale is 0 does the sign of 0 not matter."""
    quantiser = fit(name, bits, (len(numbers),))
    values = np.array(numbers).astype(dtype)[None, :, None]
    codes = quantiser.encode(values)
    once = quantiser.decode(codes, dtype)
    assert np.isfinite(once).all()
    again = quantiser.encode(once)
    count = len(numbers)
    assert (again[:, count:] == codes[:, count:]).all()
    assert (quantiser.decode(again, dtype) == once).all()
    if codes[0, count:, 0].view(np.float32).min() >= 2.0**-100:
        assert (again == codes).all()


@settings(deadline=None, max_examples=200)
@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=9),
    st.integers(2, 16),
)
def test_any_double_saturates(numbers, bits):
    quantiser = fit("absmax", bits, (len(numbers),))
    values = np.array(numbers)[None, :, None]
    codes = quantiser.encode(values)
    once = quantiser.decode(codes, DOUBLE)
    assert (quantiser.decode(quantiser.encode(once), DOUBLE) == once).all()
    largest = max(map(abs, numbers))
    top = 2 ** (bits - 1) - 1
    kept = np.clip(values, -LARGEST, LARGEST)
    assert np.abs(once).max() <= LARGEST
    if largest < 2.0**-127:
        assert not codes.any()
        assert not once.any()
    else:
        step = min(largest, LARGEST) * (1 + 2.0**-23) / top
        assert (np.abs(once - kept) <= step * (0.5 + 1e-4) + 2.0**-126).all()


@pytest.mark.parametrize("name", NAMES)
def test_zeros_have_scale_zero_and_stay_zeros(name):
    quantiser = fit(name, 4, (2, 40))
    values = np.zeros((1, 80, 3), np.float32)
    values[0, 45:, 1] = 3.0
    codes = quantiser.encode(values)
    assert not codes[..., 0].any()
    back = quantiser.decode(codes, SINGLE)
    assert (back == values).all()


def test_scales_below_the_smallest_normal_float32_are_zero():
    """Else a scale of few bits would move when it is quantised again."""
    quantiser = fit("absmax", 4, (2,))
    least = 2.0**-126
    for size, kept in ((least, True), (least * (1 - 2.0**-23), False), (1.5 * 2.0**-149, False)):
        for dtype in (SINGLE, DOUBLE):
            codes = quantiser.encode(np.array([size, -size / 3], dtype)[None, :, None])
            assert codes.any() == kept
            back = quantiser.decode(codes, dtype)[0, :, 0]
            assert back[0] == (size if kept else 0)
    # in float64 just below it rounds up to it
    codes = quantiser.encode(np.array([least * (1 - 2.0**-40), 0.0])[None, :, None])
    assert codes[0, 2, 0] == np.float32(least).view(np.uint32)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [1e-4, 1e3, 1e-30, 1e30])
def test_the_error_is_relative_to_the_largest_number(name, size):
    generator = np.random.Generator(np.random.PCG64(1))
    values = (size * generator.uniform(-1, 1, (1, 64, 128))).astype(np.float32)
    for bits in (2, 8, 16):
        quantiser = fit(name, bits, (2, 32))
        back = quantiser.decode(quantiser.encode(values), SINGLE)
        bound = size / (2 ** (bits - 1) - 1) / 2
        assert np.abs(back - values).max() <= bound * (1 + 1e-3)


def test_scales_that_no_encoder_emits_decode_to_finite_numbers():
    quantiser = fit("absmax", 3, (2,))
    scales = np.array([np.nan, np.inf, -np.inf, -2.0, LARGEST], np.float32).view(np.uint32)
    codes = np.stack([np.full(5, 3, np.uint32), np.full(5, 4, np.uint32), scales])[None]
    back = quantiser.decode(codes, SINGLE)[0]
    assert back[0].tolist() == [LARGEST, LARGEST, LARGEST, 2.0, LARGEST]
    assert (back[1] == -back[0]).all()


def test_a_neighbour_keeps_the_scale_and_stays_within_it():
    quantiser = fit("absmax_group", 3, (40,))
    values = np.linspace(-1, 1, 40, dtype=np.float32)[None, :, None]
    codes = quantiser.encode(values)
    up = quantiser.neighbour(codes, np.full(values.shape, True))
    assert (up[:, 40:] == codes[:, 40:]).all()
    moved = quantiser.decode(up, DOUBLE) - quantiser.decode(codes, DOUBLE)
    assert moved[0, -1, 0] == 0
    scale = codes[:, 40:].view(np.float32)[0, :, 0].repeat(32)[:40].astype(float)
    inner = moved[0, :, 0] > 0
    np.testing.assert_allclose(moved[0, inner, 0], (scale / 3)[inner], rtol=1e-12)


def test_compiled_and_interpreted_agree():
    quantiser = fit("absmax_group", 5, (40,))
    values = np.random.Generator(np.random.PCG64(1)).standard_normal((2, 40, 3))
    values[1, 32:] = 0
    codes = np.empty((2, 40, 3), np.uint32)
    scales = np.empty((2, 2, 3), np.float32)
    _absmax._encode.py_func(values, 32, 15.0, codes, scales)
    every = np.concatenate([codes, scales.view(np.uint32)], axis=1)
    assert (every == quantiser.encode(values)).all()
