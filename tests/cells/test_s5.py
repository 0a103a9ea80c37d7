"""S5 against the convolution that its recurrence is, and its initialisation against HiPPO."""

from __future__ import annotations

import numpy as np
import pytest

from statebound.errors import UsageError
from statebound.models import Vocabulary, s5
from statebound.models._build import build, family
from statebound.models._hippo import legs
from statebound.models._lanes import to_lanes, to_rows

from .layers import ROWS, STEPS, case, draw_state, run

SIZES = [{"modes": 3, "width": 4}, {"modes": 1, "width": 1}, {"modes": 4, "width": 2}]


@pytest.fixture
def generator():
    return np.random.Generator(np.random.PCG64(31))


def make(settings, dtype="float64"):
    """Return a layer with steps from slow to fast; all parameters are off their start."""
    layer, w = case("s5", **settings).make(dtype)
    w["Lambda_re"] = -np.abs(w["Lambda_re"])
    w["log_step"] = np.linspace(-3, 0, settings["modes"])[:, None]
    return type(layer)(layer.config, w, np.dtype(dtype)), w


def close(found, wanted, error):
    wanted = np.asarray(wanted)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=error * np.abs(wanted).max())


def by_convolution(w, x0, u):
    """x_t = a^t x_0 + sum_k a^k Bbar u_(t-k), y_t = 2 Re C x_t + D u_t, then the activation."""
    L = w["Lambda_re"] + 1j * w["Lambda_im"]
    dt = np.exp(w["log_step"][:, 0])
    B, C = (w[name][..., 0] + 1j * w[name][..., 1] for name in "BC")
    drive = ((np.exp(dt * L) - 1) / L)[:, None] * B
    T = u.shape[1]
    powers = np.exp(np.outer(np.arange(T + 1), dt * L))  # (T + 1, P)
    kernels = np.einsum("ep,kp,pf->kef", C, powers[:T], drive)  # C a^k Bbar
    y = 2 * np.einsum("ep,tp,rp->rte", C, powers[1:], x0).real + u * w["D"]
    for k in range(T):
        y[:, k:] += 2 * np.einsum("ef,rtf->rte", kernels[k].real, u[:, : T - k])
    g = y * (1 + np.tanh(np.sqrt(2 / np.pi) * (y + 0.044715 * y**3))) / 2
    last = powers[T] * x0 + np.einsum("kp,pf,rkf->rp", powers[:T][::-1], drive, u)
    return last, g / (1 + np.exp(-(g @ w["out2.weight"].T + w["out2.bias"])))


@pytest.mark.parametrize("settings", SIZES, ids=str)
@pytest.mark.parametrize(("dtype", "error"), [("float32", 1e-5), ("float64", 1e-12)])
def test_s5_is_a_convolution(generator, settings, dtype, error):
    layer, w = make(settings, dtype)
    start = draw_state(layer, generator, dtype)
    u = generator.standard_normal((ROWS, STEPS, layer.width)).astype(dtype)
    x0 = start[0].astype(float)
    last, y = by_convolution(w, x0[..., 0] + 1j * x0[..., 1], u.astype(float))
    final, outputs = run(layer, start, u)
    close(final[0][..., 0] + 1j * final[0][..., 1], last, error)
    close(outputs, y, error)


def test_zero_order_hold_is_the_solution_of_the_differential_equation():
    """x' is the integral of dx/dt = L x + B u over a step with u held: many midpoint steps."""
    layer, w = make({"modes": 2, "width": 1})
    L = w["Lambda_re"] + 1j * w["Lambda_im"]
    B = w["B"][:, 0, 0] + 1j * w["B"][:, 0, 1]
    start = np.array([0.3 - 0.2j, 0.1 + 0.5j])
    x, pieces = start.copy(), 3000
    h = np.exp(w["log_step"][:, 0]) / pieces
    for _ in range(pieces):
        middle = x + h / 2 * (L * x + B * 0.7)
        x = x + h * (L * middle + B * 0.7)
    state = [np.broadcast_to(np.stack([start.real, start.imag], 1), (ROWS, 2, 2))]
    final, _ = run(layer, state, np.full((ROWS, 1, 1), 0.7))
    close(final[0][0, :, 0] + 1j * final[0][0, :, 1], x, 1e-5)


