"""send_everything: the whole input is the message, so Bob is never wrong."""

from __future__ import annotations

from typing import Any

import numpy as np

from statebound.errors import UsageError
from statebound.protocols.message import Bytes, pack, unpack
from statebound.protocols.problem import Answers, Problem, Symbols
from statebound.protocols.protocol import Protocol, Queries


class SendEverything(Protocol):
    """Send x itself, ceil(log2 symbols) bits a symbol."""

    def __init__(self, problem: Problem, state_bits: int | None = None) -> None:
        self.problem = problem
        width = max(1, (problem.symbols - 1).bit_length())
        self.widths = np.full(problem.length, width, np.int64)
        self.state_bits = int(self.widths.sum())
        if state_bits not in (None, self.state_bits):
            raise UsageError(
                "state_bits",
                state_bits,
                f"send_everything sends {self.state_bits} bits here",
                "drop --state-bits",
            )

    def encode(self, x: Symbols) -> Bytes:
        """Return x, packed."""
        return pack(x.astype(np.uint32).T[None], self.widths, len(x))

    def answer(self, message: Bytes, query: Queries) -> Answers:
        """Unpack x and compute f(x, k)."""
        x = unpack(message, self.widths)[0].T.astype(np.uint8)
        return self.problem.ask(x, query)

    def describe(self) -> dict[str, Any]:
        """Return its name."""
        return {"protocol": "send_everything"}


PROTOCOL = SendEverything
