"""Problems, their options and the maps between them from the command line."""

from __future__ import annotations

import shlex
import subprocess
import sys

import numpy as np
import pytest

import statebound
from statebound import registry
from statebound.errors import UsageError
from statebound.experiments import wire
from statebound.experiments.request import Request, subject
from statebound.protocols.problem import PACKAGE as PROBLEMS
from statebound.protocols.problem import make as make_problem
from statebound.reductions.map import PACKAGE, make

MAPS = [tuple(name.split("_to_")) for name in registry.names(PACKAGE)]
SIZES = {"mqar": 2, "phonebook": 2, "noisy_recall": 3, "word_problem": 3, "pointer_chasing": 4}
NAMES = registry.names(PROBLEMS)


@pytest.mark.parametrize(("source", "target"), MAPS)
def test_reduce_prints_every_map(cli, source, target):
    problem = make_problem(source, 5)
    x = problem.enumerate(0, problem.inputs)[problem.inputs * 2 // 3]
    query = problem.query_text(problem.queries - 1)
    if source == "augmented_index":
        query = f"prefix={problem.text(x)[:3]}"
    words = ["reduce", source, target, "--x", problem.text(x), "--query", query]
    shown = cli(*words)
    assert shown.code == 0, shown.err
    assert f"{target}  n = " in shown.out
    record = cli(*words, "--json").row
    assert record["answer"] == record["read_back"]
    through = make(problem, target)
    again = through.target.parse(record["target_x"])
    assert np.array_equal(again, through.instance(x[None]))
    assert through.target.query(record["target_query_text"]) == record["target_query"] - 1
    if target != "istree":
        assert cli(*words, "--out", "nowhere").code == 2


@pytest.mark.parametrize("target", [t for s, t in MAPS if s == "index"])
def test_a_map_is_reachable_from_measure(cli, target):
    words = ["measure", "index", "--n", 6, "--through", target, "--model", "gru"]
    row = cli(*words, "--numbers", 4, "--json").row
    assert row["problem"] == "index"
    assert row["through"] == target
    assert row["model"] == "gru"
    assert row["state_bits"] == 4
    assert row["success"] <= row["wall_ball"] < 1
    assert not row["violates_wall"]
    learned = cli(*words, "--numbers", 4, "--bob", "learned", "--json").row
    assert learned["success"] <= row["success"]
    assert learned["distinct_messages"] == row["distinct_messages"]


@pytest.mark.parametrize("name", NAMES)
def test_alice_and_bob_on_every_problem(name):
    """What crosses is the message; Bob's answers are those of his protocol."""
    n = SIZES.get(name, 6)
    for words in ({"protocol": "send_everything"}, {"model": "gru", "numbers": 5}):
        protocol = subject(Request(name, n, **words))
        problem = protocol.problem
        x = problem.sample(np.random.default_rng(3), 1)
        message = protocol.encode(problem.parse(problem.text(x[0])))
        crossed = wire.send(protocol, message, raw=False)
        bob = subject(Request(name, n, **words))
        held = wire.receive(bob, crossed, raw=False)
        assert np.array_equal(held, message)
        times = problem.multiplicities(x)
        asked = np.arange(problem.queries) if times is None else np.flatnonzero(times[0])
        for k in sorted({int(asked[0]), int(asked[-1])}):
            query = bob.problem.query(bob.problem.query_text(k))
            answer, kind = wire.reply(bob, held, query, None)
            assert kind == ("model" if protocol.has_bob else "learned")
            assert 0 <= answer < problem.alphabet
            best, _ = wire.reply(bob, held, query, "optimal")
            truth = int(problem.ask(x, np.array([k]))[0])
            if protocol.has_bob:
                assert answer == best == truth
        with pytest.raises(statebound.errors.StateboundError, match="header"):
            wire.receive(subject(Request(name, n + 1, **words)), crossed, raw=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "x", "query", "answer"),
    [
        ("mqar --n 2 --option keys=3 --option values=4", "2503", "key=2", "2"),
        ("counting --n 6 --alphabet 3", "012020", "0,2", "1"),
    ],
)
def test_two_processes(words, x, query, answer):
    command = shlex.join([sys.executable, "-m", "statebound"])
    machine = f"{words} --protocol send_everything"
    pipe = f"{command} alice {machine} --x {x} | {command} bob {machine} --query {query}"
    done = subprocess.run(["sh", "-c", pipe], capture_output=True, text=True, check=True)
    assert done.stdout == f"{answer}\n"


def test_options_are_part_of_the_header(cli):
    words = ["mqar", "--n", 2, "--protocol", "send_everything"]
    sent = cli("alice", *words, "--option", "keys=3", "--x", "2306").raw
    told = ["--query", "key=2", "--option"]
    assert cli("bob", *words, *told, "keys=3", stdin=sent).out == "0\n"
    other = cli("bob", *words, *told, "keys=4", stdin=sent)
    assert other.code == 1
    assert "header" in other.err


def test_options(cli):
    words = ["measure", "index", "--n", 8, "--protocol", "send_nothing", "--json"]
    row = cli(*words, "--option", "marked=4", "--option", "query-law=zipf").row
    assert row["effective_n"] == row["queries"] == 4
    assert row["query_law"] == "zipf"
    assert row["problem_options"] == {
        "alphabet": 2,
        "query_law": "zipf",
        "marked": 4,
        "distractors": 0,
    }
    assert cli(*words, "--alphabet", 3).row["alphabet"] == 3
    for wrong, said in (
        ("marked", "NAME=VALUE"),
        ("=3", "NAME=VALUE"),
        ("marks=3", "no such option"),
        ("marked=few", "whole number"),
        ("marked=9", "0..8"),
    ):
        outcome = cli(*words, "--option", wrong)
        assert outcome.code == 2
        assert said in outcome.err
    assert statebound.limits("mqar", 3, state_bits=2, options={"replacement": True})["ball"] < 1
    with pytest.raises(UsageError, match="no such option"):
        statebound.limits("mqar", 3, state_bits=2, options={"replaced": True})


