"""A Match head that grows token by token: what generation does with its cache.

`heads.Match` for a batch of runs in lockstep. The score of position j is
K (q . k_j - top) + j, that of the sink 0: the same softmax as with j - N and -N, but a
counter that starts low is exact for as long as its bits suffice, whatever N is.
"""

from __future__ import annotations

import numpy as np

from statebound.models.constructions.codes import Code
from statebound.models.constructions.heads import scale_for, weigh
from statebound.models.constructions.rounding import Arithmetic, Array


class Memory:
    """Keys and values of B runs, written one token at a time.

    Parameters
    ----------
    runs
        B.
    width, top, gap
        Of the keys' code. Keys that are zero vectors match nothing where top >= gap.
    capacity
        N, the most tokens.
    value
        The sink's value (v,).
    arithmetic
        Precision.
    """

    def __init__(
        self,
        runs: int,
        width: int,
        top: int,
        gap: int,
        capacity: int,
        value: Array,
        arithmetic: Arithmetic,
    ) -> None:
        self._t, self._top, self._K = arithmetic, top, float(scale_for(capacity, gap))
        self._keys = np.zeros((width + 2, runs, capacity + 1), arithmetic.dtype)
        self._values = np.zeros((runs, capacity + 1, len(value)), arithmetic.dtype)
        self._values[:, 0] = value
        self._used = 1

    @classmethod
    def of(cls, code: Code, runs: int, capacity: int, value: Array, t: Arithmetic) -> Memory:
        """Return a memory whose keys are of a code, or zero for what shall not be found."""
        return cls(runs, code.width, code.top, code.gap, capacity, value, t)

    def write(self, key: Array, value: Array, counter: Array) -> None:
        """Store the next token's key (B, width) and value (B, v) under its counter."""
        at = self._used
        self._keys[:-2, :, at] = self._t(key).T
        self._keys[-2, :, at] = 1
        self._keys[-1, :, at] = counter
        self._values[:, at] = self._t(value)
        self._used += 1

    def read(self, code: Array) -> Array:
        """Return the values (B, v) at the last match of each query (B, width)."""
        t, K, used = self._t, self._K, self._used
        q = np.asarray(code, np.float64)
        rest = np.broadcast_to([-K * self._top, 1.0], (len(q), 2))
        query = t(np.concatenate([K * q, rest], axis=-1)).T
        some = np.flatnonzero(query.any(axis=1))  # zeros add nothing to a score
        keys = self._keys[:, :, :used] if len(some) == len(query) else self._keys[some, :, :used]
        scores = t.dot(query[some, :, None], keys)
        return weigh(scores[:, None], self._values[:, :used], t)[:, 0]

    @property
    def numbers(self) -> int:
        """Numbers stored for one token of one run."""
        return int(self._keys.shape[0] + self._values.shape[2])
