"""The classic cells as layers: against torch, or their equations, from states that are not zero."""

from __future__ import annotations

import math

import numpy as np
import pytest

from statebound.errors import UsageError
from statebound.models._build import family
from statebound.models._lanes import LANES
from statebound.models._s4_block import _gelu

from .layers import ROWS, STEPS, draw_state, run, silu

PRECISIONS = [("float64", 1e-11), ("float32", 1e-5)]


@pytest.fixture
def generator():
    return np.random.Generator(np.random.PCG64(13))


def make(name, generator, dtype, numbers, **settings):
    """Return a layer with loud parameters, and those."""
    kind = family(name).layer
    config = kind.Config.of(numbers, settings)
    w = kind.random(config, generator)
    for key, array in w.items():
        if key not in ("A", "B") and not key.endswith(("A_imag", "log_A_real", "log_dt")):
            w[key] = array + 0.4 * generator.standard_normal(array.shape)
        elif key.endswith("log_dt"):
            w[key] = array + 2.0
    again = kind.config_of(w, settings)
    assert again == config
    assert {key: array.shape for key, array in w.items()} == kind.shapes(config)
    layer = kind(config, w, np.dtype(dtype))
    assert sum(f.numbers for f in layer.fields) == config.numbers == numbers
    return layer, w


def check(layer, start, x, states, outputs, error):
    """Compare a run of the layer with final states and outputs."""
    found, y = run(layer, [part.astype(x.dtype) for part in start], x)
    for part, expected in zip(found, states, strict=True):
        scale = np.abs(expected).max()
        np.testing.assert_allclose(part, expected.reshape(part.shape), rtol=0, atol=error * scale)
    np.testing.assert_allclose(y, outputs, rtol=0, atol=error * np.abs(outputs).max())


@pytest.mark.parity
@pytest.mark.parametrize("name", ["rnn", "gru", "lstm"])
@pytest.mark.parametrize(("dtype", "error"), PRECISIONS)
def test_recurrent_layers_are_torchs(name, dtype, error, generator):
    torch = pytest.importorskip("torch")
    layer, w = make(name, generator, dtype, 10 if name == "lstm" else 5)
    start = [0.9 * np.tanh(part) for part in draw_state(layer, generator)]
    if name == "lstm":
        start[1] = 3 * start[1]
    x = generator.standard_normal((ROWS, STEPS, 5)).astype(dtype)
    theirs = {"rnn": torch.nn.RNN, "gru": torch.nn.GRU, "lstm": torch.nn.LSTM}[name](
        5, 5, batch_first=True
    ).double()
    theirs.load_state_dict({f"{n}_l0": torch.tensor(a) for n, a in w.items()})
    begun = [torch.tensor(part)[None] for part in start]
    with torch.no_grad():
        y, last = theirs(torch.tensor(x).double(), tuple(begun) if name == "lstm" else begun[0])
    states = [part[0].numpy() for part in (last if name == "lstm" else [last])]
    check(layer, start, x, states, y.numpy(), error)


@pytest.mark.parametrize("normalise", [0, 1])
@pytest.mark.parametrize(("dtype", "error"), PRECISIONS)
def test_linear_attention_is_its_definition(normalise, dtype, error, generator):
    H, K, V, D = 2, 3, 4, 5
    sizes = {"heads": H, "d_value": V, "width": D, "normalise": normalise}
    layer, w = make("linear_attention", generator, dtype, H * K * (V + normalise), **sizes)
    start = [np.abs(part) for part in draw_state(layer, generator)]
    x = generator.standard_normal((ROWS, STEPS, D)).astype(dtype)

    def phi(a):
        return np.where(a > 0, a + 1, np.exp(a)) if normalise else a

    S, z = start[0], start[1] if normalise else 0.0
    outputs = []
    for t in range(STEPS):
        q, k, v = (
            (x[:, t].astype(float) @ w[f"{n}_proj.weight"].T).reshape(ROWS, H, -1) for n in "qkv"
        )
        S = S + np.einsum("rhk,rhv->rhkv", phi(k), v)
        o = np.einsum("rhk,rhkv->rhv", phi(q), S)
        if normalise:
            z = z + phi(k)
            o = o / ((phi(q) * z).sum(-1, keepdims=True) + 1e-10)
        else:
            o = o / math.sqrt(K)
        outputs.append(o.reshape(ROWS, -1) @ w["o_proj.weight"].T)
    check(layer, start, x, [S, z][: len(start)], np.stack(outputs, 1), error)


