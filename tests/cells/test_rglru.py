"""The recurrent block of RecurrentGemma against its equations and against transformers."""

from __future__ import annotations

import numpy as np
import pytest

from statebound.errors import UsageError
from statebound.models import Vocabulary, _short_conv, rglru
from statebound.models._build import build, family
from statebound.models._lanes import LANES, to_lanes, to_rows

from .layers import ROWS, STEPS, case, draw_state, run

SIZES = [
    {"lru_width": 6, "heads": 2, "d_conv": 4, "width": 5},
    {"lru_width": 4, "heads": 1, "d_conv": 2, "width": 4},
    {"lru_width": 3, "heads": 3, "d_conv": 1, "width": 2},
]


@pytest.fixture
def generator():
    return np.random.Generator(np.random.PCG64(21))


def make(settings, dtype="float64"):
    """Return a layer with loud parameters and decays from far below to just below 1."""
    layer, w = case("rglru", **settings).make(dtype)
    w["rg_lru.recurrent_param"] = np.linspace(-9, 1, settings["lru_width"])
    return type(layer)(layer.config, w, np.dtype(dtype)), w


def inputs(layer, generator, steps=STEPS):
    return generator.standard_normal((ROWS, steps, layer.width)).astype(np.float32)


def close(found, wanted, error):
    wanted = np.asarray(wanted)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=error * np.abs(wanted).max())


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def blockwise(W, b, x):
    """x W + b a head at a time: W (H, in, out), x (ROWS, W)."""
    parts = [p @ W[h] + b[h] for h, p in enumerate(np.split(x, len(W), axis=1))]
    return np.concatenate(parts, axis=1)


def by_definition(layer, w, start, u):
    h, c = start[0], layer.config.d_conv
    past = list(start[1].transpose(1, 0, 2)) if c > 1 else []
    outputs = []
    for t in range(u.shape[1]):
        past.append(u[:, t] @ w["linear_x.weight"].T + w["linear_x.bias"])
        taps = w["conv_1d.weight"][:, 0]
        x = w["conv_1d.bias"] + sum(taps[:, k] * past[len(past) - c + k] for k in range(c))
        gates = [
            sigmoid(blockwise(w[f"rg_lru.{g}_weight"], w[f"rg_lru.{g}_bias"], x))
            for g in ("recurrent_gate", "input_gate")
        ]
        a = np.exp(-8 * np.log1p(np.exp(w["rg_lru.recurrent_param"])) * gates[0])
        h = a * h + np.sqrt(1 - a**2) * gates[1] * x
        y = u[:, t] @ w["linear_y.weight"].T + w["linear_y.bias"]
        gate = y * (1 + np.tanh(np.sqrt(2 / np.pi) * (y + 0.044715 * y**3))) / 2
        outputs.append((h * gate) @ w["linear_out.weight"].T + w["linear_out.bias"])
    kept = [np.stack(past[len(past) - c + 1 :], 1)] if c > 1 else []
    return [h, *kept], np.stack(outputs, 1)


@pytest.mark.parametrize("settings", SIZES, ids=str)
@pytest.mark.parametrize(("dtype", "error"), [("float32", 1e-5), ("float64", 1e-12)])
@pytest.mark.parametrize("steps", [1, 2, STEPS])
def test_rglru_is_its_equations(generator, settings, dtype, error, steps):
    layer, w = make(settings, dtype)
    start = draw_state(layer, generator, dtype)
    u = inputs(layer, generator, steps).astype(dtype)
    wanted, y = by_definition(layer, w, [part.astype(float) for part in start], u.astype(float))
    final, outputs = run(layer, start, u)
    for part, other in zip(final, wanted, strict=True):
        close(part, other, error)
    close(outputs, y, error)


def test_slow_decays_keep_their_precision():
    """1 - a^2 where a rounds to 1: the input is small, not zero and not noise."""
    r, ones = np.zeros((1, 3), np.float32), np.ones((1, 3), np.float32)
    rate = np.array([-8 * np.log1p(np.exp(-20.0))], np.float32)
    a, u = np.empty_like(r), np.empty_like(r)
    rglru._gate(ones, ones * 50, r, rate, a, u)
    np.testing.assert_allclose(u, np.sqrt(-np.expm1(float(rate[0]))), rtol=1e-6)
    assert (a == 1).all()


