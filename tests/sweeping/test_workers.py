"""Who does the work changes no row; what goes wrong with a task is told of that task."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from itertools import chain
from pathlib import Path

import pytest

from statebound.errors import UsageError
from statebound.experiments.cli import output
from statebound.experiments.results import load
from statebound.experiments.sweeping import workers
from statebound.experiments.sweeping.collect import shard

from .folders import TASKS, combined, lines, written

FACTORIES = """
import os, sys

class Mine(Exception):
    pass

def dies(problem, **_):
    os._exit(9)

def lacks(problem, **_):
    raise KeyError("no such thing")

def leaves(problem, **_):
    sys.exit(3)

def raises(problem, **_):
    raise Mine("of two\\nlines")

def nothing(problem, **_):
    return None
"""

RAISING = {
    "lacks": "KeyError: 'no such thing'",
    "leaves": "SystemExit: 3",
    "raises": "Mine: of two lines",
    "nothing": "does not make a",
    "absent": "has no callable 'absent'",
}


def mixed(folder: Path, monkeypatch: pytest.MonkeyPatch, *names: str) -> Path:
    """Write a sweep of users' factories and one code."""
    (folder / "factories_of_users.py").write_text(FACTORIES)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PYTHONPATH", f"{folder}:{os.environ.get('PYTHONPATH', '')}")
    given = [*(f"factories_of_users:{name}" for name in names), "majority"]
    text = f'[[grid]]\nproblem = "index"\nn = [5, 6]\nstate_bits = 3\nprotocol = {given}\n'
    return written(folder, text)


def test_any_failure_is_told_of_its_task(cli, tmp_path, monkeypatch):
    file = mixed(tmp_path, monkeypatch, *RAISING)
    out = tmp_path / "r"
    assert cli("sweep", file, "--dry-run", "--out", out).code == 0
    outcome = cli("sweep", file, "--jobs", 1, "--out", out, "--json")
    assert outcome.code == 1
    assert (outcome.row["tasks"], outcome.row["finished"]) == (12, 2)
    for name, said in RAISING.items():
        found = [v for k, v in outcome.row["failures"].items() if f":{name} " in k]
        assert len(found) == 2
        assert said in found[0]
    assert outcome.err.count("\n") == outcome.err.count("error: ") == 10
    assert "Traceback" not in outcome.err
    assert len(load(out)) == 2
    again = cli("sweep", file, "--jobs", 1, "--out", out, "--json")  # failures are tried again
    assert (again.code, again.row) == (1, outcome.row)


def test_stop_early(cli, tmp_path, monkeypatch):
    file = mixed(tmp_path, monkeypatch, "lacks")
    words = ("--jobs", 1, "--stop-early", "--json", "--out", tmp_path / "r")
    outcome = cli("sweep", file, *words)
    assert (outcome.code, outcome.row["finished"], len(outcome.row["failures"])) == (1, 0, 1)


def test_a_module_that_cannot_be_imported(cli, tmp_path, monkeypatch):
    """Models are looked at before anything is measured: then it is a mistake of the file."""
    (tmp_path / "broken_of_users.py").write_text("{}['x']")
    monkeypatch.syspath_prepend(tmp_path)
    text = '[[grid]]\nproblem = "index"\nn = 5\nmodel = "broken_of_users:Cell"\n'
    outcome = cli("sweep", written(tmp_path, text), "--dry-run")
    assert outcome.code == 2
    assert "cannot be imported (KeyError: 'x')" in outcome.err


def test_shards_are_all_tasks_once():
    tasks = [*range(11)]
    for number in (1, 2, 3, 11, 13):
        parts = [shard(tasks, f"{i}/{number}") for i in range(1, number + 1)]
        assert sorted(chain(*parts)) == tasks
        assert max(map(len, parts)) - min(map(len, parts)) <= 1
    for part in ("0/3", "4/3", "1", "/", "1/", "1/2/3", "-1/3", "1.0/3", "²/3"):
        with pytest.raises(UsageError, match="shard"):
            shard(tasks, part)


def test_off_a_terminal_there_is_a_line_a_minute(capsys, monkeypatch):
    now = 1000.0
    monkeypatch.setattr(output.time, "monotonic", lambda: now)
    bar = output.Progress(quiet=False, every=60)
    for done in range(1, 1001):
        now += 0.5
        bar(done, 1000, "task")
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1 + 499 // 60 + 1
    assert said[0] == "1/1000 task"
    assert said[-1] == "1000/1000 task"


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> bytes:
    folder = tmp_path_factory.mktemp("whole")
    command = [sys.executable, "-m", "statebound", "sweep", written(folder), "--jobs", "1"]
    subprocess.run([*map(str, command), "--out", str(folder / "r")], check=True, timeout=200)
    return combined(folder / "r")


def sweep(file: Path, out: Path, *words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "statebound", "sweep", file, "--out", out, *words]
    return subprocess.run(
        [*map(str, command)], capture_output=True, text=True, timeout=300, check=False
    )


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [2, 4])
def test_the_number_of_workers_changes_nothing(tmp_path, whole, jobs):
    done = sweep(written(tmp_path), tmp_path / "r", "--jobs", jobs)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{tmp_path / 'r'}\n"
    assert combined(tmp_path / "r") == whole


