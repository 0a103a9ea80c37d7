"""Mamba against its equations and against two other implementations."""

from __future__ import annotations

import numpy as np
import pytest

from statebound.models import Vocabulary, mamba
from statebound.models._build import build, family
from statebound.models._lanes import LANES, to_lanes, to_rows

ROWS, STEPS = 9, 8
SIZES = [
    {"d_inner": 6, "d_state": 4, "d_conv": 4, "d_model": 3, "dt_rank": 2},
    {"d_inner": 1, "d_state": 1, "d_conv": 1, "d_model": 2, "dt_rank": 1},
    {"d_inner": 4, "d_state": 2, "d_conv": 2, "d_model": 5, "dt_rank": 3},
]


@pytest.fixture
def generator():
    return np.random.Generator(np.random.PCG64(3))


def make(settings, generator, dtype="float32", loud=True):
    """Build a layer whose decays and steps cover several orders of magnitude."""
    cell, _ = build(family("mamba"), Vocabulary(9, 2, False, 0, 2), settings=settings)
    layer = type(cell).layer
    weights = {name: array.astype(np.float64) for name, array in cell.weights.items()}
    if loud:
        for name in ("x_proj.weight", "in_proj.weight", "conv1d.weight"):
            weights[name] = weights[name] * 2.0
        weights["dt_proj.bias"] = generator.uniform(-6, 2, weights["dt_proj.bias"].shape)
        weights["D"] = generator.standard_normal(weights["D"].shape)
    return layer(cell.config, weights, np.dtype(dtype)), weights


def draw(layer, generator, steps=STEPS, dtype="float32"):
    """Draw a state that is not zero, as rows, and inputs (ROWS, steps, D)."""
    state = [generator.standard_normal((ROWS, f.numbers)).astype(dtype) for f in layer.fields]
    return state, generator.standard_normal((ROWS, steps, layer.width)).astype(dtype)


def run(layer, state, inputs):
    """Return the final state as rows and the outputs (ROWS, T, D)."""
    tiles = np.stack([to_lanes(inputs[:, t]) for t in range(inputs.shape[1])], axis=1)
    final, outputs = layer.run(tuple(to_lanes(part) for part in state), tiles)
    every = np.stack([to_rows(outputs[:, t], ROWS) for t in range(inputs.shape[1])], axis=1)
    return [to_rows(part, ROWS) for part in final], every


def by_definition(config, w, state, inputs):
    """Convolve, select and recur one row at a time."""
    E, N, c, R = config.d_inner, config.d_state, config.d_conv, config.dt_rank
    finals, outputs = [], []
    for row in range(ROWS):
        h = state[0][row].reshape(E, N).astype(np.float64)
        past = list(state[1][row].reshape(c - 1, E).astype(np.float64)) if c > 1 else []
        y = []
        for u in inputs[row].astype(np.float64):
            x, z = np.split(w["in_proj.weight"] @ u, 2)
            past.append(x)
            taps = w["conv1d.weight"][:, 0]
            x = w["conv1d.bias"] + sum(taps[:, k] * past[len(past) - c + k] for k in range(c))
            x = x / (1 + np.exp(-x))
            dt, B, C = np.split(w["x_proj.weight"] @ x, [R, R + N])
            dt = np.log1p(np.exp(w["dt_proj.weight"] @ dt + w["dt_proj.bias"]))[:, None]
            h = np.exp(-dt * np.exp(w["A_log"])) * h + dt * B[None] * x[:, None]
            y.append(w["out_proj.weight"] @ ((h @ C + w["D"] * x) * z / (1 + np.exp(-z))))
        kept = np.array(past[len(past) - (c - 1) :]).reshape(-1)
        finals.append((h.reshape(-1), kept))
        outputs.append(y)
    return [np.array(p) for p in zip(*finals, strict=True)], np.array(outputs)


@pytest.mark.parametrize("settings", SIZES, ids=str)
@pytest.mark.parametrize(("dtype", "error"), [("float32", 1e-5), ("float64", 1e-12)])
@pytest.mark.parametrize("steps", [1, 3, STEPS])
def test_mamba_is_its_equations(generator, settings, dtype, error, steps):
    layer, w = make(settings, generator, dtype)
    state, inputs = draw(layer, generator, steps, dtype)
    expected, y = by_definition(layer.config, w, state, inputs)
    final, outputs = run(layer, state, inputs)
    for part, wanted in zip(final, expected, strict=False):
        np.testing.assert_allclose(part, wanted, rtol=error, atol=error)
    np.testing.assert_allclose(outputs, y, rtol=error, atol=error)