def test_limits_tell_the_cost_and_why_there_is_no_wall(cli):
    record = cli("limits", "equality", "--n", 30, "--state-bits", 3, "--json").row
    assert record["deterministic_bits"] == 30
    assert record["ball"] is record["chance"] is record["effective_n"] is None
    assert record["reason"] in record["notes"]["ball"]
    assert cli("limits", "index", "--n", 9, "--state-bits", 3, "--json").row["reason"] is None
    chained = cli("limits", "augmented_index", "--n", 9, "--state-bits", 3, "--json").row
    index = cli("limits", "index", "--n", 9, "--state-bits", 3, "--json").row
    same = ("ball_fraction", "rate_distortion", "all_correct_fraction", "deterministic_bits")
    assert {k: chained[k] for k in same} == {k: index[k] for k in same}
    assert chained["optimum_high"] == chained["ball"]
    assert chained["streaming"] is chained["truncation"] is chained["optimum_low"] is None
    for name in ("equality", "mqar"):
        assert cli("limits", name, "--n", 2, "--state-bits", 1, "--matrix").code == 2


def test_the_list_of_problems(cli):
    rows = {row["problem"]: row for row in cli("problems", "--json").row}
    assert sorted(rows) == sorted(NAMES)
    assert rows["counting"]["options"] == "n, alphabet, thresholds"
    assert rows["augmented_index"]["maps to"] == "greater_than, index"
    assert all(row["bits for certainty"] for row in rows.values())


def test_queries_too_many_to_list(cli):
    words = ["measure", "equality", "--n", 40, "--json", "--trials", 200]
    row = cli(*words, "--protocol", "send_everything", "--engine", "sample", "--bob", "model").row
    assert row["success"] == pytest.approx(1.0)
    assert row["queries"] == 2**40
    assert row["success_by_query"] is row["all_correct"] is None
    nothing = cli(*words, "--protocol", "send_nothing", "--bob", "model").row
    assert nothing["engine"] == "sample"
    assert nothing["success_low"] < 0.5 < nothing["success_high"]
    refused = cli(*words, "--model", "gru")
    assert refused.code == 2
    assert "too many" in refused.err


def test_distractors_are_read_and_do_not_help(cli):
    words = ["measure", "index", "--n", 6, "--model", "sliding_window", "--numbers", 4, "--json"]
    plain = cli(*words).row
    assert plain["success_by_query"] == [0.5, 0.5, 1, 1, 1, 1]
    filled = cli(*words, "--encoding", "pairs", "--option", "distractors=3").row
    assert filled["success_by_query"] == [0.5, 0.5, 0.5, 0.5, 0.5, 1]
    assert filled["wall_ball"] == plain["wall_ball"]


def test_both_bobs_of_the_phonebook_read_one_message():
    machine = {"model": "gru", "numbers": 6, "options": {"base": 3}}
    exact = subject(Request("phonebook", 3, **machine))
    digit = subject(
        Request("phonebook", 3, **machine | {"options": {"base": 3, "credit": "digit"}})
    )
    x = exact.problem.sample(np.random.default_rng(0), 50)
    assert np.array_equal(exact.encode(x), digit.encode(x))
    rows = [
        statebound.measure(
            "phonebook", 3, model="gru", numbers=6, options={"base": 3, "credit": credit}
        )
        for credit in ("exact", "digit")
    ]
    assert rows[0]["distinct_messages"] == rows[1]["distinct_messages"]
    assert rows[0]["success"] < rows[1]["success"]
    assert [row["chance"] for row in rows] == [pytest.approx(1 / 9), pytest.approx(1 / 3)]


def test_collisions_where_the_query_depends_on_x(cli, tmp_path):
    """Neighbours may have no query in common; a collision is between others then."""
    words = ["mqar", "--n", 1, "--option", "keys=2", "--option", "values=2"]
    record = cli("collide", *words, "--protocol", "send_nothing", "--json").row
    found = record["certificate"]
    assert record["method"] == "exhaustive"
    assert (found["x1"], found["x2"], found["query"]) == ("02", "03", 1)
    kept = tmp_path / "pair.json"
    cli("collide", *words, "--protocol", "send_nothing", "--out", kept)
    assert cli("collide", "--verify", kept).out == "valid\n"
    kept.write_text(kept.read_text().replace('"query": 1', '"query": 2'))
    assert "never asked" in cli("collide", "--verify", kept).out
    whole = cli("collide", *words, "--protocol", "send_everything", "--json")
    assert whole.row["certificate"] is None
    assert whole.row["exhausted"]


@pytest.mark.parametrize(
    "words",
    [
        "equality --n 5",
        "phonebook --n 2 --option base=3",
        "word_problem --n 2 --option group=s5",
        "index --n 6 --through counting",
    ],
)
def test_collisions_on_other_problems(cli, tmp_path, words):
    kept = tmp_path / "pair.json"
    found = cli("collide", *words.split(), "--model", "gru", "--numbers", 3, "--out", kept)
    assert found.code == 0
    assert cli("collide", "--verify", kept).out == "valid\n"
