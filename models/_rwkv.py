"""What the RWKV models share: a block of time mixing and channel mixing.

    n = ln1(u)      x = u + time(n, n')
    m = ln2(x)      y = x + channel(m, m')

A prime on the right marks the token before: every mixing takes its inputs channel by
channel from this token and the one before, n + share (n' - n). So n' and m', D numbers
each and after their norm, are state beside what `time` keeps. The channel mixing is

    V relu(K m_k)^2,    times sigmoid(R m_r) in RWKV-4 and RWKV-6.

m is needed at the last token of a sequence alone, since only m' is kept of it. So a
sequence is taken in two parts: all tokens but one write into the state, and at the last
one the time mixing is read out too.

The first layer's extra norm belongs to the embedding, which is u.

The derivative of a layer norm is up to 1/sqrt(1e-5) = 316, wherever the channels of x agree,
and two channels often do. The authors' initialisation, kept here, is made for that: their
embedding is within 1e-4 of 0, so that u, after its norm, is within some 0.06 of 0, and x
stays near u. A norm of such numbers is not yet a mere sign, even of two, and their rounding
errors are as small as they are.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from statebound.errors import UsageError
from statebound.models._cell import Array, Config, Field, State, Tokens, Weights
from statebound.models._heads import positive
from statebound.models._lanes import LANES
from statebound.models._layer import Layer, LayerCell
from statebound.models._linear import linear
from statebound.models._pointwise import layer_norm, logistic
from statebound.models._vocabulary import Vocabulary

EPSILON = 1e-5  # of ln1 and ln2
BLOCK = 1 << 13  # columns written at once: their rows stay in a near cache
KEPT = 1 << 23  # state numbers that are kept at once while a sequence is read out
LEAST = 2  # channels that a norm needs: of one number it leaves 0
QUIET = 0.1  # the gain of maps that the authors start at zero


def normable(name: str, channels: int) -> None:
    """Refuse so few channels that a norm leaves nothing of them."""
    if channels < LEAST:
        raise UsageError(
            name,
            channels,
            "is too small: a norm of one number is always 0",
            f"pass {LEAST} or more",
        )


@dataclass(frozen=True)
class MatrixConfig(Config):
    """H heads with a state of N by N numbers, D = H N, and F hidden channels."""

    heads: int
    head_size: int
    hidden: int

    def __post_init__(self) -> None:
        """Check the size of a head."""
        normable("head_size", self.head_size)

    @property
    def width(self) -> int:
        """D."""
        return self.heads * self.head_size

    @property
    def numbers(self) -> int:
        """H N^2 and two shifts of D."""
        return self.heads * self.head_size**2 + 2 * self.width

    @classmethod
    def sizes(cls, numbers: int, settings: Mapping[str, int]) -> tuple[int, int]:
        """Return H and N of a total H N (N + 2), H as small as can be unless set."""
        cls.check_settings(settings)
        for name in settings:
            positive(settings, name, 1)
        heads, size = settings.get("heads"), settings.get("head_size")
        normable("head_size", size or LEAST)
        if heads and size:
            return heads, size
        if found := _split(numbers, heads, size):
            return found
        least = (heads or 1) * (size or LEAST) * ((size or LEAST) + 2)
        low = next((m for m in range(numbers - 1, least - 1, -1) if _split(m, heads, size)), None)
        high = next(m for m in count(max(least, numbers + 1)) if _split(m, heads, size))
        raise UsageError(
            "numbers",
            numbers,
            f"{cls.__name__.removesuffix('Config').lower()} needs heads * size * (size + 2) "
            "of them, heads of at least 2",
            f"pass {high}" if low is None else f"pass {low} or {high}",
        )


def _split(numbers: int, heads: int | None, size: int | None) -> tuple[int, int] | None:
    """Return the first H and N with H N (N + 2) numbers."""
    if size:
        H, rest = divmod(numbers, size * (size + 2))
        return (H, size) if H >= 1 and rest == 0 else None
    for H in [heads] if heads else range(1, numbers // 8 + 1):
        N = math.isqrt(numbers // H + 1) - 1
        if N >= LEAST and numbers == H * N * (N + 2):
            return H, N
    return None


def blend(now: Array, before: Array, share: Array) -> Array:
    """Return now + share (before - now) for columns (D, R) and shares (D, 1) or (D, R)."""
    mixed: Array = now + share * (before - now)
    return mixed


def scaled(x: Array, groups: int, epsilon: float, weight: Array, bias: Array) -> Array:
    """Return the norm of columns x (C, R), in groups, times weight (C) plus bias (C)."""
    out: Array = layer_norm(x, groups, epsilon) * weight[:, None] + bias[:, None]
    return out


def to_columns(part: Array) -> Array:
    """Return columns (C, tiles LANES) of a state's part (tiles, C, LANES)."""
    return np.ascontiguousarray(part.transpose(1, 0, 2)).reshape(part.shape[1], -1)


