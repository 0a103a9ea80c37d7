"""Matrix states: S' = diag(a) S + k v^T, the delta rule, and reading o = q S.

A head's state is K by V. Keys, values, queries and gates come as rows of tables with a
column for every different input, and a sequence is a string of column numbers. A key
row may serve several heads: with G groups of keys, head h of H uses group h G // H.

Heads never meet, so a head is taken through the whole sequence by itself: K V LANES
numbers stay in a near cache.
"""

from __future__ import annotations

import numpy as np

from statebound.jit import fma, kernel
from statebound.models._cell import Array, Tokens
from statebound.models._lanes import LANES


@kernel
def _manner(at: Tokens, columns: int) -> int:
    """How to fetch columns `at`: 2 consecutive, 1 one of two (a select), 0 any (a gather)."""
    consecutive = True
    for i in range(LANES):
        consecutive = consecutive and at[i] == at[0] + i
    if consecutive:
        return 2
    return 1 if columns == 2 else 0


@kernel
def _fetch(table: Array, first: int, count: int, at: Tokens, manner: int, out: Array) -> None:
    """Copy columns `at` of `count` rows of the table to out (count, LANES)."""
    for c in range(count):
        row = table[first + c]
        if manner == 2:
            start = at[0]
            for i in range(LANES):
                out[c, i] = row[start + i]
        elif manner == 1:
            zero, one = row[0], row[1]
            for i in range(LANES):
                out[c, i] = one if at[i] != 0 else zero
        else:
            for i in range(LANES):
                out[c, i] = row[at[i]]


@kernel
def _decay_step(s: Array, k: Array, v: Array, a: Array) -> None:
    """One step of s (K V, LANES); k (K, LANES), v (V, LANES), a (1 or K, LANES)."""
    K, V, per = k.shape[0], v.shape[0], a.shape[0]
    for c in range(K):
        key, decay = k[c], a[c if per > 1 else 0]
        j = 0
        while j + 4 <= V:  # four rows share the loads of key and decay
            s0, s1 = s[c * V + j], s[c * V + j + 1]
            s2, s3 = s[c * V + j + 2], s[c * V + j + 3]
            v0, v1, v2, v3 = v[j], v[j + 1], v[j + 2], v[j + 3]
            for i in range(LANES):
                x, g = key[i], decay[i]
                s0[i] = fma(x, v0[i], g * s0[i])
                s1[i] = fma(x, v1[i], g * s1[i])
                s2[i] = fma(x, v2[i], g * s2[i])
                s3[i] = fma(x, v3[i], g * s3[i])
            j += 4
        while j < V:
            s0, v0 = s[c * V + j], v[j]
            for i in range(LANES):
                s0[i] = fma(key[i], v0[i], decay[i] * s0[i])
            j += 1