def test_the_convolution_keeps_inputs_from_before_it(generator):
    layer, w = make(SIZES[0])
    start, u = draw_state(layer, generator), inputs(layer, generator, 2).astype(float)
    final, _ = run(layer, start, u)
    assert (final[1][:, 0] == start[1][:, 2]).all()
    close(final[1][:, 1:], u @ w["linear_x.weight"].T + w["linear_x.bias"], 1e-13)


@pytest.mark.parametrize("settings", SIZES, ids=str)
def test_every_number_of_the_state_reaches_the_output(generator, settings):
    layer, _ = make(settings)
    state, u = draw_state(layer, generator), inputs(layer, generator, settings["d_conv"])
    _, plain = run(layer, state, u.astype(float))
    for part in state:
        flat = part.reshape(ROWS, -1)
        for k in range(flat.shape[1]):
            flat[:, k] += 1
            _, changed = run(layer, state, u.astype(float))
            flat[:, k] -= 1
            assert (np.abs(changed - plain).max(axis=(1, 2)) > 1e-9).all()


@pytest.mark.parametrize("settings", SIZES, ids=str)
def test_sizes(settings):
    config = case("rglru", **settings).config()
    assert config.numbers == settings["lru_width"] * settings["d_conv"]
    cell, _ = build(family("rglru"), Vocabulary(9, 2, False, 0, 2), settings=settings)
    assert cell.config == config
    assert len(cell.fields) == (2 if settings["d_conv"] > 1 else 1)


def test_a_published_size():
    """RecurrentGemma 2B: 2560 channels, 3 inputs kept, ten blocks of the two-in-three pattern."""
    config = rglru.RGLRUConfig.of(10_240, {"d_conv": 4, "heads": 10})
    assert config.lru_width == 2560
    assert rglru.RGLRULayer.shapes(config)["rg_lru.input_gate_weight"] == (10, 256, 256)


@pytest.mark.parametrize(
    ("argument", "numbers", "settings"),
    [
        ("numbers", 7, {}),
        ("numbers", 6, {"heads": 2}),
        ("set", 8, {"lru_width": 3, "heads": 2}),
        ("set", 8, {"d_conv": 0}),
    ],
)
def test_impossible_sizes_are_refused(argument, numbers, settings):
    with pytest.raises(UsageError) as error:
        rglru.RGLRUConfig.of(numbers, settings)
    assert error.value.argument == argument


def test_random_parameters_are_the_authors():
    settings = {"lru_width": 256, "heads": 4, "d_conv": 4, "width": 64}
    w = build(family("rglru"), Vocabulary(9, 2, False, 0, 2), settings=settings)[0].weights
    for name, variance in (
        ("linear_x.weight", 1 / 64),
        ("linear_y.weight", 1 / 64),
        ("linear_out.weight", 2 / 256),
        ("conv_1d.weight", 0.01 / 4),
        ("rg_lru.input_gate_weight", 0.01 / 64),
        ("rg_lru.recurrent_gate_weight", 0.01 / 64),
    ):
        assert 0.9 < w[name].std() / variance**0.5 < 1.1
    decay = np.exp(-np.log1p(np.exp(w["rg_lru.recurrent_param"])))
    assert (decay >= 0.9 - 1e-9).all()
    assert (decay <= 0.999 + 1e-9).all()
    squares = np.sort(decay**2)  # uniform
    assert np.abs(squares - np.linspace(0.81, 0.998, 256)).max() < 0.03
    assert not any(w[name].any() for name in w if name.endswith("bias"))


