"""The contract of Bobs that think: tokens written after the handoff, before the answer.

Such a Bob starts from the message and his query, writes a token, reads it, writes the next,
until he writes *done* or is stopped. What he has written is his transcript. It is a function
of the message, the query and his own coins, so that by the data-processing inequality

    I(x; message, transcript | coins) = I(x; message) <= M

however long it is, and nobody who sees both is right more often than the best reader of the
message alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from statebound.protocols.message import Bytes
from statebound.protocols.problem import Answers
from statebound.protocols.protocol import Protocol, Queries

S = TypeVar("S")
Written = NDArray[np.int16]

NOTHING = -1
"""In a transcript, the places after the end."""


@dataclass(frozen=True)
class Thought(Generic[S]):
    """A batch of B Bobs after equally many turns.

    Attributes
    ----------
    query
        (B,) what each was asked.
    state
        What each holds.
    transcript
        (B, turns) what each has written, `NOTHING` after the end.
    ended
        (B,) whether each has written that he is done.
    """

    query: Queries
    state: S
    transcript: Written
    ended: NDArray[np.bool_]

    @property
    def written(self) -> NDArray[np.int64]:
        """How many tokens each has written, (B,)."""
        written: NDArray[np.int64] = (self.transcript != NOTHING).sum(axis=1)
        return written


class Thinker(ABC, Generic[S]):
    """A Bob who writes tokens from ``range(done)`` for himself, and `done` at the end.

    Attributes
    ----------
    protocol
        Whose messages he reads.
    done
        The token that ends a transcript. He does not read it.
    answers_himself
        Whether he has an answer of his own; else one is fitted to what he holds.
    """

    protocol: Protocol
    done: int
    answers_himself: bool = False

    @abstractmethod
    def open(self, message: Bytes, query: Queries) -> S:
        """Return what Bobs hold who have read messages (B, bytes) and queries (B,)."""

    @abstractmethod
    def write(self, state: S, query: Queries, turn: int) -> Written:
        """Return the token of each at a turn (from 0), (B,)."""

    @abstractmethod
    def read(self, state: S, written: Written, live: NDArray[np.bool_]) -> S:
        """Let those who are `live` read what they wrote; the others keep what they hold."""

    @abstractmethod
    def holds(self, state: S) -> NDArray[np.float64]:
        """Return the numbers that each holds, (B, C)."""

    def answer(self, state: S, query: Queries) -> Answers:
        """Return the answers of a Bob who has one of his own, (B,)."""
        raise TypeError(f"{type(self).__name__} has no answer of its own")

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Return JSON-able facts that identify this Bob, beside his protocol's."""

    def begin(self, message: Bytes, query: Queries) -> Thought[S]:
        """Return Bobs who have written nothing yet."""
        count = len(query)
        nothing = np.empty((count, 0), np.int16)
        return Thought(query, self.open(message, query), nothing, np.zeros(count, np.bool_))

    def think(self, thought: Thought[S], turns: int) -> Thought[S]:
        """Let each write up to so many tokens more.

        Thinking a turns and then b is, bit for bit, thinking a + b.
        """
        state, ended = thought.state, thought.ended
        first = thought.transcript.shape[1]
        fresh = np.full((len(ended), turns), NOTHING, np.int16)
        for at in range(turns):
            if ended.all():
                break
            written = self.write(state, thought.query, first + at)
            fresh[:, at] = np.where(ended, NOTHING, written)
            ended = ended | (written == self.done)
            state = self.read(state, written, ~ended)
        transcript = np.concatenate([thought.transcript, fresh], axis=1)
        return Thought(thought.query, state, transcript, ended)