@kernel
def decay_scan(
    S: Array, heads: int, k: Array, v: Array, a: Array, which: Tokens, gates: Tokens
) -> None:
    """Run S' = diag(a) S + k v^T in place.

    S (tiles, H K V, LANES); k (G K, columns) and v (H V, columns), fetched by `which`
    (tiles, T, LANES); a (H or H K, columns), a decay a head or a key channel, fetched by
    `gates` (tiles, T, LANES).
    """
    tiles, numbers, _ = S.shape
    V = v.shape[0] // heads
    K = numbers // (heads * V)
    groups, per = k.shape[0] // K, a.shape[0] // heads
    key, value = np.empty((K, LANES), S.dtype), np.empty((V, LANES), S.dtype)
    decay = np.empty((per, LANES), S.dtype)
    for tile in range(tiles):
        for h in range(heads):
            s = S[tile, h * K * V : (h + 1) * K * V]
            for t in range(which.shape[1]):
                manner = _manner(which[tile, t], k.shape[1])
                _fetch(k, h * groups // heads * K, K, which[tile, t], manner, key)
                _fetch(v, h * V, V, which[tile, t], manner, value)
                manner = _manner(gates[tile, t], a.shape[1])
                _fetch(a, h * per, per, gates[tile, t], manner, decay)
                _decay_step(s, key, value, decay)


@kernel
def _delta_step(s: Array, k: Array, v: Array, a: Array, b: Array, u: Array) -> None:
    """One step of s (V K, LANES), values outermost; k (K, LANES), v (V, LANES), a, b, u (LANES)."""
    K, V = k.shape[0], v.shape[0]
    for j in range(V):
        for i in range(LANES):
            u[i] = 0
        c = 0
        while c + 4 <= K:
            s0, s1, s2, s3 = s[j * K + c], s[j * K + c + 1], s[j * K + c + 2], s[j * K + c + 3]
            k0, k1, k2, k3 = k[c], k[c + 1], k[c + 2], k[c + 3]
            for i in range(LANES):
                x = fma(k0[i], s0[i], u[i])
                x = fma(k1[i], s1[i], x)
                x = fma(k2[i], s2[i], x)
                u[i] = fma(k3[i], s3[i], x)
            c += 4
        while c < K:
            s0, k0 = s[j * K + c], k[c]
            for i in range(LANES):
                u[i] = fma(k0[i], s0[i], u[i])
            c += 1
        value = v[j]
        for i in range(LANES):
            u[i] = b[i] * fma(-a[i], u[i], value[i])
        c = 0
        while c + 4 <= K:
            s0, s1, s2, s3 = s[j * K + c], s[j * K + c + 1], s[j * K + c + 2], s[j * K + c + 3]
            k0, k1, k2, k3 = k[c], k[c + 1], k[c + 2], k[c + 3]
            for i in range(LANES):
                g, d = a[i], u[i]
                s0[i] = fma(k0[i], d, g * s0[i])
                s1[i] = fma(k1[i], d, g * s1[i])
                s2[i] = fma(k2[i], d, g * s2[i])
                s3[i] = fma(k3[i], d, g * s3[i])
            c += 4
        while c < K:
            s0, k0 = s[j * K + c], k[c]
            for i in range(LANES):
                s0[i] = fma(k0[i], u[i], a[i] * s0[i])
            c += 1


@kernel
def delta_scan(
    S: Array,
    heads: int,
    k: Array,
    v: Array,
    a: Array,
    b: Array,
    which: Tokens,
    gates: Tokens,
) -> None:
    """Run S' = a (S - b k (k^T S)) + b k v^T, that is a S + k (b (v - a k^T S))^T, in place.

    As `decay_scan`, with a decay a and a step size b a head: (H, columns) each.
    """
    tiles, numbers, _ = S.shape
    V = v.shape[0] // heads
    K = numbers // (heads * V)
    groups = k.shape[0] // K
    s = np.empty((V * K, LANES), S.dtype)
    key, value = np.empty((K, LANES), S.dtype), np.empty((V, LANES), S.dtype)
    decay, size = np.empty((1, LANES), S.dtype), np.empty((1, LANES), S.dtype)
    u = np.empty(LANES, S.dtype)
    for tile in range(tiles):
        for h in range(heads):
            for c in range(K):
                for j in range(V):
                    for i in range(LANES):
                        s[j * K + c, i] = S[tile, (h * K + c) * V + j, i]
            for t in range(which.shape[1]):
                manner = _manner(which[tile, t], k.shape[1])
                _fetch(k, h * groups // heads * K, K, which[tile, t], manner, key)
                _fetch(v, h * V, V, which[tile, t], manner, value)
                manner = _manner(gates[tile, t], a.shape[1])
                _fetch(a, h, 1, gates[tile, t], manner, decay)
                _fetch(b, h, 1, gates[tile, t], manner, size)
                _delta_step(s, key, value, decay[0], size[0], u)
            for c in range(K):
                for j in range(V):
                    for i in range(LANES):
                        S[tile, (h * K + c) * V + j, i] = s[j * K + c, i]


@kernel
def _read(S: Array, heads: int, q: Array, which: Tokens, out: Array) -> None:
    """Compute o = q S: a chain of fused multiply-adds over the key channels."""
    tiles, numbers, _ = S.shape
    V = out.shape[1] // heads
    K = numbers // (heads * V)
    groups = q.shape[0] // K
    query = np.empty(LANES, S.dtype)
    for tile in range(tiles):
        for h in range(heads):
            for c in range(K):
                row = q[h * groups // heads * K + c]
                for i in range(LANES):
                    query[i] = row[which[tile, i]]
                for j in range(V):
                    s, o = S[tile, (h * K + c) * V + j], out[tile, h * V + j]
                    for i in range(LANES):
                        o[i] = fma(query[i], s[i], o[i])


def read(S: Array, heads: int, values: int, q: Array, which: Tokens) -> Array:
    """Return o = q S, (tiles, H V, LANES).

    S (tiles, H K V, LANES); q (G K, columns); which (tiles, 1, LANES); values V.
    """
    out = np.zeros((len(S), heads * values, LANES), S.dtype)
    _read(np.ascontiguousarray(S), heads, q, np.ascontiguousarray(which[:, 0]), out)
    return out
