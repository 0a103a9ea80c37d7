"""A hybrid that is constructed beside one that is trained: what exists is not what is learned.

Both are one linear recurrence under one layer of softmax attention (see `attending`), on the
same strings: start, context, separator, query. The constructed one is right by proof. The
other starts from random parameters and learns, with the same steps at every n, from fresh
contexts with all their queries at once. It is trained twice: with the places that its
recurrence gives it, as the constructed one has, and with a table of positions that is learned
besides. Both are judged on the same contexts and queries: on all of them for Index at n = 8
and below, else on a sample, one query each.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from statebound.errors import UsageError
from statebound.experiments.hierarchy._judged import costs, generator, judged
from statebound.experiments.learn._machines import Row, Say, check_n, part
from statebound.experiments.learn.examples import pairs
from statebound.experiments.training import torch_extra
from statebound.models.constructions.hybrids import Hybrid
from statebound.models.constructions.rounding import Array
from statebound.models.constructions.tasks import Task

SIZES = (8, 16, 32, 64)
MOST_N = 256
TASKS = {"index": "index", "recall": "gram"}
SYMBOLS = {"index": 2, "recall": 16}
RUNS = 512  # strings at once
CONSTRUCTED, TRAINED, TABLE = "constructed", "trained", "trained, position table"
COLUMNS = {
    "kind": "hybrid",
    "task": "task",
    "n": "n",
    "seed": "seed",
    "success": "success",
    "success_low": "low",
    "success_high": "high",
    "trials": "trials",
    "recurrent_bits": "state bits",
    "cache_bits": "cache bits",
    "parameters": "parameters",
    "steps": "steps",
}


def rows(
    *,
    task: str,
    sizes: Sequence[int],
    seeds: Sequence[int],
    steps: int,
    batch: int,
    trials: int,
    say: Say,
) -> list[Row]:
    """Return a row of the constructed hybrid, and one a seed of each trained one, at each n.

    Raises
    ------
    UsageError
        When a value is out of range.
    """
    if task not in TASKS:
        raise UsageError("task", task, "is not a task", f"choose from {', '.join(TASKS)}")
    for n in sizes:
        check_n(n, 2, MOST_N)
    for name, value, most in (("trials", trials, 100_000), ("steps", steps, 100_000)):
        if not 1 <= value <= most:
            raise UsageError(name, value, f"must be 1..{most}", "pass 1000")
    if not 1 <= batch <= 4096:
        raise UsageError("batch", batch, "must be 1..4096", "pass 64")
    if len(set(seeds)) < len(seeds) or min(seeds) < 0:
        raise UsageError("seeds", seeds, "must be different seeds, none negative", "pass 0..2")
    torch_extra.require()
    found = []
    for place, n in enumerate(sizes):
        asked = Task(TASKS[task], n, SYMBOLS[task])
        context, query, truth, every = pairs(asked, trials, generator(0, n))
        built = Hybrid(asked)
        said = np.concatenate(
            [
                built(context[a : a + RUNS], query[a : a + RUNS, None])
                for a in range(0, len(context), RUNS)
            ]
        )
        about = {"task": task, "n": n, "symbols": asked.symbols}
        ledger = built.ledger()
        found.append(
            {"kind": CONSTRUCTED, **about, "seed": None, "steps": None, "batch": None}
            | {"parameters": ledger.parameters, "loss": None}
            | _judged(said == truth, every)
            | costs(ledger)
        )
        for second, kind in enumerate((TRAINED, TABLE)):
            told = part(say, 2 * place + second, 2 * len(sizes), f"n = {n}")
            judge = context, query, truth, every
            found += _trained(kind, asked, about, seeds, (steps, batch), told, judge)
    return found


def _judged(right: Array, every: bool) -> Row:
    found = judged(right, 0, every=every)
    del found["seed"], found["status"]  # the row's seed is that of its parameters
    return found | {"engine": "enumerate" if every else "sample"}


def _trained(
    kind: str,
    task: Task,
    about: Row,
    seeds: Sequence[int],
    budget: tuple[int, int],
    say: Say,
    judge: tuple[Array, Array, Array, bool],
) -> list[Row]:
    from statebound.experiments.learn.attending import Attending

    model = Attending(task, seeds, table=kind == TABLE)
    context, query, truth, every = judge
    with torch_extra.one_thread():
        losses = model.train(*budget, say)
        said = model.answers(context, query)
    ledger = model.ledger()
    return [
        {"kind": kind, **about, "seed": seed, "steps": budget[0], "batch": budget[1]}
        | {"parameters": ledger.parameters, "loss": loss}
        | _judged(each == truth, every)
        | costs(ledger)
        for seed, loss, each in zip(seeds, losses, said, strict=True)
    ]
