"""Results on disk: a folder with ``run.json`` and append-only JSON lines.

``run.json`` says what was asked and where it ran. Rows go to ``rows-<writer>.jsonl``,
one file a writer, a line at a time: a kill can tear only the last line, which reading
skips with a warning. A row's identity is the hash of what determines its numbers
(`task_id`); rows that agree are one row, rows that disagree stop the reading.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from statebound import __version__
from statebound.errors import StateboundError, UsageError

SCHEMA = 1
RUN_FILE = "run.json"
NEEDED = ("problem", "n", "state_bits", "success", "leak")


class TornLineWarning(UserWarning):
    """A line that was cut off while it was written, and is skipped."""


def canonical(data: Any) -> str:
    """Return key-sorted JSON without spaces: equal data, equal text."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(data: Any) -> str:
    """Return SHA-256 of the canonical JSON."""
    return hashlib.sha256(canonical(data).encode()).hexdigest()


def task_id(determinants: dict[str, Any]) -> str:
    """Return the identity of a task: a hash of what determines its numbers."""
    return digest(determinants)[:32]


def check_stem(stem: Path) -> None:
    """Refuse a path that an ending cannot be added to."""
    if stem.name in ("", ".."):
        raise UsageError("out", stem, "names no file", "pass a path like figures/mine")


def check_writable(path: Path) -> None:
    """Refuse a file that could not be written, before the work that it is for.

    Raises
    ------
    UsageError
        When it is a folder, or lies where no file can be made.
    """
    if path.is_dir():
        raise UsageError("out", path, "is a folder", "name a file")
    if not path.parent.is_dir():
        raise UsageError("out", path, "is in no existing folder", "make the folder first")
    trial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        trial.touch()
        trial.unlink()
    except OSError as error:
        raise UsageError(
            "out",
            path,
            f"cannot be written ({error.strerror or error})",
            "choose a writable folder",
        ) from error


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a whole file or nothing: to a neighbour first, then renamed."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _create(path: Path, text: str) -> None:
    """Write a whole new file; where another writer was first, his file stays."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        write_atomically(temporary, text)
        try:
            os.link(temporary, path)
        except FileExistsError:
            pass
        except OSError:  # a file system without hard links
            temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def provenance(argv: list[str]) -> dict[str, Any]:
    """Return where and with what a run is made; it never determines a number."""
    import numba
    import numpy
    import scipy

    return {
        "argv": argv,
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {
            "statebound": __version__,
            "python": platform.python_version(),
            "numpy": numpy.__version__,
            "numba": numba.__version__,
            "scipy": scipy.__version__,
        },
        "platform": platform.platform(),
        "processor": _processor(),
        "cpus": os.cpu_count(),
        "git": _git(),
    }


def _processor() -> str:
    try:
        with Path("/proc/cpuinfo").open() as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _git() -> dict[str, Any] | None:
    """Return commit and cleanliness of the checkout this code runs from, if it is one."""
    here = Path(__file__).resolve().parent
    try:
        commit, dirty = (
            subprocess.run(
                ["git", "-C", str(here), *arguments],
                capture_output=True,
                text=True,
                timeout=5,
                check=True,
            ).stdout.strip()
            for arguments in (["rev-parse", "HEAD"], ["status", "--porcelain", "-uno"])
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return {"commit": commit, "dirty": bool(dirty)}


class Writer:
    """Appends rows to one file of a results folder, each line whole and flushed.

    The folder is made when it does not exist; a folder made from another
    configuration is refused.
    """

    def __init__(self, folder: Path, config: dict[str, Any], argv: list[str]) -> None:
        self.folder = folder
        run = folder / RUN_FILE
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if not run.exists():
                record = {"schema": SCHEMA, "config": config} | provenance(argv)
                _create(run, json.dumps(record, indent=2) + "\n")
            if canonical(_read_run(run)["config"]) != canonical(config):
                raise StateboundError(
                    f"{folder}: holds results of another configuration; "
                    "choose another folder with --out"
                )
            self._file = self._open_new()
        except OSError as error:
            raise StateboundError(
                f"{folder}: cannot be written ({error.strerror or error}); choose a writable "
                "folder with --out"
            ) from error

    def _open_new(self) -> Any:
        for number in range(10_000):
            path = self.folder / f"rows-{os.getpid()}-{number}.jsonl"
            try:
                return path.open("x")
            except FileExistsError:
                continue
        raise StateboundError(f"{self.folder}: too many row files")

    def append(self, task: str, row: dict[str, Any]) -> None:
        """Append one row and force it to disk."""
        line = canonical({"schema": SCHEMA, "task": task, "row": row}) + "\n"
        try:
            self._file.write(line)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise StateboundError(
                f"{self.folder}: a row could not be written ({error.strerror or error}); rows "
                "already there are safe, the same command goes on from them"
            ) from error

    def __enter__(self) -> Self:
        """Return the writer."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file; an empty one is removed."""
        path = Path(self._file.name)
        with suppress(OSError):  # `append` has told about what it could not flush
            self._file.close()
        with suppress(OSError):
            if path.stat().st_size == 0:
                path.unlink()


def _read_run(path: Path) -> dict[str, Any]:
    try:
        held: dict[str, Any] = json.loads(path.read_text())
        if held["schema"] > SCHEMA:
            raise StateboundError(
                f"{path}: written by a later version (schema {held['schema']}); update statebound"
            )
        held["config"]
    except (ValueError, KeyError, TypeError) as error:
        raise StateboundError(f"{path}: is not a run record ({error})") from error
    return held


def _lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            try:
                held = json.loads(line)
                task, row = held["task"], dict(held["row"])
            except (ValueError, KeyError, TypeError):
                warnings.warn(
                    f"{path}:{number}: a torn line is skipped",
                    TornLineWarning,
                    stacklevel=2,
                )
                continue
            yield task, row


def read(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the rows of a results folder by task, sorted by task.

    Raises
    ------
    StateboundError
        When the folder holds no results, or two rows of one task disagree.
    """
    if not folder.is_dir():
        raise StateboundError(f"{folder}: is not a results folder; statebound run makes one")
    rows: dict[str, dict[str, Any]] = {}
    for path in sorted(folder.glob("rows-*.jsonl")):
        for task, row in _lines(path):
            if task in rows and canonical(rows[task]) != canonical(row):
                keys = row.keys() | rows[task].keys()
                differ = sorted(k for k in keys if row.get(k) != rows[task].get(k))
                raise StateboundError(
                    f"{folder}: two rows of task {task} disagree in {', '.join(differ)}: "
                    f"{[rows[task].get(k) for k in differ]} and {[row.get(k) for k in differ]}"
                )
            rows[task] = row
    return dict(sorted(rows.items()))


def whole(rows: list[dict[str, Any]], folder: Path) -> list[dict[str, Any]]:
    """Return the rows, or refuse them where one is no result of a measurement."""
    for row in rows:
        missing = [name for name in NEEDED if name not in row]
        if missing:
            raise StateboundError(
                f"{folder}: a row has no {', '.join(missing)}, so it is no result; remove its line"
            )
    return rows


def load(folder: str | Path) -> list[dict[str, Any]]:
    """Return the rows of a results folder as a list of plain dicts."""
    return list(read(Path(folder)).values())


def command_line() -> str:
    """Return the command of this process as a user would type it."""
    import shlex

    return shlex.join(["statebound", *sys.argv[1:]])
