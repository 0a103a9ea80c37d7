"""The central type: a one-way protocol, x -> message and (message, k) -> answer.

Alice's method does not receive k and Bob's does not receive x, so the signatures
themselves keep the two apart. Codes, controls, cut machines and tables of somebody's
own compressor are all protocols; engines, leak checks and figures are written once,
for this type.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from statebound.protocols.message import Bytes, MessageError, bit_matrix, byte_length, check
from statebound.protocols.problem import Answers, Problem, Symbols

S = TypeVar("S")
Queries = NDArray[np.int64]


class Protocol(ABC):
    """A one-way protocol for a problem.

    Attributes
    ----------
    problem
        What is asked.
    state_bits
        M: every message has exactly this many bits.
    """

    problem: Problem
    state_bits: int

    @property
    def message_bytes(self) -> int:
        """The length of a message in bytes."""
        return byte_length(self.state_bits)

    @abstractmethod
    def encode(self, x: Symbols) -> Bytes:
        """Alice: (B, length) inputs to (B, message_bytes) messages."""

    @property
    def has_bob(self) -> bool:
        """Whether this protocol brings a Bob of its own."""
        return type(self).answer is not Protocol.answer

    def answer(self, message: Bytes, query: Queries) -> Answers:
        """Bob: (B, message_bytes) messages and (B,) queries to (B,) answers."""
        raise TypeError(f"{type(self).__name__} has no Bob of its own")

    def features(self, message: Bytes) -> NDArray[np.float64]:
        """Return what a fitted readout sees of a message: (B, d) numbers.

        The bits as -1 and +1 unless a subclass knows better.
        """
        return bit_matrix(message, self.state_bits).astype(np.float64) * 2.0 - 1.0

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Return JSON-able facts that identify this protocol (public knowledge)."""


def sent(protocol: Protocol, message: Bytes, count: int) -> Bytes:
    """Return `message` where it is `count` messages of exactly the declared size.

    Raises
    ------
    MessageError
        When rows, bytes or padding bits are not those of M bits: Bob would see more
        than was declared.
    """
    if message.dtype != np.uint8 or len(message) != count:
        raise MessageError(
            f"message = {message.dtype} {message.shape}: {count} inputs make {count} rows of "
            "bytes; return uint8 of shape (inputs, ceil(M/8))"
        )
    check(message, protocol.state_bits)
    return message


class StreamingProtocol(Protocol, Generic[S]):
    """A protocol whose Alice reads x symbol by symbol and keeps only a state.

    The prefix tree and the automaton drive it. A state value stands for a batch of
    B states that have read equally many symbols.
    """

    @property
    def is_automaton(self) -> bool:
        """Whether states with equal messages have equal futures, from the first step on."""
        return False

    @abstractmethod
    def start(self) -> S:
        """Return the public start state, a batch of one."""

    @abstractmethod
    def size(self, state: S) -> int:
        """Return B."""

    @abstractmethod
    def take(self, state: S, which: NDArray[np.int64]) -> S:
        """Return the states at these indices, in this order."""

    @abstractmethod
    def branch(self, state: S, position: int) -> S:
        """Let every state read every value v of the symbol at `position` (from 0).

        State b after value v is number ``v * B + b`` of the result, so that from the
        start state the states of all prefixes come in the order of
        `Problem.enumerate`.
        """

    @abstractmethod
    def message(self, state: S) -> Bytes:
        """Return the messages of these states, (B, message_bytes)."""