def mixed(w, y):
    """Return the gated map of what the channels read."""
    a = y * (1 + np.vectorize(math.erf)(y / math.sqrt(2))) / 2
    D = len(w["D"])
    z = a @ w["output_linear.0.weight"][:, :, 0].T + w["output_linear.0.bias"]
    return silu(z[..., D:]) / z[..., D:] * z[..., :D]


@pytest.mark.parametrize(("dtype", "error"), PRECISIONS)
def test_an_s4d_block_is_its_definition(dtype, error, generator):
    layer, w = make("s4d", generator, dtype, 18, width=3)
    assert layer.config.d_state == 6
    A = -np.exp(w["kernel.log_A_real"]) + 1j * w["kernel.A_imag"]
    decay = np.exp(np.exp(w["kernel.log_dt"])[:, None] * A)
    C = (w["kernel.C"][..., 0] + 1j * w["kernel.C"][..., 1]) * (decay - 1) / A
    start = draw_state(layer, generator)
    x = start[0][..., 0] + 1j * start[0][..., 1]
    u = generator.standard_normal((ROWS, STEPS, 3)).astype(dtype)
    outputs = []
    for t in range(STEPS):
        x = decay * x + u[:, t, :, None]
        outputs.append(mixed(w, 2 * (C * x).real.sum(-1) + w["D"] * u[:, t]))
    check(layer, start, u, [np.stack([x.real, x.imag], -1)], np.stack(outputs, 1), error)


@pytest.mark.parametrize(("dtype", "error"), PRECISIONS)
def test_an_s4_block_is_its_definition(dtype, error, generator):
    layer, w = make("s4", generator, dtype, 12, width=3)
    assert layer.config.d_state == 4
    start = draw_state(layer, generator)
    x, outputs = start[0], []
    u = generator.standard_normal((ROWS, STEPS, 3)).astype(dtype)
    dt = np.exp(w["log_dt"])
    for t in range(STEPS):
        new = np.empty_like(x)
        for channel in range(3):
            half = dt[channel] / 2 * w["A"]
            right = x[:, channel] @ (np.eye(4) + half).T
            right = right + dt[channel] * u[:, t, channel, None] * w["B"]
            new[:, channel] = np.linalg.solve(np.eye(4) - half, right.T).T
        x = new
        outputs.append(mixed(w, (w["C"] * x).sum(-1) + w["D"] * u[:, t]))
    check(layer, start, u, [x], np.stack(outputs, 1), error)


def test_sizes_that_make_no_sense_are_refused():
    for name, numbers, settings in [
        ("lstm", 7, {}),
        ("s4d", 6, {}),
        ("s4d", 6, {"width": 3}),
        ("s4d", 6, {"d_state": 3}),
        ("s4", 3, {"width": 3}),
        ("s4", 5, {"d_state": 2}),
        ("linear_attention", 8, {"normalise": 2}),
        ("linear_attention", 7, {"heads": 2}),
    ]:
        with pytest.raises(UsageError):
            family(name).layer.Config.of(numbers, settings)


def test_the_kernel_equals_its_source_interpreted(generator):
    y = 2 * generator.standard_normal((2, LANES))
    np.testing.assert_allclose(_gelu(y), _gelu.py_func(y), rtol=1e-14)
