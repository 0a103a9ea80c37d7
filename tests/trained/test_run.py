"""Trained machines through the verbs: rows, runs, the pipe, and errors in one line."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import statebound
from statebound.errors import UsageError
from statebound.experiments.measure import measure
from statebound.experiments.request import Request, read_weights
from statebound.experiments.run import execute, plan
from statebound.protocols.problems.index import Index
from statebound.reductions import zoo
from statebound.reductions.checkpoint import Checkpoint, read
from statebound.reductions.machine import cut

from .checkpoints import made, ship


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return ship(
        tmp_path_factory.mktemp("trained") / "zoo",
        gru2=made(numbers=2, bits=1),
        gru4=made(numbers=4, bits=1),
        gru4pairs=made(numbers=4, bits=1, encoding="pairs"),
        rnn3step=made(model="rnn", numbers=3, bits=1, regime="step"),
        gru32=made(n=6, numbers=6, bits=1),
    )


@pytest.fixture
def shipped(folder, monkeypatch) -> Path:
    monkeypatch.setattr(zoo, "FOLDER", folder)
    return folder


def test_a_row_splits_the_loss(folder):
    request = Request("index", 7, weights=str(folder / "gru4.safetensors"))
    optimal = measure(request).row
    own = measure(Request("index", 7, weights=request.weights, bob="model")).row
    assert (optimal["model"], optimal["init"], optimal["machine_seed"]) == ("gru", "trained", None)
    assert (optimal["quantiser"], optimal["state_bits"]) == ("trained", 4)
    assert optimal["wall_ball"] == optimal["best_known"] == 0.875
    assert optimal["success"] == optimal["optimal_success"] == own["optimal_success"]
    assert own["success"] == own["own_success"] == optimal["own_success"]
    assert 0.5 < own["success"] <= optimal["success"] <= optimal["best_known"]
    assert Fraction(own["success_fraction"]).denominator <= 7 * 2**7
    assert (own["violates_wall"], optimal["violates_wall"]) == (False, False)
    assert own["spec"] == optimal["spec"]


def test_a_sample_counts_its_own_bob_too(folder):
    path = str(folder / "gru4.safetensors")
    exact = measure(Request("index", 7, weights=path)).row["own_success"]
    asked = {"weights": path, "engine": "sample", "trials": 2000}
    rows = [measure(Request("index", 7, bob=bob, **asked)).row for bob in ("learned", "model")]
    assert rows[0]["own_success"] == rows[1]["own_success"] == rows[1]["success"]
    assert rows[0]["success"] != rows[1]["success"]
    assert abs(rows[0]["own_success"] - exact) < 0.02
    assert rows[0]["optimal_success"] is None


def test_both_exact_engines_agree_on_a_trained_automaton(folder):
    path = str(folder / "rnn3step.safetensors")
    rows = [
        measure(Request("index", 7, weights=path, engine=engine)).row
        for engine in ("enumerate", "automaton")
    ]
    assert rows[0]["success_by_query"] == pytest.approx(rows[1]["success_by_query"], abs=1e-12)
    assert rows[0]["own_success"] == rows[1]["own_success"]
    assert [row["regime"] for row in rows] == ["step", "step"]


def test_others_have_no_or_an_uncounted_bob():
    assert statebound.measure("index", 6, model="gru", numbers=2)["own_success"] is None
    window = statebound.measure("index", 6, model="sliding_window", numbers=2)
    assert window["own_success"] == window["success"]
    big = statebound.measure("index", 13, model="sliding_window", numbers=2)
    assert big["own_success"] is None
    assert statebound.measure("index", 7, protocol="send_nothing")["best_known"] == 0.5


def test_the_default_is_the_one_that_is_shipped(shipped):
    row = statebound.measure("index", 7, model="gru", numbers=4)
    named = statebound.measure("index", 7, weights=str(shipped / "gru4.safetensors"))
    assert row == named
    assert statebound.measure("index", 7, model="gru", numbers=4, init="trained") == row
    seeded = statebound.measure("index", 7, model="gru", numbers=4, machine_seed=0)
    assert (seeded["init"], seeded["machine_seed"]) == ("random", 0)
    mapped = statebound.measure("index", 6, through="istree", model="gru", numbers=2)
    assert mapped["init"] == "random"


def test_a_run_shows_trained_machines_once(shipped, tmp_path):
    planned = plan("index", 7, models=("gru", "s4d"), codes=())
    gru = [point for _, point in planned.points if point.model == "gru"]
    assert [(p.numbers, p.regime, p.encoding, p.init, p.machine_seed) for p in gru] == [
        (2, "handoff", "bits", "trained", None),
        (4, "handoff", "bits", "trained", None),
    ]
    assert len(planned.notes) == 1
    assert "no trained gru" in planned.notes[0]
    others = {point.machine_seed for _, point in planned.points if point.model == "s4d"}
    assert others == {0, 1, 2}
    only = plan("index", 7, models=("gru",), codes=())
    rows, broken = execute(only, tmp_path / "r", [], lambda *_: None)
    assert broken == []
    assert [(row["init"], row["machine_seed"]) for row in rows] == [("trained", None)] * 2
    again, _ = execute(only, tmp_path / "r", [], lambda *_: None)
    assert again == rows


def test_seeds_and_quantisers_ask_for_drawn_machines(shipped):
    for arguments in ({"seeds": (0,)}, {"quantiser": "quantile"}, {"bits": 2}):
        planned = plan("index", 7, models=("gru",), codes=(), **arguments)
        assert {point.init for _, point in planned.points} == {None}
        assert planned.notes == ()
    step = plan("index", 7, models=("rnn",), codes=(), engine="automaton")
    assert [(p.numbers, p.init) for _, p in step.points] == [(3, "trained")]
    with pytest.raises(UsageError, match="no trained s4d"):
        plan("index", 7, models=("s4d",), codes=(), quantiser="trained")


def test_the_gap_is_drawn_from_a_run(shipped, tmp_path, cli):
    words = ["index", "--n", 7, "--models", "gru", "--codes", "none", "--out", tmp_path / "r"]
    code, out, err, _ = cli("run", *words)
    assert code == 0
    assert "note: no trained gru is shipped in the regime step" in err
    assert "trained" in out
    code, out, err, _ = cli("plot", "gap", tmp_path / "r")
    assert (code, err) == (0, "")
    assert out.split() == [str(tmp_path / "r" / f"gap.{ending}") for ending in ("png", "svg")]
    assert b"plot gap" in (tmp_path / "r" / "gap.svg").read_bytes()
    code, out, err, _ = cli("plot", "no_such", tmp_path / "r")
    assert (code, err.count("\n"), "choose from collapse, " in err) == (2, 1, True)


def test_the_listing_says_what_is_shipped(shipped, cli):
    _, out, _, _ = cli("models", "--json")
    rows = {row["model"]: row["trained"] for row in json.loads(out)}
    assert (rows["gru"], rows["rnn"], rows["s4d"]) == ("index 6, 7", "index 7", "")


def test_alice_sends_and_bob_answers(folder, cli):
    machine = ["index", "--n", 7, "--weights", folder / "gru4.safetensors"]
    code, out, _, _ = cli("alice", *machine, "--x", "1011001", "--json")
    record = json.loads(out)
    assert (code, record["state_bits"], record["message_bytes"]) == (0, 4, 1)
    sent = bytes.fromhex(record["message"])
    trained = cut(Index(7), None, checkpoint=read((folder / "gru4.safetensors").read_bytes()))
    for k in range(7):
        code, out, _, _ = cli("bob", *machine, "--query", k + 1, "--raw", "--json", stdin=sent)
        message = np.frombuffer(sent, np.uint8)[None]
        said = json.loads(out)
        assert (code, said["bob"]) == (0, "model")
        assert said["answer"] == trained.answer(message, np.array([k]))[0]


def test_a_file_tells_which_kind_it_is(folder, tmp_path):
    from safetensors.numpy import save_file

    path = folder / "gru4.safetensors"
    held = read_weights(path)
    assert isinstance(held, Checkpoint)
    save_file(held.weights, tmp_path / "plain.safetensors")
    plain = read_weights(tmp_path / "plain.safetensors")
    assert isinstance(plain, dict)
    assert plain.keys() == held.weights.keys()
    row = measure(Request("index", 7, model="gru", weights=str(tmp_path / "plain.safetensors"))).row
    assert (row["init"], row["quantiser"], row["own_success"]) == ("file", "quantile", None)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("--model rnn", "model = rnn: contradicts the trained machine"),
        ("--bits 3", "bits = 3: contradicts"),
        ("--regime step", "regime = step: contradicts"),
        ("--protocol truncation", "weights = "),
        ("--init trained", "init = trained: contradicts the parameters"),
    ],
)
def test_contradictions_are_one_line(folder, cli, words, line):
    path = folder / "gru4.safetensors"
    code, out, err, _ = cli("measure", "index", "--n", 7, "--weights", path, *words.split())
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"error: {line}")


@pytest.mark.parametrize("cut", [7, 100, -1])
def test_a_torn_file_is_one_line(folder, tmp_path, cli, cut):
    path = tmp_path / "torn.safetensors"
    path.write_bytes((folder / "gru4.safetensors").read_bytes()[:cut])
    code, out, err, _ = cli("measure", "index", "--n", 7, "--model", "gru", "--weights", path)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "error: weights = " in err


def test_the_chosen_machine_is_for_that_problem(shipped):
    assert zoo.of(Index(6), "gru")[0].about.numbers == 6
    assert statebound.measure("index", 6, model="gru", numbers=6)["init"] == "trained"
