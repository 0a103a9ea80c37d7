"""Residual streams with named parts, and attention heads as weight matrices on them.

A token's vector is cut into named parts: its symbol's code, its position's code, whether
it may be found, and so on. A head is four matrices: query and key (d, r), value (d, v) and
output (v, d), as in any Transformer; it adds ``attention @ output`` to the stream. Which
part goes where is all that is constructed.

Position 0 is a start token, all zeros but ``one``, ``start`` and its age -N: it serves as
the sink of every head. A token with ``live`` = 3 instead of 1 scores 2 K top lower than
others, so that it is never found.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from statebound.models.constructions.codes import Code
from statebound.models.constructions.heads import BASE, attend, scale_for
from statebound.models.constructions.ledger import stored
from statebound.models.constructions.rounding import Arithmetic, Array

Parts = Sequence[tuple[str, float | Array]]

OFF = 3.0  # `live` of a token that no head shall find


class Slots:
    """Named parts of a vector, in the order given."""

    def __init__(self, widths: dict[str, int]) -> None:
        self.at: dict[str, slice] = {}
        self.width = 0
        for name, width in widths.items():
            self.at[name] = slice(self.width, self.width + width)
            self.width += width

    def size(self, name: str) -> int:
        """Return the width of a part."""
        return len(range(self.width)[self.at[name]])

    def pick(self, columns: Parts) -> Array:
        """Return the matrix (d, r) whose columns read parts one after the other.

        Each part is scaled by a number, or multiplied by a matrix (width, columns).
        """
        blocks = []
        for name, factor in columns:
            block = np.eye(self.size(name)) * factor if np.ndim(factor) == 0 else factor
            column = np.zeros((self.width, np.shape(block)[1]))
            column[self.at[name]] = block
            blocks.append(column)
        return np.concatenate(blocks, axis=1)


@dataclass(frozen=True)
class Head:
    """One attention head at given weights.

    Attributes
    ----------
    query, key, value, out
        (d, r), (d, r), (d, v), (v, d).
    """

    query: Array
    key: Array
    value: Array
    out: Array

    def __call__(self, stream: Array, rows: slice, arithmetic: Arithmetic) -> Array:
        """Return what the head adds at `rows` of a stream (B, T, d)."""
        length = stream.shape[-2]
        visible = np.arange(length) <= np.arange(length)[rows, None]
        mean = attend(
            arithmetic.apply(stream[..., rows, :], self.query),
            arithmetic.apply(stream, self.key),
            arithmetic.apply(stream, self.value),
            arithmetic,
            visible,
        )
        return arithmetic.apply(mean, self.out)

    @property
    def matrices(self) -> tuple[Array, ...]:
        """All its weights."""
        return self.query, self.key, self.value, self.out

    def cache_bits(self, positions: int, significand: int) -> int:
        """Return the bits of the keys and values stored for so many positions."""
        numbers: int = self.key.shape[1] + self.value.shape[1]
        return positions * numbers * stored(significand)


Layers = list[list[Head]]


def run_layers(layers: Layers, stream: Array, arithmetic: Arithmetic) -> Array:
    """Return the stream (B, d) at the last position after all layers (B, T, d)."""
    for depth, heads in enumerate(layers):
        final = depth == len(layers) - 1
        rows = slice(-1, None) if final else slice(None)
        added = [head(stream, rows, arithmetic) for head in heads]
        stream = stream[..., rows, :]
        for part in added:
            stream = arithmetic.add(stream, part)
    return stream[..., -1, :]


def match_head(
    slots: Slots,
    pairs: Sequence[tuple[str, str]],
    value: str,
    length: int,
    *,
    top: int,
    gap: int = 1,
    scale: int | None = None,
) -> Head:
    """Return the head that reads `value` at the last match into ``result``.

    Parameters
    ----------
    slots
        Of the stream.
    pairs
        (query part, key part), all of which must agree.
    value
        The part that is read.
    length
        N.
    top, gap
        Of all pairs together. The gap is 1 where a part may be zero.
    scale
        K, instead of the least that is proved.
    """
    K = float(scale or scale_for(length, gap))
    query: Parts = [*((q, K) for q, _ in pairs), ("one", -K * top), ("one", 1.0)]
    key: Parts = [*((k, 1.0) for _, k in pairs), ("live", 1.0), ("age", 1.0)]
    return _writes(slots, query, key, value, "result")


def count_head(slots: Slots, asked: str, key: str, length: int, *, top: int) -> Head:
    """Return the strict threshold head: the mean of ``vote`` over matches into ``result``.

    The sharpness makes all mismatches together weigh less than 1/(4 N); the start token is
    one of them, by its own coordinate.
    """
    beta = 2.0 ** math.ceil(math.log2(max(math.log(16.0 * length * length, BASE) / 2, 1)))
    query: Parts = [(asked, beta), ("one", -beta * top), ("one", -2 * beta)]
    return _writes(slots, query, [(key, 1.0), ("live", 1.0), ("start", 1.0)], "vote", "result")


def offset_head(slots: Slots, code: Code, offset: int, value: str, into: str) -> Head:
    """Return the head that copies `value` from `offset` positions before.

    The position's code is a frequency code, so that the shift is a rotation. The sink is
    half way between match and mismatch: zeros come from before the start. Leaks are
    multiplied by the next layer's K, so the sharpness beta makes them less than 1/(64 N).
    """
    leak = math.log(64.0 * code.size**2 * (code.top + 4), BASE)
    beta = 2.0 ** math.ceil(math.log2(leak))
    turn = rotation(code.top, -offset)
    query: Parts = [("wave", beta * turn), ("one", -beta * code.top), ("one", -beta)]
    return _writes(slots, query, [("wave", 1.0), ("real", 1.0), ("start", 1.0)], value, into)


def rotation(b: int, steps: int) -> Array:
    """Return the matrix R with code(j) R = code(j + steps), periods 2, 4, ..., 2^b."""
    matrix = np.zeros((2 * b, 2 * b))
    for r in range(b):
        angle = 2 * np.pi * (steps % 2 ** (r + 1)) / 2 ** (r + 1)
        c, s = np.cos(angle), np.sin(angle)
        matrix[2 * r : 2 * r + 2, 2 * r : 2 * r + 2] = [[c, s], [-s, c]]
    return matrix


def _writes(
    slots: Slots,
    query: Parts,
    key: Parts,
    value: str,
    into: str,
) -> Head:
    out = slots.pick([(into, 1.0)]).T
    return Head(slots.pick(query), slots.pick(key), slots.pick([(value, 1.0)]), out)
