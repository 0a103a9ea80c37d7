"""Matrix states against the reference recurrences of flash-linear-attention and transformers.

The files of flash-linear-attention are loaded by path: importing its package needs triton.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from statebound.models import Vocabulary
from statebound.models._build import build, family
from statebound.models._lanes import to_lanes, to_rows

from .layers import (
    ROWS,
    STEPS,
    case,
    delta_parts,
    draw_state,
    gla_parts,
    laid,
    reads,
    retnet_parts,
    run,
)

pytestmark = pytest.mark.parity
SIZES = {"heads": 2, "d_key": 4, "d_value": 5, "width": 6}
ERROR = 1e-5


def reference(name, file="naive.py"):
    """Load a reference file of flash-linear-attention."""
    pytest.importorskip("torch")
    pytest.importorskip("einops")
    found = importlib.util.find_spec("fla")
    if found is None or not found.submodule_search_locations:
        pytest.skip("flash-linear-attention is not installed")
    path = Path(found.submodule_search_locations[0]) / "ops" / name / file
    spec = importlib.util.spec_from_file_location(f"reference_{path.parent.name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def generator():
    return np.random.Generator(np.random.PCG64(8))


def tensors(*arrays):
    torch = pytest.importorskip("torch")
    return [torch.from_numpy(np.ascontiguousarray(a, np.float32)) for a in arrays]


def close(found, wanted):
    wanted = np.asarray(wanted)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=ERROR * np.abs(wanted).max())


def given(kind, generator):
    layer, w = kind.make("float32")
    start = draw_state(layer, generator, "float32")
    x = generator.standard_normal((ROWS, STEPS, layer.width)).astype(np.float32)
    return layer, w, start, x


def test_gla(generator):
    layer, w, start, x = given(case("gla", **SIZES, rank=3), generator)
    k, v, q, g = gla_parts(layer, w, x.astype(float))
    naive = reference("gla").naive_recurrent_gla
    o, S = naive(*tensors(q * 2.0, k, v, g), *tensors(start[0]), True)  # it divides by sqrt(4)
    found, state = reads(layer, start, x)
    close(found, o)
    close(state[0], S)


@pytest.mark.parametrize("d_conv", [0, 3])
def test_deltanet(d_conv, generator):
    kind = case("deltanet", **SIZES, d_conv=d_conv)
    layer, w, start, x = given(kind, generator)
    k, v, q, b, _, _ = delta_parts(layer, w, start, x.astype(float))
    turned = [a.swapaxes(1, 2) for a in (q * 2.0, k, v, b)]
    naive = reference("delta_rule").delta_rule_recurrence
    o, S = naive(*tensors(*turned), *tensors(start[0]), True)
    found, state = reads(layer, start, x)
    close(found, o.numpy().swapaxes(1, 2))
    close(state[0], S)


@pytest.mark.parametrize("d_conv", [0, 4])
def test_gated_deltanet(d_conv, generator):
    kind = case("gated_deltanet", **SIZES, d_conv=d_conv)
    layer, w, start, x = given(kind, generator)
    k, v, q, b, g, _ = delta_parts(layer, w, start, x.astype(float))
    naive = reference("gated_delta_rule").naive_recurrent_gated_delta_rule
    S0 = tensors(start[0])[0]
    o, S = naive(*tensors(q, k, v, b, g), 1.0, S0, True)
    found, state = reads(layer, start, x)
    close(found, o)
    close(state[0], S)


def turned_by(x, angles):
    """Turn the pairs of channels on the last axis: rows (x0, x1) to x0 cos - x1 sin, ..."""
    pairs = angles.shape[-1]
    c, s = np.cos(angles), np.sin(angles)
    a, b = x[..., 0 : 2 * pairs : 2], x[..., 1 : 2 * pairs : 2]
    return np.stack([a * c - b * s, b * c + a * s], -1).reshape(*x.shape[:-1], 2 * pairs)


def test_retnet_from_the_start_is_the_parallel_form(generator):
    """Its keys and queries turned by their absolute positions, which the cell never counts."""
    layer, w, _, x = given(case("retnet", **(SIZES | {"d_value": 4})), generator)
    k, v, q, _, theta = retnet_parts(layer, w, x.astype(float))
    at = np.arange(STEPS)[:, None, None] * theta
    turned = [turned_by(q, at) * 2.0, turned_by(k, at), v]
    o = reference("retention").naive_retention(*tensors(*[a.swapaxes(1, 2) for a in turned]))
    start = [np.zeros((ROWS, 2, 4, 4), np.float32)]
    found, _ = reads(layer, start, x)
    close(found, o.numpy().swapaxes(1, 2))


def test_retnet_from_a_state_is_the_usual_recurrence_in_a_turning_frame(generator):
    """Before token t0 the usual state is the turning one turned by t0 - 1."""
    t0 = 7
    layer, w, start, x = given(case("retnet", **SIZES), generator)
    k, v, q, g, theta = retnet_parts(layer, w, x.astype(float))
    at = (t0 + np.arange(STEPS))[:, None, None] * theta
    rates = np.broadcast_to(g, k.shape[:3])
    usual = turned_by(start[0].astype(float).swapaxes(2, 3), (t0 - 1) * theta).swapaxes(2, 3)
    naive = reference("simple_gla").naive_recurrent_simple_gla
    turned = tensors(turned_by(q, at), turned_by(k, at), v, rates)
    o, S = naive(*turned, scale=1.0, initial_state=tensors(usual)[0])
    found, state = reads(layer, start, x)
    close(found, o)
    last = -(t0 + STEPS - 1) * theta
    close(state[0], turned_by(S.numpy().swapaxes(2, 3), last).swapaxes(2, 3))


@pytest.mark.parametrize("normalise", [0, 1])
def test_linear_attention(normalise, generator):
    K, V, tokens = 4, 1, 6
    weights = {
        "k_proj.weight": generator.standard_normal((K, tokens)),
        "v_proj.weight": generator.standard_normal((V, tokens)),
        "q_proj.weight": generator.standard_normal((K, tokens)),
    }
    cell, _ = build(
        family("linear_attention"),
        Vocabulary(STEPS, 2, False, 4, 2),
        weights=weights,
        settings={"normalise": normalise},
    )
    read = generator.integers(0, tokens, (ROWS, STEPS), dtype=np.int32)
    start = [np.abs(generator.standard_normal((ROWS, *f.shape))) for f in cell.fields]
    k, v, q = (weights[f"{name}_proj.weight"].T[read][:, :, None].astype(float) for name in "kvq")
    if normalise:
        q, k = (np.where(a > 0, a + 1, np.exp(a)) for a in (q, k))
    S0 = tensors(start[0][:, None])[0]
    first = (S0, tensors(start[1][:, None, None])[0]) if normalise else S0
    naive = reference("linear_attn").naive_recurrent_linear_attn
    o, last = naive(*tensors(q, k, v), 1.0, first, True, bool(normalise))
    state = tuple(part.astype(np.float32) for part in laid(start))
    found = []
    for t in range(STEPS):
        token = to_lanes(read[:, [t]])
        new = cell.scan(state, token)
        found.append(to_rows(cell.logits(state, new, token), ROWS)[:, 1])
        state = new
    close(np.stack(found, 1), o.numpy()[:, :, 0, 0])
    wanted = last if normalise else (last,)
    for part, other in zip(state, wanted, strict=True):
        close(to_rows(part, ROWS), other.reshape(ROWS, -1))


@pytest.mark.slow
@pytest.mark.parametrize(("groups", "d_conv"), [(1, 4), (2, 2)])
@pytest.mark.filterwarnings("ignore")
def test_mamba2_of_transformers(groups, d_conv, generator):
    """Outputs and states after a handoff: the state at the cut comes from their cache."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from transformers import Mamba2Config
    from transformers.cache_utils import DynamicCache
    from transformers.models.mamba2.modeling_mamba2 import Mamba2Mixer

    H, P, N, E = 4, 3, 5, 6
    settings = Mamba2Config(
        num_heads=H,
        head_dim=P,
        state_size=N,
        hidden_size=E,
        expand=2,
        n_groups=groups,
        conv_kernel=d_conv,
        chunk_size=4,
        num_hidden_layers=1,
        use_bias=False,
        vocab_size=8,
    )
    torch.manual_seed(1)
    theirs = Mamba2Mixer(settings, layer_idx=0).eval()
    with torch.no_grad():
        theirs.D += torch.randn(H)
        theirs.norm.weight += 0.3 * torch.randn(H * P)
        theirs.dt_bias += 1.0
    w = {name: p.detach().numpy().astype(float) for name, p in theirs.named_parameters()}
    layer_class = case("mamba2").cell.layer
    config = layer_class.config_of(w, {"groups": groups})
    assert (config.heads, config.d_state, config.head_dim) == (H, N, P)
    assert (config.groups, config.d_conv, config.width) == (groups, d_conv, E)
    layer = layer_class(config, w, np.dtype("float32"))
    x = generator.standard_normal((ROWS, 5 + STEPS, E)).astype(np.float32)
    cache = DynamicCache(config=settings)
    with torch.no_grad():
        theirs(torch.from_numpy(x[:, :5]), cache=cache)
        start = live(cache)
        ys = [theirs(torch.from_numpy(x[:, [t]]), cache=cache) for t in range(5, 5 + STEPS)]
        whole = theirs(torch.from_numpy(x))[:, 5:]
    assert min(np.abs(part).min() for part in start) > 0
    states, outputs = run(layer, start, np.ascontiguousarray(x[:, 5:]))
    close(outputs, torch.cat(ys, 1))
    close(outputs, whole)
    for found, wanted in zip(states, live(cache), strict=True):
        close(found, wanted)
    begun = [np.zeros_like(part) for part in start]
    states, _ = run(layer, begun, np.ascontiguousarray(x[:, :5]))
    for found, wanted in zip(states, start, strict=True):
        close(found, wanted)


def live(cache):
    """Return their state in our order: S (ROWS, H, N, P), and all inputs but the dead one."""
    held = cache.layers[0]
    conv, S = (one(held.conv_states), one(held.recurrent_states))
    return [
        S.detach().numpy().swapaxes(2, 3).astype(np.float32).copy(),
        conv.detach().numpy()[:, :, 1:].swapaxes(1, 2).astype(np.float32).copy(),
    ]


def one(states):
    return states[0] if isinstance(states, dict | list | tuple) else states
