"""Each family against its definition, written out in numpy and sharing no code with it."""

from __future__ import annotations

import numpy as np
import pytest

from statebound.models import Vocabulary
from statebound.models._build import build, family
from statebound.models._lanes import to_lanes, to_rows

ROWS, STEPS = 37, 12


@pytest.fixture
def generator():
    return np.random.Generator(np.random.PCG64(21))


def make(name, weights, size, dtype="float64", settings=None):
    """Build a cell from weights, over `size` tokens of a stream and two query tokens."""
    vocabulary = Vocabulary(STEPS, size, False, 2, 2)
    cell, origin = build(
        family(name), vocabulary, weights=weights, dtype=dtype, settings=settings or {}
    )
    assert origin == "file"
    return cell


def states(cell, tokens):
    """Return the state after the tokens, fields side by side: (rows, numbers)."""
    final = cell.scan(cell.start(1), to_lanes(tokens))
    return np.concatenate([to_rows(part, len(tokens)) for part in final], axis=1)


def logistic(x):
    return 1 / (1 + np.exp(-x))


def gates(generator, count, H, D, scale=0.6):
    return {
        "weight_ih": generator.standard_normal((count * H, D)) * scale,
        "weight_hh": generator.standard_normal((count * H, H)) * scale,
        "bias_ih": generator.standard_normal(count * H) * scale,
        "bias_hh": generator.standard_normal(count * H) * scale,
    }


@pytest.mark.parametrize("H", [1, 3, 8])
def test_gru_is_its_equations(generator, H):
    w = gates(generator, 3, H, 3)
    tokens = generator.integers(0, 3, (ROWS, STEPS), dtype=np.int32)
    h = np.zeros((ROWS, H))
    for t in range(STEPS):
        a = np.eye(3)[tokens[:, t]] @ w["weight_ih"].T + w["bias_ih"]
        b = h @ w["weight_hh"].T + w["bias_hh"]
        r = logistic(a[:, :H] + b[:, :H])
        z = logistic(a[:, H : 2 * H] + b[:, H : 2 * H])
        n = np.tanh(a[:, 2 * H :] + r * b[:, 2 * H :])
        h = (1 - z) * n + z * h
    np.testing.assert_allclose(states(make("gru", w, 3), tokens), h, rtol=0, atol=1e-13)


@pytest.mark.parametrize("H", [1, 3, 8])
def test_rnn_is_its_equation(generator, H):
    w = gates(generator, 1, H, 2)
    tokens = generator.integers(0, 2, (ROWS, STEPS), dtype=np.int32)
    h = np.zeros((ROWS, H))
    for t in range(STEPS):
        x = np.eye(2)[tokens[:, t]]
        h = np.tanh(x @ w["weight_ih"].T + w["bias_ih"] + h @ w["weight_hh"].T + w["bias_hh"])
    np.testing.assert_allclose(states(make("rnn", w, 2), tokens), h, rtol=0, atol=1e-13)


@pytest.mark.parity
@pytest.mark.parametrize("name", ["gru", "rnn"])
@pytest.mark.parametrize("H", [1, 5, 16])
@pytest.mark.parametrize("form", ["one-hot", "embedding"])
@pytest.mark.parametrize(("dtype", "error"), [("float32", 1e-6), ("float64", 1e-13)])
def test_torch_agrees(name, H, form, dtype, error):
    torch = pytest.importorskip("torch")
    torch.manual_seed(H)
    kind = {"gru": torch.nn.GRU, "rnn": torch.nn.RNN}[name]
    size, width = 4, 4 if form == "one-hot" else 3  # two symbols and two query tokens
    net = kind(width, H, batch_first=True, dtype=torch.float64)
    table = torch.eye(4, dtype=torch.float64)
    weights = {key: value.detach().numpy() for key, value in net.named_parameters()}
    assert all(key.endswith("_l0") for key in weights)
    if form == "embedding":
        table = torch.randn(size, width, dtype=torch.float64)
        weights["embedding.weight"] = table.numpy()
    head = torch.nn.Linear(H, 2, dtype=torch.float64)
    weights |= {f"readout.{key}": value.detach().numpy() for key, value in head.named_parameters()}
    cell = make(name, weights, 2, dtype)
    assert cell.has_readout
    tokens = np.random.Generator(np.random.PCG64(H)).integers(0, 4, (ROWS, 32), dtype=np.int32)
    with torch.no_grad():
        every, _ = net(table[torch.from_numpy(tokens).long()])
        answers = head(every[:, -1])
    for t in (1, 2, 31, 32):
        np.testing.assert_allclose(
            states(cell, tokens[:, :t]), every[:, t - 1].numpy(), rtol=0, atol=error
        )
    old = cell.scan(cell.start(1), to_lanes(tokens[:, :-1]))
    last = to_lanes(tokens[:, -1:])
    logits = cell.logits(old, cell.scan(old, last), last)
    np.testing.assert_allclose(to_rows(logits, ROWS), answers.numpy(), rtol=0, atol=4 * error)


