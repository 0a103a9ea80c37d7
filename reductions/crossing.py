"""How one field of a state crosses: which codes it becomes, and which numbers they become.

A field is quantised in *entries*. Of a cache each entry stands by itself, all are treated
alike, and none is quantised twice: in a machine that quantises after every token an entry
takes its codes along, scales included, from insertion to eviction. Entries that are not
written yet are sent as code 0. Any other field is one entry.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statebound.errors import StateboundError
from statebound.models import Field
from statebound.reductions.quantiser import Codes, FieldBits, Lanes, Quantiser, widths
from statebound.reductions.rounding import Rounding

RESIDUAL_BITS = 32
_LARGEST = float(np.finfo(np.float32).max)


def entry_of(field: Field) -> Field:
    """Return the field that is quantised: one entry of a cache, else the field itself."""
    return replace(field, shape=field.shape[1:], cache=False) if field.cache else field


class Crossing:
    """One field with its quantiser and rounding.

    Codes are (tiles, K, LANES): entry by entry the quantiser's codes, then the bits of the
    residuals where the rounding keeps them (those of a cache it does not).

    Parameters
    ----------
    number, field
        The place of the field in the state, and the field.
    quantiser
        Fitted to `entry_of` the field.
    rounding, dtype
        How it rounds; what numbers the model computes with.

    Attributes
    ----------
    ledger, widths
        What crosses, in order; the bits of every code.
    looks_back
        Whether `step` needs the codes from before the token.
    """

    def __init__(
        self,
        number: int,
        field: Field,
        quantiser: Quantiser,
        rounding: Rounding,
        dtype: np.dtype[np.floating],
    ) -> None:
        self.number, self.field, self.quantiser = number, field, quantiser
        self.rounding, self.dtype = rounding, dtype
        self.entries = field.shape[0] if field.cache else 1
        self.width = field.numbers // self.entries
        entry = quantiser.ledger(replace(entry_of(field), name=field.name))
        self.ledger = tuple(replace(line, numbers=self.entries * line.numbers) for line in entry)
        self.widths = np.tile(widths(entry), self.entries)
        self._length = len(self.widths) // self.entries
        self._feeds_back = rounding.keeps_residual and not field.cache
        if self._feeds_back:
            kept = FieldBits(f"{field.name}.residual", "residual", field.numbers, RESIDUAL_BITS)
            self.ledger += (kept,)
            self.widths = np.concatenate([self.widths, widths([kept])])

    @property
    def looks_back(self) -> bool:
        """Whether codes are taken along, or a residual added."""
        return self._feeds_back or self.entries > 1

    def _unwritten(self, read: int) -> int:
        return max(0, self.entries - read) if self.field.cache else 0

    def encode(self, values: Lanes, read: int) -> Codes:
        """Return the codes of a field that is quantised once, after `read` tokens.

        Raises
        ------
        StateboundError
            When a number is not finite.
        """
        require_finite(self.field.name, values)
        tiles, _, lanes = values.shape
        ages = np.arange(self.entries - 1, -1, -1)
        entries = np.ascontiguousarray(values).reshape(-1, self.width, lanes)
        codes = self.rounding.encode(
            self.quantiser, entries, self.number, np.tile(read - ages, tiles)
        ).reshape(tiles, -1, lanes)
        codes[:, : self._unwritten(read) * self._length] = 0
        return codes

    def step(self, values: Lanes, held: Codes | None, read: int) -> tuple[Codes, Lanes]:
        """Quantise after one token more, `read` in all.

        Parameters
        ----------
        values
            (tiles, C, LANES) the new numbers, made from dequantised ones.
        held
            The codes before that token; None at the start. Not used unless `looks_back`.
        read
            How many tokens have been read.

        Returns
        -------
        The codes, and the numbers that go on.
        """
        require_finite(self.field.name, values)
        tiles, count, lanes = values.shape
        fresh = np.ascontiguousarray(values[:, count - self.width :])
        if held is None and self.looks_back:
            held = np.zeros((tiles, len(self.widths), lanes), np.uint32)
        if self._feeds_back and held is not None:
            residual = np.ascontiguousarray(held[:, self._length :]).view(np.float32)
            fresh = fresh + np.nan_to_num(residual).astype(self.dtype)
            require_finite(f"{self.field.name} with its residual", fresh)
        times = np.full(tiles, read, np.int64)
        codes = self.rounding.encode(self.quantiser, fresh, self.number, times)
        back = self.quantiser.decode(codes, self.dtype)
        if self._feeds_back:
            left = np.clip(fresh - back, -_LARGEST, _LARGEST).astype(np.float32)
            codes = np.concatenate([codes, left.view(np.uint32)], axis=1)
        if self.entries > 1 and held is not None:
            codes = np.concatenate([held[:, self._length :], codes], axis=1)
            codes[:, : self._unwritten(read) * self._length] = 0
            back = np.concatenate([values[:, : count - self.width], back], axis=1)
        return codes, back

    def decode(self, codes: Codes, read: int) -> Lanes:
        """Return the numbers of codes that were sent after `read` tokens.

        Entries not yet written are zeros, as at the start.
        """
        tiles, _, lanes = codes.shape
        every = np.ascontiguousarray(codes[:, : self.entries * self._length])
        values = self.quantiser.decode(every.reshape(-1, self._length, lanes), self.dtype)
        values = values.reshape(tiles, -1, lanes)
        values[:, : self._unwritten(read) * self.width] = 0
        return values


def require_finite(name: str, values: NDArray[Any]) -> None:
    """Refuse numbers that no quantiser can take.

    Raises
    ------
    StateboundError
        When a number is infinite or not a number.
    """
    if not np.isfinite(values.sum()) and not np.isfinite(values).all():
        raise StateboundError(
            f"state field {name}: holds a number that is not finite; a state that overflows "
            "cannot be quantised, so use dtype float64 or smaller weights"
        )