@pytest.mark.parametrize("P", [1, 2, 8])
def test_half_of_the_eigenvectors_is_as_the_docstring_says(P):
    """One of each conjugate pair: V* V = I and V^T V = 0, so that V* G has the stated law."""
    A, B = legs(2 * P)
    p = B / 2**0.5
    imaginary, V = np.linalg.eigh(-1j * (A + np.outer(p, p)))
    V = V[:, imaginary > 0]
    assert V.shape == (2 * P, P)
    np.testing.assert_allclose(V.conj().T @ V, np.eye(P), atol=1e-12)
    np.testing.assert_allclose(V.T @ V, np.zeros((P, P)), atol=1e-12)
    both = np.concatenate([V.conj().T.real, V.conj().T.imag])  # of V* G, for iid G
    np.testing.assert_allclose(both @ both.T, np.eye(2 * P) / 2, atol=1e-12)


def test_random_parameters_are_the_authors():
    settings = {"modes": 32, "width": 48}
    w = build(family("s5"), Vocabulary(9, 2, False, 0, 2), settings=settings)[0].weights
    A, B = legs(64)
    eigenvalues = np.linalg.eigvals(A + np.outer(B, B) / 2)
    np.testing.assert_allclose(w["Lambda_re"], -0.5)
    wanted = np.sort(eigenvalues.imag[eigenvalues.imag > 0])
    np.testing.assert_allclose(w["Lambda_im"], wanted, rtol=1e-8)
    assert (np.exp(w["log_step"]) >= 1e-3).all()
    assert (np.exp(w["log_step"]) <= 1e-1).all()
    for part in np.moveaxis(w["B"], 2, 0):
        assert 0.9 < part.std() / (1 / 64 / 2) ** 0.5 < 1.1
    for part in np.moveaxis(w["C"], 2, 0):
        assert 0.9 < part.std() / 0.5**0.5 < 1.1
    assert 0.7 < w["D"].std() < 1.3
    assert 0.9 < w["out2.weight"].std() * 48**0.5 < 1.1


def test_sizes():
    assert s5.S5Config.of(8, {}) == s5.S5Config(4, 4)
    assert s5.S5Config.of(8, {"width": 3}) == s5.S5Config(4, 3)
    for numbers, settings, argument in (
        (7, {}, "numbers"),
        (8, {"modes": 0}, "set"),
        (8, {"width": 0}, "set"),
    ):
        with pytest.raises(UsageError) as error:
            s5.S5Config.of(numbers, settings)
        assert error.value.argument == argument


def test_every_number_of_the_state_reaches_the_output(generator):
    layer, _ = make(SIZES[0])
    state = draw_state(layer, generator)
    u = generator.standard_normal((ROWS, 2, layer.width))
    _, plain = run(layer, state, u)
    for k in range(6):
        state[0].reshape(ROWS, -1)[:, k] += 1
        _, changed = run(layer, state, u)
        state[0].reshape(ROWS, -1)[:, k] -= 1
        assert (np.abs(changed - plain).max(axis=(1, 2)) > 1e-9).all()


def test_tokens_and_vectors_give_the_same_bits(generator):
    cell, _ = build(family("s5"), Vocabulary(9, 3, False, 0, 2), settings=SIZES[0])
    tokens = generator.integers(0, 3, (ROWS, STEPS), dtype=np.int32)
    by_tokens = cell.scan(cell.start(1), to_lanes(tokens))
    zeros = [np.zeros((ROWS, *field.shape), np.float32) for field in cell.fields]
    by_vectors, _ = run(cell._layer, zeros, cell.table("embedding.weight")[tokens])
    assert to_rows(by_tokens[0], ROWS).tobytes() == by_vectors[0].reshape(ROWS, -1).tobytes()
