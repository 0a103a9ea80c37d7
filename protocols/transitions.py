"""A finite automaton given by its transition table, as a streaming protocol.

W states; after position t, state s that reads symbol v goes to ``table[t, s, v]``. The
table may differ from position to position (a free clock). The message is the number of
the last state, ceil(log2 W) bits. The start state is 0.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statebound.errors import UsageError
from statebound.protocols.message import Bytes, pack, unpack
from statebound.protocols.problem import Answers, Problem, Symbols
from statebound.protocols.protocol import Queries, StreamingProtocol

States = NDArray[np.int64]


class Transitions(StreamingProtocol[States]):
    """An automaton.

    Parameters
    ----------
    problem
        What is asked.
    table
        (length, W, symbols) integers in ``range(W)``.
    answers
        (W, queries) Bob's answer in each last state; None for a machine without Bob.

    Raises
    ------
    UsageError
        When the table does not fit the problem or leaves the states.
    """

    def __init__(
        self, problem: Problem, table: NDArray[Any], answers: NDArray[Any] | None = None
    ) -> None:
        expected = (problem.length, table.shape[1] if table.ndim == 3 else 0, problem.symbols)
        if table.shape != expected or table.min() < 0 or table.max() >= expected[1]:
            raise UsageError(
                "table",
                table.shape,
                f"must be ({problem.length}, W, {problem.symbols}) of states in range(W)",
                "give every position its transitions",
            )
        self.problem, self.table, self.answers = problem, table.astype(np.int64), answers
        self.state_bits = (table.shape[1] - 1).bit_length()
        self._widths = np.array([self.state_bits] if self.state_bits else [], np.int64)

    @property
    def is_automaton(self) -> bool:
        """Always."""
        return True

    def start(self) -> States:
        """State 0."""
        return np.zeros(1, np.int64)

    def size(self, state: States) -> int:
        """Return B."""
        return len(state)

    def take(self, state: States, which: NDArray[np.int64]) -> States:
        """Return the states at these indices."""
        return state[which]

    def branch(self, state: States, position: int) -> States:
        """Follow every symbol's transition."""
        grown: States = self.table[position][state].T.reshape(-1)
        return grown

    def message(self, state: States) -> Bytes:
        """Return the numbers of the states."""
        codes = np.broadcast_to(state.astype(np.uint32), (1, len(self._widths), len(state)))
        return pack(np.ascontiguousarray(codes), self._widths, len(state))

    def encode(self, x: Symbols) -> Bytes:
        """Run the automaton."""
        state = np.zeros(len(x), np.int64)
        for position in range(self.problem.length):
            state = self.table[position][state, x[:, position]]
        return self.message(state)

    @property
    def has_bob(self) -> bool:
        """Whether answers were given."""
        return self.answers is not None

    def answer(self, message: Bytes, query: Queries) -> Answers:
        """Look the answer of the last state up."""
        assert self.answers is not None
        codes = unpack(message, self._widths)
        state = codes[0, 0] if self.state_bits else np.zeros(len(message), np.int64)
        return np.asarray(self.answers[state, query], self.problem.answer_type)

    def describe(self) -> dict[str, Any]:
        """Return the size and a hash of the table."""
        digest = hashlib.sha256(np.ascontiguousarray(self.table, "<i8").tobytes()).hexdigest()
        return {"protocol": "transitions", "states": self.table.shape[1], "digest": digest}
