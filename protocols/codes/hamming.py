"""Hamming codes as quantisers: blocks of 2^r - 1 answers in 2^r - 1 - r bits.

The code is perfect: every word is within one error of exactly one codeword, so a block
gets each place wrong with probability 2^-r and meets the wall with equality: success
1 - 1/(L + 1) at L = 2^r - 1, for [7, 4] 7/8. r = 2 is the repetition code [3, 1].
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from statebound.protocols.codes._blocks import BlockCode, block_success
from statebound.protocols.codes._cosets import Cosets
from statebound.protocols.codes._word import no_such_size, whole_option
from statebound.protocols.problem import Problem

_MOST_CHECKS = 12


class Hamming(BlockCode):
    """As many Hamming blocks as fit; bits left over are raw answers.

    Parameters
    ----------
    problem, state_bits
        At least one block must fit.
    checks
        r, 2 to 12; 0 takes the r with the best success under a uniform law.
    """

    name: ClassVar[str] = "hamming"

    def __init__(self, problem: Problem, state_bits: int, checks: int = 0) -> None:
        super().__init__(problem, state_bits)
        r = whole_option("checks", checks, 2, _MOST_CHECKS) if checks else self._best()
        full = np.arange(1, 1 << r, dtype=np.int64)
        self.arrange(Cosets(r, full[full & (full - 1) != 0]))

    def _best(self) -> int:
        n, m = self.length, self.state_bits
        # One block of r checks exists from M = 2^r - 1 - r at n - M >= r.
        fits = [
            r
            for r in range(2, _MOST_CHECKS + 1)
            if 0 <= m <= n and (1 << r) - 1 - r <= m and r <= n - m
        ]
        if not fits:
            raise no_such_size(self.name, n, m, "needs 1..n-2 bits", [1, n - 2] if n >= 3 else [])
        return max(
            fits, key=lambda r: block_success(self.problem, m, (1 << r) - 1, (1 << r) - 1 - r)
        )


PROTOCOL = Hamming
