"""Which parts of a state do anything, found by changing them and watching what is said next.

Dead means: no change of the part, to the value it has after other tokens or to noise, moved an
output on the tokens that were tried. That is evidence, not proof; live is proof.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statebound.errors import StateboundError
from statebound.experiments.audit import walk
from statebound.experiments.audit.bench import Bench
from statebound.experiments.audit.cut import Message, Run
from statebound.experiments.audit.subject import Outputs

LONG = 16
"""Axes with more places than this are not searched for dead ones."""

AHEAD = 3
"""Tokens that Bob reads after a change."""

SENTINEL = 1e30


class Probe:
    """Alice's state at one handoff, to be changed part by part."""

    def __init__(self, bench: Bench, alice: Run, template: Run) -> None:
        cut = bench.cut
        self.bench, self.template = bench, template
        self.mine, self.other = cut.message(alice), cut.message(template)
        h = alice.read
        self.ahead = bench.x[h : h + AHEAD]
        self.calls = 0
        self.plain = cut.read(bench.bob(alice, template), self.ahead, [])

    def consumed(self) -> tuple[bool, bool]:
        """Return whether outputs change with the state of other tokens, and with a fresh one."""
        cut = self.bench.cut
        swapped = cut.read(cut.fork(self.template), self.ahead, [])
        fresh = cut.begin()
        fresh.read = self.template.read  # the same position, so that only the state differs
        try:
            restarted: Outputs | None = cut.read(fresh, self.ahead, [])
        except StateboundError:
            restarted = None  # it cannot even start there, so it looks at the state
        changed = self.bench.changed
        return changed(swapped, self.plain), restarted is None or changed(restarted, self.plain)

    def alive(self, path: walk.Path) -> bool | None:
        """Return whether changing a leaf changes what is said; None where nothing is there."""
        value = self.mine[path]
        if value is None or not walk.count(value):
            return None
        if not walk.is_numeric(value):
            return self._moves(path, [self.other[path], type(value)()])
        return self._moves(path, self._changes(path, None))

    def axes(self, path: walk.Path) -> list[tuple[int, int]]:
        """Return the axes of a leaf that are searched for dead places, as (size, axis)."""
        shape = walk.shape(self.mine[path]) if walk.is_numeric(self.mine[path]) else []
        return [(size, axis) for axis, size in enumerate(shape) if 1 < size <= LONG]

    def dead(self, path: walk.Path, axis: int) -> list[int] | None:
        """Return the places along an axis that change nothing; None where calls ran out."""
        shape = walk.shape(self.mine[path])
        found = []
        for index in range(shape[axis]):
            if self.calls >= self.bench.plan.probes:
                return None
            where = np.zeros(shape, bool)
            where[(slice(None),) * axis + (index,)] = True
            if not self._moves(path, self._changes(path, where)):
                found.append(index)
        return found

    def _changes(self, path: walk.Path, where: NDArray[np.bool_] | None) -> Iterator[Any]:
        """Yield other values of a leaf: what it is after other tokens, then noise."""
        value = self.mine[path]
        mine, other = walk.array(value), walk.array(self.other[path])
        for changed in (other, *_noisy(mine, self.bench.generator)):
            made = changed if where is None else np.where(where, changed, mine)
            if not np.array_equal(made, mine):
                yield walk.like(value, np.asarray(made))

    def _moves(self, path: walk.Path, values: Iterable[Any]) -> bool:
        """Whether any of these values in the place of a leaf changes what is said."""
        for value in values:
            message: Message = {**self.mine, path: value}
            self.calls += 1
            cut = self.bench.cut
            bob = cut.restore(self.template, message)
            for at in range(AHEAD):
                try:
                    said = cut.step(bob, self.ahead[at : at + 1])
                except StateboundError:
                    return True  # an error is an effect too
                if self.bench.changed(said, self.plain[at : at + 1]):
                    return True
        return False


def _noisy(mine: NDArray[Any], generator: np.random.Generator) -> Iterator[NDArray[Any]]:
    """Yield numbers moved by about their own size, then by a hundred times that.

    Integers are moved by one, booleans flipped.
    """
    if mine.dtype == bool:
        yield ~mine
    elif not np.issubdtype(mine.dtype, np.inexact):
        yield np.asarray(mine + 1)
    else:
        usual = np.isfinite(mine) & (np.abs(mine) < SENTINEL)
        size = float(np.sqrt(np.mean(np.abs(mine[usual]) ** 2))) if usual.any() else 0.0
        for factor in (1.0, 100.0):
            noise = generator.standard_normal(mine.shape) * (size or 1.0) * factor
            yield np.asarray(np.where(usual, mine + noise, noise))


def living(shape: list[int], dead: Sequence[tuple[int, int]]) -> int:
    """Return how many numbers are in no dead slice.

    Examples
    --------
    >>> living([2, 3, 4], ((2, 0),)), living([2, 3], ((0, 1), (1, 1)))
    (18, 2)
    """
    gone = [0] * len(shape)
    for axis, _ in dead:
        gone[axis] += 1
    left = [size - lost for size, lost in zip(shape, gone, strict=True)]
    return int(np.prod(left, dtype=np.int64))
