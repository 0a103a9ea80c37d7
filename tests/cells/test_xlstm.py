"""mLSTM and sLSTM against the published equations, in their plain form with gates as they are."""

from __future__ import annotations

import numpy as np
import pytest

from statebound.errors import UsageError
from statebound.models import Vocabulary, mlstm, slstm
from statebound.models._build import build, family
from statebound.models._lanes import LANES, to_lanes, to_rows

from .layers import ROWS, STEPS, case, reads, run

PRECISIONS = pytest.mark.parametrize(("dtype", "error"), [("float32", 1e-5), ("float64", 1e-12)])
GATES = pytest.mark.parametrize("exp_forget", [0, 1])
MATRICES = [
    {"heads": 2, "d_key": 3, "d_value": 5, "width": 4},
    {"heads": 1, "d_key": 1, "d_value": 2, "width": 3},
]
UNITS = [{"units": 6, "heads": 2}, {"units": 3, "heads": 1}]


@pytest.fixture
def generator():
    return np.random.Generator(np.random.PCG64(12))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def normed(x, epsilon):
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + epsilon)


def close(found, wanted, error):
    wanted = np.asarray(wanted)
    assert np.isfinite(wanted).all()
    np.testing.assert_allclose(found, wanted, rtol=0, atol=error * np.abs(wanted).max())


def inputs(layer, generator, steps=STEPS):
    return generator.standard_normal((ROWS, steps, layer.width)).astype(np.float32)


def matrix_memory(settings, dtype, generator, exp_forget=0, bias=(-3.0, 3.0)):
    """Return a layer whose gates cover several orders of magnitude, and its parameters."""
    kind = case("mlstm", **settings, exp_forget=exp_forget)
    _, w = kind.make()
    for gate in ("igate", "fgate"):
        w[f"{gate}_preact.bias"] = generator.uniform(*bias, kind.config().heads)
    return kind.cell.layer(kind.config(), w, np.dtype(dtype)), w


def gates_of(layer, w, x):
    """Return q, k, v (ROWS, T, H, .), log i and log f (ROWS, T, H)."""
    heads = layer.config.heads
    q, k, v = ((x @ w[f"{n}.weight"].T).reshape(*x.shape[:2], heads, -1) for n in "qkv")
    i, f = (
        15 * np.tanh((x @ w[f"{n}_preact.weight"].T + w[f"{n}_preact.bias"]) / 15)
        for n in ("igate", "fgate")
    )
    return q * k.shape[-1] ** -0.5, k, v, i, f if layer.config.exp_forget else np.log(sigmoid(f))


def plain_memory(C, n, z, q, k, v, log_i, log_f):
    """C' = f C + i k v^T, n' = f n + i k, z' = f z + i; return them and every h."""
    outputs = []
    for t in range(k.shape[1]):
        f, i = np.exp(log_f[:, t]), np.exp(log_i[:, t])
        C = f[..., None, None] * C + i[..., None, None] * k[:, t, :, :, None] * v[:, t, :, None]
        n = f[..., None] * n + i[..., None] * k[:, t]
        z = f * z + i
        top = np.einsum("rhk,rhkv->rhv", q[:, t], C)
        under = np.maximum(np.abs((q[:, t] * n).sum(-1)), 1.0)
        outputs.append(top / under[..., None])
    return C, n, z, np.stack(outputs, 1)


def block_output(w, h, x):
    y = normed(h, 1e-6).reshape(*x.shape[:2], -1) * w["multihead_norm.weight"]
    return (y * sigmoid(x @ w["ogate_preact.weight"].T)) @ w["out_proj.weight"].T


def some_state(layer, generator, dtype):
    c = layer.config
    C = generator.standard_normal((ROWS, c.heads, c.d_key, c.d_value))
    n = generator.standard_normal((ROWS, c.heads, c.d_key))
    m = generator.uniform(0.01, 3.0, (ROWS, c.heads))
    return [part.astype(dtype) for part in (C, n, m)]


