"""A linear code found by a seeded search, decoded optimally by coset leaders.

For n - M = r checks up to 20 the table of leaders is complete, so Alice finds the
nearest codeword and the success is an exact fraction. The search draws the columns of
the parity checks at random and keeps the code whose leaders are lightest.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from statebound.protocols.codes._cosets import Columns, Cosets
from statebound.protocols.codes._word import WordCode, no_such_size, whole_option
from statebound.protocols.problem import Problem, Symbols

_MOST_CHECKS = 20


def draw_columns(source: np.random.PCG64, count: int, checks: int) -> Columns:
    """Draw columns of at least two checks where there are such, different while any are left.

    Unit columns repeat a check place, and equal columns repeat each other: both waste
    places, since two places with one column are never corrected apart. The raw stream
    is used because it is the same in every version of numpy.
    """
    chosen: list[int] = []
    seen: set[int] = {0, *(1 << j for j in range(checks))}
    if len(seen) == 1 << checks:
        seen = {0} if checks else set()
    free = (1 << checks) - len(seen)
    barred = set(seen)
    while len(chosen) < count:
        value = int(source.random_raw()) & ((1 << checks) - 1)
        if value in barred:
            continue
        chosen.append(value)
        barred.add(value)
        if len(barred) == len(seen) + free:
            barred = set(seen)
    return np.array(chosen, np.int64)


class Linear(WordCode):
    """The best of `tries` random systematic codes.

    Parameters
    ----------
    problem, state_bits
        n - 20 <= M <= n.
    tries
        How many codes are drawn, 1 to 1000; fewer where the tables are large (at most
        2^26 table entries times places in all, but at least one).
    seed
        Public seed of the search.
    """

    name: ClassVar[str] = "linear"

    def __init__(self, problem: Problem, state_bits: int, tries: int = 32, seed: int = 0) -> None:
        super().__init__(problem, state_bits)
        n = self.length
        checks = n - state_bits
        if not 0 <= checks <= min(n, _MOST_CHECKS):
            raise no_such_size(
                self.name,
                n,
                state_bits,
                f"needs n - {_MOST_CHECKS} <= M <= n",
                [max(0, n - _MOST_CHECKS), n],
            )
        self.seed = whole_option("seed", seed, 0, 2**63)
        whole_option("tries", tries, 1, 1000)
        self.tries = max(1, min(tries, (1 << 26) // (n << checks)))
        source = np.random.PCG64(seed)
        codes = (
            Cosets(checks, draw_columns(source, state_bits, checks)) for _ in range(self.tries)
        )
        self.cosets = min(codes, key=lambda c: int(c.weight.sum(dtype=np.int64)))

    def compress(self, word: Symbols) -> Symbols:
        """Return the information places of the nearest codewords."""
        return self.cosets.quantise(word)

    def expand(self, bits: Symbols) -> Symbols:
        """Return the codewords: check places first, then the message."""
        return self.cosets.complete(bits)

    def errors(self) -> list[Fraction]:
        """Return how often each place is in a leader."""
        return self.cosets.errors()

    def facts(self) -> dict[str, Any]:
        """Return the search's options and the columns found."""
        columns = self.cosets.columns[self.cosets.checks :]
        return {"tries": self.tries, "seed": self.seed, "columns": columns.tolist()}


PROTOCOL = Linear
