"""The contract of encodings: how Alice's x, and Bob's query, become tokens."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from statebound import registry
from statebound.models import Vocabulary
from statebound.protocols.problem import Problem, Symbols

Tokens = NDArray[np.int32]


class Encoding(ABC):
    """An encoding of a problem's inputs and queries, one block of tokens a symbol.

    Attributes
    ----------
    problem
        What is encoded.
    vocabulary
        The tokens it uses.
    """

    name: ClassVar[str]
    summary: ClassVar[str]

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.vocabulary = self._vocabulary()

    @abstractmethod
    def _vocabulary(self) -> Vocabulary: ...

    @abstractmethod
    def block(self, position: int) -> Tokens:
        """Return the tokens of each symbol value at a position: (symbols, block)."""

    def tokens(self, x: Symbols) -> Tokens:
        """Return the stream of x: (B, length) -> (B, T)."""
        blocks = [self.block(a)[x[:, a]] for a in range(self.problem.length)]
        return np.concatenate(blocks, axis=1)

    def question(self, query: NDArray[np.int64]) -> Tokens:
        """Return Bob's tokens: (B,) queries from 0 -> (B, tokens)."""
        tokens: Tokens = (self.vocabulary.stream_tokens + query[:, None]).astype(np.int32)
        return tokens


def vocabulary_of(problem: Problem, *, positional: bool) -> Vocabulary:
    """Return the language with one token a symbol, and one a query after it."""
    return Vocabulary(
        problem.length,
        problem.symbols,
        positional,
        problem.queries,
        problem.alphabet,
        problem.structure.parities,
    )


def make(name: str, problem: Problem) -> Encoding:
    """Return encoding `name` of a problem; an unknown name is a `UsageError`."""
    module = registry.load("statebound.reductions.encodings", name, "encoding")
    encoding: Encoding = module.ENCODING(problem)
    return encoding
