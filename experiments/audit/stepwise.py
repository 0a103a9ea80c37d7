"""A subject as a finite automaton: its state is rounded after every token.

A cache's newest entry is rounded and its older ones stay as they are; any other piece is
rounded whole. Outputs of a call are those that the subject computes from its own new
state before that state is rounded, as nobody can reach between the two.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from statebound.errors import StateboundError
from statebound.experiments.audit import walk
from statebound.experiments.audit.coder import Coder, Numbers, Piece, Scheme
from statebound.experiments.audit.cut import Cut, Message, Run
from statebound.experiments.audit.subject import Outputs, Tokens
from statebound.reductions import rounding as roundings

_LARGEST = float(np.finfo(np.float32).max)


def samples(cut: Cut, tokens: Tokens) -> list[Message]:
    """Return the messages of inputs (C, T) after each of their tokens."""
    found = []
    for x in tokens:
        run = cut.begin()
        for at in range(len(x)):
            cut.step(run, x[at : at + 1])
            found.append(cut.message(run))
    return found


class Automaton:
    """Runs of several inputs, side by side, rounded after every token.

    Parameters
    ----------
    cut, coder, scheme
        The subject; the quantisers; how to round.
    """

    def __init__(self, cut: Cut, coder: Coder, scheme: Scheme) -> None:
        self.cut, self.coder, self.scheme = cut, coder, scheme
        self.feeds_back = roundings.family(scheme.rounding).keeps_residual
        self._held: dict[walk.Path, list[NDArray[Any]]] = {}
        self._residual: dict[walk.Path, Numbers] = {}

    def outputs(self, tokens: Tokens, keep: int) -> Outputs:
        """Return the outputs (S, keep, K) of the last `keep` tokens of inputs (S, T)."""
        runs = [self.cut.begin() for _ in tokens]
        rows = []
        for at in range(tokens.shape[1]):
            said = [
                self.cut.step(run, x[at : at + 1])[0] for run, x in zip(runs, tokens, strict=True)
            ]
            rows.append(np.stack(said))
            self._settle(runs, at + 1)
        return np.stack(rows[-keep:], axis=1)

    def _settle(self, runs: list[Run], read: int) -> None:
        held = [self.cut.leaves(run) for run in runs]
        for piece in self.coder.pieces:
            if piece.name not in self.scheme.bits or any(piece.path not in h for h in held):
                continue
            values = [h[piece.path] for h in held]
            raw = [np.array(walk.array(value)) for value in values]
            if len({a.shape for a in raw}) > 1:
                raise StateboundError(f"the shape of {piece.name} depends on what was read")
            before = self._held.get(piece.path)
            if before is not None and all(map(np.array_equal, before, raw)):
                continue
            made = self._cache(piece, values, raw, before, read)
            self._held[piece.path] = made
            for run, value, numbers in zip(runs, values, made, strict=True):
                self.cut.write(run, {piece.path: walk.like(value, numbers)})

    def _cache(
        self,
        piece: Piece,
        values: list[Any],
        raw: list[NDArray[Any]],
        before: list[NDArray[Any]] | None,
        read: int,
    ) -> list[NDArray[Any]]:
        """Return the leaves of all runs, rounded: of a cache the newest entry alone."""
        coder = self.coder
        entry = coder.entry(piece, values[0])
        entries = coder.entries(piece, values)
        axis = piece.axis
        if axis is None or (before is not None and not _carried(axis, before, raw)):
            if self.feeds_back and axis is None:
                entries = entries + self._residual.get(piece.path, np.zeros_like(entries))
            back = coder.round(self.scheme, piece, entries, entry, read)
            if self.feeds_back and axis is None:
                left = np.clip(entries - back, -_LARGEST, _LARGEST)
                self._residual[piece.path] = left.astype(np.float32).astype(entries.dtype)
            return [
                walk.array(walk.like(v, coder.leaf(piece, back[:, :, s], v)))
                for s, v in enumerate(values)
            ]
        back = coder.round(self.scheme, piece, entries[-1:], entry, read)
        last = (slice(None),) * axis + (-1,)
        for at, numbers in enumerate(raw):
            numbers[last] = back[0, :, at].reshape(entry.shape)
        return raw


def _carried(axis: int, before: list[NDArray[Any]], after: list[NDArray[Any]]) -> bool:
    """Whether all entries but the newest are those that were there before."""
    for old, new in zip(before, after, strict=True):
        rest = np.delete(new, -1, axis)
        kept = old if rest.shape == old.shape else np.delete(old, 0, axis)
        if not np.array_equal(rest, kept):
            return False
    return True
