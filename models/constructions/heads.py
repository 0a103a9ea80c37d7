"""Match and Count: retrieval and counting by one softmax attention head each.

Both are ordinary attention, weights base^score over all positions seen so far, in
arithmetic of t significand bits. Nothing is masked but the future; what shall not be found
scores low.

*Match, the last one wins.* With keys k_j of width b and a query q, positions j = 1..N:

    S_j = K (q . k_j - top) + (j - N),    S_sink = -N.

A match scores in [1 - N, 0], the sink -N, anything else at most -gap K. So gap K >= N + 1
puts mismatches below the sink and matches above, later ones higher, and since scores differ
by whole numbers the winner has weight at least 1 - 1/base: 3/4 for base 4. As coordinates:
(K q, -K top, 1) . (k_j, 1, j - N), the sink being (0, 0, -N). With -j in place of j - N
the first one wins. The order of the sum lets a match cancel before its age is added, which
is why log2 N significand bits suffice; and N distinct scores need as many.

*Count, strict threshold.* Scores beta (q . k_j - top) are 0 at a match. The last token's
own key scores like a match and its value is -(threshold + 1/2); matches have value 1. The
head returns (c - threshold - 1/2) / (c + 1), so its sign answers whether c > threshold. The
n mismatches weigh base^(-gap beta) each, less than 1/4 in all with gap beta = log_base(4 n).

*Count, integer.* A sink of weight n beside c matches of value 1: a = c / (c + n), read out
as c = round(n a / (1 - a)).

Constructions in the spirit of Wen, Dang and Lyu (arXiv:2402.18510); the scores are ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from statebound.errors import UsageError
from statebound.models.constructions.codes import Code
from statebound.models.constructions.rounding import Arithmetic, Array

BASE = 4.0


def attend(
    queries: Array,
    keys: Array,
    values: Array,
    arithmetic: Arithmetic,
    visible: Array | None = None,
    base: float = BASE,
) -> Array:
    """Return softmax attention, every intermediate rounded.

    Parameters
    ----------
    queries, keys, values
        (..., R, r), (..., T, r) and (..., T, v).
    arithmetic
        Precision of all steps.
    visible
        (R, T) booleans: what each query sees; everything by default.
    base
        Of the softmax.

    Returns
    -------
    (..., R, v) means of the values.
    """
    scores = arithmetic.dot(
        np.moveaxis(arithmetic(queries), -1, 0)[..., :, None],
        np.moveaxis(arithmetic(keys), -1, 0)[..., None, :],
    )
    if visible is not None:
        scores = np.where(visible, scores, -np.inf)
    return weigh(scores, values, arithmetic, base)


def weigh(scores: Array, values: Array, arithmetic: Arithmetic, base: float = BASE) -> Array:
    """Return the means (..., R, v) of values (..., T, v) under scores (..., R, T)."""
    best = scores.max(axis=-1, keepdims=True)
    weights = arithmetic.power(base, arithmetic.add(scores, -best))
    whole = arithmetic.total(weights)[..., None]
    spread = np.moveaxis(arithmetic(values), -1, -2)[..., None, :, :]
    parts = arithmetic.total(arithmetic.multiply(weights[..., None, :], spread))
    return arithmetic.divide(parts, whole)


def scale_for(length: int, gap: int) -> int:
    """Return the least power of two K with gap K >= length + 1.

    Examples
    --------
    >>> scale_for(256, 1), scale_for(255, 2)
    (512, 128)
    """
    return int(2 ** math.ceil(math.log2((length + 1) / gap)))


@dataclass(frozen=True)
class Match:
    """The value at the last (or first) position whose key equals the query.

    Attributes
    ----------
    width, top
        Of the code: q . k = top at equality.
    length
        N, the most positions.
    scale
        K.
    last
        Whether the last match wins; else the first.
    """

    width: int
    top: int
    length: int
    scale: int
    last: bool = True

    @classmethod
    def of(cls, code: Code, length: int, *, last: bool = True, gap: int | None = None) -> Match:
        """Return the head for a code; `gap` where pads make it smaller than the code's."""
        return cls(code.width, code.top, length, scale_for(length, gap or code.gap), last)

    def queries(self, codes: Array) -> Array:
        """Return query vectors (..., width + 2)."""
        q = np.asarray(codes, np.float64)
        rest = np.broadcast_to([-1.0 * self.scale * self.top, 1.0], (*q.shape[:-1], 2))
        return np.concatenate([self.scale * q, rest], axis=-1)

    def keys(self, codes: Array, positions: Array) -> Array:
        """Return key vectors (..., T, width + 2) of codes at positions 1..N."""
        k = np.asarray(codes, np.float64)
        j = np.asarray(positions, np.float64)
        age = j - self.length if self.last else -j
        rest = np.stack([np.ones_like(age), age], axis=-1)
        return np.concatenate([k, np.broadcast_to(rest, (*k.shape[:-1], 2))], axis=-1)

    @property
    def sink(self) -> Array:
        """The key that wins where nothing matches: (1, width + 2)."""
        floor = -self.length if self.last else -self.length - 1
        return np.concatenate([np.zeros(self.width + 1), [floor]])[None]

    def __call__(
        self,
        query: Array,
        keys: Array,
        values: Array,
        arithmetic: Arithmetic,
        none: Array | None = None,
    ) -> Array:
        """Look queries (R, width) up in T keys (T, width) with values (T, v): (R, v).

        `none` is the value (v,) of the sink, zeros by default.
        """
        count = len(keys)
        if count > self.length:
            raise UsageError(
                "keys", count, f"this head is built for {self.length}", "build a longer one"
            )
        rows = np.concatenate([self.sink, self.keys(keys, np.arange(1, count + 1))])
        nothing = np.zeros(values.shape[-1]) if none is None else none
        held = np.concatenate([nothing[None], values])
        return attend(self.queries(query), rows, held, arithmetic)


