"""LSTM against its equations and against torch, from states that are not zero."""

from __future__ import annotations

import numpy as np
import pytest

from statebound.errors import UsageError
from statebound.models import Vocabulary, lstm
from statebound.models._build import build, family
from statebound.models._lanes import LANES, to_lanes, to_rows

ROWS, STEPS = 37, 12


@pytest.fixture
def generator():
    return np.random.Generator(np.random.PCG64(21))


def logistic(x):
    return 1 / (1 + np.exp(-x))


def weights_of(generator, H, D, scale=0.6):
    return {
        "weight_ih": generator.standard_normal((4 * H, D)) * scale,
        "weight_hh": generator.standard_normal((4 * H, H)) * scale,
        "bias_ih": generator.standard_normal(4 * H) * scale,
        "bias_hh": generator.standard_normal(4 * H) * scale,
    }


def make(weights, size, dtype="float64"):
    cell, _ = build(
        family("lstm"), Vocabulary(STEPS, size, False, 2, 2), weights=weights, dtype=dtype
    )
    return cell


@pytest.mark.parametrize("H", [1, 3, 8])
@pytest.mark.parametrize(("dtype", "error"), [("float32", 1e-5), ("float64", 1e-13)])
def test_lstm_is_its_equations(generator, H, dtype, error):
    w = weights_of(generator, H, 3)
    tokens = generator.integers(0, 3, (ROWS, STEPS), dtype=np.int32)
    h, c = generator.uniform(-1, 1, (ROWS, H)), generator.standard_normal((ROWS, H)) * 3
    first = tuple(to_lanes(part.astype(dtype)) for part in (h, c))
    for t in range(STEPS):
        a = np.eye(3)[tokens[:, t]] @ w["weight_ih"].T + w["bias_ih"]
        i, f, g, o = np.split(a + h @ w["weight_hh"].T + w["bias_hh"], 4, axis=1)
        c = logistic(f) * c + logistic(i) * np.tanh(g)
        h = logistic(o) * np.tanh(c)
    found = make(w, 3, dtype).scan(first, to_lanes(tokens))
    for part, expected in zip(found, (h, c), strict=True):
        np.testing.assert_allclose(to_rows(part, ROWS), expected, rtol=error, atol=error)


@pytest.mark.parity
@pytest.mark.parametrize("H", [1, 5, 16])
@pytest.mark.parametrize("form", ["one-hot", "embedding"])
@pytest.mark.parametrize(("dtype", "error"), [("float32", 1e-5), ("float64", 1e-13)])
def test_torch_agrees(H, form, dtype, error):
    torch = pytest.importorskip("torch")
    torch.manual_seed(H)
    width = 4 if form == "one-hot" else 3  # two symbols and two query tokens
    net = torch.nn.LSTM(width, H, batch_first=True, dtype=torch.float64)
    table = torch.eye(4, dtype=torch.float64)
    weights = {key: value.detach().numpy() for key, value in net.named_parameters()}
    if form == "embedding":
        table = torch.randn(4, width, dtype=torch.float64)
        weights["embedding.weight"] = table.numpy()
    head = torch.nn.Linear(H, 2, dtype=torch.float64)
    weights |= {f"readout.{key}": value.detach().numpy() for key, value in head.named_parameters()}
    cell = make(weights, 2, dtype)
    assert cell.has_readout
    assert cell.config.numbers == 2 * H
    generator = np.random.Generator(np.random.PCG64(H))
    tokens = generator.integers(0, 4, (ROWS, 32), dtype=np.int32)
    h, c = generator.uniform(-1, 1, (ROWS, H)), generator.standard_normal((ROWS, H)) * 4
    first = tuple(to_lanes(part.astype(dtype)) for part in (h, c))
    with torch.no_grad():
        every, (last_h, last_c) = net(
            table[torch.from_numpy(tokens).long()],
            (torch.from_numpy(h)[None], torch.from_numpy(c)[None]),
        )
        answers = head(every[:, -1])
    for t in (1, 2, 31, 32):
        state = cell.scan(first, to_lanes(tokens[:, :t]))
        np.testing.assert_allclose(
            to_rows(state[0], ROWS), every[:, t - 1].numpy(), rtol=0, atol=error
        )
    np.testing.assert_allclose(to_rows(state[0], ROWS), last_h[0].numpy(), rtol=0, atol=error)
    np.testing.assert_allclose(to_rows(state[1], ROWS), last_c[0].numpy(), rtol=error, atol=error)
    old = cell.scan(first, to_lanes(tokens[:, :-1]))
    last = to_lanes(tokens[:, -1:])
    logits = cell.logits(old, cell.scan(old, last), last)
    np.testing.assert_allclose(to_rows(logits, ROWS), answers.numpy(), rtol=0, atol=4 * error)


def test_c_has_no_bound(generator):
    """With open gates every token adds almost 1; h stays below 1."""
    H = 2
    w = {
        "weight_ih": np.zeros((4 * H, 2)),
        "weight_hh": np.zeros((4 * H, H)),
        "bias_ih": np.full(4 * H, 9.0),
        "bias_hh": np.zeros(4 * H),
    }
    cell = make(w, 2)
    assert [f.high for f in cell.fields] == [1.0, None]
    h, c = cell.scan(cell.start(1), np.zeros((1, 50, LANES), np.int32))
    assert (c > 49).all()
    assert (c < 50).all()
    assert (h < 1).all()


def test_numbers_are_twice_the_units():
    make_cell = family("lstm")
    vocabulary = Vocabulary(4, 2, False, 0, 2)
    for units in (1, 5):
        cell, _ = build(make_cell, vocabulary, numbers=2 * units)
        assert cell.config.units == units
        assert sum(f.numbers for f in cell.fields) == cell.config.numbers == 2 * units
    with pytest.raises(UsageError, match="multiple of 2"):
        build(make_cell, vocabulary, numbers=5)


@pytest.mark.parametrize("size", [2, 3])
def test_kernels_equal_their_source_interpreted(generator, size):
    H = 5  # four columns by the unrolled loop and one by the remainder
    h, c, U, b, x = (
        generator.standard_normal(s) * 0.7
        for s in [(1, H, LANES), (1, H, LANES), (H, H, 4), (H, 4), (H, 4, size)]
    )
    small = (h[:, :2].copy(), c[:, :2].copy())
    parts = (U[:2, :2].copy(), b[:2].copy(), x[:2].copy())
    tokens = generator.integers(0, size, (1, 2, LANES), dtype=np.int32)
    fan = np.array([1, 0], np.int32)
    for function, read, tiles in [(lstm._scan, tokens, 1), (lstm._branch, fan, 2)]:
        compiled, plain = np.empty((2, tiles, 2, LANES)), np.empty((2, tiles, 2, LANES))
        function(*small, read, *parts, *compiled)
        function.py_func(*small, read, *parts, *plain)
        np.testing.assert_allclose(compiled, plain, rtol=0, atol=1e-14)
    rows = [np.empty((4, LANES)) for _ in range(2)]
    lstm._recur(h[0], U, b, 3, *rows[0])
    lstm._recur.py_func(h[0], U, b, 3, *rows[1])
    np.testing.assert_allclose(rows[0], rows[1], rtol=0, atol=1e-14)
    gates = (0.3, 0.2, -0.4, 1.5)
    assert abs(lstm._memory(*gates) - lstm._memory.py_func(*gates)) < 1e-15