@pytest.mark.parametrize("settings", SIZES, ids=str)
def test_numbers_are_the_live_ones(settings):
    cell, _ = build(family("mamba"), Vocabulary(9, 2, False, 0, 2), settings=settings)
    E, N, c = settings["d_inner"], settings["d_state"], settings["d_conv"]
    assert cell.config.numbers == E * N + E * (c - 1)
    assert sum(part.shape[1] for part in cell.start(1)) == cell.config.numbers
    assert len(cell.fields) == (2 if c > 1 else 1)


def test_mamba_130m_has_its_published_size():
    """24 layers of 1536 channels, 16 numbers and 3 kept inputs each."""
    config = mamba.MambaConfig.of(
        29_184, {"d_state": 16, "d_conv": 4, "d_model": 768, "d_inner": 1536}
    )
    assert config.dt_rank == 48
    assert 24 * config.numbers == 700_416
    assert mamba.MambaLayer.shapes(config)["x_proj.weight"] == (80, 1536)


def test_the_convolution_state_holds_inputs_from_before_the_convolution(generator):
    layer, w = make(SIZES[0], generator, "float64")
    state, inputs = draw(layer, generator, 5, "float64")
    final, _ = run(layer, state, inputs)
    x = np.einsum("ed,btd->bte", w["in_proj.weight"][:6], inputs)[:, -3:]
    np.testing.assert_allclose(final[1], x.reshape(ROWS, -1), rtol=1e-13)
    state, inputs = draw(layer, generator, 2, "float64")  # fewer tokens than the kernel keeps
    final, _ = run(layer, state, inputs)
    x = np.einsum("ed,btd->bte", w["in_proj.weight"][:6], inputs)
    assert (final[1][:, :6] == state[1][:, 12:]).all()
    np.testing.assert_allclose(final[1][:, 6:], x.reshape(ROWS, -1), rtol=1e-13)


@pytest.mark.parametrize("settings", SIZES, ids=str)
def test_every_number_of_the_state_reaches_the_output(generator, settings):
    """Each alone is perturbed, and the outputs of c more tokens change."""
    layer, _ = make(settings, generator, "float64")
    state, inputs = draw(layer, generator, settings["d_conv"], "float64")
    _, plain = run(layer, state, inputs)
    for part in state:
        for k in range(part.shape[1]):
            part[:, k] += 1.0
            _, changed = run(layer, state, inputs)
            part[:, k] -= 1.0
            assert (np.abs(changed - plain).max(axis=(1, 2)) > 1e-9).all()


def test_extreme_steps_neither_overflow_nor_stall(generator):
    """dt far below and far above any floor: held for ever, or replaced at once."""
    layer, w = make(SIZES[0], generator, "float64", loud=False)
    for bias, error in [(-40.0, 1e-5), (60.0, 1e-5)]:
        w["dt_proj.bias"] = np.full(6, bias)
        single = mamba.MambaLayer(layer.config, w, np.dtype("float32"))
        state, inputs = draw(single, generator)
        expected, y = by_definition(layer.config, w, state, inputs)
        final, outputs = run(single, state, inputs)
        np.testing.assert_allclose(final[0], expected[0], rtol=error, atol=error)
        np.testing.assert_allclose(outputs, y, rtol=error, atol=1e-4)


def test_random_parameters_are_the_authors():
    settings = {"d_inner": 64, "d_state": 16, "d_conv": 4, "d_model": 32, "dt_rank": 2}
    cell, _ = build(family("mamba"), Vocabulary(9, 2, False, 0, 2), settings=settings, seed=4)
    w = cell.weights
    dt = np.log1p(np.exp(w["dt_proj.bias"]))
    assert (dt >= 1e-3 * (1 - 1e-9)).all()
    assert (dt <= 1e-1 * (1 + 1e-9)).all()
    assert dt.max() / dt.min() > 10
    np.testing.assert_allclose(np.exp(w["A_log"]), np.tile(np.arange(1, 17), (64, 1)))
    assert (w["D"] == 1).all()
    for name, fan_in in [
        ("in_proj.weight", 32),
        ("conv1d.weight", 4),
        ("x_proj.weight", 64),
        ("dt_proj.weight", 2),
        ("out_proj.weight", 64),
    ]:
        assert 0.8 < np.abs(w[name]).max() * fan_in**0.5 <= 1


def test_a_model_of_tokens_and_a_layer_of_vectors_give_the_same_bits(generator):
    """The same embedding by columns of a table or by inputs of their own."""
    cell, _ = build(family("mamba"), Vocabulary(9, 3, False, 0, 2), settings=SIZES[0])
    tokens = generator.integers(0, 3, (ROWS, STEPS), dtype=np.int32)
    inputs = cell.table("embedding.weight")[tokens]
    by_tokens = cell.scan(cell.start(1), to_lanes(tokens))
    by_vectors, _ = run(cell._layer, [to_rows(p, ROWS) for p in cell.start(1)], inputs)
    for one, other in zip(by_tokens, by_vectors, strict=True):
        assert to_rows(one, ROWS).tobytes() == other.tobytes()


