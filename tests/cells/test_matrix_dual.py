"""The quadratic form gives what the recurrent one does, at another price."""

from __future__ import annotations

import numpy as np
import pytest

from statebound.errors import UsageError
from statebound.models._dual import crossing_bits, quadratic, spans

from .layers import ROWS, STEPS, case, expected, gla_parts, mamba2_parts, reads, retnet_parts

SIZES = {"heads": 2, "d_key": 3, "d_value": 5, "width": 4}


@pytest.fixture
def generator():
    return np.random.Generator(np.random.PCG64(9))


def zeros(layer):
    return [np.zeros((ROWS, *f.shape)) for f in layer.fields]


@pytest.mark.parametrize(
    "kind",
    [
        case("gla", **SIZES, rank=2),
        case("retnet", **SIZES),
        case("retnet", **(SIZES | {"d_key": 4})),
        case("mamba2", heads=4, d_state=3, head_dim=2, groups=2, width=5),
        case("mamba2", heads=2, d_state=3, head_dim=5, groups=1, d_conv=4, width=5),
    ],
    ids=str,
)
def test_forms_agree(kind, generator):
    layer, w = kind.make()
    x = generator.standard_normal((ROWS, STEPS, layer.width))
    found, _ = reads(layer, zeros(layer), x)
    for row in range(ROWS):
        own = x[[row]]
        if kind.family == "gla":
            k, v, q, g = (a[0] for a in gla_parts(layer, w, own))
            o = quadratic(q, k, v, log_decay=g)
        elif kind.family == "retnet":
            k, v, q, g, theta = retnet_parts(layer, w, own)
            rates = np.broadcast_to(g, k[0].shape[:2])
            o = quadratic(q[0], k[0], v[0], log_decay=rates, angles=theta)
        else:
            start = [a[:1] for a in zeros(layer)]
            B, u, C, g, plain, _, _ = mamba2_parts(layer, w, start, own)
            o = quadratic(C[0], B[0], u[0], log_decay=g[0]) + w["D"][:, None] * plain[0]
        np.testing.assert_allclose(found[row], o, rtol=0, atol=1e-12 * np.abs(o).max())


def test_linear_attention_with_normaliser(generator):
    """A weighted mean of values: with one value for all tokens it is that value."""
    q, k = np.abs(generator.standard_normal((2, STEPS, 2, 3)))
    v = generator.standard_normal((STEPS, 2, 5))
    o = quadratic(q, k, v, normalise=True)
    S = np.cumsum(k[..., None] * v[..., None, :], axis=0)
    z = np.cumsum(k, axis=0)
    wanted = np.einsum("thk,thkv->thv", q, S) / np.einsum("thk,thk->th", q, z)[..., None]
    np.testing.assert_allclose(o, wanted, rtol=1e-12)
    same = quadratic(q, k, np.broadcast_to(v[0], v.shape), normalise=True)
    np.testing.assert_allclose(same, np.broadcast_to(v[0], v.shape), rtol=1e-12)


def test_spans_do_not_cancel():
    """After a decay of exp(-1e9) short spans are still right, where differences are not."""
    g = np.array([0.0, -1e9, -1.25, -0.7])
    L = spans(g)
    assert L[3, 1] == -1.95
    assert np.cumsum(g)[3] - np.cumsum(g)[1] != -1.95
    assert (np.diag(L) == 0).all()
    assert (L[np.triu_indices(4, 1)] == -np.inf).all()


def test_crossing_bits_are_counted_from_what_is_sent():
    """The state's own count, and arrays of keys and values of that many tokens."""
    kind = case("mamba2", heads=4, d_state=3, head_dim=2, groups=2, width=5)
    layer, _ = kind.make()
    size = {"heads": 4, "d_key": 3, "d_value": 2, "bits": 7, "groups": 2}
    for t in range(6):
        assert crossing_bits("recurrent", t, **size) == 7 * layer.config.numbers
        k, v = np.empty((t, 2, 3)), np.empty((t, 4, 2))
        assert crossing_bits("quadratic", t, **size) == 7 * (k.size + v.size)
    plain = {"heads": 1, "d_key": 4, "d_value": 1, "bits": 1}
    assert crossing_bits("recurrent", 9, **plain, normalise=True) == 4 + 4
    assert crossing_bits("quadratic", 9, **plain, normalise=True) == 9 * 5
    with pytest.raises(UsageError, match="form"):
        crossing_bits("chunk", 1, **plain)


@pytest.mark.parametrize("t", [1, 3, 8])
def test_keys_and_values_with_decay_applied_are_enough(t, generator):
    """From the sent keys and values alone Bob forms the state, and so every later output."""
    layer, w = case("gla", **SIZES, rank=2).make()
    x = generator.standard_normal((1, STEPS, layer.width))
    k, v, _, g = (a[0] for a in gla_parts(layer, w, x))
    sent = k[:t] * np.exp(spans(g[:t])[t - 1])  # decayed to the handoff
    S = np.einsum("thk,thv->hkv", sent, v[:t])
    start = [np.zeros((1, *f.shape)) for f in layer.fields]
    states, _ = expected(case("gla", **SIZES, rank=2), layer, w, start, x[:, :t])
    np.testing.assert_allclose(S, states[0][0], rtol=0, atol=1e-12)
