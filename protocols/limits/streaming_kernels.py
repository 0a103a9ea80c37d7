"""The compiled inner loops of the exact streaming game.

A point of the game is packed into one 64-bit integer: Psi above W - 1 counts N of
``n - leaf + 1`` bits each, in units of 2^-d after d steps (the last count is what is
left of 2^d). A position is W such points and, packed by 5 bits, the number of unread
symbols of each class; class e is the set of final states with bits e + 1. The game,
its bound and why nothing is lost are set out in `streaming_game`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from statebound.jit import kernel

Ints = NDArray[np.int64]


@kernel
def _spread(N: Ints, rem: Ints, d: int, binom: Ints, L: Ints, weight: Ints) -> int:
    """Tabulate <2^d h_g, x> over the sums x of the unread symbols, with their numbers.

    Class e with r unread symbols sums to r - 2 j in comb(r, j) ways. Fills L (W, X) and
    weight (X,) and returns X.
    """
    W = N.shape[0]
    X = 1
    weight[0] = 1
    L[:, 0] = 0
    for e in range(rem.shape[0]):
        r = rem[e]
        if r == 0:
            continue
        for j in range(r, -1, -1):
            for g in range(W):
                inside = 0
                for i in range(W - 1):
                    if ((e + 1) >> i) & 1:
                        inside += N[g, i]
                shift = (r - 2 * j) * (2 * inside - (1 << d))
                for x in range(X):
                    L[g, j * X + x] = L[g, x] + shift
            for x in range(X):
                weight[j * X + x] = weight[x] * binom[r, j]
        X *= r + 1
    return X


@kernel
def _canonical(
    N: Ints, psi: Ints, rem: Ints, bits: int, orders: Ints, classes: Ints, row: Ints, best: Ints
) -> int:
    """Write the largest packed form over all renumberings to `best`; return its classes."""
    W = psi.shape[0]
    packed = -1
    for p in range(orders.shape[0]):
        for g in range(W):
            key = psi[g]
            for i in range(W - 2, -1, -1):
                key = (key << bits) | N[g, orders[p, i]]
            at = g
            while at > 0 and row[at - 1] < key:
                row[at] = row[at - 1]
                at -= 1
            row[at] = key
        order = 1 if p == 0 else 0
        for g in range(W):
            if order == 0 and row[g] != best[g]:
                order = 1 if row[g] > best[g] else -1
        if order < 0:
            continue
        unread = 0
        for e in range(rem.shape[0]):
            unread |= rem[classes[p, e]] << (5 * e)
        if order > 0 or unread > packed:
            packed = unread
            best[:] = row
    return packed


@kernel
def grow(
    keys: Ints,
    unread: Ints,
    bound: Ints,
    n: int,
    d: int,
    leaf: int,
    reached: int,
    room: int,
    orders: Ints,
    classes: Ints,
    masks: Ints,
    binom: Ints,
    out_keys: Ints,
    out: Ints,
) -> tuple[int, int, int, int]:
    """Expand positions after d steps; keep children whose bound is above `reached`.

    keys (B, W) and unread (B,) are packed positions, bound (B,) their U. A child is
    written to out_keys (., W) in canonical form and to out (., 4): unread, U, parent,
    move. A child with `leaf` symbols left has a value: it updates `reached`. Returns the
    number of children, the best value, and the parent and move that reached it or -1.
    """
    W = keys.shape[1]
    C = classes.shape[1]
    bits = n - leaf + 1
    low = (1 << bits) - 1
    K = W * (W + 1) // 2
    N = np.empty((W, W), np.int64)
    psi = np.empty(W, np.int64)
    child = np.empty((W, W), np.int64)
    child_psi = np.empty(W, np.int64)
    rem = np.empty(C, np.int64)
    L = np.empty((W, room), np.int64)
    weight = np.empty(room, np.int64)
    values = np.empty((K, room), np.int64)
    first = np.empty(K, np.int64)
    second = np.empty(K, np.int64)
    total = np.empty(K, np.int64)
    loss = np.empty(K, np.int64)
    chosen = np.empty(W, np.int64)
    row = np.empty(W, np.int64)
    best = np.empty(W, np.int64)
    count, parent, move = 0, -1, -1
    for s in range(keys.shape[0]):
        if bound[s] <= reached:
            continue
        for g in range(W):
            key = keys[s, g]
            N[g, W - 1] = 1 << d
            for i in range(W - 1):
                N[g, i] = key & low
                N[g, W - 1] -= N[g, i]
                key >>= bits
            psi[g] = key
        for e in range(C):
            rem[e] = (unread[s] >> (5 * e)) & 31
        for c in range(C):
            if rem[c] == 0:
                continue
            rem[c] -= 1
            X = _spread(N, rem, d, binom, L, weight)
            q = 0
            for a in range(W):
                for b in range(a, W):
                    gain = 0
                    for i in range(W - 1):
                        if ((c + 1) >> i) & 1:
                            gain += 2 * (N[a, i] - N[b, i])
                    if a != b and gain == 0:
                        continue
                    first[q], second[q] = a, b
                    total[q] = psi[a] + psi[b] + abs(gain)
                    for x in range(X):
                        values[q, x] = L[a, x] + L[b, x] + total[q]
                    q += 1
            full = 0
            loss[:] = 0
            for x in range(X):
                top, next_top, at = values[0, x], -(1 << 62), 0
                for i in range(1, q):
                    v = values[i, x]
                    if v > top:
                        next_top, top, at = top, v, i
                    elif v > next_top:
                        next_top = v
                full += weight[x] * top
                loss[at] += weight[x] * (top - next_top)
            for t in range(masks.shape[0]):
                mask = masks[t]
                if q <= W:
                    mask = (1 << q) - 1
                if full <= reached or mask >> q or (q <= W and t > 0):
                    break
                cap = full
                size = 0
                for i in range(q):
                    if (mask >> i) & 1:
                        chosen[size] = i
                        size += 1
                    else:
                        cap -= loss[i]
                if cap <= reached:
                    continue
                value = 0
                for x in range(X):
                    top = values[chosen[0], x]
                    for i in range(1, size):
                        top = max(top, values[chosen[i], x])
                    value += weight[x] * top
                if value <= reached:
                    continue
                code = c
                for g in range(W):
                    i = chosen[min(g, size - 1)]
                    a, b = first[i], second[i]
                    code = code << 4 | a << 2 | b
                    child_psi[g] = total[i]
                    for j in range(W):
                        child[g, j] = N[a, j] + N[b, j]
                if n - d - 1 == leaf:
                    reached, parent, move = value, s, code
                    continue
                out[count, 0] = _canonical(child, child_psi, rem, bits, orders, classes, row, best)
                out_keys[count] = best
                out[count, 1], out[count, 2], out[count, 3] = value, s, code
                count += 1
            rem[c] += 1
    return count, reached, parent, move
