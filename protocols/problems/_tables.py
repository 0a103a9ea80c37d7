"""How many answer tables associative recall has, and the subsets that queries ask."""

from __future__ import annotations

from functools import cache
from itertools import combinations
from math import comb, factorial

import numpy as np
from numpy.typing import NDArray

MOST_VERTICES = 40


@cache
def _partitions(n: int, k: int) -> int:
    """Return the number of ways to split n things into k groups (Stirling, second kind)."""
    if n == k:
        return 1
    if not 0 < k < n:
        return 0
    row = [1] + [0] * k  # S(0, j)
    for _ in range(n):
        row = [0] + [j * row[j] + row[j - 1] for j in range(1, k + 1)]
    return row[k]


def _connected(most: int) -> list[list[int]]:
    """Return, for m = 0 .. most, connected functions on m labelled points by their leaves.

    Entry L counts the functions of m points into themselves, in one piece, that miss exactly
    L of them. All functions that miss L are m!/L! S(m, m - L); the piece of the first point
    splits them: F_m = sum_j C(m-1, j-1) C_j F_(m-j), as polynomials in L.
    """
    every = [
        [factorial(m) // factorial(left) * _partitions(m, m - left) for left in range(m + 1)]
        for m in range(most + 1)
    ]
    found: list[list[int]] = [[0]]
    for m in range(1, most + 1):
        rest = every[m].copy()
        for j in range(1, m):
            ways = comb(m - 1, j - 1)
            for a, one in enumerate(found[j]):
                if one:
                    for b, other in enumerate(every[m - j]):
                        rest[a + b] -= ways * one * other
        found.append(rest)
    return found


@cache
def recall_tables(n: int, symbols: int) -> int | None:
    """Return how many different rows of answers strings of n symbols have.

    The answer to q is what follows the last q among the first n - 1 symbols, or none. Order
    the m symbols that occur there by their last occurrence, u_1 .. u_m. After the last u_j,
    j < m, comes a symbol that still occurs later, so one of u_(j+1) .. u_m; after the last
    u_m, which is symbol n - 1, comes any symbol z. So the row is a rooted tree on m labelled
    vertices (each u_j points to what follows it, u_m is the root), and the root points to z.

    *Which trees occur.* Write the vertices in an order in which all pointers go forwards;
    where u_j does not point to u_(j+1), write what it points to in between. That takes m
    symbols and one more for each such break. Without breaks one walks along a path of the
    tree, so there are at least as many paths as leaves, and as many suffice: follow each
    leaf to the first vertex that is on a path already, and write a path before the one that
    it leads to. So a tree with L leaves (1 for m = 1) needs n - 1 >= m + L - 1, and any longer
    string can begin with more of the root. There are m!/L! S(m - 1, m - L) rooted labelled
    trees on m vertices with L leaves, S the Stirling numbers of the second kind.

    *Which rows these are.* If z is none of the u_j, the row shows the root, and there are
    symbols - m choices of z. Else the row is a connected function of the m vertices into
    themselves, with one cycle, and any vertex of the cycle may have been the root; the best
    choice is one that points to where another one points too, for then the tree has no
    more leaves than the function misses points. There is such a choice unless the function
    is one cycle, of (m - 1)!, whose tree is a path with one leaf.

    Returns
    -------
    int or None
        None for more than `MOST_VERTICES` vertices, where counting would take long.

    Examples
    --------
    >>> recall_tables(2, 3), recall_tables(3, 3)
    (9, 24)
    """
    if n < 2:
        return 1
    most = min(symbols, n - 1)
    if most > MOST_VERTICES:
        return None
    connected, rows = _connected(most), 0
    for m in range(1, most + 1):
        trees = sum(
            factorial(m) // factorial(leaves) * _partitions(m - 1, m - leaves)
            for leaves in range(1, min(m, n - m) + 1)
        )
        within = sum(connected[m][1 : n - m + 1]) + factorial(m - 1)
        rows += comb(symbols, m) * ((symbols - m) * trees + within)
    return rows


@cache
def subsets(n: int, size: int) -> NDArray[np.int64]:
    """Return the subsets of range(n) of this size in lexicographic order: (sets, size)."""
    found = np.array(list(combinations(range(n), size)), np.int64)
    found.flags.writeable = False
    return found


def subset_number(n: int, size: int, text: str) -> int:
    """Return the number of a subset that is written as 1,3,5 (from 1, in any order).

    Raises
    ------
    ValueError
        When it is none.
    """
    asked = sorted(int(part) - 1 for part in text.split(","))
    if len(asked) != size or not (subsets(n, size) == asked).all(axis=1).any():
        raise ValueError(text)
    return int((subsets(n, size) == asked).all(axis=1).argmax())
