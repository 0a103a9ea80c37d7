"""What the key-value caches share: entries, the attention over them, and its readout.

A token has a value of V numbers and, for K > 0, a key of K numbers: columns of
``v_proj.weight`` (V, vocabulary) and ``k_proj.weight`` (K, vocabulary). At a query token
head r attends to the entries kept before it and to itself:

    o_r = sum_j softmax_j(q_r . k_j / sqrt(K) + bias_r[token, distance_j]) v_j

q is a column of ``q_proj.weight`` (R K, vocabulary); distances count places inside the
cache, 0 for the token itself. A model has keys, or the bias, or both. With u = (-1)^bit,
the answer's sign is the product over heads.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from statebound.errors import UsageError
from statebound.models._cell import Array, Cell, Field, State, Tokens, Weights
from statebound.models._vocabulary import Vocabulary


class CacheCell(Cell):
    """A cell that keeps entries of past tokens.

    Its config tells `positions`, the most entries it keeps, `d_key` (K) and `d_value` (V).
    """

    inits: ClassVar[tuple[str, ...]] = ("constructed", "random")
    biased: ClassVar[bool]

    def __init__(
        self, config: Any, weights: Weights, vocabulary: Vocabulary, dtype: str = "float32"
    ) -> None:
        super().__init__(config, weights, vocabulary, dtype)
        names = ["v_proj.weight"] + ["k_proj.weight"] * (config.d_key > 0)
        self._tables = [self.table(name) for name in names]

    def entries(
        self, count: int, prefix: str = "", *, cache: bool = True, grows: bool = False
    ) -> tuple[Field, ...]:
        """Return the fields of `count` entries: their values and, where there are any, keys."""
        bounded = bool((np.abs(self._tables[0]) <= 1).all())
        low, high = (-1.0, 1.0) if bounded else (None, None)
        shape = (count, self.config.d_value)
        values = Field(f"{prefix}values", shape, low, high, cache=cache, grows=grows)
        if not self.config.d_key:
            return (values,)
        keys = Field(f"{prefix}keys", (count, self.config.d_key), cache=cache, grows=grows)
        return values, keys

    @classmethod
    def shapes(cls, config: Any, vocabulary: Vocabulary) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the value map and, where there are keys, of the key map."""
        shapes: dict[str, tuple[int, ...]] = {"v_proj.weight": (config.d_value, vocabulary.size)}
        if config.d_key:
            shapes["k_proj.weight"] = (config.d_key, vocabulary.size)
        return shapes

    @classmethod
    def readout_shapes(
        cls, config: Any, vocabulary: Vocabulary
    ) -> dict[str, tuple[int | None, ...]]:
        """Return the shapes of the query map and of the bias: any number of heads."""
        shapes: dict[str, tuple[int | None, ...]] = {"q_proj.weight": (None, vocabulary.size)}
        if cls.biased:
            shapes["bias"] = (None, vocabulary.size, config.positions + 1)
        return shapes

    @classmethod
    def random(cls, config: Any, vocabulary: Vocabulary, generator: np.random.Generator) -> Weights:
        """Draw standard normal values, keys and whatever else the scan needs."""
        shapes = cls.shapes(config, vocabulary)
        return {name: generator.standard_normal(shape) for name, shape in shapes.items()}

    @property
    def has_readout(self) -> bool:
        """Whether there are heads, queries for the keys, and values of one dimension."""
        keyed = self.config.d_key == 0 or "q_proj.weight" in self.weights
        heads = "bias" in self.weights if self.biased else self.config.d_key > 0
        return keyed and heads and self.config.d_value == 1 and self.vocabulary.queries > 0

    @abstractmethod
    def kept(self, state: State) -> list[Array]:
        """Return the written entries after the whole stream, in order.

        Their values (tiles, E V, LANES) and, where there are any, keys (tiles, E K, LANES).
        """

    def logits(self, old: State, new: State, tokens: Tokens) -> Array:
        """Return (0, -prod_r(-o_r))."""
        K, token = self.config.d_key, tokens[:, 0]
        own = [table[:, token].transpose(1, 0, 2) for table in self._tables]  # (tiles, D, LANES)
        every = [np.concatenate(p, axis=1) for p in zip(self.kept(old), own, strict=True)]
        v = every[0]
        fill = v.shape[1] - 1
        bias = self.table("bias")[:, :, fill::-1] if self.biased else None
        q = self.table("q_proj.weight").reshape(-1, K, self.vocabulary.size) if K else None
        sign = np.full(token.shape, -1.0, v.dtype)
        for head in range(len(bias) if bias is not None else len(q) if q is not None else 0):
            score = np.zeros(v.shape, v.dtype)
            if bias is not None:
                score = bias[head][token].transpose(0, 2, 1)
            if q is not None:
                k = every[1].reshape(len(v), fill + 1, K, -1)
                score = score + np.einsum("ktl,twkl->twl", q[head][:, token], k) / np.sqrt(K)
            weight = np.exp(score - score.max(axis=1, keepdims=True))
            o = (weight * v).sum(axis=1) / weight.sum(axis=1)
            sign = sign * -o
        return np.stack([np.zeros_like(sign), sign], axis=1)


def push(kept: Array, table: Array, tokens: Tokens) -> Array:
    """Append the tokens' columns of table (D, vocabulary) to kept (tiles, W D, LANES)."""
    size, width = kept.shape[1], table.shape[0]
    window = size // width
    fresh = table[:, tokens[:, max(0, tokens.shape[1] - window) :]]  # (D, tiles, T, LANES)
    rows = fresh.transpose(1, 2, 0, 3).reshape(len(kept), -1, kept.shape[2])
    both = np.concatenate([kept, rows], axis=1)
    return np.ascontiguousarray(both[:, both.shape[1] - size :])