@PRECISIONS
@GATES
@pytest.mark.parametrize("settings", MATRICES, ids=str)
@pytest.mark.parametrize("begun", [False, True])
def test_mlstm_is_the_plain_recurrence(generator, settings, dtype, error, exp_forget, begun):
    layer, w = matrix_memory(settings, dtype, generator, exp_forget)
    x = inputs(layer, generator).astype(dtype)
    start = some_state(layer, generator, dtype)
    if not begun:
        start = [np.zeros_like(part) for part in start]
    C, n, m = (part.astype(float) for part in start)
    z = np.expm1(m)
    wide = x.astype(float)
    parts = gates_of(layer, w, wide)
    C, n, z, h = plain_memory(C * z[..., None, None], n * z[..., None], z, *parts)
    final, outputs = run(layer, start, x)
    close(final[0], C / z[..., None, None], error)
    close(final[1], n / z[..., None], error)
    close(final[2], np.log1p(z), error)
    found, _ = reads(layer, start, x)
    close(found, h, error)
    close(outputs, block_output(w, found.astype(float), wide), error)  # the norm of what is read


@pytest.mark.parametrize("exp_forget", [0, 1])
@pytest.mark.parametrize(("i", "f"), [(-40, -40), (-40, 40), (40, -40), (40, 40)])
def test_mlstm_at_the_caps_of_its_gates(generator, exp_forget, i, f):
    """Forget gates of e^15 or e^-15 for 20 tokens: the plain memory reaches e^300."""
    layer, w = matrix_memory(MATRICES[0], "float32", generator, exp_forget)
    w["igate_preact.bias"][:], w["fgate_preact.bias"][:] = i, f
    layer = type(layer)(layer.config, w, np.dtype("float32"))
    x = inputs(layer, generator, 20)
    zeros = [np.zeros((ROWS, *field.shape), np.float32) for field in layer.fields]
    C, n, z, h = plain_memory(*(part.astype(float) for part in zeros), *gates_of(layer, w, x))
    final, outputs = run(layer, zeros, x)
    close(final[0], C / z[..., None, None], 1e-4)
    close(final[1], n / z[..., None], 1e-4)
    np.testing.assert_allclose(final[2], np.log1p(z), rtol=1e-5)
    assert np.isfinite(outputs).all()
    if f < 0 or not exp_forget:  # else the first tokens alone are left, and h has no scale
        close(outputs, block_output(w, h, x.astype(float)), 1e-3)


@pytest.mark.parametrize("stabiliser", [-30.0, 0.0, 7.0])
def test_zeros_are_every_published_start(generator, stabiliser):
    """The running maximum of the published recurrence may begin anywhere once C = n = 0."""
    layer, w = matrix_memory(MATRICES[0], "float64", generator)
    x = inputs(layer, generator).astype(float)
    q, k, v, log_i, log_f = gates_of(layer, w, x)
    C, n = np.zeros((ROWS, 2, 3, 5)), np.zeros((ROWS, 2, 3))
    m, hs = np.full((ROWS, 2), stabiliser), []
    for t in range(STEPS):
        most = np.maximum(log_f[:, t] + m, log_i[:, t])
        f, i = np.exp(log_f[:, t] + m - most), np.exp(log_i[:, t] - most)
        C = f[..., None, None] * C + i[..., None, None] * k[:, t, :, :, None] * v[:, t, :, None]
        n, m = f[..., None] * n + i[..., None] * k[:, t], most
        under = np.maximum(np.abs((q[:, t] * n).sum(-1)), np.exp(-m))
        hs.append(np.einsum("rhk,rhkv->rhv", q[:, t], C) / under[..., None])
    zeros = [np.zeros((ROWS, *field.shape)) for field in layer.fields]
    final, outputs = run(layer, zeros, x)
    close(outputs, block_output(w, np.stack(hs, 1), x), 1e-12)
    z = np.expm1(final[2])
    close(final[0] * (z * np.exp(-m))[..., None, None], C, 1e-12)
    close(final[1] * (z * np.exp(-m))[..., None], n, 1e-12)


def test_mlstm_numbers_stay_in_a_sane_range():
    """C and n are means of what was read, and m grows like a logarithm, for ever."""
    cell, _ = build(
        family("mlstm"), Vocabulary(9, 3, False, 0, 3), settings={"d_key": 3, "d_value": 2}, seed=5
    )
    w = dict(cell.weights)
    w["igate_preact.bias"] = np.array([3.0])
    w["fgate_preact.bias"] = np.array([200.0])  # f = sigmoid(15) nearly: nothing is forgotten
    cell = type(cell)(cell.config, w, cell.vocabulary)
    generator = np.random.Generator(np.random.PCG64(1))
    tokens = generator.integers(0, 3, (1, 3000, LANES), dtype=np.int32)
    C, n, m = cell.scan(cell.start(1), tokens)
    k, v = (np.asarray(w[f"{name}.weight"]) @ w["embedding.weight"].T for name in "kv")
    outer = (k[:, None] * v[None]).reshape(6, 3)
    for part, seen in ((C, outer), (n, k)):
        assert (part[0] >= seen.min(1, keepdims=True) - 1e-5).all()
        assert (part[0] <= seen.max(1, keepdims=True) + 1e-5).all()
    i = 15 * np.tanh((w["igate_preact.weight"] @ w["embedding.weight"].T + 3.0) / 15)[0]
    np.testing.assert_allclose(m[0, 0], np.log(np.exp(i)[tokens[0]].sum(0) + 1), rtol=1e-3)


