"""The binary Golay code as a quantiser: blocks of 23 answers in 12 bits.

The cyclic code with generator x^11 + x^9 + x^7 + x^6 + x^5 + x + 1 (Golay, 1949) is
perfect with three errors, so it meets the wall with equality. Of 2^11 cosets 23, 253 and
1771 have leaders of weight 1, 2 and 3, which is 5842 errors on 23 * 2048 places: success
897/1024.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from statebound.protocols.codes._blocks import BlockCode
from statebound.protocols.codes._cosets import Columns, Cosets
from statebound.protocols.problem import Problem

_GENERATOR = 0b101011100011
_CHECKS = 11
_INFORMATION = 12


def powers() -> Columns:
    """Return x^11 .. x^22 modulo the generator: the columns of the information places."""
    found = []
    value = 1 << (_CHECKS - 1)
    for _ in range(_INFORMATION):
        value <<= 1
        if value >> _CHECKS:
            value ^= _GENERATOR
        found.append(value)
    return np.array(found, np.int64)


class Golay(BlockCode):
    """As many Golay blocks as fit; bits left over are raw answers.

    Parameters
    ----------
    problem, state_bits
        At least one block must fit: 12 <= M <= n - 11.
    """

    name: ClassVar[str] = "golay"

    def __init__(self, problem: Problem, state_bits: int) -> None:
        super().__init__(problem, state_bits)
        self.arrange(Cosets(_CHECKS, powers()))


PROTOCOL = Golay
