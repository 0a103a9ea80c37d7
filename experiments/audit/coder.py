"""The numbers of a foreign state to codes and back, with the quantisers of the house.

A *piece* is one leaf of real numbers that depends on the tokens and does something. As in
`statebound.reductions.crossing` a cache is quantised entry by entry, each entry once: a
leaf is a cache where, on public inputs, every token shifts it along one axis and writes one
new place (keys and values, windows of convolutions). Any other piece is one entry.

What is not a number of usual size (infinities, running maxima that start at -1e38) would
spoil every scale. Where a piece holds one such value on the public inputs, one bit a number
says where it is; else numbers are cut off at `SENTINEL`, and then rounded as all others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from statebound.experiments.audit import walk
from statebound.experiments.audit.cut import Message, name
from statebound.experiments.audit.liveness import SENTINEL, living
from statebound.models import Field
from statebound.reductions import quantiser as quantisers
from statebound.reductions import rounding as roundings
from statebound.reductions.crossing import RESIDUAL_BITS

CONVOLUTION, CACHE, RECURRENT = "convolution", "keys and values", "recurrent"
Numbers = NDArray[np.floating[Any]]
_HALVES = {"bfloat16": np.dtype(ml_dtypes.bfloat16), "float16": np.dtype(np.float16)}


@dataclass(frozen=True)
class Piece:
    """A leaf to be quantised.

    Attributes
    ----------
    number, path
        Its place among the pieces; where it is in the message.
    kind
        ``convolution``, ``keys and values`` or ``recurrent``, by its name and growth.
    axis
        Along which entries are, the newest last; None where it is no cache.
    dead
        Slices that do nothing, as (axis, index): they are not sent.
    native
        Bits a number as it is stored.
    stored
        The type that it is stored in.
    """

    number: int
    path: walk.Path
    kind: str
    axis: int | None
    dead: tuple[tuple[int, int], ...]
    native: int
    stored: str = "float32"

    @property
    def name(self) -> str:
        """The path, for people."""
        return name(self.path)

    @property
    def group(self) -> str:
        """The name with the number of its layer left open: one for all layers.

        Examples
        --------
        >>> path = (("attr", "state"), ("attr", "layers"), ("item", 3), ("attr", "keys"))
        >>> Piece(0, path, CACHE, None, (), 32).group
        'state.layers[*].keys'
        """
        return re.sub(r"\b(layers?|blocks?)(\[|\.)\d+", r"\1\2*", self.name)

    def live(self, shape: Sequence[int]) -> int:
        """Return how many numbers of a leaf of this shape are sent."""
        return living(list(shape), self.dead) if shape else 1


@dataclass(frozen=True)
class Scheme:
    """How a message is rounded: bits a number by piece; pieces left out cross as they are."""

    quantiser: str
    bits: Mapping[str, int]
    rounding: str = "nearest"


def kind_of(path: str, grows: bool) -> str:
    """Return what a piece is, by its name, else by whether it grows.

    Examples
    --------
    >>> kind_of("state.layers[0].conv_states[0]", False), kind_of("state[0].keys", True)
    ('convolution', 'keys and values')
    """
    text = path.lower()
    if "conv" in text:
        return CONVOLUTION
    if grows or re.search(r"\b_?(keys?|values?)(_cache)?\b", text):
        return CACHE
    return RECURRENT


def shifts(before: Sequence[Any], after: Sequence[Any]) -> int | None:
    """Return the axis along which one token shifted a leaf, on all of some inputs.

    Parameters
    ----------
    before, after
        The leaf after n and after n + 1 tokens, for each input.
    """
    shape, later = walk.shape(before[0]), walk.shape(after[0])
    if len(shape) != len(later):
        return None
    pairs = [(walk.array(b), walk.array(a)) for b, a in zip(before, after, strict=True)]
    for axis in range(len(shape)):
        grown = [*shape[:axis], shape[axis] + 1, *shape[axis + 1 :]]
        if later not in (shape, grown) or later[axis] < 2:
            continue
        if all(
            np.array_equal(np.delete(a, -1, axis), b if later == grown else np.delete(b, 0, axis))
            for b, a in pairs
        ):
            return axis
    return None


@dataclass
class Coder:
    """Quantises some pieces of messages; ranges and codebooks come from public messages.

    Attributes
    ----------
    pieces
        What can be quantised.
    public
        Messages of other, public inputs.
    seed
        Of the coins of stochastic rounding.
    """

    pieces: tuple[Piece, ...]
    public: Sequence[Message]
    seed: int
    _fitted: dict[Any, quantisers.Quantiser] = field(default_factory=dict)
    _samples: dict[Any, Numbers] = field(default_factory=dict)

    def entries(self, piece: Piece, values: Sequence[Any]) -> Numbers:
        """Return the leaves of S messages as (entries, numbers, S); dead ones are 0."""
        arrays = []
        for value in values:
            made = np.array(walk.array(value))
            for axis, index in piece.dead:
                made[(slice(None),) * axis + (index,)] = 0
            arrays.append(_real(made))
        held = np.stack(arrays)
        held = held[:, None] if piece.axis is None else np.moveaxis(held, piece.axis + 1, 1)
        flat = held.reshape(len(arrays), held.shape[1], -1)
        dtype = np.float32 if flat.dtype.itemsize <= 4 else np.float64
        return np.ascontiguousarray(np.moveaxis(flat, 0, -1).astype(dtype))

    def leaf(self, piece: Piece, entries: Numbers, value: Any) -> NDArray[Any]:
        """Return the numbers (entries, numbers) of one message in the shape of `value`."""
        shape = _real(walk.array(value)).shape
        if piece.axis is None:
            made = entries.reshape(shape)
        else:
            rest = [size for at, size in enumerate(shape) if at != piece.axis]
            made = np.moveaxis(entries.reshape(-1, *rest), 0, piece.axis)
        complex_ = np.iscomplexobj(walk.array(value))
        return np.ascontiguousarray(made).view(np.complex128)[..., 0] if complex_ else made

    def entry(self, piece: Piece, value: Any) -> Field:
        """Return the field that one entry is."""
        shape = list(_real(walk.array(value)).shape)
        if piece.axis is not None:
            del shape[piece.axis]
        return Field(piece.name, tuple(shape))

    def sample(self, piece: Piece, entry: Field) -> Numbers:
        """Return the piece's numbers on public inputs as (numbers, entries)."""
        key = piece.path, entry.shape
        if key not in self._samples:
            fits = [
                self.entries(piece, [m[piece.path]])
                for m in self.public
                if piece.path in m and self.entry(piece, m[piece.path]).shape == entry.shape
            ]
            empty = np.zeros((entry.numbers, 1), np.float32)
            flat = [np.moveaxis(e, 1, 0).reshape(entry.numbers, -1) for e in fits]
            self._samples[key] = np.concatenate(flat, axis=1) if flat else empty
        return self._samples[key]

    def sentinel(self, piece: Piece, entry: Field) -> float | None:
        """Return the one unusual value that public inputs show in a piece, if they do."""
        sample = self.sample(piece, entry)
        odd = np.unique(sample[_odd(sample)])
        return float(odd[0]) if len(odd) == 1 and not np.isnan(odd[0]) else None

    def fit(self, scheme: Scheme, piece: Piece, entry: Field) -> quantisers.Quantiser:
        """Return the quantiser of a piece's entries."""
        bits = scheme.bits[piece.name]
        key = scheme.quantiser, bits, piece.path, entry.shape
        if key not in self._fitted:
            sample = self.sample(piece, entry).astype(np.float64)
            usual = np.where(_odd(sample), 0.0, sample)
            made = quantisers.family(scheme.quantiser, bits).fit(bits, entry, usual)
            self._fitted[key] = made
        return self._fitted[key]

    def round(
        self, scheme: Scheme, piece: Piece, entries: Numbers, entry: Field, read: int
    ) -> Numbers:
        """Return entries (E, C, S) as Bob sees them, the last one written at token `read`."""
        quantiser = self.fit(scheme, piece, entry)
        rounding = roundings.family(scheme.rounding)(self.seed)
        odd = _odd(entries)
        marked = self.sentinel(piece, entry)
        held = entries
        if odd.any():
            cut = np.clip(np.nan_to_num(entries, posinf=SENTINEL), -SENTINEL, SENTINEL)
            held = np.where(odd, cut if marked is None else 0.0, entries).astype(entries.dtype)
        times = read - np.arange(len(entries) - 1, -1, -1)
        codes = rounding.encode(quantiser, held, piece.number, times)
        back = quantiser.decode(codes, held.dtype)
        return back if marked is None else np.where(odd, marked, back).astype(back.dtype)

    def bits(self, scheme: Scheme, piece: Piece, value: Any) -> int:
        """Return what a leaf takes in the message: codes, scales, residuals."""
        shape, sent = walk.shape(value), piece.live(walk.shape(value))
        if piece.name not in scheme.bits:
            return sent * piece.native
        entry = self.entry(piece, value)
        held = 1 if piece.axis is None else shape[piece.axis]
        held -= sum(axis == piece.axis for axis, _ in piece.dead)
        parts = 2 if np.iscomplexobj(walk.array(value)) else 1
        ledger = self.fit(scheme, piece, entry).ledger(entry)
        total = sum(held * line.numbers * line.bits for line in ledger if line.kind != "real")
        total += sent * parts * scheme.bits[piece.name]
        if roundings.family(scheme.rounding).keeps_residual and piece.axis is None:
            total += sent * parts * RESIDUAL_BITS
        if self.sentinel(piece, entry) is not None:
            total += sent * parts
        return int(total)

    def rounded(
        self, scheme: Scheme, messages: Sequence[Message], read: int
    ) -> dict[walk.Path, list[Any]]:
        """Return the pieces of some messages of one length, rounded, by path."""
        made: dict[walk.Path, list[Any]] = {}
        for piece in self.pieces:
            values = [message[piece.path] for message in messages]
            if piece.name not in scheme.bits:
                made[piece.path] = [as_stored(piece, value) for value in values]
                continue
            entry = self.entry(piece, values[0])
            back = self.round(scheme, piece, self.entries(piece, values), entry, read)
            made[piece.path] = [
                walk.like(v, self.leaf(piece, back[:, :, s], v)) for s, v in enumerate(values)
            ]
        return made


def as_stored(piece: Piece, value: Any) -> Any:
    """Return a leaf in the precision in which it is counted where it is not rounded.

    A model in half precision is run in float32, so its numbers hold more than is stored.
    """
    form = next((form for name, form in _HALVES.items() if piece.stored.endswith(name)), None)
    if form is None:
        return value
    held = walk.array(value)
    with np.errstate(over="ignore"):
        return walk.like(value, held.astype(form).astype(held.dtype))


def _real(held: NDArray[Any]) -> NDArray[Any]:
    """Return complex numbers as pairs of real ones, along a last axis."""
    if not np.iscomplexobj(held):
        return held
    wide = np.ascontiguousarray(held, np.complex128)
    return wide.view(np.float64).reshape(*held.shape, 2)


def _odd(values: Numbers) -> NDArray[np.bool_]:
    """Return which numbers are infinite, no numbers, or beyond any usual size."""
    return np.asarray(~(np.abs(values) < SENTINEL), np.bool_)
