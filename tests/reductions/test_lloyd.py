"""Lloyd-Max codebooks: the published optimum of the normal law, and the two conditions."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statebound.models import Field
from statebound.reductions.quantisers import lloyd
from statebound.reductions.quantisers.lloyd import Lloyd

# J. Max 1960, table I: the least mean squared error of 2^p levels for the unit normal.
ERRORS = {1: 0.3634, 2: 0.1175, 3: 0.03454, 4: 0.009497}
LEVELS = {
    1: [0.7980],
    2: [0.4528, 1.510],
    3: [0.2451, 0.7560, 1.344, 2.152],
    4: [0.1284, 0.3881, 0.6568, 0.9424, 1.256, 1.618, 2.069, 2.733],
}


@pytest.fixture(scope="module")
def normal() -> np.ndarray:
    """Return the means of 2^15 equally probable pieces of the unit normal."""
    law, size = NormalDist(), 1 << 15
    edges = [law.inv_cdf(i / size) for i in range(1, size)]
    density = np.array([0.0, *map(law.pdf, edges), 0.0])
    means: np.ndarray = (density[:-1] - density[1:]) * size
    return means


def mean_error(row: np.ndarray, quantiser: Lloyd) -> float:
    back = quantiser.decode(quantiser.encode(row[None, None]), np.dtype("float64"))
    return float(((back[0, 0] - row) ** 2).mean())


@pytest.mark.parity
@pytest.mark.parametrize("bits", ERRORS)
def test_the_unit_normal_has_the_published_quantiser(normal, bits):
    quantiser = Lloyd.fit(bits, Field("x", (1,)), normal[None])
    lost = 1 - (normal**2).mean()  # what the pieces are narrower than the law
    assert mean_error(normal, quantiser) + lost == pytest.approx(ERRORS[bits], rel=1e-3)
    expected = np.array(LEVELS[bits])
    found = quantiser.levels[0]
    np.testing.assert_allclose(found[len(found) // 2 :], expected, rtol=0.01)
    np.testing.assert_allclose(found[: len(found) // 2], -expected[::-1], rtol=0.01)


ROWS = {
    "normal": lambda g: g.standard_normal(700),
    "skewed": lambda g: g.exponential(size=700),
    "atoms": lambda g: np.where(g.random(700) < 0.8, -1.0, g.random(700)),
    "clusters": lambda g: np.concatenate([g.random(300), 1e6 + g.random(300)]),
    "integers": lambda g: g.integers(0, 40, 700).astype(float),
}


@pytest.fixture(params=ROWS)
def row(request) -> np.ndarray:
    made: np.ndarray = ROWS[request.param](np.random.Generator(np.random.PCG64(2)))
    return made


@pytest.mark.parametrize("bits", [1, 2, 5])
def test_no_round_raises_the_error(row, bits):
    values, number = np.unique(row, return_counts=True)
    counts = number.astype(float)
    for start in (lloyd._dense, lloyd._even):
        starts = start(values, counts, 2**bits)
        assert starts[0] == 0
        assert (np.diff(starts) > 0).all(), "no run is empty"
        levels = np.add.reduceat(values * counts, starts) / np.add.reduceat(counts, starts)
        before = lloyd.squared_error(values, counts, levels)
        for _ in range(40):
            lloyd._lloyd(values, counts, levels, 1)
            after = lloyd.squared_error(values, counts, levels)
            assert after <= before * (1 + 1e-12)
            assert (np.diff(levels) >= 0).all()
            before = after


@pytest.mark.parametrize("bits", [1, 2, 5, 8])
def test_levels_are_means_of_their_cells_and_cuts_half_way(row, bits):
    quantiser = Lloyd.fit(bits, Field("x", (1,)), row[None])
    levels, thresholds = quantiser.levels[0], quantiser.thresholds[0]
    apart = np.diff(levels) > 0
    assert (thresholds[apart] == (levels[:-1] + np.diff(levels) / 2)[apart]).all()
    assert np.isinf(thresholds[~apart]).all()
    codes = quantiser.encode(row[None, None])[0, 0]
    for code in np.unique(codes):
        mean = row[codes == code].mean()
        assert levels[code] == pytest.approx(mean, rel=1e-9, abs=1e-12)
    spread = np.abs(row[:, None] - levels)
    assert (spread[np.arange(len(row)), codes] <= spread.min(axis=1) + 1e-9).all()


def test_more_bits_are_never_worse_and_equal_values_are_all_kept(row):
    field = Field("x", (1,))
    errors = [mean_error(row, Lloyd.fit(bits, field, row[None])) for bits in (1, 2, 3, 4, 6, 8, 10)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] == 0


def test_clusters_far_apart_do_not_take_all_levels_to_the_gap():
    generator = np.random.Generator(np.random.PCG64(2))
    row = np.concatenate([generator.random(500), 1e6 + generator.random(500)])
    quantiser = Lloyd.fit(3, Field("x", (1,)), row[None])
    assert mean_error(row, quantiser) < 1 / 12 / 4**2 * 1.3  # four levels for each unit interval


def test_a_constant_and_few_values_leave_codes_unused():
    field = Field("x", (2,))
    quantiser = Lloyd.fit(3, field, np.array([[0.3] * 6, [2.0, 1, 1, 7, 2, 1]]))
    assert quantiser.levels.tolist() == [[0.3] * 8, [1, 2, 7, 7, 7, 7, 7, 7]]
    asked = np.array([[[-9, 0.3, 0.31, 99], [1.49, 1.51, 4.4, 4.6]]])
    codes = quantiser.encode(asked)[0]
    assert codes.tolist() == [[0, 0, 0, 0], [0, 1, 1, 2]]


def test_an_empty_cell_keeps_its_level():
    """The middle level, 5, loses both of its values to the outer ones."""
    values = np.array([-0.2, 0.0, 10.0, 10.2])
    levels = np.array([-0.1, 5.0, 10.1])
    rounds = lloyd._lloyd(values, np.ones(4), levels, 50)
    assert levels.tolist() == pytest.approx([-0.1, 5.0, 10.1])
    assert rounds < 50


@settings(deadline=None, max_examples=100)
@given(
    st.lists(st.floats(-1e3, 1e3, width=32), min_size=1, max_size=40),
    st.integers(1, 4),
    st.sampled_from(["float32", "float64"]),
)
def test_any_sample(numbers, bits, dtype):
    known = np.array([numbers])
    quantiser = Lloyd.fit(bits, Field("x", (1,)), known)
    assert (np.diff(quantiser.levels) >= 0).all()
    assert np.isfinite(quantiser.levels).all()
    values = known[None].astype(dtype)
    once = quantiser.decode(quantiser.encode(values), np.dtype(dtype))
    assert (quantiser.decode(quantiser.encode(once), np.dtype(dtype)) == once).all()
    if len(set(numbers)) <= 2**bits:
        assert (quantiser.decode(quantiser.encode(known[None]), known.dtype) == known).all()


def test_compiled_and_interpreted_agree():
    values = np.sort(np.random.Generator(np.random.PCG64(9)).standard_normal(200))
    counts = np.arange(200.0) % 3 + 1
    one, other = values[::50].copy(), values[::50].copy()
    assert lloyd._lloyd(values, counts, one, 99) == lloyd._lloyd.py_func(values, counts, other, 99)
    assert (one == other).all()
