"""The quantiser in the loop: what training sees of p bits a number.

A number s becomes z = (s - m) / d with a shift m and a spread d of its own, y = tanh z, and y
the middle of one of 2^p equal bins of (-1, 1). Rounding is straight-through: the gradient is
that of y. All of it is monotone in s, so at the end it is a codebook on s itself:

    thresholds m + d atanh(2 j / 2^p - 1), j = 1..2^p - 1,
    levels     m + d atanh((2 i + 1) / 2^p - 1), i = 0..2^p - 1.

In the regime ``handoff`` m and d are the mean and the standard deviation over the batch, and at
the end those over a large sample; in ``step``, where one quantiser serves all times, they are
parameters that start so.

Of a cache one entry is quantised, all entries alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from statebound.experiments.training.twins import State
from statebound.reductions.checkpoint import Codebook

if TYPE_CHECKING:
    from torch import Tensor

    from statebound.models import Field

LEAST = 1e-5
Scale = tuple["Tensor", "Tensor"]  # shift and spread, (S, 1, width) each


class Cut:
    """Quantises the fields of a state to `bits` bits a number.

    Attributes
    ----------
    widths
        For each field how many numbers have a quantiser of their own.
    """

    def __init__(self, fields: Sequence[Field], bits: int) -> None:
        self.bins = 2**bits
        self.entries = [f.shape[0] if f.cache else 1 for f in fields]
        self.widths = [f.numbers // e for f, e in zip(fields, self.entries, strict=True)]

    def statistics(self, state: State) -> list[Scale]:
        """Return the mean and the standard deviation of every number over the batch."""
        found = []
        for part, width in zip(state, self.widths, strict=True):
            every = part.reshape(len(part), -1, width)
            variance = every.var(1, keepdim=True, unbiased=False)
            found.append((every.mean(1, keepdim=True), (variance + LEAST).sqrt()))
        return found

    def parameters(self, flat: Tensor) -> list[Scale]:
        """Return the scales that are learned, of (S, 2, widths): shifts, logarithms of spreads."""
        parts = flat.split(self.widths, 2)
        return [(part[:, :1], part[:, 1:].exp()) for part in parts]

    def rounded(
        self, state: State, scales: Sequence[Scale], noise: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return y, rounded, and the codes, both (S, B, numbers of all fields).

        Noise, in bins, is added before rounding.
        """
        import torch

        every = []
        for part, scale, entries in zip(state, scales, self.entries, strict=True):
            shift, spread = _tiled(scale, entries)
            every.append((part - shift) / spread)
        y = torch.cat(every, 2).tanh()
        with torch.no_grad():
            at = (y + 1) * (self.bins / 2)
            codes = (at if noise is None else at + noise).floor().clamp(0, self.bins - 1)
            middle = (2 * codes + 1) / self.bins - 1
        return y + (middle - y).detach(), codes

    def restored(self, y: Tensor, scales: Sequence[Scale]) -> State:
        """Return the numbers that rounded y stand for, field by field."""
        sizes = [w * e for w, e in zip(self.widths, self.entries, strict=True)]
        back = []
        for part, scale, entries in zip(y.split(sizes, 2), scales, self.entries, strict=True):
            shift, spread = _tiled(scale, entries)
            back.append(shift + spread * part.atanh())
        return tuple(back)

    def settled(self, state: State, y: Tensor, scales: Sequence[Scale]) -> State:
        """Return what goes on after a token: numbers restored from their rounded y.

        The older entries of a cache are as they were: quantised when they were written, or
        the zeros of the start.
        """
        import torch

        back = self.restored(y, scales)
        return tuple(
            new if entries == 1 else torch.cat([old[:, :, :-width], new[:, :, -width:]], 2)
            for old, new, width, entries in zip(state, back, self.widths, self.entries, strict=True)
        )

    def newest(self, state: State) -> State:
        """Return the fields with of every cache the newest entry alone."""
        return tuple(
            part[:, :, part.shape[2] - width :]
            for part, width in zip(state, self.widths, strict=True)
        )

    def codebooks(
        self, names: Sequence[str], scales: Sequence[Scale], restart: int
    ) -> dict[str, Codebook]:
        """Return the codebook of each field for one restart."""
        cuts = np.arctanh(2 * np.arange(1, self.bins) / self.bins - 1)
        middles = np.arctanh((2 * np.arange(self.bins) + 1) / self.bins - 1)
        books = {}
        for name, scale in zip(names, scales, strict=True):
            m, d = (s[restart, 0].double().numpy()[:, None] for s in scale)
            thresholds, levels = (m + d * z for z in (cuts, middles))
            books[name] = Codebook(thresholds.astype(np.float32), levels.astype(np.float32))
        return books


def _tiled(scale: Scale, entries: int) -> Scale:
    """Return the scale of a whole field, all its entries alike."""
    shift, spread = scale
    return scale if entries == 1 else (shift.repeat(1, 1, entries), spread.repeat(1, 1, entries))
