"""Which vertices are connected, and whether there is a cycle: IsTree for any graph of Alice's.

Alice reads her edges one by one and holds nothing but the state of
`statebound.protocols.partitions`, ceil(log2 Bell(n)) + 1 bits. Bob adds his edge to it: the
graph is a tree exactly when there was no cycle, and his edge joins the last two components.
So no chain of thought is needed, and any graph could be Alice's, in any order of its edges.

The two stars of the problem take only n - 3 bits (`truncation`); this is what the state
costs that knows nothing about them.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from statebound.errors import UsageError
from statebound.protocols.message import Bytes
from statebound.protocols.partitions import Components, Partitions
from statebound.protocols.problem import Answers, Problem, Symbols
from statebound.protocols.problems.istree import IsTree
from statebound.protocols.protocol import Queries, StreamingProtocol


class Partition(StreamingProtocol[Components]):
    """The connected components of Alice's graph and a bit.

    Parameters
    ----------
    problem
        IsTree with at most 255 vertices.
    state_bits
        ceil(log2 Bell(n)) + 1, which may be left out.

    Raises
    ------
    UsageError
        When the problem or the size is another one.
    """

    name: ClassVar[str] = "partition"

    def __init__(self, problem: Problem, state_bits: int | None = None) -> None:
        if not isinstance(problem, IsTree):
            raise UsageError(
                "protocol", self.name, f"is for graphs, not for {problem.name}", "use istree"
            )
        self.problem: IsTree = problem
        self.graphs = Partitions(problem.n)
        self.state_bits = self.graphs.state_bits
        if state_bits not in (None, self.state_bits):
            raise UsageError(
                "state_bits",
                state_bits,
                f"partition sends {self.state_bits} bits for {problem.n} vertices",
                "drop --state-bits",
            )

    @property
    def is_automaton(self) -> bool:
        """Always: the message is the state."""
        return True

    def start(self) -> Components:
        """Return the graph without edges."""
        return self.graphs.start()

    def size(self, state: Components) -> int:
        """Return B."""
        return len(state.cycle)

    def take(self, state: Components, which: NDArray[np.int64]) -> Components:
        """Return the states at these indices."""
        return state.take(which)

    def branch(self, state: Components, position: int) -> Components:
        """Add the edge from a vertex to either hub."""
        count = len(state.cycle)
        twice = state.take(np.tile(np.arange(count), 2))
        hub = self.problem.n - 1 + np.repeat(np.arange(2), count)
        return self.graphs.join(twice, np.stack([np.full_like(hub, position + 1), hub], axis=1))

    def message(self, state: Components) -> Bytes:
        """Return the ranks of the partitions, and the bits of the cycles."""
        return self.graphs.pack(state)

    def encode(self, x: Symbols) -> Bytes:
        """Read the edges of x in order."""
        edges = np.empty((len(x), self.problem.length, 2), np.int64)
        edges[:, :, 0] = np.arange(1, self.problem.length + 1)
        edges[:, :, 1] = self.problem.n - 1 + x.astype(np.int64)
        return self.message(self.graphs.read(edges))

    def answer(self, message: Bytes, query: Queries) -> Answers:
        """Add Bob's edge, and say whether that is a tree."""
        edge = np.stack([query + 1, query + 2], axis=1)
        whole = self.graphs.join(self.graphs.unpack(message), edge)
        return whole.tree.astype(self.problem.answer_type)

    def describe(self) -> dict[str, Any]:
        """Return the name and the number of vertices."""
        return {"protocol": self.name, "vertices": self.problem.n}


PROTOCOL = Partition
