"""exp, expm1, log1p, softplus and silu: how near, at the ends, and the same in vectors."""

from __future__ import annotations

import numpy as np
import pytest

from statebound.jit import kernel
from statebound.models import _activations
from statebound.models._activations import exp, expm1, log1p, silu, softplus


@kernel
def exp_of(x, out):
    for i in range(len(x)):
        out[i] = exp(x[i])


@kernel
def expm1_of(x, out):
    for i in range(len(x)):
        out[i] = expm1(x[i])


@kernel
def log1p_of(x, out):
    for i in range(len(x)):
        out[i] = log1p(x[i])


@kernel
def softplus_of(x, out):
    for i in range(len(x)):
        out[i] = softplus(x[i])


@kernel
def silu_of(x, out):
    for i in range(len(x)):
        out[i] = silu(x[i])


def through(compiled, x):
    out = np.empty_like(x)
    compiled(x, out)
    return out


def points(dtype, low, high):
    """A dense line and every binade within [low, high]."""
    binades = np.concatenate([2.0**k * np.linspace(1, 2, 65) for k in range(-60, 7)])
    every = np.concatenate([np.linspace(low, high, 100_001), binades, -binades])
    return np.unique(every[(every >= low) & (every <= high)].astype(dtype))


REFERENCE = {
    "exp": (exp_of, np.exp, -87.3, 88.3, 1e-7),
    "expm1": (expm1_of, np.expm1, -80, 88.3, 1.5e-7),
    "log1p": (log1p_of, np.log1p, 0, 1e30, 1.5e-7),
    "softplus": (softplus_of, lambda x: np.logaddexp(0, x), -85, 85, 2e-7),
    "silu": (silu_of, lambda x: x / (1 + np.exp(-x)), -85, 85, 2e-7),
}


@pytest.mark.parametrize("name", REFERENCE)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_relative_error_is_as_documented(name, dtype):
    compiled, reference, low, high, error = REFERENCE[name]
    x = points(dtype, low, high)
    if name == "log1p":
        x = np.unique(np.concatenate([x, 10.0 ** np.linspace(-30, 30, 20_001)]).astype(dtype))
    expected = reference(x.astype(np.longdouble)).astype(float)
    found = through(compiled, x).astype(float)
    nonzero = expected != 0
    assert (found[~nonzero] == 0).all()
    relative = np.abs(found[nonzero] / expected[nonzero] - 1)
    assert relative.max() <= (error if dtype == "float32" else 2e-15)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_ends_are_finite_and_ordered(dtype):
    top = float(np.finfo(dtype).max)
    x = np.array([-np.inf, -top, -1e5, -800, 0, 800, 1e5, top], dtype)
    for compiled in (exp_of, expm1_of):
        y = through(compiled, x)
        assert np.isfinite(y).all()
        assert (np.diff(y) >= 0).all()
    assert (through(exp_of, x)[:4] == 0).all()
    assert (through(expm1_of, x)[:4] == -1).all()
    assert (through(exp_of, x)[5:] > 1e38).all()
    y = through(softplus_of, x[1:])
    assert (y[:3] == 0).all()
    assert (y[4:] == x[5:]).all()
    y = through(silu_of, x[1:])
    np.testing.assert_allclose(y[2:3], 0, atol=1e-30)
    assert (y[4:] == x[5:]).all()
    assert through(exp_of, np.zeros(1, dtype)) == 1
    assert through(expm1_of, np.zeros(1, dtype)) == 0
    assert through(log1p_of, np.zeros(1, dtype)) == 0


@pytest.mark.parametrize("name", REFERENCE)
def test_lanes_of_a_vectorised_loop_equal_single_calls(name):
    compiled, _, low, high, _ = REFERENCE[name]
    x = points("float32", low, high)[::997]
    function = getattr(_activations, f"_{name}_single")
    single = np.array([function(v) for v in x], np.float32)
    assert single.tobytes() == through(compiled, x).tobytes()
    for width in (1, 3, 7, 65):
        assert through(compiled, x[:width].copy()).tobytes() == single[:width].tobytes()


@pytest.mark.parametrize("name", ["exp", "expm1", "log1p", "softplus", "silu"])
def test_compiled_interpreted_and_plain_names_agree(name):
    compiled, _, low, high, _ = REFERENCE[name]
    x = np.linspace(max(low, -30), min(high, 30), 101, dtype=np.float32)
    found = through(compiled, x)
    if name != "softplus":  # called from outside, a kernel returns a double, which this one is not
        interpreted = [getattr(_activations, f"_{name}_single").py_func(v) for v in x]
        np.testing.assert_allclose(interpreted, found, rtol=3e-7, atol=1e-12)
    wide = x.astype(np.float64)
    double = [getattr(_activations, f"_{name}_double").py_func(v) for v in wide]
    plain = [getattr(_activations, name)(v) for v in wide]
    np.testing.assert_allclose(double, plain, rtol=1e-13, atol=1e-15)
