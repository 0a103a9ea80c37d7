"""Whatever dies, and whenever: after the same command again the rows are those of a quiet run."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

from statebound.experiments.results import TornLineWarning

from .folders import TASKS, combined, lines, written

NURSERY = """
import json, os, random, signal, sys, time
from statebound.experiments.cli import main

file, folder, seed, folders, kills = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])

def run(out, within=None):
    child = os.fork()  # what is imported and compiled is there already
    if not child:
        sys.argv = ["statebound", "sweep", file, "--jobs", "1", "--json", "--out", out]
        sys.stdout = open(os.devnull, "w")
        try:
            main()
        except SystemExit as left:
            os._exit(left.code)
        os._exit(99)
    if within is not None:
        time.sleep(draw.uniform(0, within))
        os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

draw = random.Random(seed)
sys.argv = ["statebound", "sweep", file, "--jobs", "1", "--json", "--out", folder + "/warm"]
out, sys.stdout = sys.stdout, open(os.devnull, "w")
try:
    main()
except SystemExit as left:
    assert left.code == 0
begun = time.monotonic()
assert run(folder + "/whole") == 0
took = time.monotonic() - begun
told = []
for number in range(folders):
    there = f"{folder}/killed-{number}"
    codes = [run(there, took / kills * 1.5) for _ in range(kills)]
    told.append(codes + [run(there)])
out.write(json.dumps(told))
"""


@pytest.mark.slow
def test_the_parent_killed_at_38_moments(tmp_path):
    """Within the first whole run, and each time that it goes on."""
    file = written(tmp_path)
    words = [sys.executable, "-c", NURSERY, file, tmp_path, "7", "19", "2"]
    done = subprocess.run(
        [*map(str, words)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert {codes[-1] for codes in told} == {0}
    killed = sum(codes.count(-signal.SIGKILL) for codes in told)
    assert killed >= 10, told  # the others had nothing left to do
    whole = combined(tmp_path / "whole")
    assert whole.count(b'"row":') == TASKS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TornLineWarning)
        for number in range(len(told)):
            assert combined(tmp_path / f"killed-{number}") == whole


def start(file: Path, out: Path, *words: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "statebound", "sweep", file, "--out", out, *words]
    return subprocess.Popen(
        [*map(str, command)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def group(leader: int) -> list[int]:
    """Return the living processes of a session but its leader."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, session = path.read_text().rpartition(")")[2].split()[:4]
        except OSError:
            continue
        if int(session) == leader and int(path.parent.name) != leader and state != "Z":
            found.append(int(path.parent.name))
    return found


def workers(leader: int) -> list[int]:
    """Return the worker processes of a sweep."""
    found = []
    for process in group(leader):
        try:
            words = Path(f"/proc/{process}/cmdline").read_bytes()
        except OSError:
            continue
        if b"loky" in words and b"resource_tracker" not in words:
            found.append(process)
    return found


def gone(leader: int, seconds: float = 15) -> bool:
    """Wait until nothing of a session is left."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if not group(leader):
            return True
        time.sleep(0.1)
    return False


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> bytes:
    """The small sweep, undisturbed, in one process."""
    folder = tmp_path_factory.mktemp("whole")
    with start(written(folder), folder / "r", "--jobs", 1) as process:
        _, said = process.communicate(timeout=200)
    assert process.returncode == 0, said
    return combined(folder / "r")


def finish(file: Path, out: Path, *words: object) -> str:
    with start(file, out, *words) as process:
        _, said = process.communicate(timeout=200)
    assert process.returncode == 0, said
    assert "Traceback" not in said
    return said


pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")


@pytest.mark.slow
def test_workers_killed_at_12_moments(tmp_path, monkeypatch, whole):
    """Every other time while a task is worked at, else at any moment, as when starting."""
    (tmp_path / "claims").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "claims"))
    file = written(tmp_path)
    draw, killed, outs = random.Random(5), 0, [tmp_path / "r0"]
    for _ in range(20):
        with start(file, outs[-1], "--jobs", 2) as process:
            while process.poll() is None and killed < 12:
                time.sleep(draw.uniform(0, 1))
                while killed % 2 and process.poll() is None:
                    if list(tmp_path.glob("claims/statebound-*/*")):
                        break
                    time.sleep(0.001)
                for worker in workers(process.pid)[:1]:
                    os.kill(worker, signal.SIGKILL)
                    killed += 1
            _, said = process.communicate(timeout=200)
        assert process.returncode in (0, 1), said
        assert "Traceback" not in said
        if process.returncode:
            assert "died 3 times" in said or "die before they begin" in said
        elif killed < 12:
            outs.append(tmp_path / f"r{len(outs)}")
        else:
            break
    assert killed == 12
    for out in outs:
        finish(file, out, "--jobs", 1)
        assert combined(out) == whole


@pytest.mark.slow
@pytest.mark.parametrize("delay", [0.5, 3.0])
def test_no_orphans(tmp_path, whole, delay):
    """Parents killed with their workers at work, or still starting."""
    file, out = written(tmp_path), tmp_path / "r"
    with start(file, out, "--jobs", 2) as process:
        until = time.monotonic() + 60
        while not workers(process.pid) and time.monotonic() < until and process.poll() is None:
            time.sleep(0.02)
        time.sleep(delay)
        process.kill()
        process.wait()
        assert gone(process.pid)
    before = lines(out)
    finish(file, out, "--jobs", 1)
    assert set(before) <= set(lines(out))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TornLineWarning)
        assert combined(out) == whole


@pytest.mark.slow
@pytest.mark.parametrize("delay", [0.0, 0.7, 3.0])
def test_ctrl_c_is_quiet(tmp_path, whole, delay):
    """The signal goes to the whole group, as a terminal sends it."""
    file, out = written(tmp_path), tmp_path / "r"
    with start(file, out, "--jobs", 2) as process:
        until = time.monotonic() + 60
        while not workers(process.pid) and time.monotonic() < until and process.poll() is None:
            time.sleep(0.02)
        time.sleep(delay)
        os.killpg(process.pid, signal.SIGINT)
        said_out, said = process.communicate(timeout=100)
        assert gone(process.pid)
    if "16 of 16 tasks finished" in said:  # done before; python may be on its way out
        assert process.returncode in (0, 130, -signal.SIGINT), said
    else:
        assert process.returncode == 130, said
        assert said_out == ""
        assert said.splitlines()[-1] == "interrupted; what was written before is kept"
    assert "Traceback" not in said
    assert "KeyboardInterrupt" not in said
    finish(file, out, "--jobs", 1)
    assert combined(out) == whole


@pytest.mark.slow
def test_two_at_once(tmp_path, whole):
    file, out = written(tmp_path), tmp_path / "r"
    with start(file, out, "--jobs", 1) as one, start(file, out, "--jobs", 1) as two:
        for process in (one, two):
            _, said = process.communicate(timeout=200)
            assert process.returncode == 0, said
    assert combined(out) == whole
    assert len(list(out.glob("rows-*"))) == 2
