"""One retrieval a step: success at chasing pointers, against hops.

Alice holds a uniform table f of n entries, Bob asks where k hops from s lead.

* *L layers*: `Chaser` without chain of thought makes the k hops where k <= L. Beyond, it
  answers f^L(s), the last that it found, so its success is the chance that f^k(s) = f^L(s):
  `expected`, counted exactly (`coincidence`).
* *1 layer, chain of thought*: k - 1 tokens and the answer, one retrieval each.
* *window*: a fixed state that keeps the last half of the table, with the best Bob for it,
  whatever he writes: counted over all tables where n is small; at one hop it knows w of n
  entries and guesses the others, 1 in n. Else null.
* *fixed state as large*: the ball wall for the recurrent bits of the hybrid, proved for one
  hop; null beyond, where the answers depend on one another.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statebound.errors import UsageError
from statebound.experiments.hierarchy._judged import (
    COUNTED,
    PROVED,
    costs,
    fixed,
    generator,
    judged,
    stated,
)
from statebound.models.constructions.chasing import Chaser, coincidence
from statebound.models.constructions.ledger import bits_for
from statebound.protocols.limits import report
from statebound.protocols.problems.pointer_chasing import REASON, PointerChasing

MOST = 256
HOPS = 8
EVERY = 5  # up to this n, all tables with all starts
RUNS = 50  # attention runs at a time, at the largest n
LAYERS = (1, 2, 4)
MANY = f"counted over all tables, which are too many beyond n = {EVERY}"
COLUMNS = {
    "kind": "",
    "n": "n",
    "hops": "hops",
    "success": "success",
    "expected": "expected",
    "status": "status",
    "retrievals": "retrievals",
    "recurrent_bits": "recurrent",
    "cache_bits": "cache",
    "tokens_written": "thought",
}

_Ints = NDArray[np.int64]


def rows(sizes: Sequence[int], trials: int, seed: int) -> list[dict[str, Any]]:
    """Return the rows, kind by kind at each size, hops 1 to `HOPS`."""
    for n in sizes:
        if not 2 <= n <= MOST:
            raise UsageError("n", n, f"must be 2..{MOST}", "pass a size in that range")
    return [row for n in sizes for row in _at(n, trials, seed)]


def _at(n: int, trials: int, seed: int) -> list[dict[str, Any]]:
    every = n <= EVERY
    if every:
        tables, starts = every_table(n)
        tables, starts = np.repeat(tables, n, axis=0), np.tile(np.arange(n), len(tables))
    else:
        draw = generator(seed, n)
        tables, starts = draw.integers(0, n, (trials, n)), draw.integers(0, n, trials)
    truth = {k: led(tables, starts, k) for k in range(1, HOPS + 1)}
    found: list[dict[str, Any]] = []

    def add(kind: str, k: int, made: dict[str, Any], **more: Any) -> None:
        about = {"retrievals": 0, "expected": None, "reason": None} | more
        found.append({"kind": kind, "n": n, "hops": k, **made, **about})

    used = {layers: Chaser(n, layers) for layers in range(1, max(LAYERS) + 1)}
    answers = {layers: _in_parts(model, tables, starts) for layers, model in used.items()}
    for layers in LAYERS:
        for k, right in truth.items():
            read = min(k, layers)  # a model for fewer hops leaves layers unused
            made = judged(answers[read] == right, seed, every=every) | costs(used[read].ledger())
            expected = float(coincidence(n, k, read))
            add(_layers(layers), k, made, retrievals=read, expected=expected)
    for k, right in truth.items():
        model = Chaser(n, thoughts=k - 1)
        ends = judged(_in_parts(model, tables, starts) == right, seed, every=every)
        made = ends | costs(model.ledger())
        add("1 layer, chain of thought", k, made, retrievals=k, expected=1.0)
    window, bits = n // 2, bits_for(n ** (n // 2))
    small = Chaser(n).ledger().recurrent_bits
    for k in truth:
        known = window_success(n, window, k)
        made = stated(known, COUNTED) | fixed(bits, written=None)
        add("window, half the table", k, made, reason=None if known is not None else MANY)
        wall = report.wall(PointerChasing(n, 1), 1 << small) if k == 1 else None
        made = stated(wall, PROVED) | fixed(small, written=None)
        add("fixed state as large, at most", k, made, reason=None if k == 1 else REASON)
    return found


def _layers(count: int) -> str:
    return f"{count} layer{'s' * (count > 1)}"


def every_table(n: int) -> tuple[_Ints, _Ints]:
    """Return all tables (n^n, n) in lexicographic order, and the vertices (n,)."""
    number = np.arange(n**n)[:, None]
    return number // n ** np.arange(n - 1, -1, -1) % n, np.arange(n)


def led(tables: _Ints, starts: _Ints, hops: int) -> _Ints:
    """Return where `hops` hops from starts (B,) lead in tables (B, n)."""
    every, at = np.arange(len(tables)), starts
    for _ in range(hops):
        at = tables[every, at]
    return at


def _in_parts(model: Chaser, tables: _Ints, starts: _Ints) -> _Ints:
    step = RUNS * MOST // model.n
    parts = range(0, len(tables), step)
    return np.concatenate([model(tables[a : a + step], starts[a : a + step]) for a in parts])


def window_success(n: int, kept: int, hops: int) -> Fraction | None:
    """Return the best success of knowing the last `kept` entries of a table; None if unknown.

    For each content of the window and each start the commonest answer is the best.

    Examples
    --------
    >>> print(window_success(4, 2, 1), window_success(4, 2, 2), window_success(64, 32, 2))
    5/8 71/128 None
    """
    if n > EVERY:
        return Fraction(kept, n) + Fraction(n - kept, n * n) if hops == 1 else None
    tables, starts = every_table(n)
    content = np.arange(len(tables)) % n**kept
    right = 0
    for s in starts:
        answers = led(tables, np.full(len(tables), s), hops)
        counts = np.bincount(content * n + answers, minlength=n ** (kept + 1))
        right += int(counts.reshape(-1, n).max(axis=1).sum())
    return Fraction(right, n * len(tables))
