"""Ten thousand points, some of them samples: read, counted and joined in little memory."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from statebound.experiments import results
from statebound.experiments.request import Request
from statebound.experiments.results import canonical
from statebound.experiments.sweeping import task, work

POINTS, BEGUN, FINISHED, BLOCKS = 10_000, 500, 2_000, 4
MEGABYTES = 500

POINT = Request("index", 30, protocol="majority", state_bits=8, engine="sample", bob="model")

# Not ru_maxrss, which begins with what the parent had.
PEAK = """
import json, sys
from statebound.experiments.cli import main
sys.argv = ["statebound", *sys.argv[1:]]
try:
    main()
except SystemExit as left:
    assert not left.code
finally:
    said = open("/proc/self/status").read()
    print(int(said.partition("VmHWM:")[2].split()[0]) // 1024, file=sys.stderr)
"""
LOAD = """
import sys
import statebound
rows = statebound.load(sys.argv[1])
assert len(rows) == int(sys.argv[2])
said = open("/proc/self/status").read()
print(int(said.partition("VmHWM:")[2].split()[0]) // 1024, file=sys.stderr)
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory) -> Path:
    """A folder made of one real point, its numbers varied."""
    folder = tmp_path_factory.mktemp("large") / "r"
    whole = work.work(work.Item(task.of(replace(POINT, engine="enumerate", n=16)), (), 1, True, 1))
    row = whole[0]["row"]
    numbers = tuple(range(BLOCKS))
    facts, *counted = work.work(work.Item(task.of(POINT), numbers, 1 << 12, True, 1))
    texts = [canonical({"schema": results.SCHEMA} | line) + "\n" for line in (facts, *counted)]
    old = facts["task"]
    config = {"verb": "sweep", "kind": "measure", "tasks": POINTS, "grids": []}
    with results.Writer(folder, config, []) as writer:
        path = Path(writer._file.name)
        writer.append(f"{0:032x}", row)
    with path.open("a") as file:
        for number in range(POINTS):
            name = f"{number:032x}"
            if number and number < POINTS - BEGUN:
                varied = row | {"success": number / POINTS, "machine_seed": number}
                line = {"task": name, "row": varied, "schema": results.SCHEMA}
                file.write(canonical(line) + "\n")
            if number >= POINTS - BEGUN - FINISHED:
                file.writelines(text.replace(old, name) for text in texts)
    return folder


def peak(script: str, *words: object) -> tuple[str, int, float]:
    """Return what a process says, its most memory in MB, and how long it took."""
    begun = time.monotonic()
    command = [sys.executable, "-c", script, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    memory = int(done.stderr.split()[-1])
    print(words[0], f"{memory} MB, {time.monotonic() - begun:.1f} s")  # noqa: T201
    return done.stdout, memory, time.monotonic() - begun


@pytest.mark.slow
def test_ten_thousand_points_take_little_memory(large, tmp_path):
    out, memory, _ = peak(PEAK, "status", large, "--json")
    (found,) = json.loads(out)
    assert (found["tasks"], found["left"], found["samples_begun"]) == (POINTS, BEGUN, BEGUN)
    assert memory < MEGABYTES
    out, memory, _ = peak(PEAK, "combine", large, large, "--out", tmp_path / "c", "--json")
    kept = json.loads(out)["kept"]
    assert kept == POINTS - BEGUN + (BEGUN + FINISHED) * (1 + BLOCKS)
    assert memory < MEGABYTES
    words = ("--x", "machine_seed", "--y", "success", "--where", "engine=enumerate")
    _, memory, _ = peak(PEAK, "plot", "lines", large, *words, "--out", tmp_path / "lines")
    assert memory < MEGABYTES
    for folder in (large, tmp_path / "c"):
        _, memory, _ = peak(LOAD, folder, POINTS)
        assert memory < MEGABYTES
