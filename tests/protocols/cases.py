"""Every problem at sizes small enough to try all inputs, with its options."""

from __future__ import annotations

from functools import cache

from statebound.protocols.problem import Problem, make

CASES: list[tuple[str, int, dict]] = [
    ("index", 1, {}),
    ("index", 6, {}),
    ("index", 3, {"alphabet": 5}),
    ("index", 7, {"marked": 3, "distractors": 2, "query_law": "zipf"}),
    ("istree", 4, {}),
    ("istree", 8, {"query_law": "recency:1/2"}),
    ("associative_recall", 2, {"alphabet": 3}),
    ("associative_recall", 5, {"alphabet": 3}),
    ("associative_recall", 6, {}),
    ("associative_recall", 8, {"alphabet": 2}),
    ("cgram", 3, {}),
    ("cgram", 6, {}),
    ("cgram", 5, {"c": 2, "alphabet": 3}),
    ("counting", 6, {}),
    ("counting", 5, {"alphabet": 3}),
    ("counting", 6, {"alphabet": 3, "thresholds": 2}),
    ("counting", 5, {"alphabet": 4, "thresholds": 1}),
    ("mqar", 1, {}),
    ("mqar", 2, {}),
    ("mqar", 2, {"keys": 2, "values": 3}),
    ("mqar", 2, {"keys": 3, "values": 3, "replacement": True, "distractors": 3}),
    ("phonebook", 2, {"base": 3, "query_law": "recency:0.5"}),
    ("phonebook", 2, {"base": 3, "credit": "digit", "query_law": "recency:0.5"}),
    ("phonebook", 1, {"digits": 3, "base": 7}),
    ("copy", 5, {}),
    ("copy", 3, {"alphabet": 3, "credit": "symbol"}),
    ("equality", 1, {}),
    ("equality", 4, {}),
    ("equality", 4, {"pairs": "uniform"}),
    ("disjointness", 4, {}),
    ("disjointness", 5, {"ones": 1}),
    ("disjointness", 5, {"ones": 2}),
    ("disjointness", 4, {"ones": 4}),
    ("greater_than", 5, {}),
    ("greater_than", 1, {"pairs": "prefix"}),
    ("greater_than", 4, {"pairs": "prefix"}),
    ("augmented_index", 4, {}),
    ("augmented_index", 3, {"alphabet": 3, "query_law": "zipf"}),
    ("pointer_chasing", 4, {}),
    ("pointer_chasing", 3, {"hops": 1}),
    ("sparse_averaging", 6, {}),
    ("sparse_averaging", 4, {"q": 1}),
    ("sparse_averaging", 5, {"q": 5}),
    ("noisy_recall", 3, {"alphabet": 3, "query_law": "zipf"}),
    ("noisy_recall", 5, {"alphabet": 2, "flips": 0}),
    ("noisy_recall", 3, {"credit": "near"}),
    ("word_problem", 3, {}),
    ("word_problem", 2, {"group": "z5"}),
    ("word_problem", 2, {"group": "s4"}),
]


def label(case: tuple[str, int, dict]) -> str:
    """Return the name of a case for pytest."""
    name, n, options = case
    return "-".join([name, str(n), *(f"{k}={v}" for k, v in options.items())])


@cache
def _made(name: str, n: int, options: tuple) -> Problem:
    return make(name, n, dict(options))


def made(case: tuple[str, int, dict]) -> Problem:
    """Return the problem of a case."""
    name, n, options = case
    return _made(name, n, tuple(options.items()))
