"""The ledger of everything: what each construction keeps and writes at one size."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from statebound.errors import UsageError
from statebound.experiments.hierarchy._judged import costs, fixed
from statebound.experiments.hierarchy.bits import fixed_states
from statebound.models.constructions.chasing import Chaser
from statebound.models.constructions.hybrids import Hybrid
from statebound.models.constructions.istree_walk import IsTreeWalk
from statebound.models.constructions.ledger import Ledger
from statebound.models.constructions.padded_qbf import Reader
from statebound.models.constructions.rereading import DisjointnessReader, IndexReader
from statebound.models.constructions.rereading import ledger as reread
from statebound.models.constructions.searching import IndexSearch
from statebound.models.constructions.tape import simulate
from statebound.models.constructions.tasks import Task
from statebound.models.constructions.transformers import Transformer
from statebound.models.constructions.turing import load
from statebound.models.constructions.turing_hybrid import TuringHybrid
from statebound.models.constructions.turing_regex import Control, TuringRegex

LEAST, MOST = 32, 4096
SUCCESS, SYMBOLS, HOPS = 0.99, 4, 8
MACHINE = "increment"
COLUMNS = {
    "construction": "",
    "task": "task",
    "recurrent_bits": "recurrent",
    "cache_bits": "cache or text",
    "tokens_written": "written",
}


def ledgers(n: int) -> list[dict[str, Any]]:
    """Return a row for each construction at n symbols, bits, vertices or tokens.

    Nothing is run but the Turing machine itself, for its steps.

    Raises
    ------
    UsageError
        When n is below 32 or above 4096.
    """
    if not LEAST <= n <= MOST:
        raise UsageError("n", n, f"must be {LEAST}..{MOST}", "pass a size in that range")
    states = fixed_states(n, SUCCESS)
    bounds = {"fixed state": "fixed state, at least", "window": "window"}
    task = f"Index, success {SUCCESS}"
    found = [
        {"construction": name, "task": task, **_costs_of(states[kind])}
        for kind, name in bounds.items()
    ]
    found[0]["tokens_written"] = None  # the bound holds with any number of them
    twice = reread(IndexReader(n))
    one_pass = DisjointnessReader(n, n)
    few = DisjointnessReader(n, max(n // 16, 1))
    made: list[tuple[str, str, Ledger]] = [
        ("query first", "Index", replace(twice, tokens_read=n + 1)),
        ("two passes", "Index", twice),
        ("one pass", "disjointness", reread(one_pass)),
        (f"{few.passes} passes", "disjointness", reread(few)),
        *_retrieval(n),
        *_chasing(n),
        ("hybrid, chain of thought", f"IsTree, {n} vertices", IsTreeWalk(n, n - 1).whole()),
        *_turing(n),
        _formula(n),
    ]
    return found + [
        {"construction": name, "task": task, **costs(ledger)} for name, task, ledger in made
    ]


def _costs_of(row: dict[str, Any]) -> dict[str, Any]:
    return {key: row[key] for key in fixed(0)}


def _retrieval(n: int) -> list[tuple[str, str, Ledger]]:
    """Return hybrids and Transformers without chain of thought, and the search for Index."""
    tasks = {
        "Index": Task("index", n),
        "recall": Task("gram", n, SYMBOLS),
        "5-gram": Task("gram", n, SYMBOLS, 5),
        "counting": Task("count", n, SYMBOLS),
    }
    return [
        *(("hybrid", name, Hybrid(t, places="counter").ledger()) for name, t in tasks.items()),
        *(("transformer", name, Transformer(t).ledger()) for name, t in tasks.items()),
        ("search", "Index", IndexSearch(n).ledger()),
    ]


def _chasing(n: int) -> list[tuple[str, str, Ledger]]:
    task = f"{HOPS} hops"
    return [
        ("hybrid, chain of thought", task, Chaser(n, thoughts=HOPS - 1).ledger()),
        (f"hybrid, {HOPS} layers", task, Chaser(n, layers=HOPS).ledger()),
    ]


def _turing(n: int) -> list[tuple[str, str, Ledger]]:
    """Return both models of a Turing machine that adds 1 to a number of n ones."""
    machine, text = load(MACHINE), "1" * n
    steps = simulate(machine, text, 4 * n)[1].steps
    searching = TuringRegex(machine)
    control = Control(machine, searching.digits(n, steps))
    written = steps * control.length + control.call + 1  # the last call finds that it halts
    task = f"{MACHINE}, {steps} steps"
    return [
        ("hybrid, chain of thought", task, TuringHybrid(machine).ledger(n, steps, steps)),
        ("search, chain of thought", task, searching.ledger(n, steps, written)),
    ]


def _formula(n: int) -> tuple[str, str, Ledger]:
    """Return the machine for formulas with as many variables as n tokens allow."""
    variables = n.bit_length() - 1
    reader = Reader(variables, variables + 1)
    task = f"formula, {variables} variables"
    return ("recurrent, chain of thought", task, reader.ledger(n, 2**variables))
