"""What the page holds is what the commands beside it print, and Bob's part is a table."""

from __future__ import annotations

import base64
import shlex
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

from statebound.experiments.engines.enumerate import best_answer
from statebound.experiments.page.grid import BITS, MODELS
from statebound.experiments.request import Request, subject
from statebound.protocols.problem import make


def machine_of(row):
    return subject(
        Request(
            row["problem"],
            row["n"],
            model=row["model"],
            numbers=row["state_numbers"],
            bits=row["bits_per_number"],
        )
    )


def messages_of(page, place):
    row, part = page.data["public"]["machines"][place], page.data["alice"]["machines"][place]
    held = base64.b64decode(page.data["alice"]["pool"][part["messages"]])
    return np.frombuffer(held, np.uint8).reshape(-1, row["message_bytes"])


@pytest.mark.parametrize("part", range(4))
def test_machines_are_as_measured(page, cli, part):
    rows = page.data["public"]["machines"]
    assert {r["model"] for r in rows} == set(MODELS)
    assert {r["bits_per_number"] for r in rows} == set(BITS)
    assert {"trained", "random", "constructed"} <= {r["init"] for r in rows}
    for shown in rows[part::12]:
        words = shlex.split(shown["command"])
        assert words[0] == "statebound"
        row = cli(*words[1:], "--json").row
        same = set(shown) - {"command", "collision"}
        assert {name: shown[name] for name in same} == {name: row[name] for name in same}
        assert row["engine"] == "enumerate"
        assert row["bob"] == "optimal"


def test_codes_and_walls_are_as_measured(page, cli):
    size = page.data["public"]["sizes"][1]
    assert (size["problem"], size["n"]) == ("index", 7)
    for code in size["codes"][::2]:
        row = cli(*shlex.split(code["command"])[1:], "--json").row
        assert row["success_fraction"] == code["success_fraction"]
        assert row["state_bits"] == code["state_bits"]
    for bits, wall in size["wall"][::5]:
        assert cli(*size["command"].split()[1:], bits, "--json").row["ball"] == wall


def test_bob_is_a_table_of_message_and_query(page):
    rows, tables = page.data["public"]["machines"], page.data["bob"]
    assert len(rows) == len(tables)
    for row, table in zip(rows, tables, strict=True):
        queries = len(row["success_by_query"])
        assert len(table) == row["distinct_messages"]
        for message, answers in table.items():
            assert len(bytes.fromhex(message)) == row["message_bytes"]
            assert len(answers) == queries
            assert set(answers) <= {"0", "1"}


def test_bob_reaches_the_success_that_is_shown(page):
    for place, row in enumerate(page.data["public"]["machines"]):
        problem = make(row["problem"], row["n"], {})
        x = problem.enumerate(0, problem.inputs)
        sent = messages_of(page, place)[-len(x) :]
        table = page.data["bob"][place]
        said = np.array([[int(a) for a in table[m.tobytes().hex()]] for m in sent])
        right = Fraction(int((said == problem.answers(x)).sum()), said.size)
        assert right == Fraction(row["success_fraction"])
        assert right <= Fraction(row["wall_ball"]).limit_denominator(1 << 20)


def test_bob_is_the_optimal_one_of_the_engine(page):
    for place in (5, 30):
        machine = machine_of(page.data["public"]["machines"][place])
        for message, answers in list(page.data["bob"][place].items())[:3]:
            raw = np.frombuffer(bytes.fromhex(message), np.uint8)[None]
            for k, answer in enumerate(answers):
                assert best_answer(machine, raw, k) == int(answer)


def test_the_message_is_what_alice_sends(page, cli):
    for place in (7, 21, 40):
        row = page.data["public"]["machines"][place]
        machine = machine_of(row)
        generator = np.random.default_rng(place)
        x = generator.integers(0, 2, (5, machine.problem.length)).astype(np.uint8)
        number = (x.astype(np.int64) << np.arange(x.shape[1])).sum(axis=1)
        held = messages_of(page, place)
        leaves = held[-machine.problem.inputs :]
        np.testing.assert_array_equal(leaves[number], machine.encode(x))
        # a beginning: the second symbol read, by the streaming interface alone
        state = machine.branch(machine.branch(machine.start(), 0), 1)
        np.testing.assert_array_equal(held[2:6], machine.message(state))
        text = "".join(map(str, x[0]))
        words = shlex.split(row["command"])[2:]
        sent = cli("alice", *words, "--x", text, "--raw").raw
        assert sent == leaves[number[0]].tobytes()


def test_shades_are_the_numbers(page):
    for place in (7, 33):
        row, part = page.data["public"]["machines"][place], page.data["alice"]["machines"][place]
        machine = machine_of(row)
        x = np.ones((1, machine.problem.length), np.uint8)
        state = machine.extend(machine.starts(1), machine.encoding.tokens(x))
        held = base64.b64decode(page.data["alice"]["pool"][part["values"]])
        last = np.frombuffer(held, np.uint8).reshape(-1, row["state_numbers"])[-1]
        low, high = np.array(part["range"]).T
        shown = low + (high - low) * last / page.data["public"]["shades"]
        np.testing.assert_allclose(shown, machine.read_off(state)[0], atol=(high - low).max() / 500)


def test_collisions_hold_in_the_traces(page):
    seen = 0
    for place, row in enumerate(page.data["public"]["machines"]):
        pair = row["collision"]
        if pair is None:
            assert row["success"] == 1
            continue
        seen += 1
        problem = make(row["problem"], row["n"], {})
        held = messages_of(page, place)[-problem.inputs :]
        numbers = [int(pair[name][::-1], 2) for name in ("x1", "x2")]
        assert {held[i].tobytes().hex() for i in numbers} == {pair["message"]}
        answers = [
            int(problem.answers(problem.parse(pair[n]))[0, pair["query"] - 1]) for n in ("x1", "x2")
        ]
        assert answers == pair["answers"]
        assert answers[0] != answers[1]
    assert seen > 20


def test_the_graphs_are_trees_where_the_answer_says_so(page):
    for part in page.data["referee"]:
        vertices = part["vertices"]
        for bits, trees, answers in zip(part["graph"], part["trees"], part["answers"], strict=True):
            assert trees == answers
            star = [(a, vertices - 1 + int(bit)) for a, bit in enumerate(bits, 1)]
            for edge, tree in zip(part["edges"], trees, strict=True):
                graph = nx.Graph([*star, tuple(edge)])
                graph.add_nodes_from(range(1, vertices + 1))
                assert nx.is_tree(graph) == (tree == "1")
