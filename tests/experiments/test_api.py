"""The Python functions give what the command line prints."""

from __future__ import annotations

import json

import pytest

import statebound
from statebound import registry
from statebound.errors import UsageError
from statebound.experiments.request import Request

KEYS = [
    "problem",
    "model",
    "init",
    "weights_hash",
    "n",
    "effective_n",
    "alphabet",
    "chance",
    "queries",
    "query_law",
    "fields",
    "state_numbers",
    "bits_per_number",
    "state_bits",
    "message_bytes",
    "regime",
    "quantiser",
    "dtype",
    "encoding",
    "engine",
    "bob",
    "trials",
    "success",
    "success_low",
    "success_high",
    "interval_level",
    "success_by_query",
    "all_correct",
    "distinct_messages",
    "message_entropy",
    "utilisation",
    "information_by_query",
    "stored_bits",
    "needed_bits",
    "efficiency",
    "wall_ball",
    "wall_rate_distortion",
    "wall_streaming",
    "wall_status",
    "violates_wall",
    "machine_seed",
    "seed",
    "version",
]
POINTS = [
    ("index", 8, {"model": "gru", "numbers": 4, "bits": 2, "regime": "step"}),
    ("istree", 9, {"model": "linear_attention", "machine_seed": 3, "bob": "model"}),
    ("index", 4, {"model": "s4d", "alphabet": 3, "query_law": "recency:0.5"}),
    ("index", 30, {"model": "sliding_window", "engine": "sample", "trials": 200, "seed": 2}),
    ("index", 6, {"protocol": "send_everything"}),
    ("istree", 6, {"protocol": "send_nothing", "bob": "learned"}),
    (
        "index",
        8,
        {"model": "sliding_window", "settings": {"d_key": 1, "window": 3}, "init": "random"},
    ),
    ("index", 6, {"model": "stack", "settings": {"layers": "mamba*2,gru"}, "numbers": 12}),
    ("index", 6, {"model": "hybrid", "settings": {"attention": "1"}, "regime": "step"}),
]


def options(arguments: dict) -> list:
    words = []
    for name, value in arguments.items():
        if name == "settings":
            for key, number in value.items():
                words += ["--set", f"{key}={number}"]
        else:
            words += [f"--{name.replace('_', '-')}", value]
    return words


@pytest.mark.parametrize(("problem", "n", "arguments"), POINTS, ids=[str(p[2]) for p in POINTS])
def test_measure(cli, problem, n, arguments):
    row = statebound.measure(problem, n, **arguments)
    outcome = cli("measure", problem, "--n", n, *options(arguments), "--json")
    assert outcome.code == 0
    assert outcome.err == ""
    assert outcome.out.count("\n") == 1
    assert outcome.row == json.loads(json.dumps(row))
    assert list(outcome.row) == list(row)
    assert set(KEYS) <= set(row)
    assert len(row["success_by_query"]) == row["queries"]
    assert sum(f["numbers"] * f["bits"] for f in row["fields"]) == row["state_bits"]
    talking = cli("measure", problem, "--n", n, *options(arguments))
    assert talking.row == outcome.row
    assert talking.err.count("\n") == 1


@pytest.mark.parametrize("law", ["uniform", "zipf"])
@pytest.mark.parametrize("ask", [{"state_bits": 3}, {"success": "7/8"}, {"success": 0.9}])
def test_limits(cli, law, ask):
    record = statebound.limits("index", 7, query_law=law, **ask)
    outcome = cli("limits", "index", "--n", 7, "--query-law", law, *options(ask), "--json")
    assert outcome.code == 0
    assert outcome.row == json.loads(json.dumps(record))


def test_measured_walls_are_those_of_limits():
    row = statebound.measure("index", 9, model="gru", numbers=3, regime="step")
    limits = statebound.limits("index", 9, state_bits=row["state_bits"])
    assert row["wall_ball"] == limits["ball"]
    assert row["wall_rate_distortion"] == limits["rate_distortion"]
    assert row["wall_streaming"] == limits["streaming"]
    assert statebound.measure("index", 9, model="gru")["wall_streaming"] is None


def test_load_equals_the_rows_of_a_run(cli, tmp_path):
    words = ["run", "index", "--n", 4, "--models", "sliding_window", "--json", "--out", tmp_path]
    outcome = cli(*words)
    assert outcome.code == 0
    rows = statebound.load(tmp_path)
    assert len(rows) == outcome.row["rows"] > 4
    row = next(r for r in rows if (r["regime"], r["state_bits"]) == ("step", 2))
    again = statebound.measure("index", 4, model="sliding_window", regime="step", numbers=2)
    assert json.loads(json.dumps(again)) == row


def test_what_grows_is_said(cli):
    outcome = cli("measure", "index", "--n", 6, "--model", "attention", "--numbers", 3)
    assert outcome.row["growing"] == {"values": 1, "keys": 2}
    assert outcome.row["state_numbers"] == 18
    assert "18 bits (growing, 3 numbers a token)" in outcome.err
    assert statebound.measure("index", 6, model="gru")["growing"] == {}
    assert statebound.measure("index", 6, protocol="send_nothing")["growing"] is None
    listed = {row["model"]: row["growing"] for row in cli("models", "--json").row}
    assert listed["attention"] == 8
    assert listed["gru"] == listed["stack"] == 0
    assert listed["hybrid"] > 0


def test_a_run_of_all_models_leaves_out_those_that_grow(cli, tmp_path, monkeypatch):
    names = registry.names

    def few(package):
        return ["attention", "gru"] if package == "statebound.models" else names(package)

    monkeypatch.setattr(registry, "names", few)
    words = ["run", "index", "--n", 4, "--machine-seeds", 0, "--codes", "none", "--models"]
    outcome = cli(*words, "all", "--out", tmp_path / "a")
    assert "note: without attention, whose states grow" in outcome.err
    assert {row["model"] for row in statebound.load(tmp_path / "a")} == {"gru"}
    outcome = cli(*words, "gru,attention", "--json", "--out", tmp_path / "b")
    assert "note: without" not in outcome.err
    rows = [row for row in statebound.load(tmp_path / "b") if row["model"] == "attention"]
    assert sorted(row["regime"] for row in rows) == ["handoff", "step"]  # one size, constructed alike
    assert {row["state_bits"] for row in rows} == {4 * 8}


def test_settings_are_numbers_or_texts():
    plain = {"problem": "index", "n": 4, "settings": {"layers": "gru", "width": 3}}
    assert Request.from_plain(plain).settings == plain["settings"]
    for wrong in (1.5, True, None, ["gru"]):
        with pytest.raises(TypeError, match="whole numbers or texts"):
            Request.from_plain(plain | {"settings": {"layers": wrong}})


def test_arguments_are_checked():
    with pytest.raises(UsageError, match="state_bit"):
        statebound.measure("index", 4, state_bit=3)
    with pytest.raises(UsageError, match="state_bits"):
        statebound.limits("index", 4)
