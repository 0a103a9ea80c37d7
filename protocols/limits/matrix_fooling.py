"""Fooling sets of a 0/1 matrix: lower bounds on two-way deterministic cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from statebound.protocols.limits.matrix_measures import Matrix

Mask = NDArray[np.bool_]

_ENTRIES = 1 << 22
_CLIQUE_CELLS = 96


@dataclass(frozen=True)
class Fooling:
    """A fooling set: cells of equal value, no two in one monochromatic rectangle.

    Attributes
    ----------
    answer
        The value of the cells.
    cells
        Pairs (row, column).
    exact
        Whether no larger fooling set exists, for either value.
    """

    answer: int
    cells: tuple[tuple[int, int], ...]
    exact: bool

    @property
    def size(self) -> int:
        """The number of cells."""
        return len(self.cells)


def fooling_set(rows: Matrix) -> Fooling:
    """Return a large fooling set: greedy, and exact for at most 96 cells of each value.

    Cells (x, y) and (x', y') of value z exclude each other's rectangle when f(x, y') or
    f(x', y) differs from z. Any protocol that ends with both knowing f needs a leaf for
    each, so two-way cost is at least log2 of the size (Kushilevitz and Nisan, section 1.3).
    Of large matrices every few rows are looked at, which keeps the bound valid.
    """
    step = -(-rows.size // _ENTRIES)
    block = rows[::step]
    best = Fooling(0, (), False)
    exact = len(block) == len(rows)
    for answer in (1, 0):
        same = block == answer
        is_small = int(same.sum()) <= _CLIQUE_CELLS
        exact &= is_small
        cells = _clique(same) if is_small else _greedy(same)
        if len(cells) > best.size:
            best = Fooling(answer, tuple(cells), False)
    return Fooling(best.answer, tuple((x * step, y) for x, y in best.cells), exact)


def _greedy(same: Mask) -> list[tuple[int, int]]:
    """Return a fooling set among the marked cells, those in the emptiest lines first."""
    width = same.shape[1]
    xs, ys = np.nonzero(same)
    order = np.argsort(same.sum(axis=1)[xs] * same.sum(axis=0)[ys], kind="stable")
    places = (xs * width + ys)[order]
    free = same.copy()
    flat = free.reshape(-1)
    chosen: list[tuple[int, int]] = []
    for part in range(0, len(places), 1 << 12):
        left = places[part : part + (1 << 12)]
        while len(left := left[flat[left]]):
            x, y = divmod(int(left[0]), width)
            chosen.append((x, y))
            free[np.ix_(same[:, y], same[x])] = False
    return chosen


def _clique(same: Mask) -> list[tuple[int, int]]:
    """Return a largest fooling set as a maximum clique of compatible cells.

    Branch and bound with a greedy colouring as the bound (Tomita and Seki 2003): a clique
    has at most one cell of each colour.
    """
    xs, ys = np.nonzero(same)
    crossed = same[np.ix_(xs, ys)]
    friends = [sum(1 << int(j) for j in np.flatnonzero(row)) for row in ~(crossed & crossed.T)]
    best: list[int] = []

    def expand(chosen: list[int], left: int) -> None:
        nonlocal best
        if len(chosen) > len(best):
            best = chosen
        order: list[tuple[int, int]] = []
        rest, colour = left, 0
        while rest:
            colour += 1
            free = rest
            while free:
                cell = (free & -free).bit_length() - 1
                order.append((cell, colour))
                rest &= ~(1 << cell)
                free &= ~(1 << cell) & ~friends[cell]
        for cell, bound in reversed(order):
            if len(chosen) + bound <= len(best):
                return
            expand([*chosen, cell], left & friends[cell])
            left &= ~(1 << cell)

    expand([], (1 << len(xs)) - 1)
    return [(int(xs[c]), int(ys[c])) for c in best]
