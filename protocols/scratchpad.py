"""A Bob who adds up his answer on a scratchpad, one bit of the message a token.

The words that the Bob of a linear code rebuilds are linear in the message bits m_1..m_M:
place k is the sum modulo 2 of those in a set S_k, which the code says for unit messages.
This Bob reads the message in order and writes, at turn i, the partial sum

    s_i = s_(i-1) + [i in S_k] m_i,    s_0 = 0,

and after the last element of S_k that he is done. Stopped after t tokens he answers with the
sum that he wrote last. The bits of a message of a uniform word are independent and fair (a
linear code's words quantise to each codeword equally often), so a sum that still lacks a bit
is right half of the time; once it is complete the answer is that of the code. What thinking
buys is the computation; the code's own answer is never passed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statebound.errors import UsageError
from statebound.protocols.codes._blocks import BlockCode
from statebound.protocols.codes.linear import Linear
from statebound.protocols.message import Bytes, bit_matrix, check
from statebound.protocols.problem import Symbols
from statebound.protocols.protocol import Protocol, Queries
from statebound.protocols.thinker import Thinker, Written


@dataclass(frozen=True)
class Sum:
    """The bits of the message, (B, M), and the partial sums, (B,)."""

    bits: Symbols
    total: Symbols


class Scratchpad(Thinker[Sum]):
    """The Bob of a linear code, a message bit at a time.

    Parameters
    ----------
    protocol
        One of the codes ``linear``, ``hamming`` and ``golay``.

    Attributes
    ----------
    uses
        (queries, M) whether message bit i is in S_k.
    lengths
        (queries,) the last element of S_k, 0 where it is empty.
    """

    done = 2
    answers_himself = True

    def __init__(self, protocol: Protocol) -> None:
        if not isinstance(protocol, BlockCode | Linear):
            raise UsageError(
                "codes",
                protocol.describe().get("protocol", type(protocol).__name__),
                "has no answers that are sums of message bits",
                "choose linear, hamming or golay",
            )
        self.protocol = protocol
        self.uses = protocol.expand(np.eye(protocol.state_bits, dtype=np.uint8)).T
        ends = self.uses * np.arange(1, protocol.state_bits + 1)
        self.lengths: NDArray[np.int64] = ends.max(axis=1, initial=0)

    def open(self, message: Bytes, query: Queries) -> Sum:
        """Start with the sum of nothing."""
        check(message, self.protocol.state_bits)
        bits = bit_matrix(message, self.protocol.state_bits)
        return Sum(bits, np.zeros(len(query), np.uint8))

    def write(self, state: Sum, query: Queries, turn: int) -> Written:
        """Write the sum with one more bit, or that it is complete."""
        more = turn < self.lengths[query]
        if not more.any():
            return np.full(len(query), self.done, np.int16)
        total = state.total ^ (state.bits[:, turn] & self.uses[query, turn])
        return np.where(more, total, self.done).astype(np.int16)

    def read(self, state: Sum, written: Written, live: NDArray[np.bool_]) -> Sum:
        """Go on from the sum that was written."""
        return Sum(state.bits, np.where(live, written, state.total).astype(np.uint8))

    def holds(self, state: Sum) -> NDArray[np.float64]:
        """Return the message and the sum."""
        return np.concatenate([state.bits, state.total[:, None]], axis=1).astype(np.float64)

    def answer(self, state: Sum, query: Queries) -> Symbols:
        """Answer with the sum so far."""
        return state.total

    def describe(self) -> dict[str, Any]:
        """Return its name."""
        return {"thinker": "scratchpad"}
