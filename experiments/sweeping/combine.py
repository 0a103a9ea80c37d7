"""Several results folders made one: every line once, sorted, whoever wrote it.

Lines are compared as text, and only where they are read twice: what samples counted is long,
and is copied from file to file without being understood.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from statebound.errors import StateboundError, UsageError
from statebound.experiments import results
from statebound.experiments.results import Held, TornLineWarning, canonical

NAME = "rows-combined.jsonl"

_BLOCK = re.compile(rb'^\{"block":(\d+),.*"trials":(\d+),.*"task":"([0-9a-f]+)"\}$')
Key = tuple[str, str, tuple[int, int] | str]


@dataclass(frozen=True)
class _Place:
    path: Path
    at: int
    digest: bytes


def combine(folders: Sequence[Path], out: Path) -> dict[str, Any]:
    """Write what several results folders hold to a new one, and return what was done.

    Raises
    ------
    StateboundError
        When lines disagree, a folder holds no results, or `out` cannot be written.
    UsageError
        When `out` exists.
    """
    if out.exists():
        raise UsageError("out", out, "exists already", "name a folder that does not")
    records = [results.read_run(folder) for folder in folders]
    places: dict[Key, _Place] = {}
    read = 0
    for folder in folders:
        for path in sorted(folder.glob("rows-*.jsonl")):
            for key, place, line in _lines(path):
                read += 1
                known = places.get(key)
                if known is None or (known.digest != place.digest and _is_first(line, known)):
                    places[key] = place
    configs = {canonical(record["config"]): record["config"] for record in records}
    config = records[0]["config"] if len(configs) == 1 else _joined(configs)
    record = {"schema": results.SCHEMA, "config": config}
    record |= results.provenance(["combine", *map(str, folders)])
    record["from"] = [_origin(folder) for folder in folders]
    try:
        out.mkdir(parents=True)
        results.write_atomically(out / results.RUN_FILE, json.dumps(record, indent=2) + "\n")
        temporary = out / f".{NAME}"
        with temporary.open("wb") as file:
            for key in sorted(places, key=str):
                file.write(_line(places[key]) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(out / NAME)
    except OSError as error:
        raise StateboundError(
            f"{out}: cannot be written ({error.strerror or error}); choose another folder"
        ) from error
    tasks = {task for _, task, _ in places}
    return {
        "folders": len(folders),
        "lines": read,
        "kept": len(places),
        "tasks": len(tasks),
        "configurations": len(configs),
        "out": str(out),
    }


def _origin(folder: Path) -> dict[str, Any]:
    """Return a folder with the records of who wrote there."""
    records = []
    for path in sorted(folder.glob("run*.json")):
        with suppress(OSError, ValueError):
            records.append({k: v for k, v in json.loads(path.read_text()).items() if k != "config"})
    return {"folder": str(folder), "runs": records}


def _joined(configs: dict[str, Any]) -> dict[str, Any]:
    return {"verb": "combine", "configs": [configs[text] for text in sorted(configs)]}


def _lines(path: Path) -> Iterator[tuple[Key, _Place, bytes]]:
    at = 0
    with path.open("rb") as file:
        for number, raw in enumerate(file, 1):
            line = raw.rstrip(b"\n")
            try:
                yield _key(line), _Place(path, at, hashlib.sha256(line).digest()), line
            except results.NO_LINE:
                warnings.warn(
                    f"{path}:{number}: a torn line is skipped", TornLineWarning, stacklevel=3
                )
            at += len(raw)


def _key(line: bytes) -> Key:
    match = _BLOCK.match(line)
    if match:
        return "block", match[3].decode(), (int(match[1]), int(match[2]))
    held = json.loads(line)
    Held().add(held, "")
    kind = next(name for name in ("block", "facts", "row", "rows") if name in held)
    if kind == "block":
        return kind, held["task"], (held["block"], held["counts"]["trials"])
    return kind, str(held["task"]), canonical(held.get("stop"))


def _line(place: _Place) -> bytes:
    with place.path.open("rb") as file:
        file.seek(place.at)
        return file.readline().rstrip(b"\n")


def _is_first(line: bytes, known: _Place) -> bool:
    """Whether a line goes before one that says the same in other words, or that is damaged.

    Raises
    ------
    StateboundError
        When they disagree.
    """
    held, other = Held(), _line(known)
    sound = [_take(held, each, known.path) for each in (other, line)]
    return sound[1] and (not sound[0] or line < other)


def _take(held: Held, line: bytes, path: Path) -> bool:
    try:
        held.add(json.loads(line), path)
    except results.NO_LINE:
        warnings.warn(f"{path}: a damaged line is skipped", TornLineWarning, stacklevel=4)
        return False
    return True