def to_tiles(columns: Array) -> Array:
    """Invert `to_columns`."""
    tiled = columns.reshape(len(columns), -1, LANES).transpose(1, 0, 2)
    return np.ascontiguousarray(tiled)


@dataclass(frozen=True)
class ChannelMixing:
    """V relu(K m_k)^2, gated by sigmoid(R m_r) where there is an R.

    Shares are (D, 1), K is (F, D), V (D, F) and R (D, D).
    """

    key_share: Array
    key: Array
    value: Array
    gate_share: Array | None = None
    receptance: Array | None = None

    def __call__(self, now: Array, before: Array) -> Array:
        """Mix columns (D, R)."""
        hidden = np.maximum(linear(self.key, blend(now, before, self.key_share)), 0)
        y = linear(self.value, hidden * hidden)
        if self.receptance is None or self.gate_share is None:
            return y
        gate: Array = logistic(linear(self.receptance, blend(now, before, self.gate_share)))
        return gate * y


class RwkvLayer(Layer):
    """A block; a subclass supplies the state of the time mixing and what it does.

    Streams: n and u.
    """

    def __init__(
        self, config: Any, weights: Weights, dtype: np.dtype[Any], core: Sequence[Field]
    ) -> None:
        self.config, self.width = config, config.width
        self._w = {name: np.ascontiguousarray(weights[name], dtype) for name in self.shapes(config)}
        shifts = (Field("time_shift", (self.width,)), Field("channel_shift", (self.width,)))
        self.fields = (*core, *shifts)
        self._channel = self.channel()

    @abstractmethod
    def channel(self) -> ChannelMixing:
        """Return the channel mixing of these parameters."""

    @abstractmethod
    def write(self, now: Array, before: Array) -> tuple[Array, ...]:
        """Return what columns n and n' (D, R) write: rows of columns."""

    @abstractmethod
    def update(self, core: State, written: tuple[Array, ...]) -> State:
        """Take the state of the time mixing through columns ordered (tiles, T, LANES)."""

    @abstractmethod
    def hear(
        self, old: State, new: State, written: tuple[Array, ...], now: Array, before: Array
    ) -> Array:
        """Return the output (D, tiles LANES) of the time mixing at one token."""

    def share(self, name: str) -> Array:
        """Return a parameter of D numbers as (D, 1)."""
        return self._w[name].reshape(-1, 1)

    def _norm(self, name: str, x: Array) -> Array:
        return scaled(x, 1, EPSILON, self._w[f"{name}.weight"], self._w[f"{name}.bias"])

    def project(self, inputs: Array) -> Array:
        """Return n = ln1(u) and u, (2D, R)."""
        return np.concatenate([self._norm("ln1", inputs), inputs])

    def _pair(self, shift: Array, streams: Array, which: Tokens) -> tuple[Array, Array]:
        """Return n and n' of the tokens `which`, (D, tiles T LANES)."""
        D = self.width
        now = streams[:D, which.reshape(-1)].reshape(D, *which.shape)
        before = np.empty_like(now)
        before[:, :, 0] = shift.transpose(1, 0, 2)
        before[:, :, 1:] = now[:, :, :-1]
        return now.reshape(D, -1), before.reshape(D, -1)

    def advance(self, state: State, streams: Array, which: Tokens) -> State:
        """Go through a sequence."""
        *core, time, channel = (part.copy() for part in state)
        last = which.shape[1] - 1
        block = max(1, BLOCK // (len(which) * LANES))
        for t in range(0, last, block):
            some = which[:, t : min(t + block, last)]
            now, before = self._pair(time, streams, some)
            core = list(self.update(tuple(core), self.write(now, before)))
            time = to_tiles(now.reshape(self.width, *some.shape)[:, :, -1])
        if last >= 0:
            old, at = tuple(core), which[:, last:]
            now, before = self._pair(time, streams, at)
            written = self.write(now, before)
            core = list(self.update(old, written))
            heard = self.hear(old, tuple(core), written, now, before)
            x = streams[self.width :, at.reshape(-1)] + heard
            time, channel = to_tiles(now), to_tiles(self._norm("ln2", x))
        return (*core, time, channel)

    def through(self, state: State, streams: Array, which: Tokens) -> tuple[State, Array]:
        """Return the state after a sequence, and the outputs.

        Only the state of the time mixing goes token by token: all else is taken for many
        tokens at once, each token of a tile standing as a tile of its own.
        """
        tiles, T, D = len(which), which.shape[1], self.width
        numbers = sum(f.numbers for f in self.fields)
        block = max(1, KEPT // (tiles * LANES * numbers))
        outputs = np.empty((D, tiles, T, LANES), streams.dtype)
        for t in range(0, T, block):
            some = np.ascontiguousarray(which[:, t : t + block])
            state, outputs[:, :, t : t + block] = self._few(state, streams, some)
        return state, outputs.reshape(D, -1)

    def _few(self, state: State, streams: Array, which: Tokens) -> tuple[State, Array]:
        """Return the state after a few tokens, and the outputs (D, tiles, T, LANES)."""
        D, (*core, time, channel) = self.width, state
        shape = D, *which.shape
        now, before = self._pair(time, streams, which)
        written = self.write(now, before)
        cores: list[State] = [tuple(core)]
        for t in range(which.shape[1]):
            token = (part.reshape(-1, *shape[1:])[:, :, t] for part in written)
            columns = tuple(np.ascontiguousarray(part).reshape(len(part), -1) for part in token)
            cores.append(self.update(cores[-1], columns))
        line = [np.stack(parts, axis=1) for parts in zip(*cores, strict=True)]
        old = tuple(part[:, :-1].reshape(-1, *part.shape[2:]) for part in line)
        new = tuple(part[:, 1:].reshape(-1, *part.shape[2:]) for part in line)
        x = streams[D:, which.reshape(-1)] + self.hear(old, new, written, now, before)
        m = self._norm("ln2", x)
        shifted = np.empty_like(m).reshape(shape)
        shifted[:, :, 0] = channel.transpose(1, 0, 2)
        shifted[:, :, 1:] = m.reshape(shape)[:, :, :-1]
        last = (to_tiles(part.reshape(shape)[:, :, -1].reshape(D, -1)) for part in (now, m))
        y: Array = x + self._channel(m, shifted.reshape(D, -1))
        return (*cores[-1], *last), y.reshape(shape)

    def read(self, old: State, new: State, streams: Array, which: Tokens) -> Array:
        """Return x, after the time mixing, and m', (tiles, 2D, LANES)."""
        *core, time, channel = old
        now, before = self._pair(time, streams, which)
        heard = self.hear(tuple(core), new[:-2], self.write(now, before), now, before)
        x = streams[self.width :, which.reshape(-1)] + heard
        return to_tiles(np.concatenate([x, to_columns(channel)]))

    def emit(self, reads: Array, streams: Array) -> Array:
        """Return x and the channel mixing of ln2(x) and m'."""
        x, before = np.split(reads, 2)
        y: Array = x + self._channel(self._norm("ln2", x), before)
        return y


class RwkvCell(LayerCell):
    """A block that reads tokens."""

    @classmethod
    def random(cls, config: Any, vocabulary: Vocabulary, generator: np.random.Generator) -> Weights:
        """Draw the authors' embedding, uniform within 1e-4 and normed, and the block."""
        raw = generator.uniform(-1e-4, 1e-4, (vocabulary.size, config.width))
        embedding = layer_norm(raw.T, 1, EPSILON).T
        return {"embedding.weight": embedding} | cls.layer.random(config, generator)


def orthogonal(shape: tuple[int, ...], generator: np.random.Generator, gain: float = 1.0) -> Array:
    """Draw a matrix with orthonormal rows or columns, whichever are fewer, times `gain`."""
    basis = generator.standard_normal((min(shape), max(shape)))
    for i in range(len(basis)):  # not by LAPACK, so that two machines agree on every bit
        for _ in range(2):
            along = (basis[:i] * basis[i]).sum(axis=1)
            basis[i] -= (along[:, None] * basis[:i]).sum(axis=0)
        basis[i] /= np.sqrt((basis[i] * basis[i]).sum())
    return gain * (basis.T if shape[0] > shape[1] else basis)


def ramp(width: int) -> Array:
    """Return 0, 1/D, ..., (D - 1)/D: how much of the present the authors' mixings start from."""
    return np.arange(width) / width


def zigzag(width: int) -> Array:
    """Return 0, 1, -1, 0, 1, ...: the authors' pattern for the bonus of the present token."""
    return (np.arange(width) + 1.0) % 3 - 1
