"""associative_recall -> cgram: a token is a gram of one symbol.

Inputs, queries and answers stay the same with c = 2.
"""

from __future__ import annotations

from typing import ClassVar

from statebound.protocols.problem import Problem, Symbols
from statebound.protocols.problems.cgram import CGram
from statebound.protocols.protocol import Queries
from statebound.reductions.map import Map


class AssociativeRecallToCGram(Map):
    """Grams of one symbol.

    Examples
    --------
    >>> from statebound.protocols.problems.associative_recall import AssociativeRecall
    >>> AssociativeRecallToCGram(AssociativeRecall(5)).target.query_text(1)
    'after=1'
    """

    source_name: ClassVar[str] = "associative_recall"
    target_name: ClassVar[str] = "cgram"
    statement: ClassVar[str] = "the same problem: grams of 2 are associative recall"

    def __init__(self, source: Problem) -> None:
        self.source = source
        self.target = CGram(source.n, 2, source.symbols)

    def instance(self, x: Symbols) -> Symbols:
        """Return x."""
        return x

    def query(self, query: Queries) -> Queries:
        """Return the same query."""
        return query


MAP = AssociativeRecallToCGram
