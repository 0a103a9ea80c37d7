"""Renderings of the RWKV blocks that share no code with them.

They take a whole sequence (ROWS, T, D) at once, in float64: what a token is mixed with is
known before anything recurs. The recurrence in the middle can be another one.
"""

from __future__ import annotations

import numpy as np

from .layers import sigmoid, silu


def norm(w, name, x, heads=1, epsilon=1e-5):
    parts = x.reshape(*x.shape[:-1], heads, -1)
    parts = (parts - parts.mean(-1, keepdims=True)) / np.sqrt(
        parts.var(-1, keepdims=True) + epsilon
    )
    return parts.reshape(x.shape) * w[f"{name}.weight"] + w[f"{name}.bias"]


def after(first, x):
    """Return x (ROWS, T, D) of the token before, `first` before the first."""
    return np.concatenate([first[:, None], x[:, :-1]], axis=1)


def averages(mean, mass, k, v, w):
    """Recur in the true numerator and denominator."""
    den, outputs = np.expm1(mass), []
    num = mean * den
    decay = np.exp(-np.exp(w["attention.time_decay"]))
    for t in range(k.shape[1]):
        bonus = np.exp(w["attention.time_first"] + k[:, t])
        outputs.append((num + bonus * v[:, t]) / (den + bonus))
        num = decay * num + np.exp(k[:, t]) * v[:, t]
        den = decay * den + np.exp(k[:, t])
    return np.stack(outputs, 1), [num / den, np.log1p(den)]


def time4(w, start, n, before, heads, core=averages):
    def part(name):
        mix = w[f"attention.time_mix_{name}"].ravel()
        return (mix * n + (1 - mix) * before) @ w[f"attention.{name}.weight"].T

    o, state = core(*start, part("key"), part("value"), w)
    return (sigmoid(part("receptance")) * o) @ w["attention.output.weight"].T, state


def channel4(w, m, before):
    mixes = [w[f"feed_forward.time_mix_{name}"].ravel() for name in ("key", "receptance")]
    xk, xr = (mix * m + (1 - mix) * before for mix in mixes)
    hidden = np.maximum(xk @ w["feed_forward.key.weight"].T, 0) ** 2
    gate = sigmoid(xr @ w["feed_forward.receptance.weight"].T)
    return gate * (hidden @ w["feed_forward.value.weight"].T)


def bonused(S, r, k, v, w, u):
    """o = r (S + u k v), S' = w S + k v; all (ROWS, T, H, N), S (ROWS, H, K, V), u (H, N)."""
    outputs = []
    for t in range(r.shape[1]):
        kv = k[:, t, :, :, None] * v[:, t, :, None, :]
        outputs.append(np.einsum("rhk,rhkv->rhv", r[:, t], S + u[..., None] * kv))
        S = w[:, t, ..., None] * S + kv
    return np.stack(outputs, 1), S


def time6(w, start, n, before, heads, core=bonused):
    dx = before - n
    low = np.tanh((n + dx * w["att.time_maa_x"].ravel()) @ w["att.time_maa_w1"])
    low = low.reshape(*n.shape[:2], 5, -1)
    more = np.einsum("btir,ird->ibtd", low, w["att.time_maa_w2"])
    xw, xk, xv, xr, xg = (
        n + dx * (w[f"att.time_maa_{part}"].ravel() + more[i]) for i, part in enumerate("wkvrg")
    )
    rate = (
        w["att.time_decay"].ravel() + np.tanh(xw @ w["att.time_decay_w1"]) @ w["att.time_decay_w2"]
    )
    r, k, v = (
        (x @ w[f"att.{name}.weight"].T)
        for x, name in ((xr, "receptance"), (xk, "key"), (xv, "value"))
    )
    by_head = [part.reshape(*n.shape[:2], heads, -1) for part in (r, k, v, np.exp(-np.exp(rate)))]
    o, S = core(start[0], *by_head, w["att.time_faaaa"])
    gated = norm(w, "att.ln_x", o.reshape(n.shape), heads, 64e-5) * silu(
        xg @ w["att.gate.weight"].T
    )
    return gated @ w["att.output.weight"].T, [S]


def channel6(w, m, before):
    xk, xr = (m + (before - m) * w[f"ffn.time_maa_{part}"].ravel() for part in "kr")
    hidden = np.maximum(xk @ w["ffn.key.weight"].T, 0) ** 2
    return sigmoid(xr @ w["ffn.receptance.weight"].T) * (hidden @ w["ffn.value.weight"].T)


def erased(S, r, k, v, w, z, a):
    """S' = S (diag(w) - z (z a)^T) + v k^T, o = S' r; S (ROWS, H, V, K)."""
    outputs, eye = [], np.eye(r.shape[-1])
    for t in range(r.shape[1]):
        step = eye * w[:, t, :, None] - z[:, t, :, :, None] * (z * a)[:, t, :, None, :]
        S = S @ step + v[:, t, :, :, None] * k[:, t, :, None, :]
        outputs.append(np.einsum("rhvk,rhk->rhv", S, r[:, t]))
    return np.stack(outputs, 1), S


def time7(w, start, n, before, heads, core=erased):
    x = {part: n + (before - n) * w[f"att.x_{part}"].ravel() for part in "rwkvag"}

    def heads_of(part):
        return part.reshape(*n.shape[:2], heads, -1)

    r, k, v = (
        x[part] @ w[f"att.{name}.weight"].T
        for part, name in (("r", "receptance"), ("k", "key"), ("v", "value"))
    )
    pace = w["att.w0"].ravel() + np.tanh(x["w"] @ w["att.w1"]) @ w["att.w2"]
    a = sigmoid(w["att.a0"].ravel() + x["a"] @ w["att.a1"] @ w["att.a2"])
    z = heads_of(k * w["att.k_k"].ravel())
    z = z / np.linalg.norm(z, axis=-1, keepdims=True)
    k = k * (1 + (a - 1) * w["att.k_a"].ravel())
    r, k, v, decay, a = map(heads_of, (r, k, v, np.exp(-np.exp(-0.5) * sigmoid(pace)), a))
    o, S = core(start[0], r, k, v, decay, z, a)
    own = (r * k * w["att.r_k"]).sum(-1, keepdims=True) * v
    y = norm(w, "att.ln_x", o.reshape(n.shape), heads, 64e-5) + own.reshape(n.shape)
    gate = sigmoid(x["g"] @ w["att.g1"]) @ w["att.g2"]
    return (y * gate) @ w["att.output.weight"].T, [S]


def channel7(w, m, before):
    xk = m + (before - m) * w["ffn.x_k"].ravel()
    return np.maximum(xk @ w["ffn.key.weight"].T, 0) ** 2 @ w["ffn.value.weight"].T


RENDERED = {
    "rwkv4": (time4, channel4),
    "rwkv6": (time6, channel6),
    "rwkv7": (time7, channel7),
}


def rendered(family, layer, w, start, u, **core):
    """Return the final state and the outputs of a block."""
    time, channel = RENDERED[family]
    *held, shift, other = (np.asarray(part, np.float64) for part in start)
    n = norm(w, "ln1", u)
    mixed, held = time(w, held, n, after(shift, n), getattr(layer.config, "heads", 1), **core)
    x = u + mixed
    m = norm(w, "ln2", x)
    return [*held, n[:, -1], m[:, -1]], x + channel(w, m, after(other, m))
