"""The layers under test, and plain numpy forms of them that share no code with them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from statebound import registry
from statebound.models._lanes import LANES, to_lanes, to_rows

ROWS, STEPS = 5, 9


@dataclass(frozen=True)
class Case:
    """A family and its size: K, V and H differ, so that no axis can stand for another."""

    family: str
    settings: tuple[tuple[str, int], ...]

    @property
    def cell(self):
        return registry.load("statebound.models", self.family, "model").CELL

    def config(self):
        settings = dict(self.settings)
        return next(
            made
            for made in (_try(self.cell.Config, total, settings) for total in range(1, 500))
            if made is not None
        )

    def make(self, dtype="float64", seed=3):
        """Return a layer with loud random parameters, and those parameters."""
        generator = np.random.Generator(np.random.PCG64(seed))
        config = self.config()
        weights = self.cell.layer.random(config, generator)
        for name, array in weights.items():
            if name not in ("A_log", "dt_bias"):
                weights[name] = array + 0.3 * generator.standard_normal(array.shape)
        return self.cell.layer(config, weights, np.dtype(dtype)), weights

    def __str__(self):
        return "-".join([self.family, *(f"{name}={value}" for name, value in self.settings)])


def _try(config, total, settings):
    from statebound.errors import UsageError

    try:
        return config.of(total, settings)
    except UsageError:
        return None


def case(family, **settings):
    return Case(family, tuple(settings.items()))


SIZES = {"heads": 2, "d_key": 3, "d_value": 5, "width": 4}
CASES = [
    case("gla", **SIZES, rank=2),
    case("retnet", **(SIZES | {"d_key": 4})),
    case("retnet", **SIZES),
    case("deltanet", **SIZES),
    case("deltanet", **SIZES, d_conv=3),
    case("gated_deltanet", **SIZES),
    case("gated_deltanet", **SIZES, d_conv=4),
    case("mamba2", heads=4, d_state=3, head_dim=2, groups=2, width=5),
    case("mamba2", heads=2, d_state=3, head_dim=5, groups=1, d_conv=4, width=5),
]


def draw_state(layer, generator, dtype="float64"):
    """Return a random state of `ROWS` rows, one (ROWS, *shape) array a field."""
    return [generator.standard_normal((ROWS, *f.shape)).astype(dtype) for f in layer.fields]


def laid(rows):
    """Lay a state out in lanes."""
    return tuple(to_lanes(part.reshape(len(part), -1)) for part in rows)


def unlaid(layer, state):
    """Invert `laid`."""
    return [
        to_rows(part, ROWS).reshape(ROWS, *field.shape)
        for part, field in zip(state, layer.fields, strict=True)
    ]


def run(layer, start, inputs):
    """Take states of rows and inputs (ROWS, T, D) to the final states and outputs."""
    T, D = inputs.shape[1:]
    lanes = np.zeros((1, T, D, LANES), inputs.dtype)
    lanes[0, :, :, :ROWS] = inputs.transpose(1, 2, 0)
    state, outputs = layer.run(laid(start), lanes)
    return unlaid(layer, state), outputs[0, :, :, :ROWS].transpose(2, 0, 1)


def reads(layer, start, x):
    """Return the reads (ROWS, T, H, V) token by token, and the final state."""
    state, found = laid(start), []
    which = np.arange(LANES, dtype=np.int32).reshape(1, 1, LANES)
    for t in range(x.shape[1]):
        columns = np.zeros((x.shape[2], LANES), x.dtype)
        columns[:, :ROWS] = x[:, t].T
        streams = layer.project(columns)
        new = layer.advance(state, streams, which)
        found.append(to_rows(layer.read(state, new, streams, which), ROWS))
        state = new
    return np.stack(found, 1).reshape(ROWS, x.shape[1], layer.config.heads, -1), unlaid(
        layer, state
    )


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def silu(x):
    return x * sigmoid(x)


def normed(x, epsilon=1e-5):
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + epsilon)


def unit(x):
    return x / np.sqrt((x**2).sum(-1, keepdims=True) + 1e-6)


def heads_of(layer, w, name, x):
    """Return a map's output as (ROWS, T, H, size of a head)."""
    y = x @ w[f"{name}_proj.weight"].T
    return y.reshape(*y.shape[:2], layer.config.heads, -1)


def convolved(x, kept, weight, bias):
    """Convolve x (ROWS, T, C) after kept (ROWS, c - 1, C); return silu of it and what is kept."""
    taps = weight.shape[-1]
    line = np.concatenate([kept, x], axis=1)
    y = sum(line[:, j : j + x.shape[1]] * weight[:, 0, j] for j in range(taps))
    return silu(y + bias), line[:, line.shape[1] - taps + 1 :]


