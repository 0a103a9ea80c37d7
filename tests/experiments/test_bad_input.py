"""Requests without meaning: one line on stderr, exit code 2 or 1, nothing on stdout."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import statebound

GRU = ["--model", "gru"]
INDEX = ["measure", "index", "--n", "8"]

# words, exit code, the argument that is named, the value that is shown
CASES = [
    ("measure index --n 0 --model gru", "n", "0"),
    ("measure index --n -3 --model gru", "n", "-3"),
    ("measure index --n 4000000000 --model gru --engine sample", "n", "4000000000"),
    ("measure istree --n 3 --model gru", "n", "3"),
    ("measure index --n 8 --model gru --bits 0", "bits", "0"),
    ("measure index --n 8 --model gru --bits 33", "bits", "33"),
    ("measure nope --n 8 --model gru", "problem", "nope"),
    ("measure index --n 8 --model nope", "model", "nope"),
    ("measure index --n 8 --model ../gru", "model", "../gru"),
    ("measure index --n 8 --model _torch", "model", "_torch"),
    ("measure index --n 8 --model :gru", "model", ":gru"),
    ("measure index --n 8 --model .rel:gru", "model", ".rel:gru"),
    ("measure index --n 8 --model json:nothing", "model", "json:nothing"),
    ("measure index --n 8 --model json:JSONDecoder", "model", "json:JSONDecoder"),
    ("measure index --n 8 --model json:loads", "model", "json:loads"),
    (
        "measure index --n 8 --model gru --query-law recency:1e-99999999",
        "query_law",
        "recency:1e-99999999",
    ),
    ("limits index --n 8 --state-bits 1 --query-law recency:1/0", "query_law", "recency:1/0"),
    ("limits index --n 9000 --state-bits 1 --query-law zipf", "query_law", "zipf"),
    ("limits index --n 20000 --state-bits 1 --query-law recency:0.9", "query_law", "recency:0.9"),
    ("limits index --n 8 --success 1e-99999999", "success", "1e-99999999"),
    ("limits index --n 8 --state-bits 1 --query-law zipf --matrix", "matrix", "zipf"),
    ("measure index --n 300 --model linear_attention --numbers 65536 --engine sample", "n", "300"),
    (
        "measure index --n 9 --model sliding_window --numbers 65536 --regime step",
        "numbers",
        "65536",
    ),
    ("run --engine automaton --models gru --n 6 --bits 0", "bits", "0"),
    ("alice index --n 4 --model gru --x 1٠10", "x", "1٠10"),
    ("measure index --n 8 --protocol nope", "protocol", "nope"),
    ("measure index --n 8 --protocol nomodule:f", "protocol", "nomodule:f"),
    ("measure index --n 8 --protocol json:", "protocol", "json:"),
    ("measure index --n 8 --protocol json:dumps", "protocol", "json:dumps"),
    ("measure index --n 8 --protocol builtins:list", "protocol", "builtins:list"),
    ("measure index --n 8 --model gru --engine nope", "engine", "nope"),
    ("measure index --n 8 --model gru --bob nope", "bob", "nope"),
    ("measure index --n 8 --model gru --bob model", "bob", "model"),
    ("measure index --n 8 --model gru --engine sample --bob optimal", "bob", "optimal"),
    ("measure index --n 8 --model gru --quantiser nope", "quantiser", "nope"),
    ("measure index --n 8 --model gru --quantiser sign --bits 2", "bits", "2"),
    ("measure index --n 8 --model gru --quantiser quantile --bits 13", "bits", "13"),
    ("measure index --n 8 --model gru --encoding nope", "encoding", "nope"),
    ("measure index --n 8 --model gru --regime nope", "regime", "nope"),
    ("measure index --n 8 --model gru --dtype float16", "dtype", "float16"),
    ("measure index --n 8 --model gru --init nope", "init", "nope"),
    ("measure index --n 8 --model gru --init constructed", "init", "constructed"),
    ("measure index --n 8 --model gru --protocol send_nothing", "model", "gru"),
    ("measure index --n 8", "model", "None"),
    ("measure index --n 8 --model gru --state-bits 4", "state_bits", "4"),
    ("measure index --n 8 --protocol send_nothing --state-bits 3", "state_bits", "3"),
    ("measure index --n 8 --protocol send_nothing --state-bits -1", "state_bits", "-1"),
    ("measure index --n 8 --protocol send_nothing --bits 3", "bits", "3"),
    ("measure index --n 8 --protocol send_nothing --numbers 3", "numbers", "3"),
    ("measure index --n 8 --protocol send_nothing --set a=3", "set", "a"),
    ("measure index --n 8 --model gru --set nonsense", "set", "nonsense"),
    ("measure index --n 8 --model gru --set units=x", "set", "units=x"),
    ("measure index --n 8 --model gru --set =3", "set", "=3"),
    ("measure index --n 8 --model gru --set foo=3", "set", "foo=3"),
    ("measure index --n 8 --model gru --set units=", "set", "units="),
    ("measure index --n 8 --protocol linear --state-bits 4 --set seed=x", "set", "seed=x"),
    ("measure index --n 8 --model stack --set layers=nope", "set", "layers=nope"),
    ("measure index --n 8 --model stack --set layers=os:path", "set", "layers=os:path"),
    ("measure index --n 8 --model stack --set width=wide", "set", "width=wide"),
    ("measure index --n 8 --model stack --numbers 7", "numbers", "7"),
    ("measure index --n 8 --model hybrid --set attention=9", "set", "attention=9"),
    ("measure index --n 8 --model attention --numbers 18 --set length=9", "set", "length=9"),
    ("measure index --n 100000 --model attention --engine sample --bob model", "numbers", "8"),
    ("measure index --n 8 --model gru --set fields=3", "set", "fields=3"),
    ("measure index --n 8 --model gru --set units=0", "set", "units=0"),
    ("measure index --n 8 --model gru --set units=-1", "set", "units=-1"),
    ("measure index --n 8 --model linear_attention --set d_key=0", "set", "d_key=0"),
    ("measure index --n 8 --model sliding_window --set window=0", "set", "window=0"),
    ("measure index --n 8 --model gru --numbers 0", "numbers", "0"),
    ("measure index --n 8 --model gru --numbers -2", "numbers", "-2"),
    ("measure index --n 8 --model gru --numbers 4 --set units=3", "numbers", "4"),
    ("measure index --n 8 --model s4d --numbers 7", "numbers", "7"),
    ("measure index --n 40 --model gru --engine enumerate", "engine", "enumerate"),
    ("measure index --n 2000 --model gru --engine enumerate", "engine", "enumerate"),
    ("measure index --n 200000 --model gru --engine sample", "n", "200000"),
    ("measure index --n 8 --model gru --trials 0", "trials", "0"),
    ("measure index --n 8 --model gru --trials -5", "trials", "-5"),
    ("measure index --n 8 --model gru --seed -1", "seed", "-1"),
    ("measure index --n 8 --model gru --machine-seed -1", "machine_seed", "-1"),
    ("alice index --n 3 --model gru --machine-seed -1 --x 101", "machine_seed", "-1"),
    ("measure index --n 8 --model gru --alphabet 1", "alphabet", "1"),
    ("measure index --n 8 --model gru --alphabet 37", "alphabet", "37"),
    ("measure istree --n 8 --model gru --alphabet 3", "alphabet", "3"),
    ("measure index --n 8 --model gru --query-law nope", "query_law", "nope"),
    ("measure index --n 8 --model gru --query-law recency:2", "query_law", "recency:2"),
    ("measure index --n 8 --model gru --query-law recency:nan", "query_law", "recency:nan"),
    ("alice index --n 3 --model gru --x 10", "x", "10"),
    ("alice index --n 3 --model gru --x 1011", "x", "1011"),
    ("alice index --n 3 --model gru --x 102", "x", "102"),
    ("alice index --n 3 --model gru --x 1-1", "x", "1-1"),
    ("alice index --n 3 --model gru --x 1٣1", "x", "1٣1"),
    ("bob index --n 3 --model gru --query 0", "query", "0"),
    ("bob index --n 3 --model gru --query 4", "query", "4"),
    ("bob istree --n 5 --model gru --query 3", "query", "3"),
    ("bob index --n 3 --model gru --query 1 --bob nope", "bob", "nope"),
    ("limits index --n 8", "state_bits", "None"),
    ("limits index --n 8 --state-bits 3 --success 0.7", "state_bits", "3"),
    ("limits index --n 8 --success 0", "success", "0"),
    ("limits index --n 8 --success 1.5", "success", "1.5"),
    ("limits index --n 8 --success nan", "success", "nan"),
    ("limits index --n 8 --success some", "success", "some"),
    ("limits index --n 8 --state-bits -1", "state_bits", "-1"),
    ("limits index --n 0 --state-bits 1", "n", "0"),
    ("reduce index istree --x 10a --query 1", "x", "10a"),
    ("reduce index istree --x 101 --query 4", "query", "4"),
    ("reduce index nope --x 101 --query 1", "target", "nope"),
    ("reduce augmented_index greater_than --x 0110 --query 3", "query", "3"),
    ("limits index --n 8 --out .", "out", "."),
    ("hierarchy bits --n 16,32 --out ..", "out", ".."),
    ("run nope", "problem", "nope"),
    ("run index --n 0", "n", "0"),
    ("run index --n 8 --bits 0", "bits", "0"),
    ("run index --n 8 --machine-seeds -1", "machine_seeds", "-1"),
    ("run index --n 8 --machine-seeds some", "machine_seeds", "some"),
    ("run index --n 8 --machine-seeds 3..1", "machine_seeds", "3..1"),
    ("run index --n 8 --machine-seeds 0^1..3^1", "machine_seeds", "0^1..3^1"),
    ("run index --n 8 --machine-seeds 2^999999999", "machine_seeds", "2^999999999"),
    ("run index --n 8 --machine-seeds 0..999999999999", "machine_seeds", "0..999999999999"),
    ("run index --n 8 --models nope", "model", "nope"),
    ("run index --n 8 --models gru --trials 0", "trials", "0"),
    ("run index --n 8 --models gru --seed -1", "seed", "-1"),
    ("run index --n 8 --models gru --engine nope", "engine", "nope"),
    ("run index --n 40 --models gru --engine enumerate", "engine", "enumerate"),
    ("plot nope .", "kind", "nope"),
]


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def refused(outcome, argument: str, value: str) -> None:
    assert outcome.code == 2
    assert outcome.out == ""
    line = f"error: {re.escape(argument)} = {re.escape(value)}: [^\n]+; [^\n]+\n"
    assert re.fullmatch(line, outcome.err), outcome.err


@pytest.mark.parametrize(("words", "argument", "value"), CASES, ids=[c[0] for c in CASES])
def test_refused_in_one_line(cli, tmp_path, words, argument, value):
    refused(cli(*words.split()), argument, value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [
        "measure",
        "measure index --model gru",
        "measure index --n eight --model gru",
        "nope",
        "measure index --n 8 --model gru --nope 3",
        "bob index --n 3 --model gru --query one",
    ],
)
def test_refused_by_the_parser(cli, words):
    outcome = cli(*words.split())
    assert (outcome.code, outcome.out) == (2, "")
    assert re.fullmatch("error: [^\n]+\n", outcome.err)


def test_nearest_sizes_are_named(cli):
    outcome = cli(
        *["measure", "index", "--n", "8", "--model", "linear_attention", "--numbers", "7"],
        "--set",
        "d_value=2",
    )
    refused(outcome, "numbers", "7")
    assert "6 or 8" in outcome.err
    outcome = cli("measure", "index", "--n", 45, *GRU, "--engine", "enumerate")
    assert "GiB" in outcome.err
    assert "--engine sample" in outcome.err


def weights() -> dict:
    rng = np.random.default_rng(0)
    shapes = {"weight_ih": (6, 2), "weight_hh": (6, 2), "bias_ih": (6,), "bias_hh": (6,)}
    return {name: rng.standard_normal(shape).tolist() for name, shape in shapes.items()}


def changed(**tensors) -> str:
    held = weights() | tensors
    return json.dumps({"weights": {k: v for k, v in held.items() if v is not None}})


FILES = {
    "not json": "{nope",
    "no weights": "{}",
    "a list": "[1]",
    "weights are a list": '{"weights": [1]}',
    "weights are text": '{"weights": {"weight_ih": "abc"}}',
    "null": '{"weights": null}',
    "empty": "",
    "deep": "[" * 100_000,
    "ragged": changed(weight_ih=[[1, 2], [3]]),
    "missing": changed(bias_hh=None),
    "no tensors": '{"weights": {}}',
    "shape": changed(weight_ih=[[1.0, 2.0]]),
    "transposed": changed(weight_ih=np.ones((2, 6)).tolist()),
    "scalar": changed(weight_hh=3.0),
    "no rows": changed(weight_hh=[]),
    "nan": changed(bias_hh=[float("nan")] * 6),
    "infinite": changed(bias_ih=[float("inf")] * 6),
}


@pytest.mark.parametrize("name", FILES)
def test_broken_weights(cli, tmp_path, name):
    path = tmp_path / "w.json"
    path.write_text(FILES[name])
    outcome = cli(*INDEX, *GRU, "--weights", path)
    assert (outcome.code, outcome.out) == (2, "")
    assert re.fullmatch("error: weights = [^\n]+: [^\n]+; [^\n]+\n", outcome.err), outcome.err


@pytest.mark.parametrize("path", ["missing.json", "missing.safetensors", "w.txt", ".", "json"])
def test_no_such_weights(cli, path):
    refused(cli(*INDEX, *GRU, "--weights", path), "weights", path)


def test_safetensors(cli, tmp_path):
    from safetensors.numpy import save_file

    path = tmp_path / "w.safetensors"
    save_file({name: np.array(value) for name, value in weights().items()}, path)
    good = cli(*INDEX, *GRU, "--weights", path, "--json")
    assert good.code == 0
    (tmp_path / "w.json").write_text(changed())
    assert cli(*INDEX, *GRU, "--weights", tmp_path / "w.json", "--json").out == good.out
    whole = path.read_bytes()
    for broken in (whole[:-8], whole[:40], whole[:4], b"", b"\xff" * 8 + whole[8:]):
        path.write_bytes(broken)
        refused(
            cli(*INDEX, *GRU, "--weights", path),
            "weights",
            str(path)[:57] + "..." if len(str(path)) > 60 else str(path),
        )


def test_weights_contradict(cli, tmp_path):
    path = tmp_path / "w.json"
    path.write_text(changed())
    refused(cli(*INDEX, *GRU, "--weights", path, "--numbers", 3), "numbers", "3")
    refused(cli(*INDEX, *GRU, "--weights", path, "--init", "random"), "init", "random")
    refused(cli(*INDEX, *GRU, "--weights", path, "--bob", "model"), "bob", "model")


def test_broken_modules_of_users(cli, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "torn_module.py").write_text("def f(:\n")
    (tmp_path / "needy_module.py").write_text("import not_installed_anywhere\n")
    for name in ("torn_module", "needy_module"):
        for option in ("protocol", "model"):
            refused(cli(*INDEX, f"--{option}", f"{name}:f"), option, f"{name}:f")


def test_results_folder_below_a_file(cli, tmp_path):
    (tmp_path / "file").write_text("")
    words = ["run", "index", "--n", 4, "--models", "sliding_window", "--out", "file/results"]
    outcome = cli(*words)
    assert (outcome.code, outcome.out) == (1, "")
    assert re.fullmatch("error: file/results: [^\n]+ --out\n", outcome.err)


def test_plot_of_nothing(cli, tmp_path):
    for folder in ("missing", "."):
        outcome = cli("plot", "collapse", folder)
        assert (outcome.code, outcome.out) == (1, "")
        assert outcome.err.count("\n") == 1


@pytest.mark.parametrize("name", ["weight_ih_l1", "weight_ih_l0_reverse", "junk"])
def test_parameters_that_would_be_ignored_are_refused(cli, tmp_path, name):
    path = tmp_path / "w.json"
    path.write_text(changed(**{name: [[1.0]]}))
    refused(cli(*INDEX, *GRU, "--weights", path), "weights", name.removesuffix("_l0"))


def test_a_run_by_automata_measures_steps_alone(cli, tmp_path):
    words = ["run", "--engine", "automaton", "--models", "gru", "--n", "6", "--machine-seeds", "0"]
    outcome = cli(*words, "--out", tmp_path / "r", "--json")
    assert outcome.code == 0
    rows = statebound.load(tmp_path / "r")
    assert {(row["engine"], row["regime"]) for row in rows} == {("automaton", "step")}


def test_a_success_of_a_law_with_long_fractions(cli):
    law = "recency:0.123456789012"
    words = ["limits", "index", "--n", "60", "--query-law", law, "--success", "0.9", "--json"]
    assert 0 < cli(*words).row["bits_needed"]["ball"] < 60


def test_what_a_file_holds_does_not_steer_the_terminal(cli, tmp_path):
    path = tmp_path / "config.json"
    path.write_text('{"model_type": "\\u001b[31m\\u0007\\nred"}')
    code, _, err, _ = cli("capacity", path)
    assert (code, err.count("\n")) == (2, 1)
    assert "\x1b" not in err
    assert r"\x1b[31m\x07 red" in err
