"""A subject's state on its way: quantised, packed into a message, unpacked, restored."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from statebound.models import Field
from statebound.models._cell import State
from statebound.models._lanes import LANES
from statebound.protocols.message import Bytes, pack, unpack
from statebound.reductions import quantiser as quantisers
from statebound.reductions import rounding as roundings
from statebound.reductions.crossing import Crossing, entry_of
from statebound.reductions.quantiser import Codes, Quantiser

FLOATS = {4: "fp4_e2m1", 8: "fp8_e4m3", 16: "fp16", 32: "fp32"}
"""The floating-point format that the name ``floats`` means, by its bits."""

BITS = (1, 2, 3, 4, 5, 6, 8, 12, 16, 32)
"""Bits a number that are measured where none are asked for."""

Held = dict[int, Codes]


def format_at(family: str, bits: int) -> str | None:
    """Return the quantiser of a family at a precision, None where it has none.

    Raises
    ------
    UsageError
        When there is no such family.

    Examples
    --------
    >>> format_at("floats", 8), format_at("lloyd", 3), format_at("lloyd", 16)
    ('fp8_e4m3', 'lloyd', None)
    """
    if family == "floats":
        return FLOATS.get(bits)
    kind = quantisers.load(family)
    return family if kind.least_bits <= bits <= kind.most_bits else None


def fit(
    fields: Sequence[Field], samples: Sequence[NDArray[np.float64]], quantiser: str, bits: int
) -> list[Quantiser]:
    """Return a quantiser a field, by registry name and bits a number.

    `samples` is what the fields hold on public inputs, (C, S) each; for a cache it is what
    its entries hold.
    """
    family = quantisers.family(quantiser, bits)
    every = zip(fields, samples, strict=True)
    return [family.fit(bits, entry_of(field), sample) for field, sample in every]


class Transit:
    """How the fields of a state cross.

    Parameters
    ----------
    fields
        What the state holds, in order.
    fitted
        Their quantisers.
    rounding, seed
        Registry name; the public seed of its coins.

    Attributes
    ----------
    state_bits
        M, the bits of a message.
    """

    def __init__(
        self,
        fields: Sequence[Field],
        fitted: Sequence[Quantiser],
        rounding: str = "nearest",
        seed: int = 0,
    ) -> None:
        rounds = roundings.family(rounding)(seed)
        self._crossings = [
            Crossing(i, field, quantiser, rounds, np.dtype(np.float32))
            for i, (field, quantiser) in enumerate(zip(fields, fitted, strict=True))
        ]
        self._widths = np.concatenate([c.widths for c in self._crossings])
        self.state_bits = int(self._widths.sum())

    def settle(self, first: int, values: State, held: Held, read: int) -> State:
        """Quantise the fields from number `first` on after a token, `read` in all.

        `held` is the codes of all fields from before the token; those of these fields are
        replaced.
        """
        back = []
        for crossing, part in zip(self._crossings[first:], values, strict=False):
            codes, numbers = crossing.step(part, held.get(crossing.number), read)
            held[crossing.number] = codes
            back.append(numbers)
        return tuple(back)

    def quantise(self, state: State, read: int) -> Held:
        """Return the codes of a state that is quantised once, after `read` tokens."""
        every = zip(self._crossings, state, strict=True)
        return {crossing.number: crossing.encode(part, read) for crossing, part in every}

    def pack(self, held: Held, count: int) -> Bytes:
        """Return `count` messages, (count, ceil(M/8)) bytes."""
        every = np.concatenate([held[c.number] for c in self._crossings], axis=1)
        return pack(every, self._widths, count)

    def unpack(self, message: Bytes, read: int, lanes: int = LANES) -> tuple[State, Held]:
        """Invert `pack`: return the numbers that go on, and the codes, in tiles of `lanes`."""
        ends = np.cumsum([len(c.widths) for c in self._crossings])[:-1]
        parts = np.split(unpack(message, self._widths, lanes), ends, axis=1)
        held = dict(enumerate(parts))
        return tuple(c.decode(held[c.number], read) for c in self._crossings), held
