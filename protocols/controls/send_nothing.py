"""send_nothing: an empty message, so no Bob is better than chance."""

from __future__ import annotations

from typing import Any

import numpy as np

from statebound.errors import UsageError
from statebound.protocols.message import Bytes
from statebound.protocols.problem import Answers, Problem, Symbols
from statebound.protocols.protocol import Protocol, Queries


class SendNothing(Protocol):
    """Send no bits; Bob always answers 0."""

    def __init__(self, problem: Problem, state_bits: int | None = None) -> None:
        self.problem, self.state_bits = problem, 0
        if state_bits not in (None, 0):
            raise UsageError(
                "state_bits", state_bits, "send_nothing sends 0 bits", "drop --state-bits"
            )

    def encode(self, x: Symbols) -> Bytes:
        """Return empty messages."""
        return np.zeros((len(x), 0), np.uint8)

    def answer(self, message: Bytes, query: Queries) -> Answers:
        """Answer 0."""
        return np.zeros(len(message), self.problem.answer_type)

    def describe(self) -> dict[str, Any]:
        """Return its name."""
        return {"protocol": "send_nothing"}


PROTOCOL = SendNothing
