"""Results on disk: interrupted equals uninterrupted, and nothing is lost or mixed."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import statebound
from statebound.errors import StateboundError
from statebound.experiments import results
from statebound.experiments.run import execute, plan


def quiet(*_: object) -> None:
    pass


def lines(folder: Path) -> list[str]:
    """Return the whole lines of all row files, sorted."""
    found = []
    for path in folder.glob("rows-*.jsonl"):
        *whole, _ = path.read_text().split("\n")
        assert all(isinstance(json.loads(line)["row"], dict) for line in whole)
        found += whole
    return sorted(found)


PLANNED = {"problem": "index", "n": 5, "models": ("gru", "sliding_window"), "seeds": (0, 1)}


def test_a_second_run_measures_nothing(tmp_path, monkeypatch):
    planned = plan(**PLANNED)
    rows, broken = execute(planned, tmp_path, [], quiet)
    assert broken == []
    assert len(rows) == len(planned.points) == len(lines(tmp_path))
    before = lines(tmp_path)
    monkeypatch.setattr("statebound.experiments.point.prepare", None)
    assert execute(planned, tmp_path, [], quiet)[0] == rows
    assert lines(tmp_path) == before
    assert len(list(tmp_path.glob("rows-*"))) == 1  # a writer with nothing to add leaves no file
    assert sorted(map(results.canonical, statebound.load(tmp_path))) == sorted(
        map(results.canonical, rows)
    )


@pytest.mark.parametrize("stop", [0, 1, 7])
def test_interrupted_equals_uninterrupted(tmp_path, stop):
    planned = plan(**PLANNED)
    rows, _ = execute(planned, tmp_path / "whole", [], quiet)

    def interrupt(done: int, *_: object) -> None:
        if done == stop:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        execute(planned, tmp_path / "cut", [], interrupt)
    assert len(lines(tmp_path / "cut")) == stop
    assert execute(planned, tmp_path / "cut", [], quiet)[0] == rows
    assert lines(tmp_path / "cut") == lines(tmp_path / "whole")


SCRIPT = """
import sys
from pathlib import Path
from statebound.experiments.run import execute, plan
execute(plan("index", 7, ("gru", "sliding_window"), seeds=(0, 1)), Path(sys.argv[1]), [], print)
"""


def process(folder: Path) -> subprocess.Popen[bytes]:
    """Start a process that fills a results folder."""
    command = [sys.executable, "-c", SCRIPT, str(folder)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@pytest.mark.slow
@pytest.mark.parametrize("when", [0, 1, 5])
def test_killed_equals_undisturbed(tmp_path, when):
    """Kill -9 as soon as `when` rows are there, then the same again."""
    with process(tmp_path / "whole") as whole:
        assert whole.wait() == 0
    with process(tmp_path / "killed") as killed:
        for _ in range(6000):
            files = list(tmp_path.glob("killed/rows-*"))
            if files and sum(p.read_bytes().count(b"\n") for p in files) >= when:
                break
            time.sleep(0.005)
        killed.kill()
        assert killed.wait() == -signal.SIGKILL
    with process(tmp_path / "killed") as again:
        assert again.wait() == 0
    assert lines(tmp_path / "killed") == lines(tmp_path / "whole")
    assert len(lines(tmp_path / "whole")) > 20
    runs = [json.loads((tmp_path / name / "run.json").read_text()) for name in ("whole", "killed")]
    assert runs[0]["config"] == runs[1]["config"]


def append(folder: Path, **rows) -> Path:
    with results.Writer(folder, {"verb": "test"}, []) as writer:
        for task, row in rows.items():
            writer.append(task, row)
        return Path(writer._file.name)


def test_torn_last_line_is_skipped_with_a_warning(tmp_path):
    path = append(tmp_path, a={"v": 1}, b={"v": 2})
    whole = path.read_bytes()
    for cut in range(1, len(whole.splitlines()[1])):
        path.write_bytes(whole[: -cut - 1])
        with pytest.warns(results.TornLineWarning, match=f"{path.name}:2"):
            assert results.read(tmp_path) == {"a": {"v": 1}}
    path.write_bytes(whole[:-1])  # only the newline is missing: the row is whole
    assert results.read(tmp_path) == {"a": {"v": 1}, "b": {"v": 2}}


@pytest.mark.parametrize(
    "tail",
    [b"\0\0\0\n", b"\xff\xfe\n", b"[1]\n", b'{"task": 1}\n', b"\n", b'{"task": "c", "row": 3}\n'],
)
def test_garbage_is_skipped_with_a_warning(tmp_path, tail):
    path = append(tmp_path, a={"v": 1})
    path.write_bytes(path.read_bytes() + tail)
    with pytest.warns(results.TornLineWarning):
        assert results.read(tmp_path) == {"a": {"v": 1}}


def test_duplicates(tmp_path):
    append(tmp_path, a={"v": 1, "w": [0.1]})
    append(tmp_path, a={"w": [0.1], "v": 1}, b={"v": 3})
    assert results.load(tmp_path) == [{"v": 1, "w": [0.1]}, {"v": 3}]
    append(tmp_path, a={"v": 2, "w": [0.1]})
    with pytest.raises(StateboundError) as error:
        results.read(tmp_path)
    assert "disagree in v" in str(error.value)
    assert "1" in str(error.value)
    assert "2" in str(error.value)


def test_a_missing_key_disagrees_too(tmp_path):
    append(tmp_path, a={"v": 1, "w": 2})
    append(tmp_path, a={"v": 1})
    with pytest.raises(StateboundError, match="disagree in w"):
        results.read(tmp_path)


def test_two_writers_at_once(tmp_path):
    config = {"verb": "test"}
    with results.Writer(tmp_path, config, []) as one, results.Writer(tmp_path, config, []) as two:
        for number in range(20):
            (one, two)[number % 2].append(f"{number:02}", {"v": number})
            one.append("same", {"v": -1})
            two.append("same", {"v": -1})
            assert len(results.read(tmp_path)) == number + 2
    assert [row["v"] for row in results.load(tmp_path)] == [*range(20), -1]
    assert len(list(tmp_path.glob("rows-*"))) == 2


@pytest.mark.slow
def test_two_processes_share_a_folder(tmp_path):
    with process(tmp_path / "r") as one, process(tmp_path / "r") as two:
        assert (one.wait(), two.wait()) == (0, 0)
    planned = plan("index", 7, ("gru", "sliding_window"), seeds=(0, 1))
    assert set(results.read(tmp_path / "r")) == {task for task, _ in planned.points}


def test_another_configuration_is_refused(tmp_path):
    append(tmp_path, a={"v": 1})
    with pytest.raises(StateboundError, match="another configuration"):
        results.Writer(tmp_path, {"verb": "other"}, [])
    assert results.load(tmp_path) == [{"v": 1}]
    execute(plan("index", 4, ("sliding_window",)), tmp_path / "r", [], quiet)
    with pytest.raises(StateboundError, match="another configuration"):
        execute(plan("index", 5, ("sliding_window",)), tmp_path / "r", [], quiet)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"schema": "x", "config": 1}'])
def test_broken_run_record(tmp_path, text):
    append(tmp_path, a={"v": 1})
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(StateboundError, match=r"run\.json"):
        results.Writer(tmp_path, {"verb": "test"}, [])


def test_later_schema_is_refused(tmp_path):
    append(tmp_path, a={"v": 1})
    run = json.loads((tmp_path / "run.json").read_text()) | {"schema": results.SCHEMA + 1}
    (tmp_path / "run.json").write_text(json.dumps(run))
    with pytest.raises(StateboundError, match="later version"):
        results.Writer(tmp_path, {"verb": "test"}, [])


class Full:
    """A file on a disk that is full: writing is buffered, flushing fails, as closing does."""

    def __init__(self, file) -> None:
        self.file, self.name, self.full = file, file.name, True

    def write(self, text: str) -> int:
        return len(text) if self.full else self.file.write(text)

    def flush(self) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def close(self) -> None:
        self.file.close()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_full_disk(tmp_path):
    append(tmp_path, a={"v": 1})

    def fill() -> None:
        with results.Writer(tmp_path, {"verb": "test"}, []) as writer:
            writer.append("b", {"v": 2})
            writer._file = Full(writer._file)
            writer.append("c", {"v": 3})

    with pytest.raises(StateboundError, match=r"No space left on device.*already there are safe"):
        fill()
    assert results.load(tmp_path) == [{"v": 1}, {"v": 2}]


def test_full_disk_at_the_command_line(cli, tmp_path, monkeypatch):
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "fsync", full)
    words = ["run", "index", "--n", 4, "--models", "sliding_window", "--json", "--out", "r"]
    outcome = cli(*words)
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.count("\n") == 1
    assert "No space left on device" in outcome.err
    assert [p.name for p in (tmp_path / "r").iterdir() if not p.name.startswith("rows-")] == []


@pytest.mark.parametrize("target", ["file", "file/below"])
def test_unwritable_folder(tmp_path, target):
    (tmp_path / "file").write_text("")
    with pytest.raises(StateboundError, match="--out"):
        results.Writer(tmp_path / target, {}, [])


def test_no_permission(tmp_path, monkeypatch):
    def denied(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", denied)
    with pytest.raises(StateboundError, match=r"Permission denied.*--out"):
        results.Writer(tmp_path / "r", {}, [])


def test_identity_ignores_the_order_of_keys():
    assert results.task_id({"a": 1, "b": [1, 2]}) == results.task_id({"b": [1, 2], "a": 1})
    assert results.task_id({"a": 1}) != results.task_id({"a": 1.5})


def test_points_have_their_own_identities():
    planned = plan(**PLANNED)
    tasks = [task for task, _ in planned.points]
    assert len(set(tasks)) == len(tasks)
    assert plan(**PLANNED).digest == planned.digest
    assert plan(**(PLANNED | {"n": 6})).digest != planned.digest


def test_interrupted_at_the_command_line(cli, tmp_path, monkeypatch):
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("statebound.experiments.point.prepare", stop)
    outcome = cli("run", "index", "--n", 4, "--models", "sliding_window", "--json", "--out", "r")
    assert (outcome.code, outcome.out) == (130, "")
    assert "kept" in outcome.err
