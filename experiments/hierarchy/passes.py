"""Reading again: what is exchanged when the context is read r times, against n.

Alice holds x, Bob holds y or the query. With r passes over x and then y the state of M bits
crosses 2 r - 1 times. Disjointness stays at about n bits whatever M is; Index falls to
O(log n).

`floor` is proved: a deterministic protocol that never errs on disjointness exchanges at least
n bits. For each x the pair of x and its complement is disjoint; two such pairs cannot share a
transcript, since mixing them would, and one of the mixed pairs is not disjoint. So there are at
least 2^n transcripts. With errors allowed the order is the same (`reference`), but the
constant is not known here, and no number is given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statebound.errors import UsageError
from statebound.experiments.hierarchy._judged import costs, generator, judged
from statebound.models.constructions.ledger import Ledger, bits_for
from statebound.models.constructions.rereading import (
    DisjointnessReader,
    IndexReader,
    exchange,
    interleaved,
    ledger,
)

LEAST, MOST = 4, 4096
REFERENCE = "with errors: Omega(n), constant unknown"
COLUMNS = {
    "kind": "",
    "n": "n",
    "state_bits": "M",
    "passes": "passes",
    "crossings": "crossings",
    "bits": "exchanged",
    "ratio": "/ n",
    "floor": "floor",
    "success": "success",
    "status": "status",
}

_Bits = NDArray[np.bool_]


def rows(sizes: Sequence[int], trials: int, seed: int) -> list[dict[str, Any]]:
    """Return the rows of each size: disjointness by M, interleaved; Index."""
    for n in sizes:
        if not LEAST <= n <= MOST:
            raise UsageError("n", n, f"must be {LEAST}..{MOST}", "pass a size in that range")
    return [
        row for n in sizes for row in [*_disjointness(n, trials, seed), *_index(n, trials, seed)]
    ]


def states(n: int) -> list[int]:
    """Return the M that are tried: powers of two that keep at least n / 128 bits, and one pass.

    Examples
    --------
    >>> states(1024)
    [32, 64, 128, 256, 512, 1024, 1047]
    """
    rest = 2 * bits_for(n + 1) + 1
    powers = [2**j for j in range(14) if rest + max(1, n // 128) <= 2**j < n + rest]
    return [*powers, n + rest]


def pairs(n: int, trials: int, seed: int) -> tuple[_Bits, _Bits]:
    """Return x and y (B, n): disjoint ones, of which every other gets one common position."""
    draw = generator(seed, n)
    kind = draw.integers(0, 3, (trials, n))  # in neither, in x, in y
    x, y = kind == 1, kind == 2
    rows = np.arange(1, trials, 2)
    at = draw.integers(0, n, len(rows))
    x[rows, at] = y[rows, at] = True
    return x, y


def _disjointness(n: int, trials: int, seed: int) -> list[dict[str, Any]]:
    x, y = pairs(n, trials, seed)
    truth = ~(x & y).any(axis=1)
    found = []
    for bits in states(n):
        reader = DisjointnessReader.of(n, bits)
        sent = exchange(n, bits)
        right = reader.run(x, y) == truth
        crossings = 2 * sent["passes"] - 1
        row = _row("disjointness", n, ledger(reader), sent["passes"], crossings, floor=n)
        found.append(row | judged(right, seed, every=False))
    apart = Ledger(
        "interleaved, disjointness", 2 * n, 0, {"pending": 1, "common": 1}, 0, *[None] * 3
    )
    row = _row("disjointness, interleaved", n, apart, 1, 2 * n - 1, floor=n)
    return [*found, row | judged(interleaved(x, y) == truth, seed, every=False)]


def _index(n: int, trials: int, seed: int) -> list[dict[str, Any]]:
    draw = generator(seed, n)
    x, query = draw.integers(0, 2, (trials, n)) > 0, draw.integers(1, n + 1, trials)
    truth = x[np.arange(trials), query - 1]
    reader = IndexReader(n)
    cost = ledger(reader)
    first = replace(cost, construction="query first, Index", tokens_read=n + 1)
    found = []
    for kind, order, made, passes, crossings in (
        ("index, two passes", "twice", cost, 2, 3),
        ("index, query first", "first", first, 1, 2),
    ):
        right = reader.run(x, query, order) == truth
        row = _row(kind, n, made, passes, crossings, floor=None)
        found.append(row | judged(right, seed, every=False))
    return found


def _row(
    kind: str, n: int, made: Ledger, passes: int, crossings: int, floor: int | None
) -> dict[str, Any]:
    bits = crossings * made.recurrent_bits
    return {
        "kind": kind,
        "n": n,
        "state_bits": made.recurrent_bits,
        "passes": passes,
        "crossings": crossings,
        "bits": bits,
        "ratio": bits / n,
        "floor": floor,
        "reference": None if floor is None else REFERENCE,
        **costs(made),
    }
