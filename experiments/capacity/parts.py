"""The parts that states are made of, a layer each, and how many numbers they hold.

*Live* numbers are those that the next step reads; *stored* are those in the tensors. They
differ where a convolution of c tokens stores c columns, of which the oldest is never read
again. Position counters and flags are functions of n alone, hence public, and not counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal

WIDTHS = {"float32": 32, "bfloat16": 16, "float16": 16}  # bits of a number

Kind = Literal["convolution", "recurrent", "kv"]


@dataclass(frozen=True)
class Part:
    """One part of the state, the same in `layers` layers.

    Parameters
    ----------
    name
        What it is, for reading.
    kind
        ``convolution``, ``recurrent``, or ``kv`` for keys and values.
    layers
        How many layers have it.
    shape
        Of one layer's live numbers; of keys and values, those of one token.
    live, stored
        Numbers of one layer; of keys and values, of one token.
    dtype
        A name in `WIDTHS`.
    window
        Of keys and values: the tokens that a query sees, itself among them; None for all.
    """

    name: str
    kind: Kind
    layers: int
    shape: tuple[int, ...]
    live: int
    stored: int
    dtype: str
    window: int | None = None

    @property
    def growing(self) -> bool:
        """Whether every further token adds to it, however many there were."""
        return self.kind == "kv" and self.window is None

    def times(self, n: int | None) -> int:
        """Return how many tokens it holds after `n`, or at most; 1 for no keys and values."""
        if self.kind != "kv":
            return 1
        if self.window is None:
            return n or 0
        return self.window - 1 if n is None else min(n, self.window - 1)

    def numbers(self, n: int | None, *, stored: bool = False) -> int:
        """Return the numbers of all layers after `n` tokens.

        With n None they are the most there can be, or 0 where that has no end.
        """
        return self.layers * (self.stored if stored else self.live) * self.times(n)

    def bits(self, n: int | None, *, stored: bool = False, precision: int | None = None) -> int:
        """Return the bits of all layers after `n` tokens, at this precision or as held."""
        return self.numbers(n, stored=stored) * (precision or WIDTHS[self.dtype])


def total(
    parts: Sequence[Part], n: int | None, *, stored: bool = False, precision: int | None = None
) -> int:
    """Return the bits of several parts."""
    return sum(part.bits(n, stored=stored, precision=precision) for part in parts)


def convolution(
    layers: int, channels: int, kernel: int, dtype: str, *, dead: int = 1
) -> list[Part]:
    """Return the window of a causal depthwise convolution: kernel - 1 earlier inputs are live.

    Parameters
    ----------
    layers, channels, kernel
        Sizes; a kernel of one token needs no earlier input.
    dtype
        Of its inputs.
    dead
        Columns that are stored beyond those.
    """
    live = (kernel - 1) * channels
    stored = live + dead * channels
    shape = (kernel - 1, channels)
    return [Part("convolution", "convolution", layers, shape, live, stored, dtype)]


def recurrent(layers: int, name: str, shape: tuple[int, ...], dtype: str = "float32") -> list[Part]:
    """Return a recurrent state, all of it live.

    The classes that are counted here compute it in float32 also in models of 16 bits, and
    keep it so; xLSTM alone stores it in the dtype of the model.
    """
    return [Part(name, "recurrent", layers, shape, prod(shape), prod(shape), dtype)]


def mamba(layers: int, inner: int, state: int, kernel: int, dtype: str) -> list[Part]:
    """Return the two parts of a Mamba layer [1]_: a convolution, and N numbers a channel.

    References
    ----------
    .. [1] Gu and Dao, "Mamba: Linear-Time Sequence Modeling with Selective State Spaces",
       arXiv:2312.00752, 2023.
    """
    return convolution(layers, inner, kernel, dtype) + recurrent(layers, "SSM", (inner, state))


def mamba2(
    layers: int, heads: int, head: int, state: int, groups: int, kernel: int, dtype: str
) -> list[Part]:
    """Return the two parts of a Mamba-2 layer [1]_: its convolution is over x, B and C.

    References
    ----------
    .. [1] Dao and Gu, "Transformers are SSMs", arXiv:2405.21060, 2024.
    """
    channels = heads * head + 2 * groups * state
    return convolution(layers, channels, kernel, dtype) + recurrent(
        layers, "SSM", (heads, head, state)
    )


def delta(
    layers: int, key: tuple[int, int], value: tuple[int, int], kernel: int, dtype: str
) -> list[Part]:
    """Return the two parts of a gated DeltaNet layer [1]_: key and value are (heads, size).

    References
    ----------
    .. [1] Yang, Kautz and Hatamizadeh, "Gated Delta Networks", arXiv:2412.06464, 2024.
    """
    channels = 2 * key[0] * key[1] + value[0] * value[1]
    return convolution(layers, channels, kernel, dtype) + recurrent(
        layers, "delta rule", (value[0], key[1], value[1])
    )


def keys_and_values(
    layers: int, heads: int, size: int, dtype: str, window: int | None = None
) -> list[Part]:
    """Return the keys and values of attention; a window of W keeps W - 1 tokens."""
    numbers = 2 * heads * size
    name = "keys and values" if window is None else f"keys and values, window {window:,}"
    return [Part(name, "kv", layers, (2, heads, size), numbers, numbers, dtype, window)]