@pytest.mark.slow
def test_a_worker_that_dies_each_time(tmp_path, monkeypatch):
    """It is tried three times and named; the others finish."""
    file = mixed(tmp_path, monkeypatch, "dies")
    done = sweep(file, tmp_path / "r", "--jobs", 2, "--json", "--grid", "n=5")
    assert done.returncode == 1
    (name,), (reason,) = zip(*json.loads(done.stdout)["failures"].items(), strict=True)
    assert "factories_of_users:dies n=5" in name
    assert "died 3 times" in reason
    assert "Traceback" not in done.stderr
    assert [row["protocol"] for row in load(tmp_path / "r")] == ["majority"]


def test_workers_that_never_begin(tmp_path, monkeypatch):
    """Where each dies before its first task, it does not go on for ever."""
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    from statebound.experiments.sweeping.task import Task
    from statebound.experiments.sweeping.work import Item

    started = []

    def die(*_: object) -> None:
        started.append(1)
        raise TerminatedWorkerError("dead")

    monkeypatch.setattr(workers, "_parallel", die)
    run = workers.beside(2, lambda _: None)
    with pytest.raises(workers.StateboundError, match="die before they begin"):
        list(run([Item(Task("duality", {"n": 1}), (), 1, True, 1)]))
    assert len(started) == workers.IDLE_DEATHS


CLUSTER = """
import os, signal, sys, threading, time
from pathlib import Path
from distributed import LocalCluster
from statebound.experiments.cli import main

def kill(cluster, out):
    while not sum(path.read_bytes().count(b"\\n") for path in out.glob("rows-*")):
        time.sleep(0.002)
    worker = cluster.workers[0]
    os.kill(worker.pid, signal.SIGKILL)
    print("killed", file=sys.stderr)

if __name__ == "__main__":
    file, out = sys.argv[1:]
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        threading.Thread(target=kill, args=(cluster, Path(out)), daemon=True).start()
        address = cluster.scheduler_address
        sys.argv = ["statebound", "sweep", file, "--dask", address, "--json", "--out", out]
        main()
"""


@pytest.mark.slow
@pytest.mark.parity
def test_a_dask_cluster_that_loses_a_worker(tmp_path, whole):
    pytest.importorskip("distributed")
    script = tmp_path / "cluster.py"
    script.write_text(CLUSTER)
    command = [sys.executable, script, written(tmp_path), tmp_path / "r"]
    done = subprocess.run(
        [*map(str, command)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "killed" in done.stderr
    assert json.loads(done.stdout)["finished"] == TASKS
    assert combined(tmp_path / "r") == whole


@pytest.mark.slow
@pytest.mark.parity
def test_nobody_answers(tmp_path):
    pytest.importorskip("distributed")
    done = sweep(written(tmp_path), tmp_path / "r", "--dask", "tcp://127.0.0.1:9")
    assert (done.returncode, done.stdout) == (1, "")
    assert "no dask scheduler answers there" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list((tmp_path / "r").glob("rows-*"))


def test_dask_is_not_there(cli, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    outcome = cli("sweep", written(tmp_path), "--dask", "127.0.0.1:9", "--out", tmp_path / "r")
    assert (outcome.code, outcome.out) == (2, "")
    assert "pip install 'statebound[cluster]'" in outcome.err
    assert not (tmp_path / "r").exists()


@pytest.fixture
def small_disk():
    """A file system of 64 KiB; where none can be mounted, a folder."""
    folder = Path(tempfile.mkdtemp())
    words = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    try:
        mounted = not subprocess.run(words, capture_output=True, check=False).returncode
    except OSError:
        mounted = False
    yield folder, mounted
    if mounted:
        subprocess.run(["umount", str(folder)], check=True)
    shutil.rmtree(folder)


@pytest.mark.parametrize("full", ["disk", "quota"])
def test_a_full_disk(cli, tmp_path, small_disk, full):
    """One line says so; what was written stays; with room again it goes on to the same rows."""
    folder, mounted = small_disk
    out = folder / "r" if full == "disk" else tmp_path / "r"
    if full == "disk" and not mounted:
        pytest.skip("mounting needs root")
    file = written(tmp_path)
    words = ("sweep", file, "--jobs", 1, "--trials", 6000, "--out")
    assert cli(*words, tmp_path / "whole").code == 0
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    if full == "quota":
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, limits[1]))
    try:
        outcome = cli(*words, out)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (outcome.code, outcome.out) == (1, "")
    assert "could not be written" in outcome.err
    assert "already there are safe" in outcome.err
    assert len(outcome.err.splitlines()) == 2  # and how far it was
    there = {line for line in lines(out) if line.endswith("}")}
    assert there
    if full == "disk":
        subprocess.run(["mount", "-o", "remount,size=8m", str(folder)], check=True)
    with pytest.warns(match="torn") if _torn(out) else _nothing():
        assert cli(*words, out).code == 0
    assert there <= set(lines(out))
    with pytest.warns(match="torn") if _torn(out) else _nothing():
        shutil.copytree(out, tmp_path / "copy")
        assert combined(tmp_path / "copy") == combined(tmp_path / "whole")


def _torn(folder: Path) -> bool:
    return any(not path.read_bytes().endswith(b"\n") for path in folder.glob("rows-*"))


def _nothing() -> object:
    from contextlib import nullcontext

    return nullcontext()
