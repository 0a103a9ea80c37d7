"""S4 and its matrices against integrals, eigenvalues and a dense solver."""

from __future__ import annotations

import numpy as np
import pytest

from statebound.errors import UsageError
from statebound.models import Vocabulary, s4
from statebound.models._build import build, family
from statebound.models._hippo import bilinear, legs, modes
from statebound.models._lanes import LANES, to_lanes, to_rows

ROWS, STEPS = 11, 9


@pytest.fixture
def generator():
    return np.random.Generator(np.random.PCG64(6))


def test_legs_keeps_legendre_coefficients():
    """d/dt of c_n(t), the scaled coefficients of f on [0, t], is (A c + B f(t)) / t.

    c_n(t) = sqrt(2n + 1) times the mean over [0, t] of f(s) P_n(2 s/t - 1), by quadrature.
    """
    N = 6
    nodes, weights = np.polynomial.legendre.leggauss(40)
    A, B = legs(N)

    def f(s):
        return np.sin(3 * s) + s**2

    def coefficients(t):
        basis = np.stack([np.polynomial.Legendre.basis(n)(nodes) for n in range(N)])
        return B * (basis @ (weights / 2 * f((nodes + 1) * t / 2)))

    t, e = 1.3, 1e-5
    slope = (coefficients(t + e) - coefficients(t - e)) / (2 * e)
    np.testing.assert_allclose(slope, (A @ coefficients(t) + B * f(t)) / t, atol=1e-8)


def test_bilinear_is_the_dense_formula(generator):
    A, B = legs(5)
    F, G = bilinear(A, B, 0.07)
    inverse = np.linalg.inv(np.eye(5) - 0.035 * A)
    np.testing.assert_allclose(F, inverse @ (np.eye(5) + 0.035 * A), atol=1e-14)
    np.testing.assert_allclose(G, inverse @ B * 0.07, atol=1e-14)
    assert not np.triu(F, 1).any()
    assert np.abs(np.diag(F)).max() < 1


def test_modes_of_each_form():
    np.testing.assert_allclose(modes("lin", 3), -0.5 + 1j * np.pi * np.arange(3))
    np.testing.assert_allclose(modes("inv", 2).imag, [12 / np.pi, 4 / np.pi / 3])
    for half in (1, 2, 8):
        A, _ = legs(2 * half)
        p = np.sqrt(np.arange(2 * half) + 0.5)
        normal = A + np.outer(p, p)
        np.testing.assert_allclose(normal @ normal.T, normal.T @ normal, atol=1e-9)
        every = np.linalg.eigvals(normal)
        expected = np.sort(every.imag[every.imag > 0])
        np.testing.assert_allclose(modes("legs", half).imag, expected, rtol=1e-8)
        np.testing.assert_allclose(every.real, -0.5, atol=1e-9)


@pytest.mark.parametrize(("H", "N"), [(1, 1), (1, 5), (3, 4)])
@pytest.mark.parametrize(("dtype", "error"), [("float32", 1e-5), ("float64", 1e-12)])
def test_s4_is_its_recurrence(generator, H, N, dtype, error):
    vocabulary = Vocabulary(STEPS, 3, False, 0, 3)
    cell, _ = build(
        family("s4"), vocabulary, settings={"channels": H, "d_state": N}, dtype=dtype, seed=3
    )
    w = cell.weights
    tokens = generator.integers(0, 3, (ROWS, STEPS), dtype=np.int32)
    x = generator.standard_normal((ROWS, H, N)).astype(dtype)
    final = cell.scan((to_lanes(x.reshape(ROWS, -1)),), to_lanes(tokens))
    x = x.astype(np.float64)
    for t in range(STEPS):
        for h in range(H):
            half = np.exp(w["log_dt"][h]) / 2
            u = w["encoder.weight"][h, tokens[:, t]]
            drive = x[:, h] @ (np.eye(N) + half * w["A"]).T + 2 * half * np.outer(u, w["B"])
            x[:, h] = np.linalg.solve(np.eye(N) - half * w["A"], drive.T).T
    np.testing.assert_allclose(to_rows(final[0], ROWS), x.reshape(ROWS, -1), rtol=error, atol=error)


def test_another_basis_is_refused():
    vocabulary = Vocabulary(STEPS, 2, False, 0, 2)
    cell, _ = build(family("s4"), vocabulary, numbers=3)
    w = dict(cell.weights)
    w["A"] = w["A"].T
    with pytest.raises(UsageError, match="lower triangular"):
        build(family("s4"), vocabulary, weights=w)


def test_kernel_equals_its_source_interpreted(generator):
    x, u = generator.standard_normal((1, 4, LANES)), generator.standard_normal((2, 2, 3))
    F = np.tril(generator.standard_normal((2, 2, 2)))
    tokens = generator.integers(0, 3, (1, 2, LANES), dtype=np.int32)
    results = [np.empty_like(x), np.empty_like(x)]
    s4._scan(x, tokens, F, u, results[0])
    s4._scan.py_func(x, tokens, F, u, results[1])
    np.testing.assert_allclose(results[0], results[1], rtol=0, atol=1e-13)
