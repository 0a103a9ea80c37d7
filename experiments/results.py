"""Results on disk: a folder with ``run.json`` and append-only JSON lines.

``run.json`` says what was asked and where it ran. Lines go to ``rows-<writer>.jsonl``,
one file a writer, a line at a time: a kill can tear only the last line, which reading
skips with a warning. A point's identity is the hash of what determines its numbers
(`task_id`); lines that agree are one, lines that disagree stop the reading.

Of a point there may be the ``row`` that it gave (or ``rows``, where one task gives several),
and, where it is a sample, its ``facts``, what is known before anything is counted, and
``block`` after block of counts, from which its row is derived. A writer that goes on where
others stopped leaves a record like ``run.json`` beside its lines, ``run-<writer>.json``.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import subprocess
import sys
import warnings
from collections.abc import Callable, Container, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Self

from statebound import __version__
from statebound.errors import StateboundError, UsageError

SCHEMA = 2
RUN_FILE = "run.json"
Row = dict[str, Any]

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
        self.folder, self._config, self._argv = folder, config, argv
        self._record: Path | None = None  # what is still to be said of a later run
        run = folder / RUN_FILE
        try:
            folder.mkdir(parents=True, exist_ok=True)
            later = run.exists()
            if not later:
                _create(run, self._about())
            check_config(folder, config)
            self._file = self._open_new()
            if later:
                name = Path(self._file.name).stem.replace("rows", "run", 1)
                self._record = folder / f"{name}.json"
        except OSError as error:
            raise StateboundError(
                f"{folder}: cannot be written ({error.strerror or error}); choose a writable "
                "folder with --out"
            ) from error

    def _about(self) -> str:
        record = {"schema": SCHEMA, "config": self._config} | provenance(self._argv)
        return json.dumps(record, indent=2) + "\n"

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
        self.write([{"task": task, "row": row}])

    def write(self, lines: Iterable[dict[str, Any]]) -> None:
        """Append lines, each with a ``task``, and force them to disk."""
        try:
            if self._record is not None:
                _create(self._record, self._about())
                self._record = None
            held = [canonical({"schema": SCHEMA} | line) + "\n" for line in lines]
            self._file.write("".join(held))
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


def check_config(folder: Path, config: dict[str, Any]) -> None:
    """Refuse a results folder that was made for something else.

    Raises
    ------
    StateboundError
        When it was, or when there is no telling.
    """
    if canonical(read_run(folder)["config"]) != canonical(config):
        raise StateboundError(
            f"{folder}: holds results of another configuration; choose another folder with --out"
        )


def read_run(folder: Path) -> dict[str, Any]:
    """Return the record of what a results folder was made for.

    Raises
    ------
    StateboundError
        When there is none, it is torn, or of a later version.
    """
    path = folder / RUN_FILE
    try:
        held: dict[str, Any] = json.loads(path.read_text())
        if held["schema"] > SCHEMA:
            raise StateboundError(
                f"{path}: written by a later version (schema {held['schema']}); update statebound"
            )
        held["config"]
    except FileNotFoundError as error:
        raise StateboundError(
            f"{folder}: is not a results folder; statebound run or sweep makes one"
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise StateboundError(f"{path}: is not a run record ({error})") from error
    return held


@dataclass
class Held:
    """What a results folder holds, by task.

    Attributes
    ----------
    rows
        The rows of every finished task, by the rule under which it was finished.
    facts
        Of samples, what is known besides the counts.
    blocks
        Of samples that were asked for, the counts by (number of the block, its size), as
        canonical JSON: a tenth of what lists of numbers take.
    """

    rows: dict[str, dict[str, list[Row]]] = field(default_factory=dict)
    facts: dict[str, Row] = field(default_factory=dict)
    blocks: dict[str, dict[tuple[int, int], str]] = field(default_factory=dict)

    def add(self, line: Row, where: object) -> None:
        """Take one line in.

        Raises
        ------
        StateboundError
            When it disagrees with one that is there.
        KeyError, TypeError, ValueError
            When it is no such line.
        """
        task = str(line["task"])
        if "block" in line:
            counts = _table(line["counts"])
            key = line["block"], counts["trials"]
            if any(type(number) is not int or number < 0 for number in key):
                raise ValueError("no number of a block")
            _agree(self.blocks.setdefault(task, {}), key, canonical(counts), task, where)
        elif "facts" in line:
            facts = _table(line["facts"])
            if any(name not in facts for name in NEEDED if name != "success"):
                raise ValueError("no facts of a sample")
            _agree(self.facts, task, facts, task, where)
        else:
            rows = [_table(row) for row in ([line["row"]] if "row" in line else line["rows"])]
            rule = canonical(line.get("stop"))
            _agree(self.rows.setdefault(task, {}), rule, rows, task, where)

    def best(self, task: str) -> list[Row]:
        """Return the rows of a task; of several, those with most trials."""
        found = self.rows.get(task, {})
        if not found:
            return []
        last = max(found, key=lambda rule: (_trials(found[rule]), rule))
        return found[last]


def _trials(rows: list[Row]) -> int:
    return sum(row.get("trials") or 0 for row in rows)


def _table(held: Any) -> Row:
    if type(held) is not dict:
        raise TypeError("is no object")
    return held


def _agree(held: dict[Any, Any], key: Any, new: Any, task: str, where: object) -> None:
    """Put a value where none is; refuse one that differs from what is there."""
    old = held.setdefault(key, new)
    if old is new or old == new:
        return
    what = "rows"
    if isinstance(old, str):
        what, old, new = f"counts of block {key[0]}", json.loads(old), json.loads(new)
    if isinstance(old, list) and len(old) == len(new) == 1:
        old, new = old[0], new[0]
    if isinstance(old, dict) and isinstance(new, dict):
        differ = sorted(k for k in old.keys() | new.keys() if old.get(k) != new.get(k))
        what += f" of task {task} disagree in {', '.join(differ)}"
        old, new = [old.get(k) for k in differ], [new.get(k) for k in differ]
    else:
        what = f"lists of rows of task {task} disagree"
    raise StateboundError(f"{where}: two {what}: {_short(old)} and {_short(new)}")


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + " ..."


_SHOWN = 400


def hold(folder: Path, blocks_of: Callable[[Held], Container[str]] | None = None) -> Held:
    """Return what a results folder holds.

    Parameters
    ----------
    folder
        The folder.
    blocks_of
        Given all else, the tasks whose blocks are wanted; by default those of samples whose
        rows are not there.

    Raises
    ------
    StateboundError
        When the folder holds no results, or two lines of one task disagree.
    """
    if not folder.is_dir():
        raise StateboundError(f"{folder}: is not a results folder; statebound run makes one")
    held = Held()
    waiting: list[tuple[Path, int, int]] = []  # where blocks are, which are many and long
    for path in sorted(folder.glob("rows-*.jsonl")):
        with path.open("rb") as file:
            at = 0
            for number, line in enumerate(file, 1):
                if line.startswith(_BLOCK) and line.endswith(b"}\n"):
                    waiting.append((path, number, at))
                else:
                    _take(held, line, path, number, folder)
                at += len(line)
    wanted = blocks_of(held) if blocks_of else {t for t in held.facts if t not in held.rows}
    if waiting and wanted:
        for path, places in groupby(waiting, key=itemgetter(0)):
            with path.open("rb") as file:
                for _, number, at in places:
                    file.seek(at)
                    line = file.readline()
                    match = _TASK.search(line)
                    if match is None or match[1].decode() in wanted:
                        _take(held, line, path, number, folder)
    return held


_BLOCK = b'{"block":'
_TASK = re.compile(rb'"task":"([0-9a-f]+)"}\n$')


NO_LINE = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)
"""What reading bytes that are no line of results may raise."""


def _take(held: Held, line: bytes, path: Path, number: int, folder: Path) -> None:
    try:
        held.add(json.loads(line), folder)
    except NO_LINE:
        warnings.warn(f"{path}:{number}: a torn line is skipped", TornLineWarning, stacklevel=3)


def read(folder: Path) -> dict[str, Row]:
    """Return the rows of finished tasks of a results folder by task, sorted by task.

    Where a task has several rows, their numbers are joined to its name.

    Raises
    ------
    StateboundError
        When the folder holds no results, or two rows of one task disagree.
    """
    held = hold(folder, lambda _: ())
    found: dict[str, Row] = {}
    for task in sorted(held.rows):
        rows = held.best(task)
        names = [task] if len(rows) == 1 else [f"{task}-{i}" for i in range(len(rows))]
        found |= dict(zip(names, rows, strict=True))
    return found


def whole(rows: list[dict[str, Any]], folder: Path) -> list[dict[str, Any]]:
    """Return the rows, or refuse them where one is no result of a measurement."""
    for row in rows:
        missing = [name for name in NEEDED if name not in row]
        if missing:
            raise StateboundError(
                f"{folder}: a row has no {', '.join(missing)}, so it is no result; remove its line"
            )
    return rows


def load(folder: str | Path) -> list[Row]:
    """Return the rows of a results folder as a list of plain dicts, sorted by task.

    A sample that is not finished gives the row of the blocks that there are.

    Raises
    ------
    StateboundError
        When the folder holds no results, or two rows of one task disagree.
    """
    held = hold(Path(folder))
    rows = {task: held.best(task) for task in held.rows}
    partial = held.facts.keys() - held.rows.keys()
    if partial:
        from statebound.experiments.sweeping.samples import so_far

        rows |= {task: so_far(held, task) for task in partial}
    return [row for _, found in sorted(rows.items()) for row in found]


def command_line() -> str:
    """Return the command of this process as a user would type it."""
    import shlex

    return shlex.join(["statebound", *sys.argv[1:]])
