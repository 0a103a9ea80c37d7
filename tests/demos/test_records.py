"""What demonstrations show is what the other verbs compute, for the same settings."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from math import comb

import networkx
import numpy as np
import pytest

from statebound.experiments.cli.demo import demos
from statebound.experiments.demos import handoff, limit, pigeonhole, two_passes
from statebound.experiments.request import Request, subject
from statebound.models.constructions.turing import load
from statebound.protocols.message import from_bits

SMALL = {
    "handoff": ("--n", 7, "--numbers", 3),
    "pigeonhole": ("--n", 7, "--numbers", 3),
    "cot": ("--n", 5, "--numbers", 3),
}


def record(cli, name, *more):
    outcome = cli("demo", name, *more, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    return outcome.row


@pytest.mark.parametrize("name", sorted(demos()))
def test_every_demonstration_gives_its_record(cli, name):
    row = record(cli, name, *SMALL.get(name, ()))
    assert row["demo"] == name
    assert row == json.loads(json.dumps(demos()[name].record(**_given(name))))


def _given(name):
    words = SMALL.get(name, ())
    return {words[i].removeprefix("--"): words[i + 1] for i in range(0, len(words), 2)}


@pytest.mark.parametrize("bits", [1, 2])
def test_handoff_equals_measure(cli, bits):
    machine = ("--n", 8, "--model", "gru", "--numbers", 3, "--bits", bits)
    row = record(cli, "handoff", *machine, "--seed", 4)
    measured = cli("measure", "index", *machine, "--json").row
    shared = sorted(row.keys() & measured.keys() - {"seed", "numbers", "bits"})
    assert {"success", "state_bits", "wall_ball", "success_by_query", "fields"} <= set(shared)
    assert {name: row[name] for name in shared} == {name: measured[name] for name in shared}
    sent = cli("alice", "index", *machine, "--x", row["x"], "--raw")
    assert sent.raw.hex() == row["message"]
    for k in range(1, 9):
        said = cli(
            "bob", "index", *machine, "--query", k, "--bob", "optimal", "--raw", stdin=sent.raw
        )
        assert int(said.out) == row["answers"][k - 1]
    assert row["truth"] == [int(bit) for bit in row["x"]]
    assert row["right"] == sum(a == b for a, b in zip(row["truth"], row["answers"], strict=True))
    assert len(row["message_bits"]) == row["state_bits"] == 3 * bits == sum(row["widths"])
    bit_row = np.array([[int(bit) for bit in row["message_bits"]]], np.uint8)
    assert from_bits(bit_row).tobytes().hex() == row["message"]


def test_handoff_counts_the_inputs_with_its_message():
    row = handoff.record(n=6, numbers=2, query=3)
    machine = subject(Request("index", 6, model="gru", numbers=2, bits=1))
    every = map("".join, itertools.product("01", repeat=6))
    sent = {x: machine.encode(machine.problem.parse(x)).tobytes().hex() for x in every}
    alike = [x for x, message in sent.items() if message == row["message"]]
    assert row["same_message"] == len(alike)
    assert row["votes"][2] == [sum(x[2] == bit for x in alike) for bit in "01"]
    assert row["query"] == 3


def test_a_long_handoff_is_sampled():
    row = handoff.record(n=17, numbers=2)
    assert (row["engine"], row["bob"], row["votes"]) == ("sample", "learned", None)
    assert row["success_low"] <= row["success"] <= row["success_high"]
    told = [line for step in handoff.steps(row, 80) for line in step.lines]
    assert any("interval" in line for line in told if isinstance(line, str))


def test_pigeonhole_equals_collide(cli):
    machine = ("--n", 8, "--model", "gru", "--numbers", 3, "--bits", 1)
    row = record(cli, "pigeonhole", *machine, "--seed", 2)
    found = cli(
        "collide", "index", *machine, "--init", "random", "--machine-seed", 2, "--seed", 2, "--json"
    ).row
    shown = row["certificate"]
    assert shown == {k: v for k, v in found["certificate"].items() if k != "request"}
    assert row["faults"] == []
    walls = cli("limits", "index", "--n", 8, "--state-bits", 3, "--json").row
    assert (row["wall_ball"], row["all_correct"]) == (walls["ball"], walls["all_correct"])
    assert row["fullest"] == 2**8 // 2**3


def test_pigeonhole_says_so_where_there_is_no_collision():
    row = pigeonhole.record(n=4, model="sliding_window", numbers=4)
    if row["certificate"] is None:
        assert row["exhausted"]
        told = [line for step in pigeonhole.steps(row, 80) for line in step.lines]
        assert "No two inputs share a message: all were tried." in told
    row = pigeonhole.record(n=3, numbers=8, bits=8)
    assert row["certificate"] is None
    assert row["exhausted"]
    told = [line for step in pigeonhole.steps(row, 80) for line in step.lines]
    assert "No two inputs share a message: all were tried." in told


@pytest.mark.parametrize(("n", "M"), [(7, 4), (10, 3), (23, 12), (64, 32), (1, 0), (5, 5)])
def test_limit_equals_limits(cli, n, M):
    row = record(cli, "limit", "--n", n, "--state-bits", M)
    walls = cli("limits", "index", "--n", n, "--state-bits", M, "--json").row
    assert {name: row[name] for name in walls} == walls
    missing = sum(
        max(Fraction(0), 1 - Fraction(2**M * sum(comb(n, j) for j in range(t + 1)), 2**n))
        for t in range(n)
    )
    assert row["ball_fraction"] == _fraction(1 - missing / n)
    assert sum(1 - s["share"] for s in row["shells"]) == pytest.approx(float(missing), abs=1e-12)
    assert all(code["success"] <= row["optimum_high"] for code in row["codes"])


def _fraction(value):
    return f"{value.numerator}/{value.denominator}"


def test_limit_measures_its_codes(cli):
    row = record(cli, "limit", "--n", 7, "--state-bits", 4)
    assert {code["code"] for code in row["codes"]} >= {"hamming", "linear", "truncation"}
    for code in row["codes"]:
        measured = cli(
            "measure", "index", "--n", 7, "--protocol", code["code"], "--state-bits", 4, "--json"
        ).row
        assert (measured["success"], measured["success_fraction"]) == (
            code["success"],
            code["fraction"],
        )


@pytest.mark.parametrize(
    ("guess", "verdict"),
    [
        (0.9, "is more than any protocol reaches"),
        (0.8, "is reached"),
        (0.875, "is reached"),
    ],
)
def test_a_guess_is_judged(guess, verdict):
    row = limit.record(guess=guess)
    told = [line for step in limit.steps(row, 80) for line in step.lines]
    assert f"The guess {guess:.4f} {verdict}." in told


@pytest.mark.parametrize("seed", range(8))
def test_istree_is_a_tree_where_networkx_says_so(cli, seed):
    row = record(cli, "istree", "--n", 9, "--seed", seed)
    for query, answer in enumerate(row["answers"], start=1):
        graph = networkx.MultiGraph(row["edges"])
        graph.add_nodes_from(range(1, 10))
        graph.add_edge(query, query + 1)
        assert networkx.is_tree(graph) == bool(answer)
    for case in row["shown"]:
        graph = networkx.Graph([*row["edges"], case["edge"]])
        assert case["tree"] == bool(row["answers"][case["query"] - 1])
        if case["cycle"] is not None:
            assert sorted(networkx.find_cycle(graph)) is not None
            assert {v for edge in networkx.find_cycle(graph) for v in edge} == set(case["cycle"])
    walls = cli("limits", "istree", "--n", 9, "--state-bits", 3, "--json").row
    assert {name: row[name] for name in walls} == walls


def test_cot_equals_think(cli):
    machine = ("--n", 5, "--numbers", 3, "--bits", 1, "--seed", 1)
    row = record(cli, "cot", *machine, "--model", "gru")
    thought = cli(
        "think", "index", *machine, "--models", "gru", "--codes", "none", "--machine-seeds", 1,
        "--tokens", "2^0..2^6,0", "--json",
    ).row  # fmt: skip
    assert row["rows"] == thought["rows"]
    one, two = row["collision"]["written"]
    assert one == two
    k = row["collision"]["query"] - 1
    assert row["collision"]["x1"][k] != row["collision"]["x2"][k]
    assert len({r["information"] for r in row["rows"]}) == 1


def test_duality_equals_duality(cli):
    size = ("--n", 12, "--bits", 4, "--seed", 3)
    row = record(cli, "duality", *size)
    assert {k: v for k, v in row.items() if k != "demo"} == cli(
        "duality", "gla", *size, "--json"
    ).row


def test_two_passes_equals_hierarchy(cli):
    row = record(cli, "two-passes", "--n", 16, "--seed", 2)
    counted = cli("hierarchy", "passes", "--n", 16, "--seed", 2, "--json").row
    assert row["rows"] == counted["rows"]
    walls = cli("limits", "index", "--n", 16, "--state-bits", row["state_bits"], "--json").row
    assert row["wall_ball"] == walls["ball"]
    assert row["state_bits"] == sum(row["fields"].values())


@pytest.mark.parametrize("seed", range(5))
def test_two_passes_keeps_the_bit_that_is_asked(seed):
    row = two_passes.record(n=9, seed=seed)
    k = row["query"]
    assert row["answer"] == row["truth"] == int(row["x"][k - 1])
    assert [at["kept"] for at in row["trace"]] == [a >= k for a in range(1, 10)]
    assert not row["first_pass"]["kept"]


def test_turing_draws_the_tape_of_the_machine(cli):
    row = record(cli, "turing", "palindrome", "--input", "abba")
    assert (row["accepted"], row["halted"], row["machine"]) == (True, True, load("palindrome").name)
    assert len(row["trace"]) == row["steps"] + 1