@pytest.mark.parametrize("settings", SIZES[1:], ids=str)
def test_kernels_equal_their_source_interpreted(generator, settings):
    layer, _ = make(settings, generator, "float64")
    state = [generator.standard_normal((1, f.numbers, LANES)) for f in layer.fields]
    streams = layer.project(generator.standard_normal((layer.width, 3)))
    tokens = generator.integers(0, 3, (1, 2, LANES), dtype=np.int32)
    conv = layer._conv(tuple(state))
    results = []
    for scan, read in [
        (mamba._scan, mamba._read),
        (mamba._scan.py_func, mamba._read.py_func),
    ]:
        h, kept = np.empty_like(state[0]), np.empty_like(conv)
        scan(state[0], conv, tokens, streams, layer._A, *layer._selection, h, kept)
        out = np.empty((1, layer.config.d_inner, LANES))
        read(h, conv, tokens[:, :1], streams, layer._D, *layer._selection, out)
        results.append((h, kept, out))
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parity
def test_mambapy_agrees(generator):
    torch = pytest.importorskip("torch")
    theirs = pytest.importorskip("mambapy.mamba")
    settings = SIZES[0]
    layer, w = make(settings, generator)
    config = theirs.MambaConfig(
        d_model=3, n_layers=1, dt_rank=2, d_state=4, expand_factor=2, d_conv=4
    )
    block = theirs.MambaBlock(config)
    block.load_state_dict({k: torch.tensor(v) for k, v in w.items() if k != "embedding.weight"})
    state, inputs = draw(layer, generator)
    h = torch.tensor(state[0]).reshape(ROWS, 6, 4)
    past = torch.tensor(state[1]).reshape(ROWS, 3, 6).transpose(1, 2)
    outputs = []
    with torch.no_grad():
        block = block.float()
        for t in range(STEPS):
            y, (h, past) = block.step(torch.tensor(inputs[:, t]), (h, past))
            outputs.append(y.numpy())
    final, found = run(layer, state, inputs)
    kwargs = {"rtol": 1e-5, "atol": 1e-5}
    np.testing.assert_allclose(found, np.stack(outputs, axis=1), **kwargs)
    np.testing.assert_allclose(final[0], h.reshape(ROWS, -1).numpy(), **kwargs)
    np.testing.assert_allclose(final[1], past.transpose(1, 2).reshape(ROWS, -1).numpy(), **kwargs)


@pytest.mark.slow
@pytest.mark.parity
def test_transformers_agrees(generator):
    """The mixer's slow path, a token at a time from a cache that is not zero."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    mixers = pytest.importorskip("transformers.models.mamba.modeling_mamba")
    layer, w = make(SIZES[0], generator)
    config = transformers.MambaConfig(
        hidden_size=3,
        state_size=4,
        conv_kernel=4,
        expand=2,
        time_step_rank=2,
        num_hidden_layers=1,
        vocab_size=4,
    )
    mixer = mixers.MambaMixer(config, layer_idx=0).float().eval()
    named = {k: torch.tensor(v) for k, v in w.items() if k != "embedding.weight"}
    mixer.load_state_dict(named)
    state, inputs = draw(layer, generator)
    with torch.no_grad():
        cache = transformers.DynamicCache(config=config)
        mixer(torch.zeros(ROWS, 4, 3), cache)
        slot = cache.layers[0]
        past = torch.tensor(state[1]).reshape(ROWS, 3, 6).transpose(1, 2)
        slot.recurrent_states[0].copy_(torch.tensor(state[0]).reshape(ROWS, 6, 4))
        slot.conv_states[0].copy_(torch.cat([torch.full((ROWS, 6, 1), 9.0), past], dim=2))
        outputs = [mixer(torch.tensor(inputs[:, t : t + 1]), cache) for t in range(STEPS)]
    final, found = run(layer, state, inputs)
    kwargs = {"rtol": 1e-5, "atol": 1e-5}
    np.testing.assert_allclose(found, torch.cat(outputs, dim=1).numpy(), **kwargs)
    np.testing.assert_allclose(
        final[0], slot.recurrent_states[0].reshape(ROWS, -1).numpy(), **kwargs
    )
    kept = slot.conv_states[0][:, :, 1:].transpose(1, 2).reshape(ROWS, -1)
    np.testing.assert_allclose(final[1], kept.numpy(), **kwargs)
