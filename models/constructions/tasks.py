"""Retrieval tasks on token strings: layout, token embedding, readout.

A string is: start token, context of n symbols below V, separator, query. The query comes
last, so the handoff is after the separator. Four tasks:

* *index*: the query is a position i (from 0); answer x_i.
* *gram* with c: the query is c - 1 symbols; the answer follows their last occurrence in the
  context, none where they do not occur with something after them. c = 2 is associative
  recall.
* *count*: the query is a symbol q and a threshold, two tokens; answer whether q occurs more
  often than the threshold.
* *count_one*: the same as a single token (q, threshold).

Symbols are coded in +-1 digits, so all is O(log n) wide. An answer is read off the signs of
what attention returns, and is none where the first digit is small.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from statebound.errors import UsageError
from statebound.models.constructions.codes import Code, binary
from statebound.models.constructions.rounding import Array
from statebound.models.constructions.streams import OFF

TASKS = ("index", "gram", "count", "count_one")
NONE = -1
FAINT = 3 / 8  # a found digit is at least 1/2 away from 0, one not found at most 1/4


@dataclass(frozen=True)
class Task:
    """One task at one size.

    Attributes
    ----------
    name
        index, gram, count or count_one.
    n, symbols
        Context length and V.
    gram
        c of the gram task.
    """

    name: str
    n: int
    symbols: int = 2
    gram: int = 2

    def __post_init__(self) -> None:
        if self.name not in TASKS:
            raise UsageError("task", self.name, "is not a task", f"choose from {', '.join(TASKS)}")
        for argument, value, least in (
            ("n", self.n, 1),
            ("symbols", self.symbols, 2),
            ("gram", self.gram, 2),
        ):
            if value < least:
                raise UsageError(argument, value, f"must be at least {least}", f"pass {least}")

    @property
    def code(self) -> Code:
        """The symbols' code."""
        return binary(self.symbols)

    @property
    def query_tokens(self) -> int:
        """Tokens of a query."""
        return {"index": 1, "gram": self.gram - 1, "count": 2, "count_one": 1}[self.name]

    @property
    def length(self) -> int:
        """N, the positions after the start token."""
        return self.n + 1 + self.query_tokens

    @property
    def start(self) -> int:
        """The start token."""
        return self.symbols

    @property
    def separator(self) -> int:
        """The separator."""
        return self.symbols + 1

    @property
    def vocabulary(self) -> int:
        """Number of tokens."""
        special = {
            "index": self.n,
            "gram": 0,
            "count": self.n + 1,
            "count_one": self.symbols * (self.n + 1),
        }
        return self.symbols + 2 + special[self.name]

    def tokens(self, context: Array, query: Array) -> Array:
        """Return the strings (B, 1 + N) of contexts (B, n) and queries.

        Queries are (B, 1) positions, (B, c - 1) symbols, or (B, 2) symbol and threshold.
        """
        asked = np.array(query, np.int64)
        if self.name == "index":
            asked = asked + self.symbols + 2
        elif self.name == "count":
            asked[:, 1] += self.symbols + 2
        elif self.name == "count_one":
            asked = asked[:, :1] * (self.n + 1) + asked[:, 1:] + self.symbols + 2
        column = np.ones((len(asked), 1), np.int64)
        return np.concatenate(
            [self.start * column, context, self.separator * column, asked], axis=1
        )

    def parts(self) -> dict[str, Array]:
        """Return the token embedding, part by part: (vocabulary, width) each."""
        V, extra = self.symbols, self.symbols + 2
        size = self.vocabulary
        code = self.code
        parts = {name: np.zeros((size, 1)) for name in ("start", "live", "vote")}
        parts |= {"one": np.ones((size, 1)), "sym": np.zeros((size, code.width))}
        parts["start"][self.start] = 1
        parts["live"][:V] = 1
        parts["live"][self.separator] = OFF
        parts["vote"][:V] = 1
        parts["sym"][:V] = code.key(np.arange(V))
        thresholds = np.arange(self.n + 1)
        if self.name == "index":
            parts["live"][extra:] = OFF
        elif self.name == "count":  # the query symbol is found too, hence one more
            parts["vote"][extra:, 0] = -(thresholds + 1.5)
        elif self.name == "count_one":
            parts["vote"][extra:, 0] = -(np.tile(thresholds, V) + 0.5)
            parts["ask"] = np.zeros((size, code.width))
            parts["ask"][extra:] = code.key(np.repeat(np.arange(V), self.n + 1))
        return parts

    def answers(self, result: Array) -> Array:
        """Return the answers (B,) of what the last head returned (B, width), `NONE` for none."""
        if self.name.startswith("count"):
            return (result[:, 0] > 0).astype(np.int64)
        digits = (result > 0) @ (1 << np.arange(result.shape[1]))
        return np.where(np.abs(result[:, 0]) < FAINT, NONE, digits)
