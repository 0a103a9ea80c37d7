"""The smallest mixed precision with a given quality that a greedy descent finds.

Parts are rounded alike over layers: a group is a path with the layer's number left open. The
search starts at the fewest bits for all groups that keep the quality, or at the most where
none does so. Then it goes through the groups, the one with most numbers first, and takes
each down, one precision at a time, while the agreement on the sample keeps the quality;
and over again until nothing changes, or the budget is used up. A smaller one may exist.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from statebound.experiments.audit import walk
from statebound.experiments.audit.coder import Scheme
from statebound.experiments.audit.stage import Stage
from statebound.experiments.audit.subject import Tokens
from statebound.experiments.audit.survival import Mixed
from statebound.experiments.estimates import Interval, betting_interval

BUDGET = 80


class _Search:
    def __init__(self, stage: Stage, after: Tokens, quantiser: str) -> None:
        self.stage, self.after, self.quantiser = stage, after, quantiser
        self.whole = _tops(stage, None, after)
        self.tried: dict[tuple[int, ...], float] = {}
        size: dict[str, int] = {}
        for piece in stage.pieces:
            numbers = piece.live(walk.shape(stage.own[piece.path]))
            size[piece.group] = size.get(piece.group, 0) + numbers
        self.groups = sorted(size, key=lambda g: -size[g])

    def scheme(self, bits: Sequence[int]) -> Scheme:
        by_group = dict(zip(self.groups, bits, strict=True))
        return Scheme(self.quantiser, {p.name: by_group[p.group] for p in self.stage.pieces})

    def quality(self, bits: Sequence[int]) -> float:
        key = tuple(bits)
        if key not in self.tried:
            said = _tops(self.stage, self.scheme(bits), self.after)
            self.tried[key] = float((said == self.whole).mean())
        return self.tried[key]


def mixed(
    stage: Stage,
    after: Tokens,
    quantiser: str,
    precisions: Sequence[int],
    quality: float,
    seed: int,
) -> Mixed | None:
    """Return the smallest mixed precision found, None where no precision has the quality.

    Parameters
    ----------
    stage, after
        Inputs, and what Bob reads after them (S, ahead).
    quantiser, precisions
        Of all parts.
    quality
        The least agreement.
    seed
        Of the fresh inputs on which the result is judged.
    """
    search = _Search(stage, after, quantiser)
    count = len(search.groups)
    alike = next((p for p in precisions if search.quality([p] * count) >= quality), None)
    if alike is None:
        return None
    bits, changed = [alike] * count, True
    while changed and len(search.tried) < BUDGET:
        changed = False
        for at in range(count):
            while bits[at] > precisions[0] and len(search.tried) < BUDGET:
                lower = list(bits)
                lower[at] = precisions[precisions.index(bits[at]) - 1]
                if search.quality(lower) < quality:
                    break
                bits, changed = lower, True
    scheme = search.scheme(bits)
    return Mixed(
        quality=quality,
        quantiser=quantiser,
        bits=dict(zip(search.groups, bits, strict=True)),
        state_bits=stage.state_bits(scheme),
        agreement=search.quality(bits),
        fresh=_fresh(stage, after.shape, scheme, seed),
        uniform_bits=alike,
        uniform_state_bits=stage.state_bits(search.scheme([alike] * count)),
        evaluations=len(search.tried),
        complete=len(search.tried) < BUDGET,
    )


def _tops(stage: Stage, scheme: Scheme | None, after: Tokens) -> NDArray[np.int64]:
    """Return where the largest output is, (S, ahead); -1 where one is no number."""
    said = np.stack([stage.read(b, x) for b, x in zip(stage.bobs(scheme), after, strict=True)])
    return np.where(np.isfinite(said).all(axis=-1), said.argmax(axis=-1), -1)


def _fresh(stage: Stage, shape: tuple[int, ...], scheme: Scheme, seed: int) -> Interval:
    """Return the agreement on as many other inputs."""
    generator = np.random.Generator(np.random.PCG64([seed, 2]))
    tokens = generator.integers(
        0, stage.cut.subject.vocabulary, (shape[0], stage.handoff + shape[1])
    )
    after = tokens[:, stage.handoff :]
    other = stage.on(tokens[:, : stage.handoff])
    same = _tops(other, scheme, after) == _tops(other, None, after)
    return betting_interval(same.mean(axis=1))
