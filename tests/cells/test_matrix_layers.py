"""Layers with a matrix state against numpy forms of their definitions, and the laws of scans."""

from __future__ import annotations

import numpy as np
import pytest

from statebound.errors import UsageError
from statebound.models import Vocabulary
from statebound.models._build import build
from statebound.models._lanes import LANES, take_lanes, to_lanes, to_rows
from statebound.models.mamba2 import Mamba2Config

from .layers import CASES, ROWS, STEPS, case, draw_state, expected, run

each = pytest.mark.parametrize("kind", CASES, ids=str)


@pytest.fixture
def generator():
    return np.random.Generator(np.random.PCG64(5))


def same(one, other) -> bool:
    return all(a.tobytes() == b.tobytes() for a, b in zip(one, other, strict=True))


@each
@pytest.mark.parametrize(("dtype", "error"), [("float64", 1e-12), ("float32", 2e-5)])
def test_a_layer_is_its_definition_from_any_state(kind, dtype, error, generator):
    layer, w = kind.make(dtype)
    start = draw_state(layer, generator)
    x = generator.standard_normal((ROWS, STEPS, layer.width))
    states, outputs = expected(kind, layer, w, start, x)
    typed = [part.astype(dtype) for part in start]
    found, y = run(layer, typed, x.astype(dtype))
    for a, b in zip(found, states, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=error * np.abs(b).max())
    np.testing.assert_allclose(y, outputs, rtol=0, atol=error * np.abs(outputs).max())


@each
def test_every_state_number_reaches_the_output(kind, generator):
    """What is billed is read: one changed number changes an output sooner or later."""
    layer, _ = kind.make()
    start = draw_state(layer, generator)
    x = generator.standard_normal((ROWS, STEPS, layer.width))
    _, y = run(layer, start, x)
    for i, part in enumerate(start):
        for at in np.ndindex(part.shape[1:]):
            changed = [p.copy() for p in start]
            changed[i][(slice(None), *at)] += 1.0
            _, z = run(layer, changed, x)
            assert np.abs(z - y).max() > 1e-9, (layer.fields[i].name, at)


def made(kind, dtype):
    """Return a cell of this layer that reads 5 tokens."""
    _, weights = kind.make()
    embedding = np.random.Generator(np.random.PCG64(2)).standard_normal((5, kind.config().width))
    cell, _ = build(
        kind.cell,
        Vocabulary(STEPS, 5, False, 0, 2),
        weights={"embedding.weight": embedding} | weights,
        settings=dict(kind.settings),
        dtype=dtype,
    )
    return cell


@each
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_tokens_and_inputs_take_the_same_bits(kind, dtype, generator):
    """A cell's scan over tokens, and the layer run over the tokens' embeddings."""
    cell = made(kind, dtype)
    tokens = generator.integers(0, 5, (LANES, STEPS), dtype=np.int32)
    state = cell.scan(cell.start(1), to_lanes(tokens))
    embedding = cell.table("embedding.weight")
    inputs = np.ascontiguousarray(embedding[to_lanes(tokens)].transpose(0, 1, 3, 2))
    layered, _ = cell._layer.run(cell.start(1), inputs)
    assert same(state, layered)


@each
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_splitting_batching_and_branching_change_no_bit(kind, dtype, generator):
    cell = made(kind, dtype)
    rows = LANES + 3
    tokens = generator.integers(0, 5, (rows, STEPS), dtype=np.int32)
    lanes = to_lanes(tokens)
    start = cell.scan(cell.start(2), to_lanes(tokens[:, ::-1].copy()))
    whole = cell.scan(start, lanes)
    for cuts in [(1,), (2, 3), (8,), tuple(range(1, STEPS))]:
        state = start
        for part in np.split(lanes, cuts, axis=1):
            state = cell.scan(state, np.ascontiguousarray(part))
        assert same(state, whole)
    order = generator.permutation(rows)
    shuffled = cell.scan(tuple(take_lanes(p, order) for p in start), to_lanes(tokens[order]))
    for a, b in zip(shuffled, whole, strict=True):
        assert to_rows(a, rows).tobytes() == to_rows(b, rows)[order].tobytes()
    grown = cell.branch(start, np.arange(5, dtype=np.int32))
    for v in range(5):
        single = cell.scan(start, np.full((2, 1, LANES), v, np.int32))
        assert same(tuple(part[2 * v : 2 * v + 2] for part in grown), single)


@pytest.mark.parametrize("kind", [c for c in CASES if "d_conv" in dict(c.settings)], ids=str)
def test_long_convolutions_are_cut_into_blocks(kind, monkeypatch, generator):
    cell = made(kind, "float32")
    tokens = to_lanes(generator.integers(0, 5, (LANES, STEPS), dtype=np.int32))
    whole = cell.scan(cell.start(1), tokens)
    monkeypatch.setattr("statebound.models._short_conv.BLOCK", 1)
    assert cell._layer._conv.block(1) == 1
    assert same(cell.scan(cell.start(1), tokens), whole)


@each
def test_declared_numbers_are_the_serialised_ones(kind):
    layer, w = kind.make()
    held = sum(part.shape[1] for part in layer.start(1, np.dtype("float32")))
    assert held == kind.config().numbers == sum(f.numbers for f in layer.fields)
    assert {name: a.shape for name, a in w.items()} == layer.shapes(kind.config())
    assert layer.config_of(w, dict(kind.settings)) == kind.config()


def test_mamba2_130m_counts():
    """24 layers of 24 heads of 64 by 128: 4,718,592 numbers, and 3 live of 4 stored inputs."""
    config = Mamba2Config(heads=24, d_state=128, head_dim=64, groups=1, d_conv=4, width=768)
    assert 24 * config.inner * config.d_state == 4_718_592
    assert config.numbers * 24 == 4_718_592 + 24 * 3 * (1536 + 2 * 128)


