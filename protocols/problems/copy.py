"""copy: say all of x.

x is a string of n symbols and there is one query: repeat it. With `credit` whole Bob is
right only if every symbol is, so success is at most N / alphabet^n with N messages, a
cliff (Jelassi et al. 2024); with symbol each symbol is asked, and this is Index. The
messages are the same.
"""

from __future__ import annotations

from typing import ClassVar

from statebound.errors import UsageError
from statebound.protocols.problems._words import Words


class Copy(Words):
    """Copying n symbols.

    Parameters
    ----------
    n
        Number of symbols, at least 1.
    alphabet
        2 to 256.
    credit
        ``whole`` (at most 2^62 strings) or ``symbol``.

    Examples
    --------
    >>> Copy(3).answers(Copy(3).parse("110")).tolist()
    [[6]]
    """

    name: ClassVar[str] = "copy"
    cost: ClassVar[str] = "ceil(n log2 alphabet)"

    def __init__(self, n: int, alphabet: int = 2, credit: str = "whole") -> None:
        if n < 1:
            raise UsageError("n", n, "copy needs at least 1 symbol", "pass n >= 1")
        if credit not in ("whole", "symbol"):
            raise UsageError("credit", credit, "is not a credit", "choose whole or symbol")
        self.n, self.credit = n, credit
        self._set(1, n, alphabet, credit == "whole", "uniform")


PROBLEM = Copy
