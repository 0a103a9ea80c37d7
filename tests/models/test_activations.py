"""tanh and the logistic function: how near, in order, and never NaN."""

from __future__ import annotations

import math

import numpy as np
import pytest

from statebound.jit import fma, kernel
from statebound.models import _activations
from statebound.models._activations import sigmoid, tanh


@kernel
def tanh_of(x, out):
    for i in range(len(x)):
        out[i] = tanh(x[i])


@kernel
def sigmoid_of(x, out):
    for i in range(len(x)):
        out[i] = sigmoid(x[i])


@kernel
def fused(a, b, c, out):
    for i in range(len(a)):
        out[i] = fma(a[i], b[i], c[i])


def through(compiled, x):
    out = np.empty_like(x)
    compiled(x, out)
    return out


def points(dtype) -> np.ndarray:
    """A dense line, every binade, and the neighbourhood of the clamp, in order."""
    line = np.linspace(-20, 20, 200_001)
    binades = np.concatenate([2.0**k * np.linspace(1, 2, 33) for k in range(-60, 60)])
    clamp = 7.9 + np.arange(-300, 300) * 5e-7
    every = np.concatenate([line, binades, -binades, clamp, -clamp, [0.0]])
    return np.unique(every.astype(dtype))


@pytest.mark.parametrize(("dtype", "error"), [("float32", 3e-7), ("float64", 3e-16)])
def test_tanh_is_accurate(dtype, error):
    x = points(dtype)
    expected = np.array([math.tanh(v) for v in x.astype(float)])
    found = through(tanh_of, x).astype(float)
    assert np.abs(found - expected).max() <= error
    nonzero = expected != 0
    assert np.abs(found / np.where(nonzero, expected, 1) - 1)[nonzero].max() <= error
    assert np.abs(found).max() <= 1


@pytest.mark.parametrize(("dtype", "error"), [("float32", 2e-7), ("float64", 3e-16)])
def test_sigmoid_is_accurate(dtype, error):
    x = points(dtype)
    expected = np.array([0.5 + 0.5 * math.tanh(0.5 * v) for v in x.astype(float)])
    found = through(sigmoid_of, x).astype(float)
    assert np.abs(found - expected).max() <= error
    assert found.min() >= 0
    assert found.max() <= 1


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_both_are_odd_about_their_centre(dtype):
    x = points(dtype)
    assert (through(tanh_of, -x) == -through(tanh_of, x)).all()
    np.testing.assert_allclose(
        through(sigmoid_of, -x) + through(sigmoid_of, x), 1, atol=2 * np.finfo(dtype).eps
    )


@pytest.mark.parametrize("compiled", [tanh_of, sigmoid_of])
@pytest.mark.parametrize(("dtype", "fall"), [("float32", 4e-7), ("float64", 0)])
def test_both_rise_up_to_rounding(compiled, dtype, fall):
    """Single precision is a rational function: near 1 its roundings reorder neighbours."""
    y = through(compiled, points(dtype))
    assert (np.maximum.accumulate(y) - y).max() <= fall
    assert (np.diff(through(compiled, np.linspace(-3, 3, 2001).astype(dtype))) > 0).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_huge_inputs_saturate(dtype):
    top = np.finfo(dtype).max
    x = np.array([-np.inf, -top, -1e30, 1e30, top, np.inf], dtype)
    np.testing.assert_allclose(through(tanh_of, x), np.sign(x), atol=1e-6)
    np.testing.assert_allclose(through(sigmoid_of, x), x > 0, atol=1e-6)


def test_lanes_of_a_vectorised_loop_equal_single_calls():
    x = points("float32")[::501]
    single = np.array([_activations._tanh_single(v) for v in x])
    assert single.astype(np.float32).tobytes() == through(tanh_of, x).tobytes()
    for width in (1, 3, 7, 129):
        assert (
            through(tanh_of, x[:width].copy()).tobytes()
            == single.astype(np.float32)[:width].tobytes()
        )


@pytest.mark.parametrize("name", ["_tanh_single", "_sigmoid_single"])
def test_compiled_and_interpreted_agree(name):
    function = getattr(_activations, name)
    for v in np.linspace(-9, 9, 301, dtype=np.float32):
        assert abs(function.py_func(v) - function(v)) <= 4e-7


@pytest.mark.parametrize(("outside", "compiled"), [(tanh, tanh_of), (sigmoid, sigmoid_of)])
def test_the_names_work_outside_kernels(outside, compiled):
    x = np.linspace(-5, 5, 41, dtype=np.float64)
    np.testing.assert_allclose([outside(v) for v in x], through(compiled, x), atol=1e-15)


def test_fma_rounds_once():
    """(1 + e)(1 - e) - 1 = -e^2 is lost when the product is rounded by itself."""
    e = np.float32(2.0**-13)
    a, b, c = (np.full(9, v, np.float32) for v in (1 + e, 1 - e, -1))
    out = np.empty(9, np.float32)
    fused(a, b, c, out)
    assert (out == -np.float32(2.0**-26)).all()
    assert (a * b + c != out).all()
