"""Syndrome-trellis codes: the dual of the trellis code, for rates (w-1)/w.

The construction of Filler, Judas and Fridrich (IEEE TIFS 6(3), 2011), used as a
quantiser. Blocks of w places; check t covers the h blocks t - h + 1 .. t: place i of a
block adds column i, h bits, into a register that is shifted by one bit a block, and the
bit that leaves must be 0. Alice finds the nearest word that passes all checks and sends
w - 1 places of each block; Bob computes the first place, whose column is odd, from the
register. So n answers take M = n - n / w bits. At n = 1024 and M = 768 the gap to the
wall is about .0048 at h = 10 and .0036 at 12.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from statebound.errors import UsageError
from statebound.protocols.codes._syndrome_search import LANES, fill_checks, nearest_checked
from statebound.protocols.codes._word import WordCode, check_workspace, no_such_size
from statebound.protocols.problem import Problem, Symbols

# By h and w: the columns in octal, lowest bit the check that is completed first. The best
# in mean distortion of a random draw (60, 100, 40 and 16 for h = 4, 7, 10 and 12) with
# first and last bit set.
COLUMNS: dict[int, dict[int, tuple[int, ...]]] = {
    4: {
        2: (0o17, 0o13),
        3: (0o17, 0o11, 0o15),
        4: (0o13, 0o15, 0o11, 0o17),
        5: (0o17, 0o11, 0o15, 0o13, 0o11),
        6: (0o15, 0o13, 0o11, 0o13, 0o15, 0o17),
        7: (0o13, 0o15, 0o17, 0o15, 0o11, 0o15, 0o11),
        8: (0o13, 0o15, 0o13, 0o15, 0o11, 0o17, 0o17, 0o17),
    },
    7: {
        2: (0o105, 0o173),
        3: (0o173, 0o147, 0o125),
        4: (0o135, 0o173, 0o157, 0o131),
        5: (0o155, 0o127, 0o123, 0o165, 0o131),
        6: (0o155, 0o151, 0o107, 0o167, 0o105, 0o133),
        7: (0o173, 0o151, 0o101, 0o137, 0o135, 0o155, 0o145),
        8: (0o141, 0o175, 0o115, 0o105, 0o127, 0o143, 0o111, 0o173),
    },
    10: {
        2: (0o1357, 0o1605),
        3: (0o1161, 0o1273, 0o1315),
        4: (0o1207, 0o1633, 0o1741, 0o1045),
        5: (0o1057, 0o1771, 0o1543, 0o1625, 0o1671),
        6: (0o1567, 0o1075, 0o1215, 0o1663, 0o1203, 0o1751),
        7: (0o1731, 0o1217, 0o1053, 0o1665, 0o1227, 0o1703, 0o1645),
        8: (0o1217, 0o1565, 0o1771, 0o1273, 0o1063, 0o1551, 0o1103, 0o1425),
    },
    12: {
        2: (0o4525, 0o6623),
        3: (0o6741, 0o6707, 0o7455),
        4: (0o4545, 0o6561, 0o5677, 0o6653),
        5: (0o5611, 0o7547, 0o5561, 0o7573, 0o6055),
        6: (0o5201, 0o5315, 0o7757, 0o6365, 0o4405, 0o6403),
        7: (0o4555, 0o5563, 0o4677, 0o7425, 0o4411, 0o5115, 0o7467),
        8: (0o7173, 0o7421, 0o5057, 0o5011, 0o4205, 0o6273, 0o6377, 0o5443),
    },
}
_BLOCKS = range(2, 9)


def blocks_to_reach(columns: NDArray[np.int64], height: int) -> int:
    """Return d: after d blocks every register state can follow the empty one.

    From the empty register the reachable states form a subspace that grows with each
    block until it is everything.
    """
    states = np.arange(1 << height)
    reached = states == 0
    for d in range(1, 4 * height):
        for column in columns.tolist():
            reached = reached | reached[states ^ column]
        passed = reached[::2]
        reached = np.concatenate([passed, np.zeros_like(passed)])
        if passed.all():
            return d
    raise ArithmeticError("the columns never reach every state")


class SyndromeTrellis(WordCode):
    """A syndrome-trellis code as a quantiser: register empty at the start, end free.

    Parameters
    ----------
    problem, state_bits
        n - M = n / w with w in 2..8.
    height
        h, 4, 7, 10 or 12: the search has 2^h states and holds 2^(h+5) bytes a block.

    Notes
    -----
    Alice's survivors take far more than M bits: this meets the message wall, not the
    streaming wall.
    """

    name: ClassVar[str] = "syndrome_trellis"

    def __init__(self, problem: Problem, state_bits: int, height: int = 10) -> None:
        super().__init__(problem, state_bits)
        n = self.length
        if not any(w * (n - state_bits) == n for w in _BLOCKS):
            raise no_such_size(
                self.name,
                n,
                state_bits,
                "has M = n - n/w with w in 2..8",
                [n - n // w for w in _BLOCKS if n % w == 0],
            )
        if height not in COLUMNS:
            near = min(COLUMNS, key=lambda h: (abs(h - height), h))
            raise UsageError(
                "height",
                height,
                f"must be {', '.join(map(str, COLUMNS))}",
                f"pass height {near}",
            )
        self.w = n // (n - state_bits)
        check_workspace("height", height, (n - state_bits) * LANES << height)
        self.height = height
        self.columns = np.array(COLUMNS[height][self.w], np.int64)
        # Within d blocks every state can be reached, so costs of states differ by at
        # most w d, and a start state that costs more than that never wins.
        self._top = self.w * blocks_to_reach(self.columns, height) + 1

    def compress(self, word: Symbols) -> Symbols:
        """Return all but the first place of each block of the nearest checked word."""
        near = np.empty_like(word)
        nearest_checked(word, self.columns, self.height, self._top, near)
        info = near.reshape(len(word), self.length // self.w, self.w)[:, :, 1:]
        return info.reshape(len(word), self.state_bits)

    def expand(self, bits: Symbols) -> Symbols:
        """Return the checked words with these places."""
        word = np.empty((len(bits), self.length), np.uint8)
        fill_checks(np.ascontiguousarray(bits), self.columns, word)
        return word

    def facts(self) -> dict[str, Any]:
        """Return the height and the columns in octal."""
        return {"height": self.height, "columns": [f"{c:o}" for c in self.columns.tolist()]}


PROTOCOL = SyndromeTrellis
