"""Nearest word whose sliding parity checks all hold, for rate (w-1)/w.

Block i of w bits adds its columns (h bits each) into the register, whose lowest bit must
then be 0 and is shifted out. The search is Viterbi's over register states, bit by bit,
with 32 words side by side so that each step is a vector operation on bytes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from statebound.jit import kernel

Bits = NDArray[np.uint8]
LANES = 32


@kernel
def nearest_checked(
    words: Bits, columns: NDArray[np.int64], height: int, top: int, out: Bits
) -> None:
    """Write for each word the nearest word that passes all checks.

    Parameters
    ----------
    words
        (B, w T) bits, w at most 8.
    columns
        (w,) columns below 2^h.
    height
        h, at least 1.
    top
        What a forbidden state costs above the cheapest: w d + 1, where every state can be
        reached within d blocks. A state then costs at most w d more than the cheapest
        did d blocks before, so a path from a forbidden state never wins at the end of
        a block. top + w < 256.
    out
        (B, w T) words.
    """
    count, n = words.shape
    w = len(columns)
    steps = n // w
    states = 1 << height
    old = np.empty((states, LANES), np.uint8)
    new = np.empty((states, LANES), np.uint8)
    choice = np.empty((steps, states, LANES), np.uint8)
    keep = np.empty(LANES, np.uint8)
    flip = np.empty(LANES, np.uint8)
    for start in range(0, count, LANES):
        lanes = min(LANES, count - start)
        old[:] = np.uint8(top)
        old[0] = 0
        for t in range(steps):
            choice[t] = 0
            # Half of the states are empty at the head of a block: the top bit is 0.
            for s in range(states >> 1, states):
                old[s] = np.uint8(top)
            for i in range(w):
                keep[:] = 0
                for lane in range(lanes):
                    keep[lane] = words[start + lane, t * w + i]
                for lane in range(LANES):
                    flip[lane] = np.uint8(1) ^ keep[lane]
                mark = np.uint8(1 << i)
                for s in range(states):
                    stay, leave, best = old[s], old[s ^ columns[i]], new[s]
                    taken = choice[t, s]
                    for lane in range(LANES):
                        a = np.uint8(stay[lane] + keep[lane])
                        c = np.uint8(leave[lane] + flip[lane])
                        best[lane] = c if c < a else a
                        taken[lane] |= mark if c < a else np.uint8(0)
                old, new = new, old
            # Lower all costs by the least, shift the register, drop failed checks.
            keep[:] = np.uint8(255)
            for s in range(0, states, 2):
                for lane in range(LANES):
                    v = old[s, lane]
                    keep[lane] = v if v < keep[lane] else keep[lane]
            for s in range(states >> 1):
                for lane in range(LANES):
                    v = np.uint8(old[2 * s, lane] - keep[lane])
                    new[s, lane] = v if v < top else np.uint8(top)
            old, new = new, old
        for lane in range(lanes):
            state = 0
            for s in range(1, states >> 1):
                if old[s, lane] < old[state, lane]:
                    state = s
            for t in range(steps - 1, -1, -1):
                state = 2 * state
                for i in range(w - 1, -1, -1):
                    taken = (choice[t, state, lane] >> i) & 1
                    out[start + lane, t * w + i] = taken
                    if taken:
                        state ^= columns[i]


@kernel
def fill_checks(info: Bits, columns: NDArray[np.int64], out: Bits) -> None:
    """Write the words (B, w T) with w - 1 chosen bits a block; the first bit is the check.

    The first column is odd, so the check bit is the register's lowest bit.
    """
    w = len(columns)
    for b in range(out.shape[0]):
        register = 0
        for t in range(out.shape[1] // w):
            for i in range(1, w):
                v = info[b, t * (w - 1) + i - 1]
                out[b, t * w + i] = v
                if v:
                    register ^= columns[i]
            out[b, t * w] = register & 1
            if register & 1:
                register ^= columns[0]
            register >>= 1
