"""Trellis-coded quantisation: rates 1/2, 1/4 and 1/8 by Viterbi's search.

Bob runs the message through a shift register of nu bits that starts empty; for each
message bit it puts out w parities of the register and the new bit. Alice finds the input
whose output is nearest to her word (Viterbi and Omura, 1974). The end is free, so n
answers take exactly M = n / w bits. A longer memory comes nearer to the wall: at n = 1024
and M = 512 the gap is about .014 for nu = 6, .0075 for 10, .0057 for 12, .0048 for 14.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from statebound.errors import UsageError
from statebound.protocols.codes._viterbi import nearest_inputs, run_register
from statebound.protocols.codes._word import WordCode, check_workspace, no_such_size
from statebound.protocols.problem import Problem, Symbols

# By w and nu: the parities as octal numbers whose highest bit is the newest input. Those
# for w = 2 are generators in common use; what they reach here is measured, not quoted;
# those for w = 4 and 8 are the best in mean distortion of 300 drawn (80 for nu = 14).
GENERATORS: dict[int, dict[int, tuple[int, ...]]] = {
    2: {
        2: (0o5, 0o7),
        3: (0o15, 0o17),
        4: (0o23, 0o35),
        5: (0o53, 0o75),
        6: (0o133, 0o171),
        7: (0o247, 0o371),
        8: (0o561, 0o753),
        10: (0o2473, 0o3217),
        12: (0o10627, 0o16765),
        14: (0o75063, 0o56711),
    },
    4: {
        2: (0o7, 0o5, 0o7, 0o7),
        4: (0o35, 0o27, 0o33, 0o25),
        6: (0o105, 0o111, 0o177, 0o143),
        8: (0o661, 0o413, 0o503, 0o627),
        10: (0o3603, 0o3261, 0o2435, 0o2137),
        12: (0o13775, 0o14231, 0o10743, 0o16107),
        14: (0o63047, 0o55463, 0o51631, 0o72475),
    },
    8: {
        2: (0o7, 0o5, 0o7, 0o5, 0o7, 0o7, 0o5, 0o7),
        4: (0o21, 0o35, 0o25, 0o27, 0o23, 0o33, 0o37, 0o33),
        6: (0o157, 0o143, 0o135, 0o121, 0o177, 0o105, 0o117, 0o161),
        8: (0o725, 0o541, 0o477, 0o713, 0o775, 0o423, 0o505, 0o627),
        10: (0o3427, 0o2531, 0o2737, 0o3625, 0o3435, 0o3523, 0o2157, 0o2303),
        12: (0o16341, 0o13203, 0o11367, 0o14273, 0o10771, 0o13611, 0o16077, 0o12537),
        14: (0o65403, 0o57017, 0o46251, 0o61223, 0o56627, 0o75477, 0o76165, 0o67651),
    },
}


def register_outputs(generators: tuple[int, ...], memory: int) -> Symbols:
    """Return the w parities, first in the lowest bit, of every register: (2^(nu+1),).

    Register bit d is the input d steps ago; it is a generator's bit nu - d.

    Examples
    --------
    >>> register_outputs((0o5, 0o7), 2).tolist()
    [0, 3, 2, 1, 3, 0, 1, 2]
    """
    register = np.arange(2 << memory)
    found = np.zeros(len(register), np.uint8)
    for i, generator in enumerate(generators):
        parity = np.zeros(len(register), np.int64)
        for age in range(memory + 1):
            if generator >> (memory - age) & 1:
                parity ^= register >> age
        found |= ((parity & 1) << i).astype(np.uint8)
    return found


class Trellis(WordCode):
    """A convolutional code as a quantiser: register empty at the start, end free.

    Parameters
    ----------
    problem, state_bits
        n = w M with w 2, 4 or 8.
    memory
        nu; the search has 2^nu states. 2..8, 10, 12 or 14 at w = 2; even values at 4
        and 8.

    Notes
    -----
    Alice's survivors take far more than M bits: this meets the message wall, not the
    streaming wall.
    """

    name: ClassVar[str] = "trellis"

    def __init__(self, problem: Problem, state_bits: int, memory: int = 10) -> None:
        super().__init__(problem, state_bits)
        n = self.length
        if not any(state_bits > 0 and n == w * state_bits for w in GENERATORS):
            raise no_such_size(
                self.name,
                n,
                state_bits,
                "has M = n/2, n/4 or n/8",
                [n // w for w in GENERATORS if n % w == 0],
            )
        self.w = n // state_bits
        known = GENERATORS[self.w]
        if memory not in known:
            near = min(known, key=lambda nu: (abs(nu - memory), nu))
            raise UsageError(
                "memory",
                memory,
                f"rate 1/{self.w} has memory {', '.join(map(str, known))}",
                f"pass memory {near}",
            )
        check_workspace("memory", memory, state_bits << (memory - 1))
        self.memory = memory
        self._outputs = register_outputs(known[memory], memory)

    def compress(self, word: Symbols) -> Symbols:
        """Return the inputs of the nearest path."""
        inputs = np.empty((len(word), self.state_bits), np.uint8)
        nearest_inputs(word, self._outputs, self.w, self.memory, inputs)
        return inputs

    def expand(self, bits: Symbols) -> Symbols:
        """Return what the register puts out."""
        word = np.empty((len(bits), self.length), np.uint8)
        run_register(bits, self._outputs, self.w, self.memory, word)
        return word

    def facts(self) -> dict[str, Any]:
        """Return the memory and the generators in octal."""
        octal = [f"{g:o}" for g in GENERATORS[self.w][self.memory]]
        return {"memory": self.memory, "generators": octal}


PROTOCOL = Trellis