def s4d_weights(generator, H, half, size):
    return {
        "log_dt": generator.uniform(-4, -0.5, H),
        "log_A_real": generator.uniform(-2, 0, (H, half)),
        "A_imag": generator.standard_normal((H, half)) * 3,
        "encoder.weight": generator.standard_normal((H, size)),
    }


@pytest.mark.parametrize(("H", "half"), [(1, 1), (2, 3), (3, 2)])
def test_s4d_is_a_dense_complex_recurrence(generator, H, half):
    w = s4d_weights(generator, H, half, 3)
    tokens = generator.integers(0, 3, (ROWS, STEPS), dtype=np.int32)
    A = -np.exp(w["log_A_real"]) + 1j * w["A_imag"]
    step = np.diag(np.exp(np.exp(w["log_dt"])[:, None] * A).ravel())
    drive = np.repeat(np.eye(H), half, axis=0)  # every mode of a channel sees its input
    x = np.zeros((ROWS, H * half), complex)
    for t in range(STEPS):
        u = w["encoder.weight"][:, tokens[:, t]]
        x = x @ step.T + (drive @ u).T
    expected = np.stack([x.real, x.imag], axis=2).reshape(ROWS, -1)
    found = states(make("s4d", w, 3), tokens)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    single = states(make("s4d", w, 3, "float32"), tokens)
    np.testing.assert_allclose(single, expected, rtol=0, atol=2e-5)


def test_s4d_is_a_convolution_with_its_kernel(generator):
    """x_T = sum_t a^(T-1-t) u_t, for every T at once by a discrete convolution."""
    w = s4d_weights(generator, 2, 2, 2)
    tokens = generator.integers(0, 2, (4, STEPS), dtype=np.int32)
    cell = make("s4d", w, 2)
    A = -np.exp(w["log_A_real"]) + 1j * w["A_imag"]
    kernel = np.exp(np.exp(w["log_dt"])[:, None, None] * A[..., None] * np.arange(STEPS))
    for row in range(4):
        u = w["encoder.weight"][:, tokens[row]]
        for T in range(1, STEPS + 1):
            expected = [
                np.convolve(kernel[h, m, :T], u[h, :T])[T - 1] for h in range(2) for m in range(2)
            ]
            found = states(cell, tokens[[row], :T])[0]
            np.testing.assert_allclose(found[::2] + 1j * found[1::2], expected, atol=1e-12)


def test_s4d_random_parameters_are_s4d_lin():
    cell, _ = build(family("s4d"), Vocabulary(8, 2, False, 0, 2), numbers=24, init="random")
    w = cell.weights
    assert (np.exp(w["log_dt"]) >= 1e-3).all()
    assert (np.exp(w["log_dt"]) <= 1e-1).all()
    np.testing.assert_allclose(-np.exp(w["log_A_real"]), -0.5)
    np.testing.assert_allclose(w["A_imag"], np.tile([0, np.pi], (6, 1)))


def outer_weights(generator, K, V, R, size):
    return {
        "k_proj.weight": generator.standard_normal((K, size)),
        "v_proj.weight": generator.standard_normal((V, size)),
        "q_proj.weight": generator.standard_normal((R * K, size)),
    }


@pytest.mark.parametrize(("K", "V"), [(1, 1), (3, 2), (2, 3)])
def test_linear_attention_state_is_a_sum_of_outer_products(generator, K, V):
    w = outer_weights(generator, K, V, 1, 3)
    tokens = generator.integers(0, 3, (ROWS, STEPS), dtype=np.int32)
    k, v = w["k_proj.weight"][:, tokens], w["v_proj.weight"][:, tokens]
    expected = np.einsum("kbt,vbt->bkv", k, v).reshape(ROWS, -1)
    found = states(make("linear_attention", w, 3), tokens)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("R", [1, 2, 3])
def test_linear_attention_output_is_the_quadratic_form(generator, R):
    """o_r = sum_s (q_r . k_s) v_s over all tokens up to and with the last one."""
    K, size = 3, 4
    w = outer_weights(generator, K, 1, R, size)
    cell = make("linear_attention", w, 2)
    tokens = generator.integers(0, size, (ROWS, STEPS), dtype=np.int32)
    expected = np.empty(ROWS)
    for row, sequence in enumerate(tokens):
        q = w["q_proj.weight"][:, sequence[-1]].reshape(R, K)
        scores = q @ w["k_proj.weight"][:, sequence]
        expected[row] = -np.prod(-(scores @ w["v_proj.weight"][0, sequence]))
    last = to_lanes(tokens[:, -1:])
    old = cell.scan(cell.start(1), to_lanes(tokens[:, :-1]))
    logits = to_rows(cell.logits(old, cell.scan(old, last), last), ROWS)
    assert not logits[:, 0].any()
    np.testing.assert_allclose(logits[:, 1], expected, rtol=1e-10, atol=1e-10)