@pytest.mark.parametrize(
    ("family", "settings", "numbers", "possible"),
    [
        ("gla", {"d_value": 3, "heads": 2}, 13, "12 or 18"),
        ("retnet", {"d_key": 5}, 3, "5"),
        ("deltanet", {"d_conv": 3}, 8, "7 or 12"),
        ("gated_deltanet", {"d_conv": 4, "d_key": 2}, 20, "17 or 22"),
        ("mamba2", {"d_conv": 4}, 8, "10"),
        ("mamba2", {"d_conv": 2, "d_state": 3}, 13, "10 or 14"),
    ],
)
def test_totals_that_cannot_be_had_name_the_nearest(family, settings, numbers, possible):
    config = case(family).cell.Config
    with pytest.raises(UsageError) as error:
        config.of(numbers, settings)
    assert error.value.remedy == f"pass {possible}"
    for total in map(int, possible.split(" or ")):
        assert config.of(total, settings).numbers == total


@pytest.mark.parametrize("family", ["gla", "retnet", "deltanet", "gated_deltanet", "mamba2"])
@pytest.mark.parametrize("name", ["heads", "width"])
def test_sizes_of_nothing_are_refused(family, name):
    with pytest.raises(UsageError, match="positive"):
        case(family).cell.Config.of(4, {name: 0})


def test_groups_divide_heads():
    with pytest.raises(UsageError, match="divide"):
        Mamba2Config.of(12, {"heads": 3, "groups": 2})


def test_a_state_with_swapped_axes_does_not_fit():
    """K by V weights are not taken for V by K."""
    kind = case("gla", heads=1, d_key=3, d_value=5, width=4, rank=2)
    _, w = kind.make()
    w["k_proj.weight"], w["v_proj.weight"] = w["v_proj.weight"], w["k_proj.weight"]
    w["embedding.weight"] = np.zeros((2, 4))
    with pytest.raises(UsageError, match="weights"):
        build(kind.cell, Vocabulary(4, 2, False, 0, 2), weights=w)


@pytest.mark.parametrize(("n", "heads", "numbers"), [(1, 1, 1), (6, 1, 6), (7, 2, 8), (9, 3, 9)])
def test_constructed_deltanet_holds_every_bit(n, heads, numbers, generator):
    parities = tuple((k,) for k in range(n))
    cell, origin = build(
        case("deltanet").cell,
        Vocabulary(n, 2, True, n, 2, parities),
        numbers=numbers,
        settings={"heads": heads},
        init="constructed",
    )
    assert origin == "constructed"
    assert cell.has_readout
    assert cell.config.numbers == numbers
    bits = generator.integers(0, 2, (LANES, n), dtype=np.int32)
    order = generator.permutation(n)  # any order of the stream
    state = cell.scan(cell.start(1), to_lanes((bits + 2 * np.arange(n, dtype=np.int32))[:, order]))
    held = to_rows(state[0], LANES)
    assert np.isin(np.round(held, 4), np.float32([-0.2785, 0, 0.2785])).all()
    for k in range(n):
        query = np.full((1, 1, LANES), 2 * n + k, np.int32)
        after = cell.scan(state, query)
        assert same(after, state), "a query writes nothing"
        answers = to_rows(cell.logits(state, after, query), LANES).argmax(1)
        assert (answers == bits[:, k]).all()


def test_constructed_deltanet_overwrites():
    """A position told twice holds what was told last."""
    n = 4
    cell, _ = build(
        case("deltanet").cell, Vocabulary(n, 2, True, 0, 2), numbers=n, init="constructed"
    )
    told = to_lanes(np.array([[0, 3, 1, 2, 0], [1, 1, 0, 6, 3]], np.int32))
    once = to_lanes(
        np.array(
            [
                [2, 0],
                [0, 6],
            ],
            np.int32,
        )
    )
    last = to_rows(cell.scan(cell.start(1), told)[0], 2)
    only = to_rows(cell.scan(cell.start(1), once)[0], 2)
    np.testing.assert_allclose(last[0], only[0], atol=1e-7)
    np.testing.assert_allclose(last[1, [0, 3]], only[1, [0, 3]], atol=1e-7)


def test_more_bits_than_numbers_answer_better_than_chance(generator):
    n, K = 24, 8
    cell, _ = build(
        case("deltanet").cell,
        Vocabulary(n, 2, True, n, 2, tuple((k,) for k in range(n))),
        numbers=K,
        init="constructed",
    )
    bits = generator.integers(0, 2, (4 * LANES, n), dtype=np.int32)
    state = cell.scan(cell.start(4), to_lanes(bits + 2 * np.arange(n, dtype=np.int32)))
    right = []
    for k in range(n):
        query = np.full((4, 1, LANES), 2 * n + k, np.int32)
        answers = to_rows(cell.logits(state, state, query), 4 * LANES).argmax(1)
        right.append((answers == bits[:, k]).mean())
    assert right[-1] == 1.0, "the last key is answered exactly"
    assert np.mean(right[-K:]) > np.mean(right[:K]), "older keys are overwritten"
    assert 0.55 < np.mean(right) < 0.9


@pytest.mark.parametrize(
    ("positional", "settings"), [(False, {}), (True, {"d_value": 2}), (True, {"d_conv": 2})]
)
def test_constructions_that_do_not_exist_are_refused(positional, settings):
    numbers = 7 if "d_conv" in settings else 8
    with pytest.raises(UsageError, match="constructed for bits"):
        build(
            case("deltanet").cell,
            Vocabulary(4, 2, positional, 0, 2),
            numbers=numbers,
            settings=settings,
            init="constructed",
        )
