"""Nearest path through the trellis of a shift register, for rate 1/w.

One word at a time with all states of a step side by side, in bytes. Costs stay below
256: of the least cost at a step every state is within w nu, since nu steps lead from any
state to any other, and costs are lowered by their least every eight steps. At the start
only state 0 is allowed; the others cost w nu + 1, more than any path from 0 can cost
before all states are reached, so none of them wins.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from statebound.jit import kernel

Bits = NDArray[np.uint8]
_RENEW = 8


@kernel
def nearest_inputs(words: Bits, outputs: Bits, w: int, memory: int, out: Bits) -> None:
    """Write the register inputs whose output word is nearest to each word.

    Parameters
    ----------
    words
        (B, w T) bits, w at most 8.
    outputs
        (2^(nu+1),): the w output bits, first bit least, of a register that holds its
        newest bit least.
    memory
        nu, at least 1, with 2 w nu + 2 w < 256.
    out
        (B, T) inputs; register empty at the start, end free. Of equal paths the one
        whose oldest differing bit is 0 is taken.
    """
    steps = out.shape[1]
    states = 1 << memory
    half = states >> 1
    old = np.empty(states, np.uint8)
    new = np.empty(states, np.uint8)
    even = np.empty(half, np.uint8)
    odd = np.empty(half, np.uint8)
    choice = np.empty((steps, half), np.uint8)
    # What each branch costs for each w bits that may be read: inputs 0 and 1 from state
    # j, then from state j + half, each a contiguous row.
    price = np.empty((1 << w, 4, half), np.uint8)
    for here in range(1 << w):
        for branch in range(4):
            for j in range(half):
                v = outputs[2 * j + (branch & 1) + (states if branch > 1 else 0)] ^ here
                bits = 0
                for i in range(w):
                    bits += (v >> i) & 1
                price[here, branch, j] = bits
    for b in range(words.shape[0]):
        old[:] = np.uint8(w * memory + 1)
        old[0] = 0
        for t in range(steps):
            read = 0
            for i in range(w):
                read += int(words[b, t * w + i]) << i
            low, high = old[:half], old[half:]
            cost = price[read]
            taken = choice[t]
            for j in range(half):
                a = np.uint8(low[j] + cost[0, j])
                c = np.uint8(high[j] + cost[2, j])
                even[j] = c if c < a else a
                taken[j] = c < a
            for j in range(half):
                a = np.uint8(low[j] + cost[1, j])
                c = np.uint8(high[j] + cost[3, j])
                odd[j] = c if c < a else a
                taken[j] |= np.uint8(c < a) << np.uint8(1)
            for j in range(half):
                new[2 * j] = even[j]
                new[2 * j + 1] = odd[j]
            old, new = new, old
            if t % _RENEW == _RENEW - 1:
                least = np.uint8(255)
                for j in range(states):
                    least = old[j] if old[j] < least else least
                for j in range(states):
                    old[j] = np.uint8(old[j] - least)
        state = np.argmin(old)
        for t in range(steps - 1, -1, -1):
            out[b, t] = state & 1
            came = (choice[t, state >> 1] >> (state & 1)) & 1
            state = (state >> 1) + (half if came else 0)


@kernel
def run_register(inputs: Bits, outputs: Bits, w: int, memory: int, out: Bits) -> None:
    """Write the output words (B, w T) of inputs (B, T); see `nearest_inputs`."""
    mask = (2 << memory) - 1
    for b in range(inputs.shape[0]):
        register = 0
        for t in range(inputs.shape[1]):
            register = ((register << 1) | inputs[b, t]) & mask
            for i in range(w):
                out[b, t * w + i] = (outputs[register] >> i) & 1
