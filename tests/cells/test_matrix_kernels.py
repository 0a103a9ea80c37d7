"""Kernels against their own source, interpreted: only roundings may differ."""

from __future__ import annotations

import numpy as np
import pytest

from statebound.models import _matrix_state, _pointwise, _short_conv, retnet
from statebound.models._lanes import LANES

H, K, V = 2, 5, 6  # four by the unrolled loops and the rest by the remainder


@pytest.fixture
def draw():
    generator = np.random.Generator(np.random.PCG64(8))
    return lambda *shape: generator.standard_normal(shape) * 0.7


def strings(columns: int, steps: int = 2) -> np.ndarray:
    """Return column numbers: any, and at the last step consecutive ones where there are such."""
    generator = np.random.Generator(np.random.PCG64(4))
    which = generator.integers(0, columns, (1, steps, LANES), dtype=np.int32)
    if columns > LANES:
        which[0, -1] = np.arange(LANES) + 3
    return which


def in_place(kernel, S, *arguments):
    """Run a kernel that updates S, compiled and interpreted."""
    compiled, plain = S.copy(), S.copy()
    kernel(compiled, *arguments)
    kernel.py_func(plain, *arguments)
    np.testing.assert_allclose(compiled, plain, rtol=0, atol=1e-13)
    return compiled


def agree(kernel, *arguments, outputs):
    compiled = [np.zeros(shape) for shape in outputs]
    plain = [np.zeros(shape) for shape in outputs]
    kernel(*arguments, *compiled)
    kernel.py_func(*arguments, *plain)
    for a, b in zip(compiled, plain, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-13)
    return compiled


@pytest.mark.parametrize("columns", [2, 3, LANES + 9])
@pytest.mark.parametrize("per", [1, K])
def test_decay_scan(draw, columns, per):
    S, which, gates = draw(1, H * K * V, LANES), strings(columns), strings(columns)[:, ::-1].copy()
    k, v, a = draw(K, columns), draw(H * V, columns), draw(H * per, columns)  # one group of keys
    found = in_place(_matrix_state.decay_scan, S, H, k, v, a, which, gates)
    wanted = S[0].reshape(H, K, V, LANES)
    for t in range(2):
        kk, vv = k[:, which[0, t]], v[:, which[0, t]].reshape(H, V, LANES)
        aa = a[:, gates[0, t]].reshape(H, per, 1, LANES)
        wanted = aa * wanted + kk[None, :, None] * vv[:, None]
    np.testing.assert_allclose(found[0], wanted.reshape(H * K * V, LANES), atol=1e-13)


@pytest.mark.parametrize("columns", [2, LANES + 9])
def test_delta_scan(draw, columns):
    S, which = draw(1, H * K * V, LANES), strings(columns)
    k, v, a, b = (draw(r, columns) for r in (H * K, H * V, H, H))
    found = in_place(_matrix_state.delta_scan, S, H, k, v, a, b, which, which)
    wanted = S[0].reshape(H, K, V, LANES)
    for t in range(2):
        at = which[0, t]
        kk, vv = k[:, at].reshape(H, K, LANES), v[:, at].reshape(H, V, LANES)
        wanted = a[:, at][:, None, None] * wanted
        error = b[:, at][:, None] * (vv - np.einsum("hkvl,hkl->hvl", wanted, kk))
        wanted = wanted + kk[:, :, None] * error[:, None]
    np.testing.assert_allclose(found[0], wanted.reshape(H * K * V, LANES), atol=1e-12)


def test_read(draw):
    S, q, which = draw(1, H * K * V, LANES), draw(H * K, 3), strings(3, 1)
    arguments = (S, H, q, which[:, 0].copy())
    (found,) = agree(_matrix_state._read, *arguments, outputs=[(1, H * V, LANES)])
    wanted = np.einsum(
        "hkvl,hkl->hvl", S[0].reshape(H, K, V, LANES), q[:, which[0, 0]].reshape(H, K, LANES)
    )
    np.testing.assert_allclose(found[0], wanted.reshape(H * V, LANES), atol=1e-13)


def test_turning_scan(draw):
    S, turn = draw(1, H * K * V, LANES), draw(H, K, 2)
    in_place(retnet._turning_scan, S, draw(H * K, 3), draw(H * V, 3), turn, strings(3))


