"""Quantisers, roundings and precisions through every verb that takes a machine."""

from __future__ import annotations

import json

import pytest

import statebound
from statebound import registry
from statebound.errors import StateboundError
from statebound.experiments import results
from statebound.experiments.figures._lines import lines
from statebound.experiments.measure import measure
from statebound.experiments.request import Request
from statebound.experiments.run import execute, plan
from statebound.reductions import quantiser as quantisers
from statebound.reductions import rounding as roundings


def quiet(*_: object) -> None:
    pass


def made(**arguments) -> dict:
    measured = measure(Request("index", 6, model="gru", numbers=3, **arguments))
    assert measured.broken is None
    row = measured.row
    assert sum(f["numbers"] * f["bits"] for f in row["fields"]) == row["state_bits"]
    assert row["message_bytes"] == -(-row["state_bits"] // 8)
    assert row["state_numbers"] == 3
    return row


FITTED = [name for name in registry.names(quantisers.PACKAGE) if not quantisers.load(name).given]


@pytest.mark.parametrize("name", FITTED)
def test_every_quantiser_is_measured_without_a_precision(name):
    row = made(quantiser=name)
    assert row["quantiser"] == name
    assert row["bits_per_number"] == quantisers.load(name).least_bits
    scales = [f for f in row["fields"] if f["kind"] == "scale"]
    assert len(scales) == name.startswith("absmax")


@pytest.mark.parametrize("name", registry.names(roundings.PACKAGE))
def test_every_rounding_is_measured_and_both_exact_engines_agree(name):
    row = made(rounding=name, regime="step", bits=2, quantiser="uniform")
    other = made(rounding=name, regime="step", bits=2, quantiser="uniform", engine="automaton")
    assert row["rounding"] == name
    assert other["success_by_query"] == pytest.approx(row["success_by_query"], abs=1e-12)
    assert other["distinct_messages"] == row["distinct_messages"]
    assert (row["bits_per_number"], row["state_bits"]) == (2, 6 + 96 * (name == "feedback"))


def test_coins_come_from_the_seed_of_the_machine(tmp_path):
    path = tmp_path / "w.json"
    from statebound.reductions.machine import uncut

    cell, _, _ = uncut(Request("index", 6).make_problem(), "gru", numbers=3)
    weights = {name: array.tolist() for name, array in cell.weights.items()}
    path.write_text(json.dumps({"weights": weights}))

    def row(seed: int, rounding: str) -> dict:
        request = Request(
            "index", 6, model="gru", weights=str(path), machine_seed=seed, rounding=rounding
        )
        return measure(request).row

    assert row(0, "nearest") == row(1, "nearest")
    assert row(0, "nearest")["machine_seed"] is None
    coins = [row(seed, "stochastic") for seed in range(4)]
    assert [r["machine_seed"] for r in coins] == [0, 1, 2, 3]
    assert len({r["success"] for r in coins}) > 1
    assert row(0, "stochastic") == coins[0]


def test_precision_by_field(cli):
    words = ["measure", "index", "--n", "6", "--model", "mamba", "--numbers", "8", "--bits", "2"]
    row = cli(*words, "--precision", "conv=4", "--json").row
    assert [(f["name"], f["bits"]) for f in row["fields"]] == [("h", 2), ("conv", 4)]
    assert row["bits_per_number"] is None
    assert row["state_bits"] == 6 * 2 + 2 * 4
    twice = cli(*words, "--precision", "conv=4", "--precision", "h=5", "--json").row
    assert cli(*words, "--precision", "h=5,conv=4", "--json").row == twice
    python = statebound.measure("index", 6, model="mamba", numbers=8, precision={"h": 5, "conv": 4})
    assert json.loads(json.dumps(python)) == twice


@pytest.mark.parametrize(
    "extra",
    [
        "--quantiser absmax_group --bits 5 --rounding feedback --regime step",
        "--quantiser fp16",
        "--precision h=3 --rounding stochastic",
    ],
)
def test_two_processes_agree_on_what_crosses(cli, extra):
    machine = f"index --n 5 --model gru --numbers 2 {extra}".split()
    sent = cli("alice", *machine, "--x", "10110", "--json").row
    assert sent["message_bytes"] == len(sent["message"]) // 2
    row = cli("measure", *machine, "--json").row
    assert row["state_bits"] == sent["state_bits"]


def test_the_listing_names_every_quantiser(cli):
    rows = {row["quantiser"]: row for row in json.loads(cli("quantisers", "--json").out)}
    assert sorted(rows) == registry.names(quantisers.PACKAGE)
    assert rows["fp16"]["bits"] == "16"
    assert rows["absmax"]["bits"] == "2..16"
    assert [rows[name]["calibrated"] for name in ("absmax", "uniform", "lloyd")] == [
        "no",
        "unbounded fields",
        "yes",
    ]
    shown = cli("quantisers").out
    assert all(f"\n{name} " in shown for name in rows)
    helped = cli("measure", "--help").out
    assert all(name in helped for name in [*rows, *registry.names(roundings.PACKAGE)])


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("measure index --n 6 --model gru --precision conv=3", "precision = conv=3: .* h\n"),
        ("measure index --n 6 --model gru --precision h", "precision = h: must be NAME=VALUE"),
        ("measure index --n 6 --model gru --precision h=99", "precision = 99: must be 1 to 32"),
        ("measure index --n 6 --model gru --rounding feedback", "rounding = feedback: .* once"),
        ("measure index --n 6 --model gru --rounding no", "rounding = no: is not a known name"),
        ("measure index --n 6 --protocol send_nothing --rounding feedback", "rounding = feedback"),
        ("measure index --n 6 --protocol send_nothing --precision h=1", "precision = {'h': 1}"),
        ("measure index --n 6 --model gru --quantiser fp16 --bits 8", "bits = 8: .* 16 bits"),
        ("run index --n 6 --models gru --precision conv=3", "precision = conv=3"),
        ("run index --n 6 --models gru --quantiser fp16 --bits 8", "bits = 8"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(cli, tmp_path, monkeypatch, words, line):
    import re

    monkeypatch.chdir(tmp_path)
    outcome = cli(*words.split())
    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (2, "", 1)
    assert re.match(f"error: {line}", outcome.err), outcome.err


# runs -------------------------------------------------------------------------------


def test_a_run_has_the_same_points_with_the_default_written_out():
    short = plan("index", 5, ("gru",), seeds=(0,))
    long = plan("index", 5, ("gru",), bits=1, seeds=(0,), rounding="nearest", precision={})
    assert short == long
    assert {point.bits for _, point in short.points if point.model} == {1}
    assert short.config["bits"] == 1
    fixed = plan("index", 40, ("gru",), (), seeds=(0,), quantiser="fp8_e5m2", engine="sample")
    assert {point.bits for _, point in fixed.points} == {8} == {fixed.config["bits"]}


def test_a_run_tries_coins_even_on_parameters_that_do_not_depend_on_the_seed():
    def seeds(rounding: str) -> set:
        planned = plan("index", 5, ("sliding_window",), (), rounding=rounding)
        assert {point.rounding for _, point in planned.points} == {rounding}
        return {(p.regime, p.machine_seed) for _, p in planned.points}

    assert seeds("nearest") == {("handoff", 0), ("step", 0)}
    assert seeds("stochastic") == {(r, s) for r in ("handoff", "step") for s in (0, 1, 2)}
    assert seeds("feedback") == {("step", 0)}


def test_a_run_with_precisions_resumes(tmp_path):
    asked = {"precision": {"conv": 3}, "rounding": "stochastic", "seeds": (0, 1)}
    planned = plan("index", 5, ("mamba",), (), **asked)
    rows, broken = execute(planned, tmp_path, [], quiet)
    assert not broken
    assert {row["rounding"] for row in rows} == {"stochastic"}
    assert all(row["bits_per_number"] is None for row in rows)
    assert execute(plan("index", 5, ("mamba",), (), **asked), tmp_path, [], quiet)[0] == rows
    with pytest.raises(StateboundError, match="another configuration"):
        execute(plan("index", 5, ("mamba",), ()), tmp_path, [], quiet)


def test_rows_from_before_there_were_roundings_are_still_read_and_drawn(tmp_path):
    rows = [made(bits=2), made(bits=2, rounding="stochastic")]
    del rows[0]["rounding"]
    with results.Writer(tmp_path, {"verb": "test"}, []) as writer:
        for number, row in enumerate(rows):
            writer.append(f"{number}", row)
    read = results.whole(statebound.load(tmp_path), tmp_path)
    assert [line.label for line in lines(read)] == [
        "gru, random, nearest rounding",
        "gru, random, stochastic rounding",
    ]
    assert [line.label for line in lines(read[:1])] == ["gru, random"]


def test_lines_tell_mixes_of_precisions_apart():
    def row(h: int) -> dict:
        request = Request("index", 5, model="mamba", numbers=4, precision={"h": h, "conv": 4})
        return measure(request).row

    assert [line.label for line in lines([row(2), row(3)])] == [
        "mamba, random, h 2, conv 4 bits",
        "mamba, random, h 3, conv 4 bits",
    ]