@dataclass(frozen=True)
class Count:
    """How many keys equal the query.

    Attributes
    ----------
    width, top
        Of the code.
    length
        n, the most keys.
    sharpness
        beta: mismatches weigh base^(-gap beta). A power of two, which rounds nothing.
    """

    width: int
    top: int
    length: int
    sharpness: int

    @classmethod
    def of(cls, code: Code, length: int) -> Count:
        """Return the head for a code: all mismatches together weigh less than 1/(4 n).

        That is more than the sign needs and what the integer readout can do with.
        """
        leak = math.log(16.0 * length * length, BASE) / code.gap
        return cls(code.width, code.top, length, 2 ** max(math.ceil(math.log2(leak)), 0))

    def queries(self, codes: Array) -> Array:
        """Return query vectors (..., width + 1)."""
        q = np.asarray(codes, np.float64)
        rest = np.broadcast_to([-self.sharpness * self.top], (*q.shape[:-1], 1))
        return np.concatenate([self.sharpness * q, rest], axis=-1)

    def keys(self, codes: Array) -> Array:
        """Return key vectors (..., T, width + 1)."""
        k = np.asarray(codes, np.float64)
        return np.concatenate([k, np.ones((*k.shape[:-1], 1))], axis=-1)

    @property
    def own(self) -> Array:
        """The asking token's own key, which scores like a match: (1, width + 1)."""
        return np.zeros((1, self.width + 1))

    def above(self, query: Array, keys: Array, threshold: int, arithmetic: Arithmetic) -> bool:
        """Return whether more than `threshold` of the keys (T, width) equal the query (width)."""
        rows = np.concatenate([self.keys(keys), self.own])
        values = np.concatenate([np.ones(len(keys)), [-(threshold + 0.5)]])[:, None]
        return bool(attend(self.queries(query[None]), rows, values, arithmetic)[0, 0] > 0)

    def number(self, query: Array, keys: Array, arithmetic: Arithmetic) -> int:
        """Return how many of the keys (T, width) equal the query (width)."""
        n = self.length
        scores = arithmetic.dot(arithmetic(self.queries(query)), arithmetic(self.keys(keys)).T)
        log_weight = arithmetic(np.array([math.log(n, BASE)]))
        every = np.concatenate([scores, log_weight])[None]
        values = np.concatenate([np.ones(len(keys)), [0.0]])[:, None]
        a = weigh(every, values, arithmetic)[0, 0]
        rest = arithmetic.add(arithmetic(np.array(1.0)), -a)
        return int(
            np.rint(arithmetic.divide(arithmetic.multiply(arithmetic(np.array(n)), a), rest))
        )
