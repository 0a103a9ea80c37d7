"""Index by one search: a fixed state, and a text that is kept.

The context is written as in `turing_regex`: ``@ADDRESS=SYMBOL;`` for each symbol, addresses
in binary with w = ceil(log2 n) digits. Asked for i, the model writes one call,

    <.*@ADDRESS=(.);>

and the environment appends what the group has caught. The control holds the address and its
place within the call: O(log n) bits. The text is what crosses the handoff besides.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from statebound.errors import UsageError
from statebound.models.constructions import patterns
from statebound.models.constructions.ledger import Ledger, bits_for
from statebound.models.constructions.rounding import Array


class IndexSearch:
    """The model for contexts of n bits.

    Parameters
    ----------
    n
        Length, from 1.
    engine
        re, or re2 where google-re2 is installed.

    Examples
    --------
    >>> model = IndexSearch(4)
    >>> model.prompt([1, 0, 1, 1]), model.call(2)
    ('@00=1;@01=0;@10=1;@11=1;', '<.*@10=(.);>')
    """

    def __init__(self, n: int, engine: str = "re") -> None:
        if n < 1:
            raise UsageError("n", n, "must be at least 1", "pass a positive number")
        patterns.check_engine(engine)
        self.n, self.engine = n, engine
        self.digits = max(bits_for(n), 1)

    def prompt(self, x: Array | list[int]) -> str:
        """Return a context (n,) as text."""
        return "".join(f"@{j:0{self.digits}b}={int(bit)};" for j, bit in enumerate(x))

    def call(self, query: int) -> str:
        """Return the call for a position from 0."""
        return f"<.*@{query:0{self.digits}b}=(.);>"

    def __call__(self, context: Array, query: Array) -> NDArray[np.int64]:
        """Answer queries (B,), positions from 0, on contexts (B, n): (B,)."""
        found = []
        for x, i in zip(np.asarray(context), np.asarray(query), strict=True):
            text, call = self.prompt(x), self.call(int(i))
            result = patterns.search(call[1:-1], text + call, self.engine)
            found.append(-1 if result is None else int(result))
        return np.array(found, np.int64)

    def ledger(self) -> Ledger:
        """Return the cost; the cache is the text of the context, 8 bits a character."""
        text, call = self.n * (self.digits + 4), len(self.call(0))
        return Ledger(
            construction=f"fixed-state model with search ({self.engine}), index",
            tokens_read=text + 1,
            tokens_written=call,
            recurrent_fields={"address": self.digits, "place": bits_for(call + 1)},
            cache_bits=8 * text,
            parameters=None,
            nonzero=None,
            significand_bits=None,
        )
