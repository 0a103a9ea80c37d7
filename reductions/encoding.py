"""The contract of encodings: how Alice's x, and Bob's query, become tokens."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from statebound import registry
from statebound.errors import UsageError
from statebound.models import Vocabulary
from statebound.protocols.problem import Problem, Symbols

Tokens = NDArray[np.int32]

MOST_TOKENS = 1 << 12
"""Beyond so many queries or answers there is no token for each, so no model's own Bob."""


class Encoding(ABC):
    """An encoding of a problem's inputs and queries, one block of tokens a symbol.

    A problem's public filler tokens belong to the last block; an encoding that writes them
    there (see `filled`) says so.

    Attributes
    ----------
    problem
        What is encoded.
    vocabulary
        The tokens it uses.
    fills
        Whether it writes fillers.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    fills: ClassVar[bool] = False

    def __init__(self, problem: Problem) -> None:
        if problem.filler and not self.fills:
            raise UsageError(
                "encoding", self.name, "writes no filler tokens", "use bits, pairs or keyed"
            )
        self.problem = problem
        self.vocabulary = self._vocabulary()

    @abstractmethod
    def _vocabulary(self) -> Vocabulary: ...

    @abstractmethod
    def block(self, position: int) -> Tokens:
        """Return the tokens of each symbol value at a position: (symbols, block)."""

    def filled(self, position: int, block: Tokens, fillers: Tokens) -> Tokens:
        """Return a block, with the problem's fillers (fillers,) after the last."""
        if position < self.problem.length - 1 or not len(fillers):
            return block
        every = np.broadcast_to(fillers, (len(block), len(fillers)))
        return np.concatenate([block, every], axis=1).astype(np.int32)

    def tokens(self, x: Symbols) -> Tokens:
        """Return the stream of x: (B, length) -> (B, T)."""
        blocks = [self.block(a)[x[:, a]] for a in range(self.problem.length)]
        return np.concatenate(blocks, axis=1)

    def question(self, query: NDArray[np.int64]) -> Tokens:
        """Return Bob's tokens: (B,) queries from 0 -> (B, tokens)."""
        tokens: Tokens = (self.vocabulary.stream_tokens + query[:, None]).astype(np.int32)
        return tokens


def askable(problem: Problem) -> bool:
    """Whether every query and every answer can have a token of its own."""
    return max(problem.queries, problem.alphabet) <= MOST_TOKENS


def vocabulary_of(problem: Problem, *, positional: bool) -> Vocabulary:
    """Return the language with one token a symbol, and one a query after it.

    Fillers take further positions; where tokens do not tell those, they are a further
    symbol.
    """
    asked, own = askable(problem), problem.filler > 0 and not positional
    return Vocabulary(
        problem.length + problem.filler,
        problem.symbols + own,
        positional,
        problem.queries if asked else 0,
        problem.alphabet if asked else 2,
        problem.structure.parities if asked else (),
    )


def make(name: str, problem: Problem) -> Encoding:
    """Return encoding `name` of a problem; an unknown name is a `UsageError`."""
    module = registry.load("statebound.reductions.encodings", name, "encoding")
    encoding: Encoding = module.ENCODING(problem)
    return encoding
