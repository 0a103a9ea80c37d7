"""Kernels against their own source, interpreted: only roundings may differ."""

from __future__ import annotations

import numpy as np
import pytest

from statebound.models import _diagonal, gru, rnn
from statebound.models._lanes import LANES


@pytest.fixture
def draw():
    generator = np.random.Generator(np.random.PCG64(8))
    return lambda *shape: generator.standard_normal(shape) * 0.7


def tokens(steps: int, size: int) -> np.ndarray:
    generator = np.random.Generator(np.random.PCG64(4))
    return generator.integers(0, size, (1, steps, LANES), dtype=np.int32)


@pytest.mark.parametrize("size", [2, 3])
def test_gru_scan(draw, size):
    h = draw(1, 2, LANES)
    arguments = (h, tokens(2, size), draw(2, 2, 3), draw(2, 3), draw(2, 3, size))
    compiled, plain = np.empty_like(h), np.empty_like(h)
    gru._scan(*arguments, compiled)
    gru._scan.py_func(*arguments, plain)
    np.testing.assert_allclose(compiled, plain, rtol=0, atol=1e-14)


def test_gru_products_and_gates(draw):
    """Five columns: four by the unrolled loop and one by the remainder."""
    h, U, b = draw(5, LANES), draw(5, 5, 3), draw(5, 3)
    rows = [np.empty((3, LANES)) for _ in range(2)]
    gru._recur(h, U, b, 3, *rows[0])
    gru._recur.py_func(h, U, b, 3, *rows[1])
    np.testing.assert_allclose(rows[0], rows[1], rtol=0, atol=1e-14)
    np.testing.assert_allclose(rows[0], (np.einsum("kg,kl->lg", U[3], h) + b[3]).T, atol=1e-14)
    for sample in draw(50, 7):
        assert abs(gru._gate(*sample) - gru._gate.py_func(*sample)) < 1e-14


def test_gru_branch(draw):
    h = draw(1, 2, LANES)
    fan = np.array([2, 0], np.int32)
    arguments = (h, fan, draw(2, 2, 3), draw(2, 3), draw(2, 3, 3))
    compiled, plain = np.empty((2, 2, LANES)), np.empty((2, 2, LANES))
    gru._branch(*arguments, compiled)
    gru._branch.py_func(*arguments, plain)
    np.testing.assert_allclose(compiled, plain, rtol=0, atol=1e-14)


def test_rnn_scan(draw):
    h = draw(1, 2, LANES)
    arguments = (h, tokens(3, 3), draw(2, 2), draw(2), draw(2, 3))
    compiled, plain = np.empty_like(h), np.empty_like(h)
    rnn._scan(*arguments, compiled)
    rnn._scan.py_func(*arguments, plain)
    np.testing.assert_allclose(compiled, plain, rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    ("name", "inputs"), [("real_scan", 4), ("complex_scan", 2), ("complex_scan", 4)]
)
def test_diagonal_scans(draw, name, inputs):
    function = getattr(_diagonal, name)
    x = draw(1, 4, LANES)
    a = draw(4) if name == "real_scan" else draw(2, 2)
    arguments = (x, tokens(3, 3), a, draw(inputs, 3))
    compiled, plain = np.empty_like(x), np.empty_like(x)
    function(*arguments, compiled)
    function.py_func(*arguments, plain)
    np.testing.assert_allclose(compiled, plain, rtol=0, atol=1e-13)
