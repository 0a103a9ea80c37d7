"""spelled: a token a symbol, and the question spelled in the same symbols.

After a token that opens the question come the symbols that Bob's query is made of: the
queried token of associative recall, a gram, the bits of Bob's string in equality. So
there is one question token, however many queries there are.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from statebound.errors import UsageError
from statebound.models import Vocabulary
from statebound.protocols.problem import Problem
from statebound.reductions.encoding import MOST_TOKENS, Encoding, Tokens


class Spelled(Encoding):
    """Token v for symbol v; the question is an opening token and symbols.

    Raises
    ------
    UsageError
        When the problem's queries are not spelled in symbols of x.
    """

    name: ClassVar[str] = "spelled"
    summary: ClassVar[str] = "a token a symbol: its value; the question in the same symbols"
    fills: ClassVar[bool] = True

    def __init__(self, problem: Problem) -> None:
        if problem.spell(np.zeros(1, np.int64)) is None:
            raise UsageError(
                "encoding",
                self.name,
                f"the queries of {problem.name} are not made of symbols of x",
                "use bits, pairs or keyed",
            )
        super().__init__(problem)

    def _vocabulary(self) -> Vocabulary:
        problem = self.problem
        few = problem.alphabet <= MOST_TOKENS
        return Vocabulary(
            problem.length + problem.filler,
            problem.symbols + min(problem.filler, 1),
            positional=False,
            queries=1 if few else 0,
            answers=problem.alphabet if few else 2,
        )

    def block(self, position: int) -> Tokens:
        """Return (symbols, 1): the values; a further value for fillers."""
        values = np.arange(self.problem.symbols, dtype=np.int32)[:, None]
        fillers = np.full(self.problem.filler, self.problem.symbols, np.int32)
        return self.filled(position, values, fillers)

    def question(self, query: NDArray[np.int64]) -> Tokens:
        """Return the opening token and the symbols of the queries."""
        symbols = self.problem.spell(query)
        assert symbols is not None
        opening = np.full((len(query), 1), self.vocabulary.stream_tokens, np.int32)
        return np.concatenate([opening, symbols.astype(np.int32)], axis=1)


ENCODING = Spelled
