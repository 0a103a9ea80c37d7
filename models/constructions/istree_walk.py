"""IsTree in the chain of thought of a hybrid: a walk around the graph, by retrieval alone.

A graph of n vertices is a tree iff it has n - 1 edges and is connected. The edges are
counted while they are read. Then, with n - 1 edges, the model walks: each edge u-v makes two
darts, u->v and v->u. From a dart that ends in v it goes on by the dart that follows its
reverse in the cyclic order of v's darts, the order of the stream. On a tree this goes once
around, 2 (n - 1) steps, and meets every vertex. So the graph is a tree iff n different
vertices are met.

The length of the walk alone is no test: a graph that is not a tree can also be gone around
in 2 (n - 1) steps, as two triangles that share an edge beside two lone vertices are in one
of their cyclic orders. `naive_walk` accepts those.

Every lookup is a Match head over all tokens so far. The chain of thought is made of records
of at most four numbers, each O(log n) digits:

1. *copy*, for each dart e: the record D (e, tail, head), from the edge's token by its number;
   then L (e, tail, head, link), the link being the dart before e with the same tail, from
   the last L with that tail, 0 if none.
2. *walk*: W (dart, tail, new), the dart by which the walk leaves a vertex, and whether the
   vertex is new; then H (dart, head), from the dart's L. From there three heads at once:
   the link of the reverse dart; the last dart with this tail, which is taken where the link
   is 0 (the cyclic order wraps); and whether a W has left this vertex before.

Which record comes next depends on the step number alone, so graphs of one size run in
lockstep. The heads are softmax attention; the choice between link and last, and the counters,
are written as integers and not as weights.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from statebound.errors import UsageError
from statebound.models.constructions.codes import Code, binary
from statebound.models.constructions.ledger import Ledger, bits_for, stored
from statebound.models.constructions.memory import Memory
from statebound.models.constructions.rounding import Arithmetic, Array
from statebound.models.constructions.tasks import FAINT

Ints = NDArray[np.int64]
KINDS = 4


@dataclass(frozen=True)
class Walked:
    """What B walks found.

    Attributes
    ----------
    tree
        (B,) answers.
    visited
        (B,) different vertices met.
    records, numbers
        Of one chain of thought; none where the edges do not number n - 1.
    ledger
        `tokens_written` counts binary digits, and one token a record for its kind.
    """

    tree: NDArray[np.bool_]
    visited: Ints
    records: int
    numbers: int
    ledger: Ledger


def reverse(dart: Ints) -> Ints:
    """Return the dart back: 1 and 2, 3 and 4, ... are edges."""
    return (dart - 1 ^ 1) + 1


class IsTreeWalk:
    """The model for graphs of n vertices and m edges.

    Parameters
    ----------
    n
        Vertices, from 1.
    m
        Edges.
    arithmetic
        Precision; float32 by default.
    """

    def __init__(self, n: int, m: int, arithmetic: Arithmetic | None = None) -> None:
        for argument, value, least in (("n", n, 1), ("m", m, 0)):
            if value < least:
                raise UsageError(argument, value, f"must be at least {least}", f"pass {least}")
        self.n, self.m = n, m
        self.arithmetic = arithmetic or Arithmetic(24)
        self.vertex, self.dart, self.edge = binary(n + 1), binary(2 * m + 1), binary(m + 1)

    def __call__(self, edges: Array) -> Walked:
        """Decide graphs (B, m, 2) with vertices 1..n."""
        edges = np.asarray(edges, np.int64)
        if edges.ndim != 3 or edges.shape[1:] != (self.m, 2):
            raise UsageError("edges", edges.shape, f"must be (B, {self.m}, 2)", "list m pairs")
        if edges.size and not (edges.min() >= 1 and edges.max() <= self.n):
            raise UsageError("edges", edges.tolist(), f"vertices are 1..{self.n}", "renumber them")
        runs = len(edges)
        if self.m != self.n - 1:
            none = np.zeros(runs, np.int64)
            return Walked(none > 0, none, 0, 0, self.ledger(0, 0, 0))
        if self.m == 0:
            one = np.ones(runs, np.int64)
            return Walked(one > 0, one, 0, 0, self.ledger(0, 0, 0))
        session = _Session(self, edges)
        session.copy()
        visited = session.walk()
        numbers = 2 * self.m * 7 + 2 * self.m * 5
        ledger = self.ledger(session.records, session.digits, session.stored_numbers)
        return Walked(visited == self.n, visited, session.records, numbers, ledger)

    def whole(self) -> Ledger:
        """Return the cost of one walk on n - 1 edges, without walking."""
        m, dart, vertex = self.n - 1, self.dart.width, self.vertex.width
        # copied: D of one dart number and two vertices, L of two and two; walked: W, H
        digits = 2 * m * (3 * dart + 4 * vertex) + 2 * m * (2 * dart + 2 * vertex + 1)
        values = (2 * vertex, dart, vertex + dart + 1, 1)
        numbers = sum(values) + self.edge.width + vertex + dart + vertex + 2 * len(values)
        return self.ledger(8 * m, digits, numbers)

    def ledger(self, records: int, digits: int, numbers: int) -> Ledger:
        """Return the cost of so many records with so many digits; keys and values a token."""
        n, m, t = self.n, self.m, self.arithmetic
        dart, vertex = bits_for(2 * m + 1), bits_for(n + 1)
        return Ledger(
            construction="hybrid with chain of thought, IsTree by a walk",
            tokens_read=m + 1,
            tokens_written=digits + records,
            recurrent_fields={
                "record": bits_for(KINDS) + 2 * dart + 2 * vertex,
                "index": dart,
                "edges": bits_for(m + 1),
                "visited": vertex,
                "phase": 2,
                "counter": bits_for(m + 8 * m + 1),
            },
            cache_bits=(m + records) * numbers * stored(t.bits),
            parameters=None,
            nonzero=None,
            significand_bits=t.bits,
        )


class _Session:
    """One run of B graphs: the heads, and the counters of the recurrence."""

    def __init__(self, model: IsTreeWalk, edges: Ints) -> None:
        t, runs = model.arithmetic, len(edges)
        self._model, self._runs, self._t = model, runs, t
        self.vertex, self.dart, self.edge = model.vertex, model.dart, model.edge
        size = 9 * model.m  # edges, two records a dart, two records a step
        ends = 2 * self.vertex.width

        def head(code: Code, value: int) -> Memory:
            return Memory.of(code, runs, size, np.zeros(value), t)

        self._edges = head(self.edge, ends)
        self._tails = head(self.vertex, self.dart.width)
        self._darts = head(self.dart, self.vertex.width + self.dart.width + 1)
        self._left = head(self.vertex, 1)
        self._heads = (self._edges, self._tails, self._darts, self._left)
        self._counter, self.records, self.digits = 0, 0, 0
        for i in range(model.m):
            key = self.edge.key(np.full(runs, i + 1))
            value = self.vertex.key(edges[:, i]).reshape(runs, ends)
            self._token({0: (key, value)})

    @property
    def stored_numbers(self) -> int:
        """Numbers that all heads store for one token."""
        return sum(head.numbers for head in self._heads)

    def _token(self, given: dict[int, tuple[Array, Array]]) -> None:
        """Store a token: keys and values in some heads, zeros in the others."""
        self._counter += 1
        counter = self._t(np.full(self._runs, float(self._counter)))
        for number, head in enumerate(self._heads):
            width = {0: self.edge, 1: self.vertex, 2: self.dart, 3: self.vertex}[number].width
            zeros = np.zeros((self._runs, width)), np.zeros((self._runs, head.numbers - width - 2))
            head.write(*given.get(number, zeros), counter)

    def _record(self, darts: int, vertices: int, flags: int = 0) -> None:
        self.records += 1
        self.digits += darts * self.dart.width + vertices * self.vertex.width + flags

    def copy(self) -> None:
        """Write the records D and L of every dart."""
        for e in range(1, 2 * self._model.m + 1):
            found = self._edges.read(self.edge.query(np.full(self._runs, (e + 1) // 2)))
            ends = _number(found.reshape(self._runs, 2, -1))
            tail, head = ends[:, 1 - e % 2], ends[:, e % 2]
            self._record(1, 2)
            self._token({})
            before = self._tails.read(self.vertex.query(tail))
            link = np.where(np.abs(before[:, 0]) < FAINT, 0, _number(before))
            self._record(2, 2)
            own = self.dart.key(np.full(self._runs, e))
            linked = [self.vertex.key(head), self.dart.key(link), (link > 0)[:, None] * 2.0 - 1]
            self._token(
                {
                    1: (self.vertex.key(tail), own),
                    2: (own, np.concatenate(linked, axis=1)),
                }
            )

    def walk(self) -> Ints:
        """Write the records W and H of 2 m steps, and return the vertices met (B,)."""
        dart = np.ones(self._runs, np.int64)
        tail, _ = self._look(reverse(dart))
        fresh = np.ones(self._runs, bool)
        visited = np.zeros(self._runs, np.int64)
        for _ in range(2 * self._model.m):
            visited += fresh
            self._record(1, 1, 1)
            self._token({3: (self.vertex.key(tail), np.ones((self._runs, 1)))})
            head, _ = self._look(dart)
            self._record(1, 1)
            self._token({})
            _, link = self._look(reverse(dart))
            last = _number(self._tails.read(self.vertex.query(head)))
            fresh = np.abs(self._left.read(self.vertex.query(head))[:, 0]) < FAINT
            dart, tail = np.where(link > 0, link, last), head
        return visited

    def _look(self, dart: Ints) -> tuple[Ints, Ints]:
        """Return the head and the link, 0 for none, in the L of a dart."""
        found = self._darts.read(self.dart.query(dart))
        split = self.vertex.width
        link = np.where(found[:, -1] > 0, _number(found[:, split:-1]), 0)
        return _number(found[:, :split]), link


def _number(digits: Array) -> Ints:
    """Return the numbers of +-1 digits (..., b), lowest first."""
    numbers: Ints = (digits > 0) @ (1 << np.arange(digits.shape[-1]))
    return numbers


def naive_walk(n: int, edges: Array) -> NDArray[np.bool_]:
    """Return whether the walk from the first dart first comes back after 2 (n - 1) steps.

    Integers only, no model: the test that is not one. Graphs (B, n - 1, 2), vertices 1..n.
    """
    edges = np.asarray(edges, np.int64)
    runs, m, _ = edges.shape
    rows = np.arange(runs)
    last = np.zeros((runs, n + 1), np.int64)
    link = np.zeros((runs, 2 * m + 1), np.int64)
    heads = np.zeros((runs, 2 * m + 1), np.int64)
    for e in range(1, 2 * m + 1):
        tail = edges[:, (e - 1) // 2, 1 - e % 2]
        heads[:, e] = edges[:, (e - 1) // 2, e % 2]
        link[:, e] = last[rows, tail]
        last[rows, tail] = e
    dart = np.ones(runs, np.int64)
    length = np.zeros(runs, np.int64)
    for step in range(1, 2 * m + 1):
        following = link[rows, reverse(dart)]
        dart = np.where(following > 0, following, last[rows, heads[rows, dart]])
        length = np.where((dart == 1) & (length == 0), step, length)
    whole: NDArray[np.bool_] = length == 2 * (n - 1)
    return whole