def test_mlstm_weighs_like_its_definition_where_little_was_read():
    """Masses down to e^-30 are not lost, and a mass of 0 reads as 0."""
    m = np.log1p(np.exp(np.linspace(-30, 30, LANES)))
    m[0] = 0
    qC, qn = np.full((1, 1, LANES), 2.0), np.linspace(-3, 3, LANES).reshape(1, 1, LANES)
    for dtype, error in (("float32", 1e-5), ("float64", 1e-13)):
        arrays = [a.astype(dtype) for a in (m.reshape(1, 1, LANES), qC, qn)]
        out = np.empty_like(arrays[0])
        mlstm._weigh(*arrays, mlstm.MOST_MASS, out)
        z = np.expm1(m)
        np.testing.assert_allclose(out[0, 0], 2 * z / np.maximum(np.abs(qn[0, 0]) * z, 1), error)
        assert out[0, 0, 0] == 0


def test_mlstm_sizes():
    made = {}
    for numbers in range(4, 33):
        config = mlstm.MLSTMConfig.of(numbers, {})
        assert config.numbers == numbers
        assert config.d_key <= config.d_value != 1
        made[numbers] = config.d_key, config.d_value
    wanted = {4: (1, 2), 7: (2, 2), 8: (1, 6), 13: (3, 3), 21: (4, 4), 31: (5, 5)}
    assert wanted.items() <= made.items()
    assert mlstm.MLSTMConfig.of(22, {"heads": 2, "d_key": 2}).d_value == 4
    assert mlstm.MLSTMConfig.of(22, {"heads": 2, "d_value": 4}).d_key == 2
    for numbers, settings in (
        (3, {}),
        (6, {"heads": 2}),
        (9, {"heads": 2}),
        (8, {"d_value": 2}),
        (7, {"d_key": 3}),
    ):
        with pytest.raises(UsageError) as error:
            mlstm.MLSTMConfig.of(numbers, settings)
        assert error.value.argument == "numbers"
    for settings in ({"exp_forget": 2}, {"d_key": 0}, {"heads": 0}, {"d_value": 1}):
        with pytest.raises(UsageError) as error:
            mlstm.MLSTMConfig.of(8, settings)
        assert error.value.argument == "set"


@GATES
def test_mlstm_random_parameters_are_the_authors(exp_forget):
    settings = {"heads": 4, "d_key": 8, "d_value": 16, "width": 64, "exp_forget": exp_forget}
    w = build(family("mlstm"), Vocabulary(9, 2, False, 0, 2), settings=settings)[0].weights
    for name in ("q", "k", "v", "ogate_preact", "igate_preact", "fgate_preact"):
        assert 0.8 < w[f"{name}.weight"].std() / (0.4 / 64) ** 0.5 < 1.2
    assert 0.9 < w["out_proj.weight"].std() / (2 / 8) < 1.1
    assert 0 < np.abs(w["igate_preact.bias"]).max() < 0.4
    f = w["fgate_preact.bias"]
    np.testing.assert_allclose(np.exp(f) if exp_forget else sigmoid(f), sigmoid(np.arange(3, 7)))


