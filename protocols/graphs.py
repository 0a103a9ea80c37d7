"""Random labelled trees, and graphs that nearly are trees.

A tree on vertices 1..n is told by its Pruefer string, n - 2 vertices: take off the least
leaf, write its neighbour down, until two vertices are left. That is one-to-one onto all
n^(n-2) strings (Cayley), so uniform strings make uniform trees. `decode` inverts it: the
degree of a vertex is one more than how often it is written, and the least vertex of degree
one was taken off next.

`mutated` trees have a fault each: a moved edge that closes a cycle and leaves another
component, an edge twice, an edge too many, an edge too few, a loop in place of an edge.
"""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statebound.protocols.problem import require

Edges = list[tuple[int, int]]
FAULTS = ("moved", "twice", "extra", "missing", "loop")


def decode(string: NDArray[np.integer[Any]]) -> Edges:
    """Return the tree of a Pruefer string of vertices 1..len + 2.

    Examples
    --------
    >>> decode(np.array([4, 4]))
    [(1, 4), (2, 4), (3, 4)]
    """
    n = len(string) + 2
    degree = np.bincount(string, minlength=n + 1) + 1
    leaves = [v for v in range(1, n + 1) if degree[v] == 1]  # sorted, so a heap
    edges = []
    for vertex in map(int, string):
        edges.append((heapq.heappop(leaves), vertex))
        degree[vertex] -= 1
        if degree[vertex] == 1:
            heapq.heappush(leaves, vertex)
    edges.append((leaves[0], leaves[1]))
    return edges


def random_tree(n: int, generator: np.random.Generator) -> Edges:
    """Draw a uniform labelled tree on n vertices, at least 2: its edges in random order."""
    require("n", n, 2, 1 << 20, "vertices of a tree")
    return _shuffled(decode(generator.integers(1, n + 1, n - 2)), generator)


def mutated(n: int, fault: str, generator: np.random.Generator) -> Edges:
    """Draw a tree on n vertices, at least 4, and spoil it: its edges in random order.

    Parameters
    ----------
    n
        Vertices.
    fault
        One of `FAULTS`; ``moved``, ``twice`` where it replaces an edge, and ``loop`` keep
        the number of edges at n - 1.
    generator
        What draws.
    """
    require("n", n, 4, 1 << 20, "vertices of a spoilt tree")
    edges = random_tree(n, generator)
    if fault == "missing":
        return edges[1:]
    if fault == "loop":
        vertex = int(generator.integers(1, n + 1))
        return _shuffled([(vertex, vertex), *edges[1:]], generator)
    if fault == "twice":
        return _shuffled([edges[1], *edges[1:]], generator)
    held = {frozenset(edge) for edge in edges}
    while True:
        a, b = (int(v) for v in generator.choice(n, 2, replace=False) + 1)
        if frozenset((a, b)) not in held:
            break
    if fault == "extra":
        return _shuffled([(a, b), *edges], generator)
    # of the cycle that the new edge closes every edge stays, so the one that goes is another
    on_cycle = _path(edges, a, b)
    free = [e for e in edges if e not in on_cycle]
    if not free:  # the tree was a path from a to b
        return mutated(n, fault, generator)
    gone = free[int(generator.integers(len(free)))]
    return _shuffled([(a, b), *(e for e in edges if e != gone)], generator)


def _path(edges: Edges, a: int, b: int) -> set[tuple[int, int]]:
    """Return the edges on the way from a to b in a tree."""
    near: dict[int, Edges] = {}
    for edge in edges:
        for end in edge:
            near.setdefault(end, []).append(edge)
    came: dict[int, tuple[int, int]] = {a: (a, a)}
    found = [a]
    for vertex in found:
        for edge in near[vertex]:
            other = edge[0] + edge[1] - vertex
            if other not in came:
                came[other] = edge
                found.append(other)
    path = set()
    while b != a:
        path.add(came[b])
        b = sum(came[b]) - b
    return path


def _shuffled(edges: Edges, generator: np.random.Generator) -> Edges:
    """Return the edges in random order, either end first."""
    order, turned = generator.permutation(len(edges)), generator.integers(0, 2, len(edges))
    return [edges[i][::-1] if turn else edges[i] for i, turn in zip(order, turned, strict=True)]
