"""The columns of a result row, in the order in which it is printed."""

from __future__ import annotations

from typing import Any

ORDER = (
    "problem",
    "model",
    "protocol",
    "init",
    "weights_hash",
    "config",
    "n",
    "effective_n",
    "alphabet",
    "chance",
    "queries",
    "query_law",
    "problem_options",
    "through",
    "fields",
    "state_numbers",
    "growing",
    "bits_per_number",
    "state_bits",
    "message_bytes",
    "regime",
    "quantiser",
    "rounding",
    "dtype",
    "encoding",
    "engine",
    "bob",
    "trials",
    "success",
    "success_fraction",
    "success_low",
    "success_high",
    "interval_level",
    "success_by_query",
    "optimal_success",
    "own_success",
    "all_correct",
    "distinct_messages",
    "message_entropy",
    "utilisation",
    "information_by_query",
    "stored_bits",
    "certified_bits",
    "needed_bits",
    "efficiency",
    "best_known",
    "wall_ball",
    "wall_rate_distortion",
    "wall_streaming",
    "wall_status",
    "wall_reason",
    "deterministic_bits",
    "violates_wall",
    "leak",
    "machine_seed",
    "seed",
    "spec",
    "version",
)


def ordered(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row in the order of its columns; it has them all and no other."""
    if set(row) != set(ORDER):
        raise AssertionError(set(row) ^ set(ORDER))
    return {name: row[name] for name in ORDER}
