"""The tokens that a model reads: what an encoding tells a cell about them."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Vocabulary:
    """A token language for strings of known length followed by one question.

    Attributes
    ----------
    length, symbols
        The stream says a string of `length` symbols, each in ``range(symbols)``.
    positional
        Whether the token of symbol v at position a (from 0) tells its position,
        ``a * symbols + v``, or is just v.
    queries
        Query k (from 0) is token ``stream_tokens + k``; no query tokens when 0.
    answers
        How many answers a readout chooses from.
    parities
        For each query the positions whose bits sum to its answer modulo 2, where the
        answers are of that kind; else empty. Constructed readouts are made from it.
    scratch
        How many further tokens follow those of the queries: what random parameters read
        beside the stream.
    """

    length: int
    symbols: int
    positional: bool
    queries: int
    answers: int
    parities: tuple[tuple[int, ...], ...] = ()
    scratch: int = 0

    @property
    def stream_tokens(self) -> int:
        """How many tokens the stream uses."""
        return self.length * self.symbols if self.positional else self.symbols

    @property
    def size(self) -> int:
        """How many tokens there are, query and scratch tokens included."""
        return self.stream_tokens + self.queries + self.scratch

    def token(self, position: int, symbol: int) -> int:
        """Return the token of a symbol at a position (from 0)."""
        return position * self.symbols + symbol if self.positional else symbol

    def without_queries(self) -> Vocabulary:
        """Return the same stream with nobody to ask."""
        return replace(self, queries=0, parities=())

    def aloud(self, tokens: int) -> Vocabulary:
        """Return the same tokens and `tokens` more, queries being read like the stream."""
        return replace(self.without_queries(), scratch=self.queries + self.scratch + tokens)