def delta_parts(layer, w, start, x):
    """Return k, v, q, b and log a of the delta families, and the new convolution state."""
    HK = layer.config.heads * layer.config.d_key
    raw = [x @ w[f"{name}_proj.weight"].T for name in "kvq"]
    left = []
    if layer.config.d_conv > 1:
        taps = np.concatenate([w[f"{name}_conv1d.weight"] for name in "kvq"])
        y, kept = convolved(np.concatenate(raw, -1), start[1], taps, 0.0)
        raw, left = np.split(y, [HK, y.shape[-1] - HK], axis=-1), [kept]
    else:
        raw = [silu(part) for part in raw]
    k, v, q = (part.reshape(*part.shape[:2], layer.config.heads, -1) for part in raw)
    b = sigmoid(x @ w["b_proj.weight"].T)
    g = np.zeros_like(b)
    if "A_log" in w:
        g = -np.exp(w["A_log"]) * np.log1p(np.exp(x @ w["a_proj.weight"].T + w["dt_bias"]))
    return unit(k), v, unit(q) * layer.config.d_key**-0.5, b, g, left


def gla_parts(layer, w, x):
    """Return k, v, q / sqrt(K) and log a (ROWS, T, H, K)."""
    k, v, q = (heads_of(layer, w, name, x) for name in "kvq")
    gate = x @ w["gk_proj.0.weight"].T @ w["gk_proj.1.weight"].T + w["gk_proj.1.bias"]
    return k, v, q * layer.config.d_key**-0.5, np.log(sigmoid(gate)).reshape(k.shape) / 16


def retnet_parts(layer, w, x):
    """Return k / sqrt(K), v, q, log g (H) and the angles (K // 2)."""
    k, v, q = (heads_of(layer, w, name, x) for name in "kvq")
    pairs = layer.config.d_key // 2
    theta = [1.0 / 10000 ** (j / max(1, pairs - 1)) for j in range(pairs)]
    g = np.log([1 - 2.0 ** (-5 - i) for i in range(layer.config.heads)])
    return k * layer.config.d_key**-0.5, v, q, g, np.array(theta)


def mamba2_parts(layer, w, start, x):
    """Return B, dt x and C a head, log a, x, z and the new convolution state."""
    c = layer.config
    inner, shared = c.heads * c.head_dim, c.groups * c.d_state
    z, xBC, dt = np.split(x @ w["in_proj.weight"].T, [inner, 2 * inner + 2 * shared], axis=-1)
    left = []
    if c.d_conv > 1:
        xBC, kept = convolved(xBC, start[1], w["conv1d.weight"], w["conv1d.bias"])
        left = [kept]
    else:
        xBC = silu(xBC)
    u, B, C = np.split(xBC, [inner, inner + shared], axis=-1)
    u = u.reshape(*u.shape[:2], c.heads, c.head_dim)
    B, C = (
        np.repeat(m.reshape(*m.shape[:2], c.groups, -1), c.heads // c.groups, axis=2)
        for m in (B, C)
    )
    dt = np.log1p(np.exp(dt + w["dt_bias"]))
    return B, dt[..., None] * u, C, -np.exp(w["A_log"]) * dt, u, z, left


def recurrence(S, k, v, q, g, b=None, turn=None):
    """S' = a R(-1) S + k v^T, or the delta rule with step b; return outputs and the last S."""
    outputs = []
    for t in range(k.shape[1]):
        a = np.exp(g[:, t])
        S = S * (a[..., None, None] if a.ndim == 2 else a[..., None])
        if turn is not None:
            S = np.einsum("kl,rhlv->rhkv", turn, S)
        new = v[:, t]
        if b is not None:
            new = b[:, t][..., None] * (new - np.einsum("rhkv,rhk->rhv", S, k[:, t]))
        S = S + k[:, t][..., None] * new[..., None, :]
        outputs.append(np.einsum("rhkv,rhk->rhv", S, q[:, t]))
    return np.stack(outputs, 1), S


def expected(case, layer, w, start, x):
    """Return the final state and outputs by the definitions."""
    c = layer.config
    left, extra, epsilon = [], 1.0, 1e-5
    if case.family == "mamba2":
        B, u, C, g, plain, z, left = mamba2_parts(layer, w, start, x)
        o, S = recurrence(start[0], B, u, C, g)
        y = (o + w["D"][:, None] * plain).reshape(z.shape) * silu(z)
        y = normed(y.reshape(*z.shape[:2], c.groups, -1)).reshape(z.shape) * w["norm.weight"]
        return [S, *left], y @ w["out_proj.weight"].T
    if case.family == "gla":
        o, S = recurrence(start[0], *gla_parts(layer, w, x))
        extra = w["g_norm_swish_gate.weight"]
    elif case.family == "retnet":
        k, v, q, g, theta = retnet_parts(layer, w, x)
        turn = np.eye(c.d_key)
        for j, angle in enumerate(theta):
            turn[2 * j : 2 * j + 2, 2 * j : 2 * j + 2] = [
                [np.cos(angle), np.sin(angle)],
                [-np.sin(angle), np.cos(angle)],
            ]
        o, S = recurrence(start[0], k, v, q, np.broadcast_to(g, k.shape[:3]), turn=turn)
        epsilon = 1e-6
    else:
        k, v, q, b, g, left = delta_parts(layer, w, start, x)
        o, S = recurrence(start[0], k, v, q, g, b)
        extra = w["o_norm.weight"]
    y = (normed(o, epsilon) * extra).reshape(*x.shape[:2], -1)
    if "g_proj.weight" in w:
        y = y * silu(x @ w["g_proj.weight"].T)
    out = w["out_proj.weight" if case.family == "retnet" else "o_proj.weight"]
    return [S, *left], y @ out.T