def test_tokens_and_vectors_give_the_same_bits(generator):
    cell, _ = build(family("rglru"), Vocabulary(9, 3, False, 0, 2), settings=SIZES[0])
    tokens = generator.integers(0, 3, (ROWS, STEPS), dtype=np.int32)
    by_tokens = cell.scan(cell.start(1), to_lanes(tokens))
    zeros = [np.zeros((ROWS, *field.shape), np.float32) for field in cell.fields]
    by_vectors, _ = run(cell._layer, zeros, cell.table("embedding.weight")[tokens])
    for one, other in zip(by_tokens, by_vectors, strict=True):
        assert to_rows(one, ROWS).tobytes() == other.reshape(ROWS, -1).tobytes()


@pytest.mark.parametrize("settings", SIZES, ids=str)
def test_blocks_of_a_long_sequence_change_no_bit(settings, generator, monkeypatch):
    layer, _ = make(settings, "float32")
    streams = layer.project(inputs(layer, generator).reshape(-1, layer.width).T)
    which = generator.integers(0, ROWS, (2, 7, LANES), dtype=np.int32)
    whole = layer.advance(layer.start(2, np.dtype("float32")), streams, which)
    monkeypatch.setattr(_short_conv, "BLOCK", 1)
    cut = layer.advance(layer.start(2, np.dtype("float32")), streams, which)
    assert all(one.tobytes() == other.tobytes() for one, other in zip(whole, cut, strict=True))


def test_kernel_equals_its_source_interpreted(generator):
    x, i, r = generator.standard_normal((3, 2, LANES))
    rate = -np.abs(generator.standard_normal(2))
    results = []
    for function in (rglru._gate, rglru._gate.py_func):
        a, u = np.empty_like(x), np.empty_like(x)
        function(x, i, r, rate, a, u)
        results.append((a, u))
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.fixture
def theirs():
    """Their block at the first size, its weights, and ours with the same."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    modeling = pytest.importorskip("transformers.models.recurrent_gemma.modeling_recurrent_gemma")
    settings = SIZES[0] | {"width": 6}  # their convolution state takes the two widths for one
    layer, w = make(settings, "float32")
    config = transformers.RecurrentGemmaConfig(
        hidden_size=6, lru_width=6, num_attention_heads=2, conv1d_width=4, num_hidden_layers=3
    )
    block = modeling.RecurrentGemmaRecurrentBlock(config, layer_idx=0).float().eval()
    block.load_state_dict({name: torch.tensor(a) for name, a in w.items()})
    return torch, block, layer


@pytest.mark.slow
@pytest.mark.parity
@pytest.mark.filterwarnings("ignore")
def test_transformers_agrees_token_by_token(theirs, generator):
    """From a state that is not zero, at positions that are not the first."""
    torch, block, layer = theirs
    start, u = draw_state(layer, generator, "float32"), inputs(layer, generator)
    block.rg_lru.recurrent_states = torch.tensor(start[0])
    block.conv1d_state = torch.tensor(start[1].transpose(0, 2, 1).copy())
    outputs = []
    with torch.no_grad():
        for t in range(STEPS):
            at = torch.full((ROWS, 1), 7 + t)
            outputs.append(block(torch.tensor(u[:, [t]]), at, None)[0])
    final, found = run(layer, start, u)
    close(found, torch.cat(outputs, 1), 1e-5)
    close(final[0], block.rg_lru.recurrent_states, 1e-5)
    close(final[1], block.conv1d_state.transpose(1, 2), 1e-5)


@pytest.mark.slow
@pytest.mark.parity
@pytest.mark.filterwarnings("ignore")
def test_transformers_agrees_from_zeros_but_for_its_rule_at_position_0(theirs, generator):
    torch, block, layer = theirs
    u = inputs(layer, generator)
    zeros = [np.zeros((ROWS, *field.shape), np.float32) for field in layer.fields]
    final, found = run(layer, zeros, u)
    for first in (1, 0):
        block._setup_cache(ROWS, "cpu", torch.float32)
        at = (first + torch.arange(STEPS)).expand(ROWS, STEPS)
        with torch.no_grad():
            y, _ = block(torch.tensor(u), at, None)
        if first:
            close(found, y, 1e-5)
            close(final[0], block.rg_lru.recurrent_states, 1e-5)
        else:
            assert np.abs(found - y.numpy()).max() > 1e-2
        close(final[1], block.conv1d_state.transpose(1, 2), 1e-5)
