"""Reading a row, from a results folder, a file or a pipe, and checking that it is one."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

from statebound.errors import StateboundError, UsageError
from statebound.experiments.columns import ORDER
from statebound.protocols.limits.report import MAX_STATE_BITS
from statebound.protocols.problem import Problem, make

MOST_BYTES = 1 << 26
REMEDY = "pass what measure --json prints, FOLDER#TASK, or - for stdin"

NULL: tuple[type, ...] = (type(None),)
KINDS: dict[str, tuple[type, ...]] = dict.fromkeys(ORDER, (str, *NULL)) | {
    "problem": (str,),
    "query_law": (str,),
    "engine": (str,),
    "bob": (str,),
    "version": (str,),
    "config": (dict, *NULL),
    "growing": (dict, *NULL),
    "problem_options": (dict,),
    "wall_status": (dict,),
    "fields": (list,),
    "success_by_query": (list, *NULL),
    "information_by_query": (list, *NULL),
    "violates_wall": (bool,),
    "n": (int,),
    "alphabet": (int,),
    "queries": (int,),
    "state_bits": (int,),
    "message_bytes": (int,),
    "success": (float, int),
    "success_low": (float, int),
    "success_high": (float, int),
}
WHOLE = (
    *("effective_n", "state_numbers", "bits_per_number", "trials", "distinct_messages"),
    *("deterministic_bits", "machine_seed", "seed"),
)
REAL = (
    *("chance", "interval_level", "optimal_success", "own_success", "all_correct"),
    *("message_entropy", "utilisation", "stored_bits", "certified_bits", "needed_bits"),
    *("efficiency", "best_known", "wall_ball", "wall_rate_distortion", "wall_streaming"),
)
KINDS |= dict.fromkeys(WHOLE, (int, *NULL)) | dict.fromkeys(REAL, (float, int, *NULL))
FIELD: dict[str, tuple[type, ...]] = {"name": (str,), "kind": (str,), "numbers": (int,)}
FIELD |= {"bits": (int,)}


def read(where: str) -> dict[str, Any]:
    """Return the row that ``FOLDER#TASK``, a JSON file or ``-`` names, not yet checked.

    Raises
    ------
    UsageError
        When nothing, or more than one row, is named.
    StateboundError
        When it cannot be read.
    """
    if where == "-":
        return _parsed("stdin", sys.stdin.buffer.read(MOST_BYTES + 1))
    path = Path(where)
    folder, sign, task = where.rpartition("#")
    if path.is_dir() or (sign and not path.is_file()):
        from statebound.experiments.place import row_at

        return row_at(path, "", "row") if path.is_dir() else row_at(Path(folder), task, "row")
    if not path.is_file():
        raise UsageError("row", where, "is no file and no results folder", REMEDY)
    with path.open("rb") as file:
        return _parsed(where, file.read(MOST_BYTES + 1))


def _parsed(where: str, text: bytes) -> dict[str, Any]:
    if len(text) > MOST_BYTES:
        raise StateboundError(f"{where}: more than {MOST_BYTES} bytes, so it is no row")
    try:
        held = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise StateboundError(f"{where}: is not JSON ({error}); {REMEDY}") from error
    if not isinstance(held, dict):
        raise StateboundError(f"{where}: holds a {type(held).__name__}, not one row; {REMEDY}")
    if isinstance(held.get("row"), dict):  # a line of a results folder
        held = held["row"]
    return dict(held)


def checked(row: dict[str, Any]) -> tuple[dict[str, Any], Problem]:
    """Return a row whose columns have their types, and its problem.

    Raises
    ------
    UsageError
        When a column is missing or has another type, or the problem does not exist.
    """
    missing = [name for name in ORDER if name not in row]
    if missing:
        raise UsageError("row", ", ".join(missing), "is missing, so this is no result", REMEDY)
    for name, kinds in KINDS.items():
        _check(name, row[name], kinds)
    for part in row["fields"]:
        if not isinstance(part, dict) or part.keys() != FIELD.keys():
            raise UsageError("fields", part, f"must have {', '.join(FIELD)}", REMEDY)
        for name, kinds in FIELD.items():
            _check(f"fields {name}", part[name], kinds)
    for name in ("success_by_query", "information_by_query"):
        for value in row[name] or []:
            _check(name, value, (float, int, *NULL))
    if not 0 <= row["state_bits"] <= MAX_STATE_BITS:
        rule = f"must be in 0..{MAX_STATE_BITS}"
        raise UsageError("state_bits", row["state_bits"], rule, REMEDY)
    for name in ("success", "success_low", "success_high"):
        if not 0 <= row[name] <= 1:
            raise UsageError(name, row[name], "must be in [0, 1]", REMEDY)
    return row, make(row["problem"], row["n"], row["problem_options"])


def _check(name: str, value: Any, kinds: tuple[type, ...]) -> None:
    fits = type(value) in kinds and not (isinstance(value, float) and not math.isfinite(value))
    if not fits:
        words = {NULL[0]: "null", str: "text", int: "a whole number", float: "a number"}
        words |= {dict: "an object", list: "a list", bool: "true or false"}
        wanted = " or ".join(words[kind] for kind in kinds)
        raise UsageError(name, value, f"must be {wanted}", REMEDY)