@pytest.mark.slow
@pytest.mark.parity
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("begun", [False, True])
def test_mlstm_of_transformers(generator, begun):
    """Their layer, from no state and from a state in their representation."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    theirs = pytest.importorskip("transformers.models.xlstm.modeling_xlstm")
    if theirs.external_xlstm:
        pytest.skip("the xlstm package is installed, and replaces the layer by its own")
    layer, w = matrix_memory(
        {"heads": 2, "d_key": 2, "d_value": 4, "width": 8}, "float32", generator
    )
    config = transformers.xLSTMConfig(
        hidden_size=8,
        num_heads=2,
        qk_dim_factor=0.5,
        v_dim_factor=1.0,
        num_hidden_layers=1,
        eps=0.0,
    )
    block = theirs.xLSTMLayer(config).eval()
    block.load_state_dict({name: torch.tensor(a) for name, a in w.items()})
    x = inputs(layer, generator)
    start = some_state(layer, generator, "float32")
    given = None
    if begun:
        log_z = np.log(np.expm1(start[2].astype(float))).astype(np.float32)
        given = tuple(torch.tensor(part) for part in (start[0], start[1], log_z[..., None]))
    else:
        start = [np.zeros_like(part) for part in start]
    with torch.no_grad():
        y, (C, n, m) = block.float()(torch.tensor(x), given)
    final, outputs = run(layer, start, x)
    scale = np.expm1(final[2].astype(float)) * np.exp(-m.numpy()[..., 0].astype(float))
    close(outputs, y, 1e-5)
    close(final[0] * scale[..., None, None], C, 1e-5)
    close(final[1] * scale[..., None], n, 1e-5)


def scalar_memory(settings, dtype, exp_forget=0):
    return case("slstm", **settings, exp_forget=exp_forget).make(dtype)


def scalar_gates(layer, w, h, x):
    """Return i~, f~, z~ and o~ (ROWS, d) by sums over the units of a head."""
    size = layer.config.units // layer.config.heads
    every = []
    for g, name in enumerate(("igate", "fgate", "zgate", "ogate")):
        parts = [
            x[:, k * size : (k + 1) * size] @ w[f"{name}.weight"][k].T
            + h[:, k * size : (k + 1) * size] @ w["recurrent_kernel"][k, :, g]
            + w["bias"][k, g]
            for k in range(layer.config.heads)
        ]
        every.append(np.concatenate(parts, 1))
    return every


def plain_scalar(layer, w, h, c, n, x):
    """c' = f c + i z, n' = f n + i and h' = o c'/n' with the gates as they are."""
    outputs = []
    for t in range(x.shape[1]):
        i, f, z, o = scalar_gates(layer, w, h, x[:, t])
        i, f = np.exp(i), np.exp(f) if layer.config.exp_forget else sigmoid(f)
        c, n = f * c + i * np.tanh(z), f * n + i
        h = sigmoid(o) * c / n
        outputs.append(h)
    return h, c, n, np.stack(outputs, 1)


@PRECISIONS
@GATES
@pytest.mark.parametrize("settings", UNITS, ids=str)
@pytest.mark.parametrize("begun", [False, True])
def test_slstm_is_the_plain_recurrence(generator, settings, dtype, error, exp_forget, begun):
    layer, w = scalar_memory(settings, dtype, exp_forget)
    d, heads = layer.config.units, layer.config.heads
    x = inputs(layer, generator).astype(dtype)
    h, c, n, m = np.zeros((4, ROWS, d), dtype)
    if begun:
        n = generator.uniform(1, 4, (ROWS, d)).astype(dtype)
        c = (n * generator.uniform(-1, 1, (ROWS, d))).astype(dtype)
        h, m = generator.uniform(-1, 1, (2, ROWS, d)).astype(dtype)
    scale = np.exp(m.astype(float))
    wanted_h, C, N, hs = plain_scalar(layer, w, h, c * scale, n * scale, x.astype(float))
    final, outputs = run(layer, [h, c, n, m], x)
    close(final[0], wanted_h, error)
    close(final[1] / final[2], C / N, error)
    close(final[3] + np.log(final[2]), np.log(N), error)
    state, found, again = [h, c, n, m], [], []
    for t in range(STEPS):
        state, y = run(layer, state, np.ascontiguousarray(x[:, [t]]))
        found.append(state[0])
        again.append(y)
    assert np.concatenate(again, 1).tobytes() == outputs.tobytes()
    close(np.stack(found, 1), hs, error)
    own = normed(np.stack(found, 1).astype(float).reshape(ROWS, STEPS, heads, -1), 1e-5)
    close(outputs, own.reshape(x.shape) * (1 + w["group_norm.weight"]), error)


@GATES
def test_slstm_keeps_the_published_stabiliser(generator, exp_forget):
    """m' = max(log f + m, i~), from m' = i~ at the first token; c and n are relative to it."""
    layer, w = scalar_memory(UNITS[0], "float64", exp_forget)
    x = inputs(layer, generator).astype(float)
    h, c, n, m = np.zeros((4, ROWS, 6))
    for t in range(STEPS):
        i, f, z, o = scalar_gates(layer, w, h, x[:, t])
        f = f if exp_forget else np.log(sigmoid(f))
        most = i if t == 0 else np.maximum(f + m, i)
        stays = np.zeros_like(f) if t == 0 else np.exp(f + m - most)
        c, n = stays * c + np.exp(i - most) * np.tanh(z), stays * n + np.exp(i - most)
        h, m = sigmoid(o) * c / n, most
    final, _ = run(layer, [np.zeros((ROWS, 6))] * 4, x)
    for found, wanted in zip(final, (h, c, n, m), strict=True):
        close(found, wanted, 1e-13)


