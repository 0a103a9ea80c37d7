"""`explain` derives what a row says once more, and names what does not follow."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import statebound
from statebound import registry
from statebound.errors import StateboundError, UsageError
from statebound.experiments.columns import ORDER
from statebound.experiments.explain import explain
from statebound.experiments.explain.steps import shown
from statebound.experiments.measure import measure
from statebound.experiments.request import Request
from statebound.protocols.problem import PACKAGE

SMALL = {"greater_than": 4, "pointer_chasing": 3, "mqar": 3, "phonebook": 2, "istree": 8}
WINDOW = {"model": "sliding_window", "numbers": 4}
STEPS = {"model": "gru", "regime": "step"}
CASES = {
    "window": ("index", 8, WINDOW),
    "own Bob": ("index", 8, WINDOW | {"bob": "model"}),
    "learned": ("index", 8, WINDOW | {"bob": "learned", "engine": "enumerate"}),
    "automaton": ("index", 8, STEPS | {"numbers": 3, "engine": "automaton"}),
    "one bit in steps": ("index", 9, STEPS | {"numbers": 1}),
    "two bits in steps": ("index", 7, STEPS | {"numbers": 2}),
    "three bits in steps": ("index", 7, STEPS | {"numbers": 3}),
    "as long as x": ("index", 4, STEPS | {"numbers": 3}),
    "sample": ("index", 24, WINDOW | {"engine": "sample", "trials": 64}),
    "sampled own Bob": ("index", 24, WINDOW | {"engine": "sample", "bob": "model", "trials": 64}),
    "unequal weights": ("index", 8, WINDOW | {"query_law": "zipf"}),
    "unequal weights, four symbols": ("index", 4, {"query_law": "recency:0.5", "alphabet": 4,
                                                   "protocol": "truncation", "state_bits": 4}),
    "four symbols": ("index", 5, {"alphabet": 4, "protocol": "truncation", "state_bits": 4}),
    "Hamming": ("index", 7, {"protocol": "hamming", "state_bits": 4}),
    "Golay": ("index", 23, {"protocol": "golay", "state_bits": 12, "engine": "sample",
                            "trials": 16}),
    "nothing": ("index", 6, {"protocol": "send_nothing"}),
    "everything": ("index", 6, {"protocol": "send_everything"}),
    "leaky": ("index", 8, {"protocol": "leaky"}),
    "istree": ("istree", 8, {"model": "gru", "numbers": 4}),
    "scales": ("index", 6, {"model": "gru", "numbers": 4, "quantiser": "absmax", "bits": 4}),
    "mixed precision": ("index", 6, {"model": "lstm", "numbers": 4,
                                     "precision": {"h": 1, "c": 2}, "bits": 1}),
    "through": ("index", 5, {"through": "istree", "model": "gru", "numbers": 3}),
    "through, in steps": ("index", 5, {"through": "istree", "model": "gru", "numbers": 3,
                                       "regime": "step"}),
    "grows": ("index", 5, {"model": "attention"}),
}  # fmt: skip


def of(problem, n, arguments):
    return measure(Request(problem, n, **arguments)).row


def told(explanation):
    """Return every column that an explanation speaks of."""
    return [
        name
        for step in explanation.steps
        for name in (*(c.column for c in step.checks), *step.stated, *step.absent)
    ]


def agrees(row):
    """Assert that a row is explained wholly, with its own numbers, and without an objection."""
    found = explain(row)
    assert [c.column for c in found.disagreements] == []
    assert sorted(set(told(found))) == sorted(ORDER)
    text = found.write("text")
    for name in ORDER:
        if row[name] is None:
            assert f"  {name} is null: " in text, name
        else:
            assert f"  {name} = {shown(row[name])}" in text, name
    for step in found.steps:
        assert all(c.stated == row[c.column] for c in step.checks)
        assert all(value == row[name] for name, value in step.stated.items())
        assert all(row[name] is None for name in step.absent)


@pytest.mark.parametrize("case", CASES)
def test_every_column_is_explained(case):
    agrees(of(*CASES[case]))


@pytest.mark.parametrize("problem", registry.names(PACKAGE))
@pytest.mark.parametrize("protocol", ["send_nothing", "send_everything"])
def test_every_problem_is_explained(problem, protocol):
    agrees(of(problem, SMALL.get(problem, 5), {"protocol": protocol}))


@pytest.mark.parametrize("problem", ["copy", "counting", "equality", "word_problem"])
def test_models_on_other_problems(problem):
    agrees(of(problem, 5, {"model": "gru", "numbers": 4}))


def test_a_table_of_some_inputs(tmp_path):
    drawn = np.random.default_rng(0).permutation(1 << 10)[:200]
    x = (drawn[:, None] >> np.arange(10) & 1).astype(np.uint8)
    np.savez(tmp_path / "t.npz", x=x, message=np.packbits(x[:, :4], axis=1, bitorder="little"))
    case = {"protocol": f"table:{tmp_path}/t.npz", "state_bits": 4}
    agrees(of("index", 10, case))


WRONG = {
    "state_bits": 5,
    "message_bytes": 2,
    "state_numbers": 3,
    "bits_per_number": 2,
    "effective_n": 7,
    "chance": 0.25,
    "trials": 255,
    "success_fraction": "7/8",
    "success": 0.76,
    "success_by_query": [1.0] * 8,
    "success_low": 0.7,
    "optimal_success": 0.7,
    "own_success": 0.8,
    "all_correct": 0.07,
    "distinct_messages": 17,
    "message_entropy": 4.5,
    "utilisation": 0.9,
    "information_by_query": [0.0] * 7,
    "stored_bits": 5.0,
    "certified_bits": 1.0,
    "needed_bits": 2.0,
    "efficiency": 0.5,
    "best_known": 0.9,
    "wall_ball": 0.8,
    "wall_rate_distortion": 0.88,
    "wall_streaming": 0.8,
    "wall_status": {"ball": None, "rate_distortion": None, "streaming": None},
    "deterministic_bits": 9,
    "queries": 9,
    "alphabet": 3,
    "leak": "something",
}


@pytest.fixture(scope="module")
def window():
    return of(*CASES["window"])


@pytest.mark.parametrize("column", WRONG)
def test_a_wrong_column_is_named(window, column):
    found = explain(window | {column: WRONG[column]})
    assert found.disagreements
    assert f"{column} = {shown(WRONG[column])}" in found.write("markdown")
    named = {c.column for c in found.disagreements}
    # what is derived from a wrong column disagrees too, where it is not itself judged
    judges = {"success_fraction": "success", "leak": "leak", "information_by_query": "stored_bits"}
    assert judges.get(column, column) in named or column == "information_by_query"


def test_a_success_above_the_wall_that_is_not_told(window):
    lie = {"success": 1.0, "success_fraction": "1/1", "success_low": 1.0, "success_high": 1.0}
    named = {c.column for c in explain(window | lie).disagreements}
    assert {"violates_wall", "needed_bits", "success_by_query"} <= named


def test_the_walls_are_written_with_their_numbers(window):
    text = explain(window).write("text")
    assert "t = 1: max(0, 1 - 16 x 9 / 256) = 7/16" in text
    assert "= 1 - (1/8) x 11/8 = 53/64" in text
    assert "h(0.110028) = 0.5" in text
    assert "wall(5) = 1515/2048 < 3/4" in text


def test_one_bit_in_steps_is_written_out():
    text = explain(of(*CASES["one bit in steps"])).write("text")
    assert "= 1/2 + (2 / 27) (1 - 4^-5) = 2645/4608" in text


def test_the_verb(cli, tmp_path, window):
    path = tmp_path / "row.json"
    path.write_text(json.dumps(window), encoding="utf-8")
    said = cli("explain", path)
    assert (said.code, said.err) == (0, "")
    piped = cli("explain", "-", stdin=json.dumps(window, indent=2).encode())
    assert piped.out == said.out
    data = cli("explain", path, "--json").row
    assert data["disagreements"] == []
    assert cli("explain", path, "--format", "markdown").out.startswith("## The problem\n")
    path.write_text(json.dumps(window | {"efficiency": 0.7}), encoding="utf-8")
    refused = cli("explain", path)
    assert refused.code == 1
    assert refused.err == "error: efficiency does not follow from the rest of the row\n"
    assert "efficiency = 0.7 DISAGREES: computed 0.646240625180289" in refused.out
    assert cli("explain", path, "--json").row["disagreements"] == ["efficiency"]


def test_a_row_of_a_folder(cli, tmp_path):
    folder = tmp_path / "r"
    words = ("--n", 5, "--models", "gru", "--codes", "none", "--machine-seeds", "0")
    assert cli("run", "index", *words, "--out", folder, "--json").code == 0
    (line, *_) = next(iter(folder.glob("rows-*.jsonl"))).read_text().splitlines()
    task = json.loads(line)["task"]
    assert cli("explain", f"{folder}#{task[:8]}").code == 0
    many = cli("explain", f"{folder}#")
    assert many.code == 2
    assert re.search(r"names \d+ of \d+ rows; write FOLDER#TASK with one of \w{8} \(gru", many.err)
    none = cli("explain", f"{folder}#zz")
    assert "names 0 of" in none.err
    assert none.code == 2
    assert cli("explain", folder).code == 2
    (tmp_path / "empty").mkdir()
    assert "empty: holds no rows yet" in cli("explain", tmp_path / "empty").err


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        (b"{", 1, "stdin: is not JSON"),
        (b"[1]", 1, "stdin: holds a list, not one row"),
        (b"\xff\xfe", 1, "stdin: is not JSON"),
        (b"[" * 100_000, 1, "stdin: is not JSON"),
        (b"{}", 2, "is missing, so this is no result"),
    ],
)
def test_malformed_json(cli, text, code, said):
    found = cli("explain", "-", stdin=text)
    assert (found.code, found.out) == (code, "")
    assert said in found.err
    assert found.err.count("\n") == 1


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("n", "8", "n = 8: must be a whole number"),
        ("n", True, "n = True: must be a whole number"),
        ("state_bits", -1, "state_bits = -1: must be in 0.."),
        ("success", 1.5, "success = 1.5: must be in [0, 1]"),
        ("success", float("nan"), "success = nan: must be a number or a whole number"),
        ("success_fraction", "3/0", "success_fraction = 3/0: must be p/q"),
        ("fields", [{"name": "h"}], "must have name, kind, numbers, bits"),
        ("fields", [{"name": "h", "kind": "real", "numbers": "4", "bits": 1}], "fields numbers"),
        ("success_by_query", ["1"], "success_by_query = 1: must be"),
        ("problem", "chess", "problem = chess: is not a known name"),
        ("problem_options", {"colour": 1}, "colour = 1: index has no such option"),
    ],
)
def test_a_row_that_is_none(window, column, value, said):
    with pytest.raises(UsageError) as refused:
        explain(window | {column: value})
    assert said in str(refused.value)


def test_a_file_that_is_not_there(cli, tmp_path):
    assert cli("explain", tmp_path / "nothing.json").code == 2
    assert cli("explain", f"{tmp_path}/none#abc").code == 1
    assert cli("explain", "-", "--format", "html").code == 2


def test_what_python_measures_can_be_explained():
    assert explain(statebound.measure("index", 5, protocol="send_nothing")).disagreements == []


def test_the_reading_is_bounded(monkeypatch, tmp_path):
    from statebound.experiments.explain import record

    monkeypatch.setattr(record, "MOST_BYTES", 10)
    (tmp_path / "big.json").write_text("[" + "1," * 20 + "1]")
    with pytest.raises(StateboundError, match="more than 10 bytes"):
        record.read(str(tmp_path / "big.json"))
