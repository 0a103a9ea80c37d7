"""Full attention, whose state grows: the cell, and the layer over everything or a window."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from statebound.errors import UsageError
from statebound.models import Vocabulary, _attention
from statebound.models._attention import AttentionLayer, AttentionLayerConfig
from statebound.models._build import build, family
from statebound.models._lanes import LANES, to_lanes, to_rows
from statebound.protocols.problems.index import Index
from statebound.reductions.machine import cut

from .layers import ROWS, draw_state, run

N = 14


@pytest.fixture
def generator():
    return np.random.Generator(np.random.PCG64(11))


def test_the_cell_attends_to_everything(generator):
    K, language = 3, Vocabulary(N, 2, True, N, 2)
    w = {
        "v_proj.weight": generator.standard_normal((1, language.size)),
        "k_proj.weight": generator.standard_normal((K, language.size)),
        "q_proj.weight": generator.standard_normal((K, language.size)),
    }
    cell, _ = build(family("attention"), language, weights=w, dtype="float64")
    tokens = np.arange(N) * 2 + generator.integers(0, 2, (LANES, N))
    state = cell.scan(cell.start(1), to_lanes(tokens.astype(np.int32)))
    query = np.arange(LANES) % N + language.stream_tokens
    last = to_lanes(query[:, None].astype(np.int32))
    found = to_rows(cell.logits(state, cell.scan(state, last), last), LANES)
    for row, q, logits in zip(tokens, query, found, strict=True):
        every = [*row, q]
        p = np.exp(w["k_proj.weight"][:, every].T @ w["q_proj.weight"][:, q] / np.sqrt(K))
        np.testing.assert_allclose(logits, [0, p / p.sum() @ w["v_proj.weight"][0, every]])


@pytest.mark.parametrize("regime", ["handoff", "step"])
def test_constructed_attention_answers_everything(regime):
    n = 7
    machine = cut(Index(n), "attention", numbers=4, bits=16, init="constructed", regime=regime)
    x = (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(np.uint8)
    message, answers = machine.encode(x), machine.problem.answers(x)
    found = [machine.answer(message, np.full(len(x), k)) for k in range(n)]
    right = int((np.stack(found, axis=1) == answers).sum())
    assert Fraction(right, answers.size) == 1


def test_the_state_grows_with_the_stream_and_says_so():
    for length in (5, 20):
        machine = cut(Index(length), "attention", numbers=4, bits=8, init="random")
        assert machine.cell.growing == machine.cell.config.growing == 4
        assert machine.spec.as_dict()["growing"] == {"values": 1, "keys": 3}
        assert all(f.grows and f.shape[0] == length for f in machine.cell.fields)
        assert machine.cell.config.numbers == 4 * length
        assert machine.state_bits == 32 * length
        assert machine.message_bytes == 4 * length
    assert "growing" not in cut(Index(5), "gru").spec.as_dict()
    assert cut(Index(5), "gru").cell.growing == 0


def test_sizes_that_make_no_sense_are_refused():
    with pytest.raises(UsageError, match="contradicts the length of the stream, 6"):
        cut(Index(6), "attention", settings={"length": 7})
    with pytest.raises(UsageError, match="pass 2 or more"):
        cut(Index(6), "attention", numbers=1)
    with pytest.raises(UsageError, match="cap"):
        cut(Index(100_000), "attention", numbers=8, init="random")
    with pytest.raises(UsageError, match="keeps nothing"):
        AttentionLayerConfig.of(8, {"window": 1})
    told = cut(Index(6), "attention", numbers=30, settings={"length": 6}, init="random")
    assert told.cell.config.growing == 5  # with a length, the total is that of the stream


CASES = [  # heads, size of a head, width, window, length
    (1, 2, 3, 0, 4),
    (2, 3, 5, 0, 6),
    (3, 1, 4, 2, 9),
    (2, 4, 4, 5, 3),
]


def layer_of(heads, d_key, width, window, length, dtype="float64"):
    config = AttentionLayerConfig(heads, d_key, width, window, length)
    generator = np.random.Generator(np.random.PCG64(heads))
    w = {
        name: 1.5 * generator.standard_normal(shape)
        for name, shape in AttentionLayer.shapes(config).items()
    }
    return AttentionLayer(config, w, np.dtype(dtype)), w


@pytest.mark.parity
@pytest.mark.parametrize("sizes", CASES)
@pytest.mark.parametrize(("dtype", "error"), [("float64", 1e-12), ("float32", 1e-5)])
def test_the_layer_is_torch_attention_from_a_full_cache(sizes, dtype, error, generator):
    """Outputs and final state; a token sees itself and as many as the cache keeps."""
    torch = pytest.importorskip("torch")
    layer, w = layer_of(*sizes, dtype)
    heads, T = sizes[0], 8
    kept = draw_state(layer, generator, dtype)
    x = generator.standard_normal((ROWS, T, layer.width)).astype(dtype)
    state, outputs = run(layer, kept, x)

    entries = layer.config.entries
    q, k, v = (torch.tensor(x @ w[f"{n}_proj.weight"].T.astype(dtype)) for n in "qkv")
    k, v = (torch.cat([torch.tensor(c), new], 1) for c, new in zip(kept, (k, v), strict=True))
    age = torch.arange(T)[:, None] + entries - torch.arange(T + entries)
    seen = (age >= 0) & (age <= entries)

    def split(a):
        return a.unflatten(2, (heads, -1)).transpose(1, 2)

    attend = torch.nn.functional.scaled_dot_product_attention
    o = attend(split(q), split(k), split(v), attn_mask=seen).transpose(1, 2).flatten(2)
    expected = o.numpy() @ w["o_proj.weight"].T
    np.testing.assert_allclose(outputs, expected, rtol=0, atol=error * np.abs(expected).max())
    for part, every in zip(state, (k, v), strict=True):
        np.testing.assert_allclose(part, every[:, T:].numpy(), rtol=error, atol=error)


@pytest.mark.parametrize(("window", "length"), [(0, 9), (4, 9), (12, 9)])
def test_from_the_start_nothing_unwritten_is_attended_to(window, length, generator):
    """Causal attention over what has been read, at most W - 1 tokens back."""
    layer, w = layer_of(2, 3, 4, window, length)
    x = generator.standard_normal((ROWS, length, 4))
    empty = [np.zeros((ROWS, *f.shape)) for f in layer.fields]
    state, outputs = run(layer, empty, x)
    q, k, v = ((x @ w[f"{n}_proj.weight"].T).reshape(ROWS, length, 2, 3) for n in "qkv")
    for t in range(length):
        first = max(0, t + 1 - window) if window else 0
        p = np.exp(np.einsum("rhk,rshk->rhs", q[:, t], k[:, first : t + 1]) / np.sqrt(3))
        o = np.einsum("rhs,rshk->rhk", p / p.sum(-1, keepdims=True), v[:, first : t + 1])
        np.testing.assert_allclose(outputs[:, t], o.reshape(ROWS, -1) @ w["o_proj.weight"].T)
    entries = state[0].shape[1]
    assert entries == (window - 1 if window else length)
    np.testing.assert_allclose(
        state[0][:, -min(entries, length) :], k.reshape(ROWS, length, -1)[:, -entries:]
    )
    if window > length:
        assert not state[0][:, : entries - length].any()


def test_what_is_written_later_counts_even_if_it_is_zero(generator):
    """Only entries that lead and are zeros are taken as not written."""
    layer, w = layer_of(1, 2, 2, 4, 4)
    x = generator.standard_normal((ROWS, 3, 2))
    x[:, 1] = 0.0
    empty = [np.zeros((ROWS, *f.shape)) for f in layer.fields]
    _, outputs = run(layer, empty, x)
    k, v = (x @ w[f"{n}_proj.weight"].T for n in "kv")
    p = np.exp(np.einsum("rk,rsk->rs", x[:, 2] @ w["q_proj.weight"].T, k) / np.sqrt(2))
    o = np.einsum("rs,rsk->rk", p / p.sum(-1, keepdims=True), v)
    np.testing.assert_allclose(outputs[:, 2], o @ w["o_proj.weight"].T)


def test_scores_of_any_size_make_finite_outputs(generator):
    layer, _ = layer_of(2, 3, 5, 0, 6, "float32")
    x = (200 * generator.standard_normal((ROWS, 6, 5))).astype(np.float32)
    state, outputs = run(layer, draw_state(layer, generator, "float32"), x)
    assert np.isfinite(outputs).all()
    assert all(np.isfinite(part).all() for part in state)


def test_growth_of_the_layer():
    full, windowed = (layer_of(2, 3, 4, window, 7)[0] for window in (0, 5))
    assert [f.grows for f in full.fields] == [True, True]
    assert [f.grows for f in windowed.fields] == [False, False]
    assert all(f.cache for f in (*full.fields, *windowed.fields))
    assert full.config.growing == sum(f.growing for f in full.fields) == 12
    assert full.config.numbers == 7 * 12
    assert (windowed.config.growing, windowed.config.numbers) == (0, 4 * 12)


def test_the_kernel_equals_its_source_interpreted(generator):
    heads, size, entries = 2, 2, 2
    width = heads * size
    keys, values = (generator.standard_normal((1, entries * width, LANES)) for _ in range(2))
    keys[:, :width, 3] = values[:, :width, 3] = 0.0
    own, query = (
        generator.standard_normal((2, 1, width, LANES)),
        generator.standard_normal((width, 5)),
    )
    which = generator.integers(0, 5, (1, LANES), dtype=np.int32)
    one, other = np.empty((1, width, LANES)), np.empty((1, width, LANES))
    _attention._attend(keys, values, own, query, which, heads, one)
    _attention._attend.py_func(keys, values, own, query, which, heads, other)
    np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-14)