@pytest.mark.parametrize("offset", [-300.0, 0.0, 300.0])
@PRECISIONS
def test_slstm_without_recurrence_is_a_softmax_over_the_past(generator, dtype, error, offset):
    """h_t = o_t sum_s p_s z_s with log p_s = i~_s + sum_(s < r <= t) log f_r, at any scale."""
    layer, w = scalar_memory(UNITS[0], dtype)
    w["recurrent_kernel"][:] = 0
    w["bias"][:, 0] += offset
    w["bias"][:, 1] *= 3
    layer = type(layer)(layer.config, w, np.dtype(dtype))
    x = inputs(layer, generator, 30)
    parts = [scalar_gates(layer, w, np.zeros((ROWS, 6)), x[:, t].astype(float)) for t in range(30)]
    i, f, z, o = np.stack(parts, 2).transpose(0, 2, 1, 3)
    log_p = i - np.cumsum(np.log(sigmoid(f)), axis=0)
    p = np.exp(log_p - log_p.max(0))
    wanted = sigmoid(o[-1]) * (p * np.tanh(z)).sum(0) / p.sum(0)
    final, _ = run(layer, [np.zeros((ROWS, 6), dtype)] * 4, x.astype(dtype))
    h, c, n, m = final
    close(h, wanted, 10 * error)
    assert n.min() >= 1
    assert n.max() <= 30
    assert (np.abs(c) <= n).all()
    assert (m <= i.max(0) * (1 + 1e-6) + 1e-3).all()
    assert (m >= i[-1] - np.abs(i[-1]) * 1e-6 - 1e-3).all()


def test_slstm_takes_no_memory_from_a_state_that_has_read_nothing(generator):
    layer, _ = scalar_memory(UNITS[0], "float64")
    x = inputs(layer, generator, 1).astype(float)
    zeros = np.zeros((ROWS, 6))
    clean, _ = run(layer, [zeros] * 4, x)
    odd, _ = run(layer, [zeros, zeros + 5, zeros, zeros - 800], x)
    for one, other in zip(clean, odd, strict=True):
        assert (one == other).all()


def test_slstm_bounds_hold_for_states_that_are_never_reached(generator):
    """A quantised state may claim |c| > n; h stays within its bounds."""
    layer, _ = scalar_memory(UNITS[0], "float32")
    x = inputs(layer, generator)
    start = [np.zeros((ROWS, 6), np.float32) for _ in range(4)]
    start[1] += 100
    start[2] += 1
    final, _ = run(layer, start, x)
    assert np.abs(final[0]).max() <= 1


def test_slstm_heads_do_not_see_each_other(generator):
    layer, _ = scalar_memory(UNITS[0], "float64")
    x = inputs(layer, generator).astype(float)
    start = [np.full((ROWS, 6), 0.5) for _ in range(4)]
    plain, _ = run(layer, start, x)
    start[0] = start[0].copy()
    start[0][:, 0] = -0.5
    changed, _ = run(layer, start, x)
    for one, other in zip(plain, changed, strict=True):
        assert (one[:, 3:] == other[:, 3:]).all()
        assert (one[:, :3] != other[:, :3]).all()


@GATES
def test_slstm_random_parameters_are_the_authors(exp_forget):
    settings = {"units": 128, "heads": 2, "exp_forget": exp_forget}
    w = build(family("slstm"), Vocabulary(9, 2, False, 0, 2), settings=settings)[0].weights
    for gate in ("igate", "fgate", "zgate", "ogate"):
        assert 0.95 < w[f"{gate}.weight"].std() / (0.4 / 64) ** 0.5 < 1.05
    assert 0.95 < np.abs(w["recurrent_kernel"]).max() * 128**0.5 <= 1
    assert not w["bias"][:, [0, 2, 3]].any()
    wanted = sigmoid(5 - 12 * (np.arange(64) / 63) ** 0.3)
    for f in w["bias"][:, 1]:
        np.testing.assert_allclose(np.exp(f) if exp_forget else sigmoid(f), wanted)


