"""Successive-cancellation list search for a polar codeword near a word of bits.

The recursion of Arikan (2009) for the transform x = u F^(m), F = [[1, 0], [1, 1]], in
natural order, with the list of Tal and Vardy (2015). The search looks for the codeword
at the least Hamming distance, so it runs in the min-sum form on integers: a channel
value is +1 for bit 0 and -1 for bit 1, f(a, b) = sign(a b) min(|a|, |b|), and
g(a, b) = b + a or b - a. A path pays |value| at every bit that goes against the sign
of its value. By induction over the tree a path then pays at each node exactly what
its node word loses on the node's values: with f paid and a <= b in size, the two
halves together cost min(|a|, |b|) (one bit against) and then b - a less or more, which
adds up to the sum of |a|, |b| over the bits that disagree. At the root this is the
Hamming distance, and a subtree of frozen zeros pays the sum of the negative values at
once. All numbers are integers, exact in float32 up to 2^24.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from statebound.jit import kernel

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Bits = NDArray[np.uint8]


@kernel
def nearest(words: Bits, skip: Ints, size: int, out: Bits) -> Ints:
    """Write for each word the nearest codeword that a list of `size` paths finds.

    Parameters
    ----------
    words
        (B, n) bits, n = 2^m.
    skip
        (n,): -1 at an information bit; where a frozen bit starts, the largest t such
        that the 2^t bits from there are an aligned group of frozen bits.
    size
        How many paths are kept, at least 1.
    out
        (B, n): the codewords.

    Returns
    -------
    (B,) Hamming distances.
    """
    count, n = words.shape
    m = 0
    while (1 << m) < n:
        m += 1
    # A node of 2^t values at row p of level t starts at size * (2^t - 1) + p 2^t; level m
    # has one row, the channel. While its left half is open a level needs its values, then
    # only the left half's bits.
    value = np.empty(size * (n - 1) + n, np.float32)
    left = np.empty(size * n, np.uint8)  # level t + 1 keeps 2^t bits, placed as above
    row = np.empty((m + 1, size), np.int64)  # where path p finds its part of level t
    cost = np.empty(size, np.int64)
    leaf = np.empty(size, np.int64)
    bit = np.empty(size, np.uint8)
    free = np.empty(size, np.int64)
    second = np.empty(size, np.int64)
    tally = np.empty(n + 2, np.int64)
    distance = np.empty(count, np.int64)
    for b in range(count):
        for j in range(n):
            value[size * (n - 1) + j] = np.float32(-1.0) if words[b, j] else np.float32(1.0)
        paths = 1
        cost[0] = 0
        for t in range(m + 1):
            row[t, 0] = 0
        i = 0
        while i < n:
            top = m
            if i > 0:
                top = 0
                while (i >> top) & 1 == 0:
                    top += 1
            floor = max(skip[i], 0)
            # Down the tree: one right half (g) unless this is the first bit, then left ones.
            for t in range(min(top, m - 1), floor - 1, -1):
                half = 1 << t
                right = i > 0 and t == top
                for p in range(paths):
                    to = size * (half - 1) + p * half
                    mine = value[to : to + half]
                    at = size * (2 * half - 1) + row[t + 1, p] * 2 * half
                    above = value[at : at + 2 * half]
                    if right:
                        done = left[to : to + half]
                        for j in range(half):
                            a = above[j]
                            mine[j] = above[j + half] + (-a if done[j] else a)
                    else:
                        for j in range(half):
                            a = above[j]
                            c = above[j + half]
                            s = abs(a)
                            r = abs(c)
                            least = s if s < r else r
                            mine[j] = -least if (a < 0) != (c < 0) else least
                for p in range(paths):
                    row[t, p] = p
                    if right:
                        row[t + 1, p] = p
            width = 1 << floor
            if skip[i] >= 0:
                for p in range(paths):
                    at = size * (width - 1) + p * width
                    paid = np.float32(0.0)
                    for j in range(at, at + width):
                        paid += -value[j] if value[j] < 0 else np.float32(0.0)
                    cost[p] += np.int64(paid)
                    bit[p] = 0
            else:
                for p in range(paths):
                    leaf[p] = np.int64(value[p])
                    bit[p] = 1 if leaf[p] < 0 else 0
                paths = _fork(cost, leaf, bit, free, second, tally, row, paths, size)
            # Up the tree: join with left halves while this node is a right half.
            last = i + width - 1
            ones = floor
            while ones < m and (last >> ones) & 1:
                ones += 1
            first, stop = 0, paths
            if ones == m:  # the root: only the best path is joined
                for p in range(paths):
                    if cost[p] < cost[first]:
                        first = p
                stop = first + 1
                distance[b] = cost[first]
            whole = 1 << ones
            for p in range(first, stop):
                to = size * (whole - 1) + p * whole
                joined = out[b] if ones == m else left[to : to + whole]
                for j in range(whole - width, whole):
                    joined[j] = bit[p]
                for t in range(floor, ones):
                    half = 1 << t
                    at = size * (half - 1) + row[t + 1, p] * half
                    before = left[at : at + half]
                    base = whole - 2 * half
                    for j in range(half):
                        joined[base + j] = before[j] ^ joined[base + half + j]
            i += width
    return distance


@kernel
def _fork(
    cost: Ints,
    leaf: Ints,
    bit: Bits,
    free: Ints,
    second: Ints,
    tally: Ints,
    row: Ints,
    paths: int,
    size: int,
) -> int:
    """Give every path both values of a bit and keep the `size` cheapest.

    A path stays in its place if its cheap child lives; dear children move into places
    that fell free. Of equal costs cheap children come first, then lower places.
    """
    if size == 1:
        return 1
    base = cost[0]
    for p in range(1, paths):
        base = min(base, cost[p])
    high = np.int64(0)
    for p in range(paths):
        # With a full list its dearest cheap child bounds the threshold.
        high = max(high, cost[p] - base + (0 if paths == size else abs(leaf[p])))
    quota = min(size, 2 * paths)
    for v in range(high + 1):
        tally[v] = 0
    for p in range(paths):
        tally[cost[p] - base] += 1
        dear = cost[p] - base + abs(leaf[p])
        if dear <= high:
            tally[dear] += 1
    edge = np.int64(0)
    seen = tally[0]
    while seen < quota:
        edge += 1
        seen += tally[edge]
    ties = quota - (seen - tally[edge])  # how many children at the edge are kept
    vacant = 0
    for p in range(paths):
        if cost[p] - base < edge:
            continue
        if cost[p] - base == edge and ties > 0:
            ties -= 1
            continue
        free[vacant] = p
        vacant += 1
    gone = vacant
    for p in range(paths, quota):
        free[vacant] = p
        vacant += 1
    taken = 0
    at = 0
    for p in range(paths):
        if at < gone and free[at] == p:
            at += 1
            continue
        dear = cost[p] - base + abs(leaf[p])
        if dear < edge or (dear == edge and ties > 0):
            if dear == edge:
                ties -= 1
            second[taken] = p
            taken += 1
    levels = len(row)
    for s in range(taken):
        p, q = second[s], free[s]
        cost[q] = cost[p] + abs(leaf[p])
        bit[q] = 1 - bit[p]
        for t in range(1, levels):
            row[t, q] = row[t, p]
    return quota
