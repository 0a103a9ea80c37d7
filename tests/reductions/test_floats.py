"""Floating-point formats, every code of them, against ml_dtypes, numpy and exact arithmetic."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import pairwise

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statebound.models import Field
from statebound.reductions import quantiser as quantisers
from statebound.reductions.quantisers._floats import to_odd

SINGLE, DOUBLE = np.dtype("float32"), np.dtype("float64")
# name -> bits, bits of significand after the point, least exponent of a normal number, largest
FORMS = {
    "fp4_e2m1": (4, 1, 0, 6.0),
    "fp8_e4m3": (8, 3, -6, 448.0),
    "fp8_e5m2": (8, 2, -14, 57344.0),
    "fp16": (16, 10, -14, 65504.0),
    "bf16": (16, 7, -126, (2 - 2.0**-7) * 2.0**127),
}
LIBRARY = {
    "fp4_e2m1": (ml_dtypes.float4_e2m1fn, np.uint8),
    "fp8_e4m3": (ml_dtypes.float8_e4m3fn, np.uint8),
    "fp8_e5m2": (ml_dtypes.float8_e5m2, np.uint8),
    "fp16": (np.float16, np.uint16),
    "bf16": (ml_dtypes.bfloat16, np.uint16),
}
SMALL = pytest.mark.parametrize("name", FORMS)
PRECISION = pytest.mark.parametrize("dtype", [SINGLE, DOUBLE], ids=str)


def make(name):
    kind = quantisers.load(name)
    return kind.fit(kind.least_bits, Field("x", (1,)), np.empty((1, 0)))


def encode(quantiser, values, dtype) -> list[int]:
    made = np.asarray(values).astype(dtype)[None, None]
    found: list[int] = quantiser.encode(made)[0, 0].tolist()
    return found


def decode(quantiser, codes, dtype=DOUBLE) -> np.ndarray:
    made: np.ndarray = quantiser.decode(np.array(codes, np.uint32)[None, None], dtype)[0, 0]
    return made


@cache
def value_of(name: str, code: int) -> Fraction:
    """Return what a finite code stands for, from the layout: sign, exponent, significand."""
    bits, point, least, _ = FORMS[name]
    sign, magnitude = code >> (bits - 1), code & (2 ** (bits - 1) - 1)
    exponent, rest = magnitude >> point, magnitude & (2**point - 1)
    whole = rest + (2**point if exponent else 0)
    value = whole * Fraction(2) ** (max(exponent, 1) - 1 + least - point)
    return -value if sign else value


@cache
def finite_magnitudes(name: str) -> list[int]:
    """Return the codes of the finite numbers from 0 on, in order."""
    bits, _, _, largest = FORMS[name]
    codes = range(2 ** (bits - 1))
    return [c for c in codes if value_of(name, c) <= Fraction(largest)]


@SMALL
@PRECISION
@pytest.mark.parity
def test_every_code_is_what_it_stands_for(name, dtype):
    quantiser, bits = make(name), FORMS[name][0]
    form, container = LIBRARY[name]
    codes = np.arange(2**bits)
    found = decode(quantiser, codes, dtype)
    with np.errstate(invalid="ignore"):  # what stands for no number
        library = codes.astype(container).view(form).astype(dtype)
    finite = np.isfinite(library)
    assert found[finite].tobytes() == library[finite].tobytes()  # signs of zeros too
    largest = FORMS[name][3]
    sign = np.where(codes >> (bits - 1), -largest, largest)
    assert (found[~finite] == sign[~finite]).all()
    assert len(finite_magnitudes(name)) * 2 == finite.sum()
    some = codes[finite][:: max(1, len(codes) // 512)]
    assert [Fraction(v) for v in decode(quantiser, some)] == [value_of(name, int(c)) for c in some]
    assert (
        encode(quantiser, found, dtype)
        == np.where(
            finite, codes, codes >> (bits - 1) << (bits - 1) | finite_magnitudes(name)[-1]
        ).tolist()
    )


@SMALL
@PRECISION
def test_rounding_is_to_nearest_and_ties_to_even(name, dtype):
    """Half way between all neighbours, and the numbers of `dtype` just beside that."""
    quantiser, bits = make(name), FORMS[name][0]
    magnitudes = finite_magnitudes(name)
    pairs = [(a, b) for a, b in pairwise(magnitudes)][:: max(1, len(magnitudes) // 2048)]
    middle = [float((value_of(name, a) + value_of(name, b)) / 2) for a, b in pairs]
    tie = np.array(middle).astype(dtype)
    assert (tie == middle).all()
    below, above = np.nextafter(tie, dtype.type(0)), np.nextafter(tie, dtype.type(np.inf))
    even = [a if a % 2 == 0 else b for a, b in pairs]
    sign = 1 << (bits - 1)
    for values, expected in (
        (tie, even),
        (below, [a for a, _ in pairs]),
        (above, [b for _, b in pairs]),
    ):
        assert encode(quantiser, values, dtype) == expected
        assert encode(quantiser, -values, dtype) == [sign | c for c in expected]


@pytest.mark.parametrize("name", [*FORMS, "fp32"])
@PRECISION
def test_what_is_too_large_becomes_the_largest_number(name, dtype):
    quantiser = make(name)
    largest = FORMS[name][3] if name in FORMS else float(np.finfo(np.float32).max)
    top = float(np.finfo(dtype).max)
    with np.errstate(over="ignore"):
        asked = [largest, np.nextafter(dtype.type(largest), dtype.type(np.inf)), top, np.inf]
    asked += [v for v in (464.0, 465.0, 61440.0, 65520.0, 1e9, 7.0, 1e38) if v > largest]
    for sign in (1.0, -1.0):
        values = sign * np.array(asked, dtype)
        found = decode(quantiser, encode(quantiser, values, dtype), dtype)
        assert (found == sign * largest).all()


@pytest.mark.parity
@settings(deadline=None, max_examples=300)
@given(st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_single_precision_against_the_libraries(s):
    for name, (form, container) in LIBRARY.items():
        if abs(s) <= FORMS[name][3]:
            library = np.array([s], np.float32).astype(form).view(container)[0]
            assert encode(make(name), [s], SINGLE) == [int(library)]


@settings(deadline=None, max_examples=300)
@given(st.floats(-1e6, 1e6), st.floats(-1e-44, 1e-44), st.sampled_from(list(FORMS)))
def test_double_precision_is_rounded_once(s, tiny, name):
    """Against exact distances to the two numbers around."""
    for value in (s, tiny, s * 2.0**-16):
        quantiser = make(name)
        codes = finite_magnitudes(name)
        magnitude = min(abs(Fraction(value)), Fraction(FORMS[name][3]))
        low, high = 0, len(codes) - 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (
                (middle, high) if value_of(name, codes[middle]) <= magnitude else (low, middle)
            )
        near = [
            (abs(value_of(name, codes[i]) - magnitude), codes[i] % 2, codes[i]) for i in (low, high)
        ]
        sign = 1 << (FORMS[name][0] - 1) if np.signbit(value) else 0
        assert encode(quantiser, [value], DOUBLE) == [min(near)[2] | sign]


def test_a_double_just_above_a_tie_is_not_rounded_twice():
    """1 + 1/16 + 2^-40 is nearer to 1.125; by way of float32 it would fall on the tie."""
    quantiser = make("fp8_e4m3")
    value = 1 + 2.0**-4 + 2.0**-40
    assert decode(quantiser, encode(quantiser, [value], DOUBLE)).tolist() == [1.125]
    assert decode(quantiser, encode(quantiser, [value], SINGLE)).tolist() == [1.0]


@settings(deadline=None, max_examples=300)
@given(st.floats(-3e38, 3e38), st.floats(-1e-37, 1e-37))
def test_rounding_to_odd(one, other):
    for value in (one, other):
        found = to_odd(np.array([value]))[0]
        exact, got = Fraction(value), Fraction(float(found))
        if exact == got:
            continue
        assert int(found.view(np.uint32)) & 1
        ends = np.nextafter(found, np.float32(-np.inf)), np.nextafter(found, np.float32(np.inf))
        assert Fraction(float(ends[0])) < exact < Fraction(float(ends[1]))


@settings(deadline=None, max_examples=200)
@given(st.lists(st.floats(allow_nan=False, width=32), min_size=1, max_size=20))
def test_fp32_keeps_every_single(numbers):
    quantiser = make("fp32")
    values = np.clip(np.array(numbers, np.float32), -np.finfo("f4").max, np.finfo("f4").max)
    codes = encode(quantiser, numbers, SINGLE)
    assert codes == values.view(np.uint32).tolist()
    assert decode(quantiser, codes, SINGLE).tobytes() == values.tobytes()
    assert encode(quantiser, values, DOUBLE) == codes


def test_fp32_codes_that_stand_for_no_number():
    quantiser = make("fp32")
    codes = np.array([np.inf, -np.inf, np.nan, -np.nan], np.float32).view(np.uint32)
    largest = float(np.finfo(np.float32).max)
    assert decode(quantiser, codes).tolist() == [largest, -largest, largest, -largest]


def test_formats_have_one_precision_and_fit_nothing():
    for name in (*FORMS, "fp32"):
        kind = quantisers.load(name)
        assert kind.least_bits == kind.most_bits == make(name).bits
        assert not kind.needs_calibration(Field("x", (1,)))
        assert make(name).parameters() == {}