def test_slstm_sizes():
    assert slstm.SLSTMConfig.of(8, {}) == slstm.SLSTMConfig(2, 1, 0)
    assert slstm.SLSTMConfig.of(24, {"heads": 3}).units == 6
    for argument, numbers, settings in (
        ("numbers", 10, {}),
        ("numbers", 4, {}),
        ("numbers", 8, {"heads": 2}),
        ("set", 8, {"units": 2, "heads": 2}),
        ("set", 8, {"units": 3, "heads": 2}),
        ("set", 8, {"exp_forget": 2}),
    ):
        with pytest.raises(UsageError) as error:
            slstm.SLSTMConfig.of(numbers, settings)
        assert error.value.argument == argument


@pytest.mark.parametrize("name", ["mlstm", "slstm"])
def test_tokens_and_vectors_give_the_same_bits(name, generator):
    """The same embedding by columns of a table or by inputs of their own."""
    cell, _ = build(family(name), Vocabulary(9, 3, False, 0, 2), numbers=16, settings={"heads": 2})
    tokens = generator.integers(0, 3, (ROWS, STEPS), dtype=np.int32)
    by_tokens = cell.scan(cell.start(1), to_lanes(tokens))
    zeros = [np.zeros((ROWS, *field.shape), np.float32) for field in cell.fields]
    by_vectors, _ = run(cell._layer, zeros, cell.table("embedding.weight")[tokens])
    for one, other in zip(by_tokens, by_vectors, strict=True):
        assert to_rows(one, ROWS).tobytes() == other.reshape(ROWS, -1).tobytes()


@pytest.mark.parametrize("name", ["mlstm", "slstm"])
def test_every_number_of_the_state_reaches_the_output(name, generator):
    """Where z is large n divides, and m weighs the past against what comes."""
    if name == "mlstm":
        layer, _ = matrix_memory(MATRICES[0], "float64", generator, bias=(0.0, 1.0))
    else:
        layer, _ = scalar_memory(UNITS[0], "float64")
    x = inputs(layer, generator, 2).astype(float)
    state = [generator.uniform(0.5, 1, (ROWS, *field.shape)) for field in layer.fields]
    state[2] += 5 if name == "mlstm" else 2  # m, or n above c
    _, plain = run(layer, state, x)
    for part in state:
        flat = part.reshape(ROWS, -1)
        for k in range(flat.shape[1]):
            flat[:, k] += 0.25
            _, changed = run(layer, state, x)
            flat[:, k] -= 0.25
            assert (np.abs(changed - plain).max(axis=(1, 2)) > 1e-9).all()


def test_blocks_of_a_long_sequence_change_no_bit(generator, monkeypatch):
    layer, _ = matrix_memory(MATRICES[0], "float32", generator)
    streams = layer.project(inputs(layer, generator).reshape(-1, 4).T)
    which = generator.integers(0, ROWS, (2, 7, LANES), dtype=np.int32)
    whole = layer.advance(layer.start(2, np.dtype("float32")), streams, which)
    monkeypatch.setattr(mlstm, "BLOCK", 1)
    cut = layer.advance(layer.start(2, np.dtype("float32")), streams, which)
    assert all(one.tobytes() == other.tobytes() for one, other in zip(whole, cut, strict=True))


def test_kernels_equal_their_source_interpreted(generator):
    which = generator.integers(0, 3, (1, 2, LANES), dtype=np.int32)
    m = generator.uniform(0, 3, (1, 2, LANES))
    m[0, 0, :9] = 0
    i, f = generator.standard_normal((2, 2, 3)) * 3
    results = []
    for function in (mlstm._shares, mlstm._shares.py_func):
        a, b, out = np.empty((2, 2 * LANES)), np.empty((2, 2 * LANES)), np.empty_like(m)
        function(m, which, i, f, a, b, out)
        np.testing.assert_allclose(a + b, 1, atol=1e-15)
        results.append([a, b, out])
    read = generator.standard_normal((2, 1, 2, LANES))
    for function, found in zip((mlstm._weigh, mlstm._weigh.py_func), results, strict=True):
        out = np.empty_like(m)
        function(m, *read, mlstm.MOST_MASS, out)
        found.append(out)
    R, x = generator.standard_normal((2, 4, 1)), generator.standard_normal((8, 3))
    state = generator.uniform(0.1, 1, (4, 1, 2, LANES))
    state[2, 0, 1, :9] = 0
    for function, found in zip((slstm._scan, slstm._scan.py_func), results, strict=True):
        now = [part.copy() for part in state]
        function(*now, which, x, R, False)
        found.extend(now)
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
