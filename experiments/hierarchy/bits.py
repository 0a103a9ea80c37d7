"""Index: the bits that must cross to reach a success, against n.

* *fixed state*: no protocol with fewer bits than the ball wall leaves for the success. This
  holds with any chain of thought: what Bob writes follows from the message and the query,
  so it is a part of his answer, and the wall allows him any.
* *window*: M raw bits kept, success 1/2 + M / (2 n). *best code known*: the least M at which
  some protocol is known to reach the success.
* *query first* and *two passes*: `IndexReader`, whose state crosses twice (Bob asks, Alice
  answers) and three times.
* *hybrid*, *transformer*, *search*: what is recurrent, and what is kept for retrieval.

`bits` is all that crosses: the recurrent bits as often as they do, and the cache once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
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
from statebound.models.constructions.hybrids import Hybrid
from statebound.models.constructions.ledger import Ledger
from statebound.models.constructions.rereading import IndexReader
from statebound.models.constructions.rereading import ledger as reread
from statebound.models.constructions.searching import IndexSearch
from statebound.models.constructions.tasks import Task
from statebound.models.constructions.transformers import Transformer
from statebound.protocols.limits import report
from statebound.protocols.limits.truncation import truncation
from statebound.protocols.problem import Problem
from statebound.protocols.problems.index import Index

MOST = 4096
EVERY = 8  # up to this n, all inputs with all queries
RUNS = 50  # attention runs at a time
COLUMNS = {
    "kind": "",
    "n": "n",
    "success": "success",
    "success_low": "at least",
    "status": "status",
    "recurrent_bits": "recurrent",
    "cache_bits": "cache",
    "tokens_written": "thought",
    "passes": "passes",
    "crossings": "crossings",
    "bits": "bits",
}

_Answers = NDArray[np.int64]


def rows(sizes: Sequence[int], success: float, trials: int, seed: int) -> list[dict[str, Any]]:
    """Return the rows, kind by kind at each size."""
    for n in sizes:
        if not 2 <= n <= MOST:
            raise UsageError("n", n, f"must be 2..{MOST}", "pass a size in that range")
    return [row for n in sizes for row in _at(n, success, trials, seed)]


def _at(n: int, success: float, trials: int, seed: int) -> list[dict[str, Any]]:
    found = [
        {"kind": kind, "n": n, **made, "passes": 1, "crossings": 1}
        for kind, made in fixed_states(n, success).items()
    ]
    every = n <= EVERY
    x, query = _inputs(n, trials, seed)
    truth = x[np.arange(len(x)), query]
    for kind, (answer, ledger, passes, crossings) in _models(n).items():
        right = answer(x, query) == truth
        ends = judged(right, seed, every=every)
        found.append(
            {"kind": kind, "n": n, **ends, **costs(ledger)}
            | {"passes": passes, "crossings": crossings}
        )
    for row in found:
        row["bits"] = row["crossings"] * row["recurrent_bits"] + row["cache_bits"]
    return found


def fixed_states(n: int, success: float) -> dict[str, dict[str, Any]]:
    """Return what a fixed state needs: proved, with any chain of thought, and as built.

    Examples
    --------
    >>> {kind: row["recurrent_bits"] for kind, row in fixed_states(128, 0.99).items()}
    {'fixed state': 121, 'fixed state, any chain of thought': 121, 'window': 126, \
'best code known': 121}
    """
    problem, goal = Index(n), Fraction(str(success))
    needed = report.bits_needed(problem, goal)["bits_needed"]
    least, raw = int(needed["ball_whole"]), int(needed["truncation"])
    reached = truncation(problem.structure.weights, 2, 1 << raw)
    low, high = least, raw
    while low < high:
        middle = (low + high) // 2
        if _known(problem, middle) >= goal:
            high = middle
        else:
            low = middle + 1
    return {
        "fixed state": {**stated(success, PROVED), **fixed(least)},
        "fixed state, any chain of thought": {
            **stated(success, PROVED),
            **fixed(least, written=None),
        },
        "window": {**stated(reached, COUNTED), **fixed(raw)},
        "best code known": {**stated(_known(problem, low), PROVED), **fixed(low)},
    }


def _known(problem: Problem, state_bits: int) -> Fraction:
    """Return a success that some protocol is known to reach."""
    record = report.limits(problem, state_bits)
    return Fraction(record["optimum_low_fraction"] or record["optimum_low"])


def _inputs(n: int, trials: int, seed: int) -> tuple[_Answers, _Answers]:
    """Return x (B, n) and positions from 0 (B,): all of them where n is small."""
    if n <= EVERY:
        x = np.arange(2**n)[:, None] >> np.arange(n) & 1
        return np.repeat(x, n, axis=0), np.tile(np.arange(n), len(x))
    draw = generator(seed, n)
    return draw.integers(0, 2, (trials, n)), draw.integers(0, n, trials)


def _models(
    n: int,
) -> dict[str, tuple[Callable[[_Answers, _Answers], _Answers], Ledger, int, int]]:
    """Return by kind: how it answers, its ledger, passes over x, and crossings."""
    reader, search = IndexReader(n), IndexSearch(n)
    hybrid = Hybrid(Task("index", n), places="counter")
    full = Transformer(Task("index", n))
    twice = reread(reader)
    first = replace(twice, construction="query first, Index", tokens_read=n + 1)
    return {
        "query first": (lambda x, i: reader.run(x > 0, i + 1, "first"), first, 1, 2),
        "two passes": (lambda x, i: reader.run(x > 0, i + 1, "twice"), twice, 2, 3),
        "hybrid": (_in_parts(hybrid), hybrid.ledger(), 1, 1),
        "transformer": (_in_parts(full), full.ledger(), 1, 1),
        "search": (search, search.ledger(), 1, 1),
    }


def _in_parts(model: Hybrid | Transformer) -> Callable[[_Answers, _Answers], _Answers]:
    def answer(x: _Answers, query: _Answers) -> _Answers:
        parts = range(0, len(x), RUNS)
        return np.concatenate([model(x[a : a + RUNS], query[a : a + RUNS, None]) for a in parts])

    return answer
