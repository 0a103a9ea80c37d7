r"""A graph read edge by edge: its components and one bit, and their shortest message.

To decide at any later time whether a graph is a tree it suffices to know which vertices are
connected and whether an edge ever joined two that were connected before (a cycle; a second
copy of an edge and a loop are cycles too). A graph is a tree exactly when there is no cycle
and one component. So the state is a partition of the vertices, one of Bell(n), and a bit.

The partition is kept as labels (restricted growth): a_1 = 0, and vertex i has the label of
its component, components numbered in the order of their first vertices, so that a_i is at
most one more than all labels before it. With D(r, m) the number of ways in which r further
labels can follow when m are in use,

    D(0, m) = 1,    D(r, m) = m D(r-1, m) + D(r-1, m+1),    Bell(n) = D(n, 0),

strings are counted in lexicographic order: in front of those that go on with label a stand
those that go on with a smaller label, which is in use, so

    rank = sum_i a_i D(n - i, m_i),    m_i the labels in use before vertex i.

Numbers are 64-bit while Bell(n) fits (n <= 25) and Python's integers beyond: exact always.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statebound.protocols.message import Bytes, MessageError, byte_length, check
from statebound.protocols.problem import require

MOST_VERTICES = 255
_WORD_VERTICES = 25  # Bell(25) < 2^63 < Bell(26)

Labels = NDArray[np.uint8]
Flags = NDArray[np.bool_]
Ranks = NDArray[Any]


@dataclass(frozen=True)
class Components:
    """A batch of B graphs: labels (B, n), restricted growth, and whether each has a cycle (B,)."""

    labels: Labels
    cycle: Flags

    def take(self, which: NDArray[np.int64]) -> Components:
        """Return the graphs at these indices."""
        return Components(self.labels[which], self.cycle[which])

    @property
    def tree(self) -> Flags:
        """Whether each graph is a tree."""
        connected: Flags = self.labels.max(axis=1) == 0
        return connected & ~self.cycle


class Partitions:
    """Graphs on vertices 1..n, and the bits that tell their components and cycles.

    Parameters
    ----------
    vertices
        n, 1 to 255.

    Examples
    --------
    >>> graphs = Partitions(4)
    >>> graphs.count, graphs.state_bits
    (15, 5)
    >>> path = graphs.read(np.array([[[1, 2], [3, 2], [3, 4]]]))
    >>> path.labels.tolist(), path.tree.tolist()
    ([[0, 0, 0, 0]], [True])
    """

    def __init__(self, vertices: int) -> None:
        require("n", vertices, 1, MOST_VERTICES, "vertices of a graph")
        self.vertices = vertices
        self._kind: Any = np.int64 if vertices <= _WORD_VERTICES else object
        self._ways = _ways(vertices).astype(self._kind)

    @property
    def count(self) -> int:
        """Bell(n), the number of partitions."""
        return int(self._ways[self.vertices, 0])

    @cached_property
    def rank_bits(self) -> int:
        """The bits of a partition, ceil(log2 Bell(n))."""
        return (self.count - 1).bit_length()

    @property
    def state_bits(self) -> int:
        """The bits of a partition and of the cycle."""
        return self.rank_bits + 1

    def start(self, graphs: int = 1) -> Components:
        """Return graphs without edges."""
        alone = np.broadcast_to(np.arange(self.vertices, dtype=np.uint8), (graphs, self.vertices))
        return Components(alone.copy(), np.zeros(graphs, np.bool_))

    def join(self, state: Components, edges: NDArray[np.integer[Any]]) -> Components:
        """Read one more edge of each graph: (B, 2) vertices from 1."""
        rows = np.arange(len(state.labels))
        ends = state.labels[rows[:, None], np.asarray(edges) - 1]
        low, high = ends.min(axis=1)[:, None], ends.max(axis=1)[:, None]
        labels = np.where(state.labels == high, low, state.labels)
        labels = labels - ((state.labels > high) & (low < high))
        return Components(labels.astype(np.uint8), state.cycle | (low == high)[:, 0])

    def read(self, edges: NDArray[np.integer[Any]], state: Components | None = None) -> Components:
        """Read streams of edges (B, m, 2), from a state or from no edges."""
        state = self.start(len(edges)) if state is None else state
        for j in range(edges.shape[1]):
            state = self.join(state, edges[:, j])
        return state

    def rank(self, labels: Labels) -> Ranks:
        """Number partitions (B, n), restricted growth, from 0: (B,) integers."""
        used = np.zeros(len(labels), np.int64)
        rank = np.zeros(len(labels), self._kind)
        for i, label in enumerate(labels.T.astype(np.int64)):
            rank = rank + label.astype(self._kind) * self._ways[self.vertices - i - 1, used]
            used = np.maximum(used, label + 1)
        return rank

    def unrank(self, rank: Ranks) -> Labels:
        """Invert `rank`; numbers (B,) below Bell(n)."""
        used = np.zeros(len(rank), np.int64)
        labels = np.zeros((len(rank), self.vertices), np.uint8)
        for i in range(self.vertices):
            ways = self._ways[self.vertices - i - 1, used]
            label = np.minimum((rank // ways).astype(np.int64), used)
            rank = rank - label.astype(self._kind) * ways
            labels[:, i] = label
            used = np.maximum(used, label + 1)
        return labels

    def pack(self, state: Components) -> Bytes:
        """Return messages of `state_bits` bits: the rank, then the cycle: (B, bytes)."""
        size = byte_length(self.state_bits)
        whole = (
            int(rank) | int(cycle) << self.rank_bits
            for rank, cycle in zip(self.rank(state.labels), state.cycle, strict=True)
        )
        sent = b"".join(number.to_bytes(size, "little") for number in whole)
        return np.frombuffer(sent, np.uint8).reshape(-1, size).copy()

    def unpack(self, message: Bytes) -> Components:
        """Invert `pack`.

        Raises
        ------
        MessageError
            When the bytes are no messages of `state_bits` bits, or tell no partition.
        """
        check(message, self.state_bits)
        whole = [int.from_bytes(row.tobytes(), "little") for row in message]
        cycle = np.array([number >> self.rank_bits for number in whole], np.bool_)
        rank = [number & ((1 << self.rank_bits) - 1) for number in whole]
        if any(number >= self.count for number in rank):
            raise MessageError(
                f"message = {max(rank)}: there are only {self.count} partitions of "
                f"{self.vertices} vertices; send the message as it was made"
            )
        return Components(self.unrank(np.array(rank, self._kind)), cycle)


def _ways(vertices: int) -> NDArray[Any]:
    """Return D(r, m) for r + m <= n, (n + 1, n + 1) Python integers; 0 elsewhere."""
    ways = np.zeros((vertices + 1, vertices + 1), object)
    ways[0] = 1
    for r in range(1, vertices + 1):
        for m in range(vertices + 1 - r):
            ways[r, m] = m * ways[r - 1, m] + ways[r - 1, m + 1]
    return ways
