"""S4, S4D and their matrices against integrals, eigenvalues, a dense solver and plain loops."""

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


def formula(init, half):
    """Return the published modes A_n, by a formula or by eigenvalues of the dense matrix."""
    n, N = np.arange(half), 2 * half
    if init == "random":
        return -0.5 + 1j * np.pi * n
    if init == "inv":
        return -0.5 + 1j * N / np.pi * (N / (2 * n + 1) - 1)
    k = np.arange(N)
    normal = np.tril(-np.sqrt(np.outer(2 * k + 1, 2 * k + 1)), -1) - np.diag(k + 1.0)
    normal += np.outer(np.sqrt(k + 0.5), np.sqrt(k + 0.5))
    every = np.linalg.eigvals(normal)
    kept = every[every.imag > 0]
    return kept[np.argsort(kept.imag)]


@pytest.mark.parametrize("init", ["random", "inv", "legs"])
@pytest.mark.parametrize("N", [2, 4, 16, 64])
def test_s4d_starts_at_the_published_modes(init, N):
    vocabulary, size = (
        Vocabulary(9, 2, False, 3, 2),
        {"numbers": 2 * N, "settings": {"channels": 2}},
    )
    cell, origin = build(family("s4d"), vocabulary, init=init, seed=4, **size)
    assert origin == init
    w = cell.weights
    A = -np.exp(w["log_A_real"]) + 1j * w["A_imag"]
    np.testing.assert_allclose(A, np.tile(formula(init, N // 2), (2, 1)), rtol=1e-8)
    plain, _ = build(family("s4d"), vocabulary, seed=4, **size)
    for name in ("log_dt", "encoder.weight"):
        assert (w[name] == plain.weights[name]).all()
    assert w["encoder.weight"].shape[1] == 2  # queries have no columns


def loop(a, u, x, tokens):
    """x' = a x + u, a step at a time: a (M), u (M, tokens), x (ROWS, M)."""
    for t in range(tokens.shape[1]):
        x = a * x + u[:, tokens[:, t]].T
    return x


@pytest.mark.parametrize("init", ["random", "inv", "legs"])
@pytest.mark.parametrize(("dtype", "error"), [("float32", 1e-5), ("float64", 1e-12)])
def test_s4d_of_every_form_is_its_recurrence(generator, init, dtype, error):
    cell, _ = build(
        family("s4d"),
        Vocabulary(STEPS, 3, False, 0, 3),
        numbers=12,
        settings={"channels": 2},
        init=init,
        dtype=dtype,
    )
    w = cell.weights
    tokens = generator.integers(0, 3, (ROWS, STEPS), dtype=np.int32)
    start = generator.standard_normal((ROWS, 6, 2)).astype(dtype)
    final = cell.scan((to_lanes(start.reshape(ROWS, -1)),), to_lanes(tokens))
    x = start.astype(float)
    a = np.exp(np.exp(w["log_dt"])[:, None] * formula(init, 3)).reshape(-1)
    u = np.repeat(w["encoder.weight"], 3, axis=0)
    wanted = loop(a, u, x[..., 0] + 1j * x[..., 1], tokens)
    found = to_rows(final[0], ROWS).reshape(ROWS, 6, 2)
    np.testing.assert_allclose(found[..., 0], wanted.real, rtol=error, atol=error * 10)
    np.testing.assert_allclose(found[..., 1], wanted.imag, rtol=error, atol=error * 10)


@pytest.mark.parametrize(("dtype", "error"), [("float32", 1e-5), ("float64", 1e-12)])
@pytest.mark.parametrize(("H", "N"), [(1, 1), (2, 5)])
def test_s4d_real_is_its_recurrence(generator, dtype, error, H, N):
    cell, _ = build(
        family("s4d_real"),
        Vocabulary(STEPS, 3, False, 0, 3),
        settings={"channels": H, "d_state": N},
        numbers=H * N,
        dtype=dtype,
    )
    w = cell.weights
    np.testing.assert_allclose(np.exp(w["log_A_real"]), np.tile(np.arange(1, N + 1), (H, 1)))
    assert (np.abs(w["log_dt"] - np.log(0.01)) <= np.log(10)).all()
    tokens = generator.integers(0, 3, (ROWS, STEPS), dtype=np.int32)
    x = generator.standard_normal((ROWS, H * N)).astype(dtype)
    final = cell.scan((to_lanes(x),), to_lanes(tokens))
    a = np.exp(-np.outer(np.exp(w["log_dt"]), np.arange(1, N + 1))).reshape(-1)
    wanted = loop(a, np.repeat(w["encoder.weight"], N, axis=0), x.astype(float), tokens)
    np.testing.assert_allclose(to_rows(final[0], ROWS), wanted, rtol=error, atol=error * 10)


def test_s4d_real_has_no_dead_numbers_where_s4d_lin_has():
    """Of the same size: half of S4D-Lin's first mode never moves."""
    tokens = np.random.Generator(np.random.PCG64(1)).integers(0, 2, (LANES, 9), dtype=np.int32)
    still = {}
    for name in ("s4d", "s4d_real"):
        cell, _ = build(family(name), Vocabulary(9, 2, False, 0, 2), numbers=8)
        state = cell.scan(cell.start(1), to_lanes(tokens))[0]
        still[name] = int((np.ptp(state[0], axis=1) == 0).sum())
    assert still == {"s4d": 2, "s4d_real": 0}


@pytest.mark.parametrize("name", ["s4d", "s4d_real"])
@pytest.mark.parametrize(
    ("settings", "argument"),
    [({"d_state": 0}, "set"), ({"channels": 0}, "set"), ({"channels": 3}, "numbers")],
)
def test_impossible_sizes_are_refused(name, settings, argument):
    with pytest.raises(UsageError) as error:
        family(name).Config.of(8, settings)
    assert error.value.argument == argument


def test_a_complex_mode_takes_two_numbers():
    assert family("s4d_real").Config.of(6, {"d_state": 3}).channels == 2
    with pytest.raises(UsageError, match="even"):
        family("s4d").Config.of(6, {"d_state": 3})
