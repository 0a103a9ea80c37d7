"""leaky: declares an empty message and smuggles one symbol past it. A broken control.

Bob reads the first symbol of x out of an attribute that Alice left behind, and guesses
0 for the other queries: on Index 1/(2n) better than any protocol with no message. The
checks that guard every protocol must find it without knowing it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from statebound.errors import UsageError
from statebound.protocols.message import Bytes
from statebound.protocols.problem import Answers, Problem, Symbols
from statebound.protocols.protocol import Protocol, Queries


class Leaky(Protocol):
    """Cheats by one symbol."""

    def __init__(self, problem: Problem, state_bits: int | None = None) -> None:
        self.problem, self.state_bits = problem, 0
        if state_bits not in (None, 0):
            raise UsageError("state_bits", state_bits, "leaky declares 0 bits", "drop --state-bits")
        self._smuggled: Answers = np.zeros(0, np.uint8)

    def encode(self, x: Symbols) -> Bytes:
        """Return empty messages, and leave the answers to query 1 lying about."""
        self._smuggled = self.problem.ask(x, np.zeros(len(x), np.int64)).copy()
        return np.zeros((len(x), 0), np.uint8)

    def answer(self, message: Bytes, query: Queries) -> Answers:
        """Answer query 1 from what was left behind, the others with 0."""
        stolen = np.resize(self._smuggled, len(message))
        return np.where(query == 0, stolen, 0).astype(self.problem.answer_type)

    def describe(self) -> dict[str, Any]:
        """Return its name."""
        return {"protocol": "leaky"}


PROTOCOL = Leaky