def test_convolve(draw):
    C, taps, steps = 2, 3, 4
    kept, which = draw(1, (taps - 1) * C, LANES), strings(3, steps)
    x, w, bias = draw(C, 3), draw(C, taps), draw(C)
    y, left = agree(
        _short_conv._convolve, kept, x, which, w, bias, outputs=[(C, steps * LANES), kept.shape]
    )
    line = np.concatenate([kept[0].reshape(taps - 1, C, LANES), x[:, which[0]].swapaxes(0, 1)])
    for c in range(C):
        for i in (0, 77, LANES - 1):
            wanted = np.convolve(line[:, c, i], w[c, ::-1], "valid") + bias[c]
            np.testing.assert_allclose(y[c].reshape(steps, LANES)[:, i], wanted, atol=1e-13)
    assert (left[0].reshape(taps - 1, C, LANES) == line[-2:]).all()


@pytest.mark.parametrize("name", ["sigmoid", "exp", "softplus"])
def test_pointwise(draw, name):
    x = draw(3, 7) * 9
    agree(getattr(_pointwise, f"_{name}"), x, outputs=[x.shape])


def test_forget(draw):
    agree(_pointwise._forget, draw(3), np.abs(draw(3, 7)), outputs=[(3, 7)])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_pointwise_functions_are_what_they_say(draw, dtype):
    x = np.concatenate([draw(4, 50) * 5, np.full((4, 1), -800.0), np.full((4, 1), 800.0)], axis=1)
    x = x.astype(dtype)
    wide = x.astype(np.longdouble)
    error = 4e-7 if dtype == "float32" else 1e-15
    small = wide[:, :-2]
    found = _pointwise.softplus(x)
    np.testing.assert_allclose(found[:, :-2], np.log1p(np.exp(small)), rtol=error)
    assert (found[:, -2] == 0).all()
    assert (found[:, -1] == 800).all()
    logistic = 1 / (1 + np.exp(-small))
    np.testing.assert_allclose(_pointwise.logistic(x)[:, :-2], logistic, rtol=0, atol=error)
    np.testing.assert_allclose(
        _pointwise.silu(x)[:, :-2], small * logistic, rtol=0, atol=30 * error
    )
    np.testing.assert_allclose(_pointwise.exponential(-x[:, :-2]), np.exp(-small), rtol=error)
    rate = np.array([-2.0, 0.0, 2.0, 1e4], dtype)
    kept = _pointwise.forget(rate, np.abs(x))
    assert (kept[3] == 0).all()
    exponent = np.exp(rate[:3, None].astype(float)) * np.abs(small[:3])
    wanted = np.exp(-exponent)  # a product's rounding weighs as much as the exponent
    assert (np.abs(kept[:3, :-2] - wanted) <= wanted * (error + 2.0**-52 * exponent)).all()
    assert (_pointwise.forget(rate, np.zeros_like(x)) == 1).all(), "no time, no forgetting"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_columns_do_not_know_of_each_other(draw, dtype):
    x = draw(6, 301).astype(dtype)
    for function in (
        _pointwise.silu,
        _pointwise.exponential,
        _pointwise.softplus,
        lambda a: _pointwise.unit(a, 2),
        lambda a: _pointwise.rms(a, 3),
    ):
        whole = function(x)
        for at in (0, 100, 300):
            assert function(x[:, [at]]).tobytes() == whole[:, [at]].tobytes()


def test_norms(draw):
    x = draw(6, 4)
    found = _pointwise.unit(x, 2).reshape(2, 3, 4)
    wanted = x.reshape(2, 3, 4) / np.sqrt((x.reshape(2, 3, 4) ** 2).sum(1, keepdims=True) + 1e-6)
    np.testing.assert_allclose(found, wanted, rtol=1e-14)
    found = _pointwise.rms(x, 3, 0.5).reshape(3, 2, 4)
    wanted = x.reshape(3, 2, 4) / np.sqrt((x.reshape(3, 2, 4) ** 2).mean(1, keepdims=True) + 0.5)
    np.testing.assert_allclose(found, wanted, rtol=1e-14)