def newest(part: Array, width: int, count: int) -> Array:
    """Return the last `count` entries of `width` numbers of a part (tiles, numbers, LANES)."""
    return part[:, part.shape[1] - count * width :]


def places(vocabulary: Vocabulary, model: str) -> Tokens:
    """Return how many tokens precede each token: (vocabulary,), int32.

    Where tokens tell their positions the number of tokens read so far is as public to a
    model as it is to the two players, and needs no counter in the state. A query comes
    after the whole stream.

    Raises
    ------
    UsageError
        When tokens do not tell their positions.
    """
    if not vocabulary.positional:
        raise UsageError(
            "encoding",
            "bits",
            f"{model} must know from the tokens how many came before",
            "choose an encoding with positions, such as pairs",
        )
    place = np.minimum(np.arange(vocabulary.size) // vocabulary.symbols, vocabulary.length)
    return place.astype(np.int32)


def bits_only(vocabulary: Vocabulary, fits: bool, model: str, needs: str) -> None:
    """Refuse constructed parameters unless the symbols are bits and the sizes fit."""
    if vocabulary.symbols != 2 or not fits:
        raise UsageError(
            "init",
            "constructed",
            f"{model} is constructed for bits with {needs}",
            "use a problem of bits and these sizes, or init random",
        )


FAR = -40.0  # exp(-40) is far below the rounding of float32 and of float64 sums of a window


def distance_bias(
    vocabulary: Vocabulary, positions: int, distances: dict[int, int]
) -> dict[str, Array]:
    """Return the bias whose heads look at the bits of a query's parity.

    `distances` maps the stream positions that are kept to their distance from the query,
    inside the cache. A head that asks for another position attends to the query itself,
    whose value is 0. Empty where there are no parities to ask for.
    """
    if not vocabulary.parities:
        return {}
    heads = max(len(p) for p in vocabulary.parities)
    bias = np.full((heads, vocabulary.size, positions + 1), FAR)
    bias[:, :, 0] = 0.0
    for query, asked in enumerate(vocabulary.parities):
        for head, position in enumerate(asked):
            if position in distances:
                token = vocabulary.stream_tokens + query
                bias[head, token, 0] = FAR
                bias[head, token, distances[position]] = 0.0
    return {"bias": bias}


def signed_values(vocabulary: Vocabulary) -> Array:
    """Return the value 2b - 1 for the tokens of bit b and 0 for queries: (1, vocabulary)."""
    v = np.zeros((1, vocabulary.size))
    v[0, : vocabulary.stream_tokens] = np.arange(vocabulary.stream_tokens) % 2 * 2.0 - 1.0
    return v


def checked_value(settings: Any, name: str, default: int) -> int:
    """Return a setting that must be positive."""
    value: int = settings.get(name, default)
    if value < 1:
        raise UsageError("set", f"{name}={value}", "must be positive", "pass 1 or more")
    return value


def directions(K: int, count: int, generator: np.random.Generator) -> Array:
    """Return unit vectors (count, K): evenly spread on a half circle, or random."""
    if K == 2:
        angle = np.pi * (np.arange(count) + 0.5) / count
        return np.stack([np.cos(angle), np.sin(angle)], axis=1)
    drawn = generator.standard_normal((count, K))
    drawn /= np.sqrt((drawn**2).sum(axis=1, keepdims=True))
    return drawn


def addressed(
    K: int, V: int, vocabulary: Vocabulary, generator: np.random.Generator, model: str
) -> Weights:
    """Return values, keys on the unit sphere, and the queries that find them by content.

    Bit b at position a has the value s = 2b - 1 and the key s phi_a, with unit vectors
    phi_a no two of which are parallel. A query for position a scores beta for the entry of
    a one, -beta for that of a zero, at most beta (1 - g) for all others and beta (1 - g/2)
    for itself, whose value is -1; beta is so large that the best score takes all.
    """
    n = vocabulary.length
    sizes = {len(p) for p in vocabulary.parities} or {0}
    heads = max(sizes)
    fits = vocabulary.positional and max(2, heads) <= K and V == 1
    needs = "positions, d_value = 1, d_key >= 2 and no parity of more bits than d_key"
    bits_only(vocabulary, fits and len(sizes) == 1, model, needs)
    phi = directions(K, n, generator)
    v = signed_values(vocabulary)
    k = np.zeros((K, vocabulary.size))
    k[:, : 2 * n] = np.repeat(phi, 2, axis=0).T * v[:, : 2 * n]
    weights = {"v_proj.weight": v, "k_proj.weight": k}
    if heads:
        gap = _gap(phi)
        beta = -2 * FAR / gap * np.sqrt(K)
        q = np.zeros((heads, K, vocabulary.size))
        for query, asked in enumerate(vocabulary.parities):
            token, rows = vocabulary.stream_tokens + query, phi[list(asked)]
            v[0, token] = -1.0
            itself = np.linalg.lstsq(rows, np.full(len(rows), 1 - gap / 2), rcond=None)[0]
            k[:, token] = itself
            q[:, :, token] = beta * rows
        weights["q_proj.weight"] = q.reshape(heads * K, -1)
    return weights


def _gap(phi: Array) -> float:
    """Return 1 less the largest |cosine| between two of the unit vectors, 1 for a single one."""
    n, rows, most = len(phi), 1024, 0.0
    if n == 1:
        return 1.0
    for first in range(0, n, rows):  # memory that does not grow with n squared
        some = np.abs(phi[first : first + rows] @ phi.T)
        some[np.arange(len(some)), np.arange(first, first + len(some))] = -1.0
        most = max(most, float(some.max()))
    return 1 - most
