"""Samples in blocks: the same row whoever counted what, and in which order it came."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import statebound
from statebound.experiments import blocks, threads
from statebound.experiments.blocks import Counts
from statebound.experiments.request import Request
from statebound.experiments.results import Held, canonical, load
from statebound.experiments.sweeping import samples, task, work
from statebound.experiments.sweeping import sweep as files
from statebound.experiments.sweeping.task import Stop

from .folders import combined, lines, parsed, written

POINT = Request("index", 30, protocol="majority", state_bits=8, engine="sample", bob="model")
MOST = 9


@pytest.fixture(scope="module")
def counted() -> tuple[list[Counts], Counts, dict]:
    """Nine whole blocks, a part of the last, and what is known besides."""
    item = work.Item(task.of(POINT), tuple(range(MOST)), MOST * 1024, facts=True, rows=1)
    first, *rest = work.work(item)
    part = work.work(replace(item, numbers=(MOST - 1,), trials=(MOST - 1) * 1024 + 100))
    whole = [Counts.from_plain(line["counts"]) for line in rest]
    return whole, Counts.from_plain(part[1]["counts"]), first["facts"]


def held_of(facts: dict, found: list[tuple[int, Counts]]) -> Held:
    held = Held()
    held.add({"task": "t", "facts": facts}, "here")
    for block, counts in found:
        line = {"task": "t", "block": block, "counts": counts.plain()}
        held.add(json.loads(json.dumps(line)), "here")
    return held


@settings(max_examples=20)
@given(data=st.data())
def test_the_order_in_which_blocks_come_settles_nothing(counted, data):
    """One by one, in any order, looked at after each: the same block is the last one."""
    whole, part, facts = counted
    ragged = data.draw(st.booleans(), "the last block is a part")
    every = [*whole[:-1], part] if ragged else whole
    width = data.draw(st.sampled_from([None, 0.01, 0.02, 0.03, 0.05, 0.2]), "width")
    stop = Stop(sum(each.trials for each in every), width)
    last = samples.enough(every, stop)
    assert last in (1, 2, 4, 8, MOST)
    assert last == MOST or width is not None
    row = samples.finished(facts, every[:last], 1, stop)
    order = data.draw(st.permutations(range(MOST)), "order")
    seen = False
    for there in range(1, MOST + 1):
        held = held_of(facts, [(block, every[block]) for block in order[:there]])
        got = samples.in_order(held, "t", stop)
        found = samples.enough(got, stop)
        if found is None:
            assert not set(range(last)) <= set(order[:there])
            assert samples.wanted(held, "t", stop)
        else:
            assert found == last
            if not seen:  # that the same blocks give the same row again is no news
                assert canonical(samples.finished(facts, got[:found], 1, stop)) == canonical(row)
            seen = True
            assert got[:found] == every[:found]


@settings(max_examples=20)
@given(st.sets(st.integers(0, MOST - 1)), st.sampled_from([None, 0.01, 0.03, 0.2]))
def test_asking_for_what_is_wanted_ends(counted, begun, width):
    """And counts no block again, nor any beyond the one where the width is looked at next."""
    whole, _, facts = counted
    stop = Stop(MOST * 1024, width)
    there = set(begun)
    for _ in range(6):
        held = held_of(facts, [(block, whole[block]) for block in there])
        got = samples.in_order(held, "t", stop)
        if samples.enough(got, stop) is not None:
            break
        wanted = samples.wanted(held, "t", stop)
        assert wanted
        assert not there & set(wanted)
        if width is not None:
            assert max(wanted) < max(1, 2 * len(got))
        there |= set(wanted)
    else:
        raise AssertionError("it goes on and on")


def test_the_width_is_what_was_asked_for(counted):
    whole, _, facts = counted
    for width in (0.02, 0.03, 0.05):
        stop = Stop(MOST * 1024, width)
        last = samples.enough(whole, stop)
        row = samples.finished(facts, whole[:last], 1, stop)
        reached = row["success_high"] - row["success_low"]
        assert reached <= width or last == MOST
        if last > 1:
            assert blocks.width(whole[: last // 2]) > width
        assert row["trials"] == last * 1024


def test_so_far(counted):
    whole, part, facts = counted
    assert samples.so_far(held_of(facts, []), "t") == []
    assert samples.so_far(held_of(facts, [(1, whole[1])]), "t") == []
    (row,) = samples.so_far(held_of(facts, [(0, whole[0]), (1, whole[1]), (3, whole[3])]), "t")
    watched = Stop(MOST * 1024, 0.5)
    assert row == samples.finished(facts, whole[:2], 1, watched)
    last = [(block, counts) for block, counts in enumerate(whole[:-1])]
    (row,) = samples.so_far(held_of(facts, [*last, (MOST - 1, part), (MOST - 1, whole[-1])]), "t")
    assert row["trials"] == MOST * 1024


POINTS = {
    "enumerate": {"model": "gru", "numbers": 3},
    "enumerate, own Bob": {"protocol": "majority", "state_bits": 3, "bob": "model"},
    "automaton": {"model": "rnn", "numbers": 2, "regime": "step", "engine": "automaton"},
    "sample": {"model": "gru", "numbers": 3, "engine": "sample", "seed": 2},
    "sample, model's Bob": {"model": "sliding_window", "engine": "sample", "bob": "model"},
    "sample, code": {"protocol": "majority", "state_bits": 3, "engine": "sample"},
    "by way of a map": {"model": "sliding_window", "through": "istree"},
    "precision": {"model": "lstm", "precision": {"c": 3}, "bits": 2, "quantiser": "uniform"},
    "stochastic": {"model": "gru", "numbers": 4, "bits": 2, "rounding": "stochastic"},
    "settings": {"model": "linear_attention", "settings": {"decay": 1}},
    "query law": {"protocol": "majority", "state_bits": 3, "query_law": "zipf"},
    "options": {"problem": "phonebook", "protocol": "send_nothing", "engine": "sample"},
}


def toml(point: dict) -> str:
    """Write a point as a sweep of one task."""
    rows = []
    for name, value in ({"problem": "index"} | point).items():
        key = {"settings": "set"}.get(name, name)
        if isinstance(value, dict):
            rows += [f'"{key}.{part}" = {json.dumps(inner)}' for part, inner in value.items()]
        else:
            rows.append(f"{key} = {json.dumps(value)}")
    return "[[grid]]\nn = 7\n" + "\n".join(rows) + "\n"


@pytest.mark.parametrize("name", sorted(POINTS))
def test_a_row_is_that_of_measure(cli, tmp_path, name):
    """Also with a number of trials that is no number of blocks, and after more were asked for."""
    point = POINTS[name]
    file = written(tmp_path, toml(point))
    for trials in (700, 1500):
        words = ("--trials", trials, "--jobs", 1, "--out", tmp_path / "r")
        outcome = cli("sweep", file, *words)
        assert outcome.code == 0, outcome.err
        (row,) = load(tmp_path / "r")
        asked = {"problem": "index", "n": 7, "trials": trials} | point
        expected = statebound.measure(**asked)
        assert canonical(row) == canonical(expected)
    if expected["engine"] == "sample":
        stored = [line for line in parsed(lines(tmp_path / "r")) if "block" in line]
        sizes = sorted((line["block"], line["counts"]["trials"]) for line in stored)
        assert sizes == [(0, 700), (0, 1024), (1, 476)]
        assert expected["trials"] == 1500


def test_more_trials_use_the_blocks_that_are_there(cli, tmp_path):
    file = written(tmp_path)
    words = ("sweep", file, "--jobs", 1, "--out")
    assert cli(*words, tmp_path / "r", "--trials", 2048).code == 0
    first = lines(tmp_path / "r")
    assert cli(*words, tmp_path / "r", "--trials", 3000).code == 0
    assert set(first) < set(lines(tmp_path / "r"))
    added = parsed(sorted(set(lines(tmp_path / "r")) - set(first)))
    assert {line["block"] for line in added if "block" in line} == {2}
    assert cli(*words, tmp_path / "fresh", "--trials", 3000).code == 0
    assert load(tmp_path / "r") == load(tmp_path / "fresh")
    before = lines(tmp_path / "r")
    assert cli(*words, tmp_path / "r", "--trials", 2048).code == 0  # is there as well
    assert lines(tmp_path / "r") == before
    assert load(tmp_path / "r") == load(tmp_path / "fresh")


def test_fewer_trials_where_the_width_is_reached(cli, tmp_path):
    file = written(tmp_path)
    outcome = cli("sweep", file, "--jobs", 1, "--out", tmp_path / "r", "--trials", 9000)
    assert outcome.code == 0
    words = ("--jobs", 1, "--trials", 9000, "--width", 0.03, "--out")
    assert cli("sweep", file, *words, tmp_path / "w").code == 0
    assert cli("sweep", file, *words, tmp_path / "r").code == 0
    few, many = (
        {line["task"]: line["row"] for line in parsed(lines(tmp_path / name)) if line.get("stop")}
        for name in "wr"
    )
    assert {row["trials"] for row in few.values()} <= {1024, 2048, 4096}
    for path in ("w", "r"):  # the rows of the rule are the same, whatever else is there
        found = [
            line
            for line in parsed(lines(tmp_path / path))
            if line.get("stop", {}).get("width") is not None
        ]
        assert {line["task"]: line["row"] for line in found} == few
    assert len(many) == len(few)


@pytest.mark.parametrize("name", ["enumerate", "automaton", "sample"])
def test_threads_change_nothing(tmp_path, monkeypatch, name):
    (only,), _ = files.read(str(written(tmp_path, toml(POINTS[name])))).expanded
    item = work.Item(only, (0, 1), 1500, facts=True, rows=1)
    found = []
    for pinned in (False, True):
        monkeypatch.setattr(threads, "_pinned", pinned)
        monkeypatch.setattr(threads.os, "cpu_count", lambda: 4)
        assert threads.available() == (1 if pinned else 4)
        monkeypatch.setattr(work, "_LAST", [])
        monkeypatch.setattr(work, "_COUNTER", [])
        found.append(canonical(work.work(item)))
    assert found[0] == found[1]


def test_an_interrupted_sample_is_loaded_so_far(cli, tmp_path, monkeypatch):
    """The row of the blocks that are there; the whole one once it is finished."""
    file, out = written(tmp_path), tmp_path / "r"

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("statebound.experiments.sweeping.samples.finished", stop)
        outcome = cli("sweep", file, "--jobs", 1, "--out", out)
    assert outcome.code == 130
    partial = [row for row in load(out) if row["engine"] == "sample"]
    assert [row["trials"] for row in partial] == [2500]
    assert cli("status", out, "--json").row[0]["samples_begun"] == 1
    assert cli("sweep", file, "--jobs", 1, "--out", out).code == 0
    assert cli("sweep", file, "--jobs", 1, "--out", tmp_path / "whole").code == 0
    assert combined(out) == combined(tmp_path / "whole")
    narrow = [r for r in load(out) if canonical(r["fields"]) == canonical(partial[0]["fields"])]
    same = [r for r in narrow if (r["n"], r["seed"]) == (partial[0]["n"], partial[0]["seed"])]
    assert [row["success"] for row in same] == [partial[0]["success"]]
    assert same[0]["success_low"] > partial[0]["success_low"]
