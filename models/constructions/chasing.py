r"""Pointer chasing by attention: one retrieval a layer, or one a token.

A string is: start token, the table f(0) .. f(n-1), separator, the vertex asked for. The
recurrence is a counter; one Match head finds the entry of a vertex by the position that the
counter gave it, and reads where it points. That is one hop. There are two ways to more:

* *layers*: L such layers, each of which asks for what the one below found: L hops;
* *chain of thought*: what was found is written as the next token, and asked for in turn. T
  tokens and the answer make T + 1 hops with one layer, L (T + 1) with L.

So the model retrieves L (T + 1) times and answers f^(L (T + 1)) of the vertex. Asked for more
hops k it can only be right where the walk has met itself: f^k(s) = f^j(s), j the hops made.
For a uniform table s, f(s), f(f(s)), ... are t + c different vertices before the walk comes
back to the one after t steps with probability

    P(t, c) = (1/n) prod_{i=1}^{t+c-1} (1 - i/n),

since each new entry is uniform and independent. From then on the walk has period c, so
f^k = f^j, j < k, iff j >= t and c divides k - j: `coincidence` is the sum over those.

This is what these models do. It is no lower bound on other models of one layer.

Between two layers each digit passes two ReLU units in turn, x -> 1 - relu(2 - relu(2 x + 1)),
which is exactly +-1 where abs(x) >= 1/2, at any precision. A match has weight 3/4 at least,
so what is found is that far from 0.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from statebound.errors import UsageError
from statebound.models.constructions.codes import binary
from statebound.models.constructions.ledger import Ledger, bits_for
from statebound.models.constructions.rounding import Arithmetic, Array
from statebound.models.constructions.streams import OFF, Head, Slots, match_head

Ints = NDArray[np.int64]


class Chaser:
    """The hybrid: a counter, then L layers of one Match head, and T tokens of thought.

    Parameters
    ----------
    n
        Vertices, from 2.
    layers
        L.
    thoughts
        T, tokens written before the answer.
    arithmetic
        Precision; float32 by default.
    """

    def __init__(
        self, n: int, layers: int = 1, thoughts: int = 0, arithmetic: Arithmetic | None = None
    ) -> None:
        least = (("n", n, 2), ("layers", layers, 1), ("thoughts", thoughts, 0))
        for argument, value, low in least:
            if value < low:
                raise UsageError(argument, value, f"must be at least {low}", f"pass {low}")
        self.n, self.layers, self.thoughts = n, layers, thoughts
        self.arithmetic = arithmetic or Arithmetic(24)
        self.code = binary(n)
        width = self.code.width
        tokens = {"one": 1, "live": 1, "sym": width, "ask": width}
        mapped = {"counter": 1, "age": 1, "pos": width}
        hops = {f"hop{layer}": width for layer in range(1, layers + 1)}
        # `result` is where Match heads write by themselves; here each has a place of its own
        self.slots = Slots(tokens | mapped | hops | {"result": 0})
        self._tokens = self._embedding()
        self.A, self.E = np.ones((1, 1)), self.slots.pick([("one", 1.0)])
        self.heads = [self._head(layer) for layer in range(1, layers + 1)]

    @property
    def length(self) -> int:
        """N, the most positions after the start token."""
        return self.n + 2 + self.thoughts

    @property
    def retrievals(self) -> int:
        """L (T + 1), the hops that are made."""
        return self.layers * (self.thoughts + 1)

    def _embedding(self) -> Array:
        """Return (2 n + 2, d): entries of the table, start, separator, vertices asked for."""
        n, at = self.n, self.slots.at
        table = np.zeros((2 * n + 2, self.slots.width))
        table[:, at["one"]] = 1
        table[:n, at["live"]] = 1
        table[n + 1 :, at["live"]] = OFF
        table[:n, at["sym"]] = table[n + 2 :, at["ask"]] = self.code.key(np.arange(n))
        return table

    def _head(self, layer: int) -> Head:
        asked = "ask" if layer == 1 else f"hop{layer - 1}"
        top, gap = self.code.top, self.code.gap
        head = match_head(self.slots, [(asked, "pos")], "sym", self.length, top=top, gap=gap)
        return replace(head, out=self.slots.pick([(f"hop{layer}", 1.0)]).T)

    def _stream(self, tokens: Ints, h: Array) -> tuple[Array, Array]:
        """Return what the first layer sees (B, T, d) of tokens (B, T), and the next state.

        `h` (B, 1) is the state before them.
        """
        t, at = self.arithmetic, self.slots.at
        stream = t(self._tokens)[tokens]
        for step in range(tokens.shape[1]):
            stream[:, step, at["counter"]] = h
            h = t.add(t.apply(h, self.A), t.apply(stream[:, step], self.E))
        counter = stream[..., at["counter"]]
        stream[..., at["age"]] = t.add(counter, t(np.array(-self.length)))
        place = (counter[..., 0].astype(np.int64) - 1) % 2**self.code.width
        stream[..., at["pos"]] = self.code.key(place) * (counter > 0)  # the sink has no code
        return stream, h

    def _next(self, stream: Array) -> Ints:
        """Return the vertices (B,) that the last layer finds at the end of a stream (B, T, d).

        Keys and values come from the embedding alone, so only the last position is followed.
        """
        t, last = self.arithmetic, slice(-1, None)
        for layer, head in enumerate(self.heads, start=1):
            stream[:, last] = t.add(stream[:, last], head(stream, last, t))
            at = self.slots.at[f"hop{layer}"]
            stream[:, last, at] = self._sharpen(stream[:, last, at])
        found = stream[:, -1, self.slots.at[f"hop{self.layers}"]]
        digits: Ints = (found > 0) @ (1 << np.arange(found.shape[1]))
        return digits

    def _sharpen(self, x: Array) -> Array:
        t = self.arithmetic
        one, two = t(np.array(1.0)), t(np.array(2.0))
        inner = np.maximum(t.add(t.multiply(two, x), one), 0)
        return t.add(one, -np.maximum(t.add(two, -inner), 0))

    def __call__(self, tables: Array, starts: Array) -> Ints:
        """Return f^(L (T + 1)) of starts (B,) under tables (B, n), vertices from 0."""
        tables, starts = np.asarray(tables, np.int64), np.asarray(starts, np.int64)
        n, asked = self.n, self.n + 2
        column = np.ones((len(tables), 1), np.int64)
        prompt = [n * column, tables, (n + 1) * column, starts[:, None] + asked]
        start = self.arithmetic(np.zeros((len(tables), 1)))
        stream, h = self._stream(np.concatenate(prompt, axis=1), start)
        for _ in range(self.thoughts):
            more, h = self._stream(self._next(stream)[:, None] + asked, h)
            stream = np.concatenate([stream, more], axis=1)
        return self._next(stream)

    def ledger(self) -> Ledger:
        """Return the cost at this size; the cache is that of table and separator."""
        weights = [matrix for head in self.heads for matrix in head.matrices] + [self.A, self.E]
        units = 6 * self.code.width * self.layers  # three weights and three biases a digit
        how = f"{self.layers} layer{'s' * (self.layers > 1)}"
        how += ", chain of thought" * (self.thoughts > 0)
        return Ledger(
            construction=f"hybrid, pointer chasing, {how}",
            tokens_read=self.n + 3,
            tokens_written=self.thoughts,
            recurrent_fields={"counter": bits_for(self.length + 1)},
            cache_bits=sum(h.cache_bits(self.n + 2, self.arithmetic.bits) for h in self.heads),
            parameters=sum(w.size for w in weights) + units,
            nonzero=sum(int(np.count_nonzero(w)) for w in weights) + units,
            significand_bits=self.arithmetic.bits,
        )


def coincidence(n: int, hops: int, made: int) -> Fraction:
    """Return the probability that f^hops(s) = f^made(s), f a uniform table of n entries.

    Exact; derived above.

    Examples
    --------
    >>> [str(coincidence(4, hops, 1)) for hops in (1, 2, 3)]
    ['1', '7/16', '23/32']
    """
    low, apart = min(hops, made), abs(hops - made)
    if apart == 0:
        return Fraction(1)
    closes = [Fraction(1, n)]  # by t + c - 1: the walk comes back at all at this length
    for i in range(1, n):
        closes.append(closes[-1] * (n - i) / n)
    return sum(
        (
            closes[t + c - 1]
            for c in range(1, min(apart, n) + 1)
            if apart % c == 0
            for t in range(min(low, n - c) + 1)
        ),
        Fraction(0),
    )