def softmax_window(w, sequence, W, K, R):
    """Attention of the last token over all earlier ones and itself, ages beyond W masked."""
    last = len(sequence) - 1
    outputs = []
    for r in range(R):
        scores = np.full(len(sequence), -np.inf)
        for j, token in enumerate(sequence):
            age = last - j
            if age <= W:
                scores[j] = w["bias"][r, sequence[-1], age]
                if K:
                    q = w["q_proj.weight"][r * K : (r + 1) * K, sequence[-1]]
                    scores[j] += q @ w["k_proj.weight"][:, token] / np.sqrt(K)
        p = np.exp(scores - scores.max())
        outputs.append((p / p.sum()) @ w["v_proj.weight"][0, sequence])
    return -np.prod(-np.array(outputs))


@pytest.mark.parametrize("W", [1, 4, STEPS, STEPS + 5])
@pytest.mark.parametrize("K", [0, 1, 3])
@pytest.mark.parametrize("R", [1, 2])
@pytest.mark.parametrize(("dtype", "error"), [("float32", 2e-5), ("float64", 1e-12)])
def test_sliding_window_is_masked_softmax_attention(generator, W, K, R, dtype, error):
    size = 4  # two symbols and two query tokens
    w = {
        "v_proj.weight": generator.standard_normal((1, size)),
        "bias": generator.standard_normal((R, size, W + 1)),
    }
    if K:
        w["k_proj.weight"] = generator.standard_normal((K, size))
        w["q_proj.weight"] = generator.standard_normal((R * K, size))
    cell = make("sliding_window", w, 2, dtype)
    assert cell.config.window == W
    assert cell.has_readout
    stream = generator.integers(0, 2, (ROWS, STEPS), dtype=np.int32)
    query = generator.integers(2, 4, (ROWS, 1), dtype=np.int32)
    tokens = np.concatenate([stream, query], axis=1)
    expected = [softmax_window(w, sequence, W, K, R) for sequence in tokens]
    last = to_lanes(query)
    old = cell.scan(cell.start(1), to_lanes(stream))
    logits = to_rows(cell.logits(old, cell.scan(old, last), last), ROWS)
    assert not logits[:, 0].any()
    np.testing.assert_allclose(logits[:, 1], expected, rtol=0, atol=error)


def test_sliding_window_ignores_entries_not_yet_written(generator):
    W, size = STEPS + 4, 4
    w = {
        "v_proj.weight": generator.standard_normal((1, size)),
        "k_proj.weight": generator.standard_normal((2, size)),
        "q_proj.weight": generator.standard_normal((2, size)),
        "bias": generator.standard_normal((1, size, W + 1)),
    }
    cell = make("sliding_window", w, 2)
    stream = to_lanes(generator.integers(0, 2, (ROWS, STEPS), dtype=np.int32))
    last = np.full((1, 1, 128), 3, np.int32)
    old = cell.scan(cell.start(1), stream)
    noisy = tuple(part.copy() for part in old)
    noisy[0][:, :4] = 9.0
    noisy[1][:, :8] = -5.0
    one = cell.logits(old, cell.scan(old, last), last)
    assert one.tobytes() == cell.logits(noisy, cell.scan(noisy, last), last).tobytes()
    noisy[0][:, 4] += 1.0
    assert one.tobytes() != cell.logits(noisy, cell.scan(noisy, last), last).tobytes()


@pytest.mark.parametrize("V", [1, 2])
def test_sliding_window_keeps_the_last_tokens(generator, V):
    W, K = 3, 2
    w = {
        "v_proj.weight": generator.standard_normal((V, 2)),
        "k_proj.weight": generator.standard_normal((K, 2)),
    }
    cell = make("sliding_window", w, 2, settings={"window": W})
    tokens = generator.integers(0, 2, (ROWS, STEPS), dtype=np.int32)
    for T in (1, 2, 3, 4, STEPS):
        kept = np.zeros((ROWS, W, V + K))
        values = np.concatenate([w["v_proj.weight"], w["k_proj.weight"]])[:, tokens[:, :T]]
        recent = values.transpose(1, 2, 0)[:, -W:]
        kept[:, W - recent.shape[1] :] = recent
        parts = [kept[..., :V].reshape(ROWS, -1), kept[..., V:].reshape(ROWS, -1)]
        expected = np.concatenate(parts, axis=1)
        assert (states(cell, tokens[:, :T]) == expected).all()
