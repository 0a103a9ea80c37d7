"""Results folders: joined in any order, damaged in any place, read again."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import warnings
from contextlib import suppress
from itertools import permutations
from pathlib import Path

import pytest

from statebound.errors import StateboundError, UsageError
from statebound.experiments import results
from statebound.experiments.results import TornLineWarning, canonical, load
from statebound.experiments.sweeping.combine import NAME, combine

from .folders import SAMPLES, TASKS, combined, lines, parsed, written


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """A finished folder of the small sweep."""
    from statebound.experiments.sweeping import sweep as files
    from statebound.experiments.sweeping.collect import collect
    from statebound.experiments.sweeping.workers import here

    folder = tmp_path_factory.mktemp("whole")
    made = files.read(str(written(folder)))
    with results.Writer(folder / "r", made.config, []) as writer:
        tasks = made.expanded[0]
        collect(tasks, tasks, made.stop, writer, here, lambda *_: None)
    return folder / "r"


def copied(whole: Path, to: Path, text: bytes | None = None) -> Path:
    """Copy a folder, with other lines."""
    to.mkdir()
    (to / "run.json").write_bytes((whole / "run.json").read_bytes())
    (path,) = whole.glob("rows-*")
    (to / path.name).write_bytes(path.read_bytes() if text is None else text)
    return to


def text_of(whole: Path) -> bytes:
    (path,) = whole.glob("rows-*")
    return path.read_bytes()


def test_joining_with_itself_changes_nothing(whole, tmp_path, cli):
    once = combined(copied(whole, tmp_path / "a"))
    assert sorted(once.decode().splitlines()) == lines(whole)
    assert combined(tmp_path / "a", tmp_path / "a", tmp_path / "a") == once
    outcome = cli("combine", tmp_path / "a", tmp_path / "a-combined", "--out", tmp_path / "b")
    assert outcome.code == 0
    assert (tmp_path / "b" / NAME).read_bytes() == once
    assert load(tmp_path / "b") == load(whole)
    assert f"{once.count(10)} of {2 * once.count(10)} lines kept" in outcome.err


def test_shards_joined_in_any_order(whole, tmp_path, cli):
    shards = []
    for part in (1, 2, 3):
        shards.append(tmp_path / f"s{part}")
        words = ("--shard", f"{part}/3", "--jobs", 1, "--out", shards[-1])
        assert cli("sweep", written(tmp_path), *words).code == 0
    expected = combined(copied(whole, tmp_path / "a"))
    for order in permutations(shards):
        assert combined(*order) == expected
    (found,) = cli("status", tmp_path / "s1-combined", "--json").row
    assert (found["tasks"], found["finished"], found["left"]) == (TASKS, TASKS, 0)
    (found,) = cli("status", tmp_path / "s2", "--json").row
    assert (found["tasks"], found["finished"], found["left"]) == (TASKS, 5, 11)
    # and the joined folder goes on as the sweep's own
    out = tmp_path / "s1-combined"
    before = lines(out)
    assert cli("sweep", written(tmp_path), "--jobs", 1, "--out", out).code == 0
    assert lines(out) == before
    origin = json.loads((out / "run.json").read_text())["from"]
    assert [each["folder"] for each in origin] == [str(path) for path in shards]
    assert all("processor" in run for each in origin for run in each["runs"])


def test_joining_two_sweeps(whole, tmp_path, cli):
    other = tmp_path / "other"
    file = written(tmp_path)
    assert cli("sweep", file, "--quick", "--trials", 800, "--jobs", 1, "--out", other).code == 1
    found = cli("combine", other, whole, "--out", tmp_path / "both", "--json").row
    assert found["configurations"] == 2
    assert found["lines"] == found["kept"] + 4  # the exact rows at n = 5 are in both
    (row,) = cli("status", tmp_path / "both", "--json").row
    assert (row["verb"], row["tasks"], row["left"]) == ("combine", None, None)


@pytest.mark.parametrize("kind", ["row", "facts", "block"])
def test_lines_that_disagree_stop(whole, tmp_path, cli, kind):
    """Both values are shown, in reading and in joining, and nothing is written."""
    first = next(line for line in lines(whole) if kind in json.loads(line))
    line = json.loads(first)
    if kind == "block":
        line["counts"]["at_once"] += 17
        shown = [line["counts"]["at_once"] - 17, line["counts"]["at_once"]]
        where = f"counts of block {line['block']} of task {line['task']} disagree in at_once"
    else:
        shown = [line[kind]["state_bits"], 77]
        line[kind]["state_bits"] = 77
        where = f"rows of task {line['task']} disagree in state_bits"
    text = text_of(whole)
    if kind == "block":  # only what is not finished is read again
        rows = [row for row in text.splitlines(keepends=True) if b'"row":' not in row]
        text = b"".join(rows)
    other = copied(whole, tmp_path / "other", canonical(line).encode() + b"\n")
    same = copied(whole, tmp_path / "same", text + canonical(line).encode() + b"\n")
    for code, err in [
        cli("combine", copied(whole, tmp_path / "a", text), other, "--out", tmp_path / "x")[::2],
        cli("combine", same, "--out", tmp_path / "x")[::2],
    ]:
        assert code == 1
        assert where in err
        assert f"[{shown[0]}] and [{shown[1]}]" in err
        assert err.count("\n") == 1
        assert len(err) < 1500
    assert not (tmp_path / "x").exists()
    with pytest.raises(StateboundError, match="disagree"):
        load(same)
    outcome = cli("sweep", written(tmp_path), "--jobs", 1, "--out", same)
    assert outcome.code == 1
    assert where in outcome.err


def without(text: bytes, number: int, cut: int) -> bytes:
    """Tear a line: it ends early, with or without its newline."""
    rows = text.splitlines(keepends=True)
    rows[number] = rows[number][:cut] + b"\n"
    return b"".join(rows)


@pytest.mark.parametrize("kind", ["row", "facts", "block"])
def test_a_torn_line_in_the_middle(whole, tmp_path, cli, kind):
    """It is skipped with a warning that tells where, and what it said is measured again."""
    text = text_of(whole)
    rows = text.splitlines()
    number = next(i for i, row in enumerate(rows) if kind in json.loads(row))
    for cut in (1, 9, len(rows[number]) // 2, len(rows[number]) - 1):
        torn = copied(whole, tmp_path / f"{kind}-{cut}", without(text, number, cut))
        with pytest.warns(TornLineWarning, match=rf"jsonl:{number + 1}: "):
            load(torn)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TornLineWarning)
            (found,) = cli("status", torn, "--json").row
            assert found["finished"] == TASKS - (kind == "row")
            assert cli("sweep", written(tmp_path), "--jobs", 1, "--out", torn).code == 0
            there = combined(torn).splitlines()
            expected = {row.encode() for row in lines(whole)}
            assert set(there) == expected - ({rows[number]} if kind != "row" else set())
            assert canonical(load(torn)) == canonical(load(whole))


def test_the_command_line_tells_of_a_torn_line_in_one_line(whole, tmp_path):
    """A process of its own, since here the test runner collects warnings."""
    torn = copied(whole, tmp_path / "t", b"{\n" + text_of(whole))
    done = subprocess.run(
        [sys.executable, "-m", "statebound", "status", torn],
        capture_output=True,
        text=True,
        check=False,
    )
    (rows,) = torn.glob("rows-*.jsonl")
    assert (done.returncode, done.stderr) == (0, f"note: {rows}:1: a torn line is skipped\n")


def test_the_last_line_torn_anywhere(whole, tmp_path):
    text = text_of(whole)
    start = text.rindex(b"\n", 0, -1) + 1
    draw = random.Random(3)
    for number, cut in enumerate(
        [start + 1, len(text) - 2, *draw.sample(range(start, len(text)), 8)]
    ):
        if cut == start:
            continue
        torn = copied(whole, tmp_path / str(number), text[:cut])
        with pytest.warns(TornLineWarning):
            assert set(results.read(torn)) < set(results.read(whole))


GARBAGE = [
    b"\0\0\0\0",
    b"\xff\xfe",
    b"[1]",
    b"[" * 5000,
    b"null",
    b'{"block":1}',
    b'{"block":1,"counts":{"trials":5},"schema":2,"task":"zz"}',
    b'{"block":1e999,"counts":{"trials":5},"schema":2,"task":"aa"}',
    b'{"block":-1,"counts":{"trials":5},"schema":2,"task":"aa"}',
    b'{"block":1,"counts":[],"schema":2,"task":"aa"}',
    b'{"block":1,"counts":{"trials":NaN},"schema":2,"task":"aa"}',
    b'{"facts":{},"schema":2,"task":"aa"}',
    b'{"facts":[],"schema":2,"task":"aa"}',
    b'{"row":3,"schema":2,"task":"aa"}',
    b'{"rows":3,"schema":2,"task":"aa"}',
    b'{"rows":[3],"schema":2,"task":"aa"}',
    b'{"row":[["a",1]],"schema":2,"task":"aa"}',
]


@pytest.mark.parametrize("garbage", GARBAGE)
def test_garbage_in_the_middle(whole, tmp_path, cli, garbage):
    rows = text_of(whole).splitlines(keepends=True)
    rows.insert(3, garbage + b"\n")
    spoilt = copied(whole, tmp_path / "s", b"".join(rows))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TornLineWarning)
        assert load(spoilt) == load(whole)
        assert cli("status", spoilt).code == 0
        assert cli("sweep", written(tmp_path), "--jobs", 1, "--out", spoilt).code == 0
        known = {row.encode() for row in lines(whole)}
        assert set(combined(spoilt).splitlines()) - {garbage} == known


def test_any_byte_changed_is_no_traceback(whole, tmp_path):
    """Its line is skipped or kept, or disagrees, or is said to be damaged: nothing else."""
    text = text_of(whole)
    draw = random.Random(11)
    good = copied(whole, tmp_path / "good")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TornLineWarning)
        for number in range(60):
            spoilt = bytearray(text)
            at = draw.randrange(len(text))
            spoilt[at] = draw.choice(
                [0, 10, 34, 44, 48, 57, 91, 123, 125, 200, draw.randrange(256)]
            )
            folder = copied(whole, tmp_path / str(number), bytes(spoilt))
            for act in (
                lambda folder=folder: load(folder),
                lambda folder=folder: combined(folder, good),
                lambda folder=folder: combined(good, folder),
            ):
                with suppress(StateboundError):
                    act()


def test_a_damaged_copy_gives_way_to_a_sound_one(whole, tmp_path):
    text = text_of(whole)
    block = next(row for row in text.splitlines() if row.startswith(b'{"block":'))
    spoilt = block.replace(b'"values":[', b'"values":[[', 1)
    damaged = copied(whole, tmp_path / "d", text.replace(block, spoilt))
    good = copied(whole, tmp_path / "g")
    expected = combined(good)
    with pytest.warns(TornLineWarning, match="damaged"):
        assert combined(damaged, good) == expected
    with pytest.warns(TornLineWarning, match="damaged"):
        assert combined(good, damaged) == expected


def test_where_folders_cannot_be_joined(whole, tmp_path, cli):
    (tmp_path / "empty").mkdir()
    for words, code, said in [
        ((tmp_path / "none", "--out", tmp_path / "x"), 1, "is not a results folder"),
        ((tmp_path / "empty", "--out", tmp_path / "x"), 1, "is not a results folder"),
        ((whole / "run.json", "--out", tmp_path / "x"), 1, "is not a results folder"),
        ((whole, "--out", tmp_path / "empty"), 2, "exists already"),
        ((whole, "--out", "/proc/x"), 1, "cannot be written"),
    ]:
        outcome = cli("combine", *words)
        assert (outcome.code, outcome.out) == (code, "")
        assert said in outcome.err
        assert outcome.err.count("\n") == 1
    with pytest.raises(UsageError):
        combine([whole], whole)


def test_status_tells_and_runs_no_code(whole, tmp_path, cli, monkeypatch):
    (row,) = cli("status", whole, "--json").row
    assert row["verb"] == "sweep"
    assert (row["tasks"], row["finished"], row["left"]) == (TASKS, TASKS, 0)
    assert (row["rows"], row["writers"], row["samples_begun"], row["broken"]) == (TASKS, 1, 0, 0)
    rows = [r for r in text_of(whole).splitlines(keepends=True) if b'"row":' not in r]
    begun = copied(whole, tmp_path / "begun", b"".join(rows))
    record = json.loads((begun / "run.json").read_text())
    record["config"]["grids"] = [{"model": ["this:that"], "problem": ["index"], "n": [4]}]
    (begun / "run.json").write_text(json.dumps(record))
    (row,) = cli("status", begun, "--json").row
    assert (row["finished"], row["left"], row["samples_begun"]) == (0, TASKS, SAMPLES)
    assert cli("status", tmp_path / "none").code == 1
    table = cli("status", whole, begun).out
    assert str(begun) in table


def test_a_later_writer_leaves_a_record(whole, tmp_path, cli):
    out = tmp_path / "r"
    file = written(tmp_path)
    assert cli("sweep", file, "--shard", "1/2", "--jobs", 1, "--out", out).code == 0
    assert cli("sweep", file, "--jobs", 1, "--out", out).code == 0
    assert cli("sweep", file, "--jobs", 1, "--out", out).code == 0  # has nothing to say
    names = {path.name for path in out.glob("run-*")}
    assert len(names) == 1
    (name,) = names
    assert (out / name.replace("run", "rows", 1)).with_suffix(".jsonl").exists()
    record = json.loads((out / name).read_text())
    assert record["argv"][0] == "sweep"
    assert record["config"] == json.loads((out / "run.json").read_text())["config"]
    assert parsed(lines(out)) == parsed(lines(whole))
