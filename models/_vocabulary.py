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
    """

    length: int
    symbols: int
    positional: bool
    queries: int
    answers: int
    parities: tuple[tuple[int, ...], ...] = ()

    @property
    def stream_tokens(self) -> int:
        """How many tokens the stream uses."""
        return self.length * self.symbols if self.positional else self.symbols

    @property
    def size(self) -> int:
        """How many tokens there are, query tokens included."""
        return self.stream_tokens + self.queries

    def token(self, position: int, symbol: int) -> int:
        """Return the token of a symbol at a position (from 0)."""
        return position * self.symbols + symbol if self.positional else symbol

    def without_queries(self) -> Vocabulary:
        """Return the same stream with nobody to ask."""
        return replace(self, queries=0, parities=())
