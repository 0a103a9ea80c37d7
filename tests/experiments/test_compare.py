"""compare: differences against the rows themselves, and intervals against exact differences."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction

import numpy as np
import pytest

import statebound
from statebound.experiments import compare as work
from statebound.experiments import readout, results
from statebound.experiments.engines import sample
from statebound.experiments.engines.enumerate import count_bob
from statebound.protocols.problems.index import Index
from statebound.reductions.machine import cut

GRU, RNN = {"model": "gru", "numbers": 4}, {"model": "rnn", "numbers": 6}
WINDOW = {"model": "sliding_window", "numbers": 5, "bob": "model"}


@pytest.mark.parametrize(
    ("problem", "shared"),
    [("index", {}), ("istree", {}), ("index", {"query_law": "recency:0.5"})],
    ids=["index", "istree", "law"],
)
def test_exact_is_the_difference_of_both_rows(problem, shared):
    found = statebound.compare(problem, 9, GRU, RNN, **shared)
    a, b = (statebound.measure(problem, 9, **m, **shared) for m in (GRU, RNN))
    assert found["a"] == a
    assert found["b"] == b
    difference = Fraction(a["success_fraction"]) - Fraction(b["success_fraction"])
    assert Fraction(found["difference_fraction"]) == difference
    assert found["difference"] == found["difference_low"] == found["difference_high"]
    assert found["difference"] == float(difference)
    assert found["better"] == ("a" if difference > 0 else "b")
    pairs = zip(a["success_by_query"], b["success_by_query"], strict=True)
    assert found["difference_by_query"] == pytest.approx([p - q for p, q in pairs], abs=1e-15)
    assert found["state_bits_difference"] == -2
    unknown = ("trials", "seed", "interval_level", "unpaired_low", "unpaired_high")
    assert all(found[name] is None for name in unknown)


def test_an_automaton_has_a_bound():
    a, b = ({"model": "gru", "numbers": 4, "machine_seed": s, "regime": "step"} for s in (0, 1))
    long = statebound.compare("index", 10, a, b, engine="automaton")
    exact = statebound.compare("index", 10, a, b, engine="enumerate")
    assert long["difference_fraction"] is None
    assert long["difference_low"] < long["difference_high"] < long["difference_low"] + 1e-10
    assert long["difference_low"] <= exact["difference"] <= long["difference_high"]
    assert long["better"] == exact["better"] is not None
    assert statebound.compare("index", 10, a, a, engine="automaton")["better"] is None


def test_a_sample_pairs_the_same_inputs():
    found = statebound.compare("index", 9, GRU, RNN, engine="sample", trials=300, seed=4)
    for side, machine in (("a", GRU), ("b", RNN)):
        row = statebound.measure("index", 9, engine="sample", trials=300, seed=4, **machine)
        assert found[side] == row
    assert found["difference"] == pytest.approx(found["a"]["success"] - found["b"]["success"])
    assert found["difference_low"] < found["difference"] < found["difference_high"]
    assert (found["trials"], found["seed"], found["interval_level"]) == (300, 4, 0.95)
    assert found["difference_fraction"] is found["difference_by_query"] is None


def of(machine):
    """Return a learned Bob, and the exact success of it."""
    fitted = readout.fit(machine)
    count = count_bob(machine, fitted.answer)
    return fitted.answer, Fraction(sum(count.right), 8 * count.inputs)


@pytest.mark.slow
def test_coverage_over_many_seeds():
    """Of 200 intervals of 95 % each kind should miss about 10 at most; twice that is rare."""
    one, other = cut(Index(8), "gru", numbers=4), cut(Index(8), "gru", numbers=4, bits=2)
    (ask, first), (ask_other, second) = of(one), of(other)
    exact = float(first - second)
    missed, paired, alone = np.zeros(2, int), [], []
    for seed in range(200):
        a = sample.count(one, ask, 200, seed).values
        b = sample.count(other, ask_other, 200, seed).values
        kinds = work.paired_interval(a, b), work.unpaired_interval(a, b)
        missed += [not i.low <= exact <= i.high for i in kinds]
        paired.append(kinds[0].high - kinds[0].low)
        alone.append(kinds[1].high - kinds[1].low)
    assert (missed <= 20).all()
    assert np.mean(paired) < np.mean(alone)
    assert np.mean(paired) < 0.15


def test_one_machine_twice_differs_by_nothing():
    widths = []
    for trials in (100, 1000, 10000):
        shared = {"engine": "sample", "trials": trials}
        found = statebound.compare("index", 8, WINDOW, WINDOW, **shared)
        assert found["difference"] == 0
        assert found["better"] is None
        low, high = found["difference_low"], found["difference_high"]
        assert low == pytest.approx(-high, rel=1e-6)
        widths.append(high - low)
        # the bettor wins at most a factor 1 + CAP / m * (1/2 - m) from each value
        assert high - low < 6 * np.log(2 / 0.05) / trials
    assert widths[0] > 5 * widths[1] > 25 * widths[2]
    exact = statebound.compare("index", 8, GRU, GRU)
    assert (exact["difference_fraction"], exact["better"]) == ("0/1", "equal")


def test_swapping_turns_the_sign():
    one = statebound.compare("index", 8, GRU, WINDOW, engine="sample", trials=300)
    two = statebound.compare("index", 8, WINDOW, GRU, engine="sample", trials=300)
    assert one["difference"] == -two["difference"]
    assert one["difference_low"] == pytest.approx(-two["difference_high"], abs=1e-9)
    assert {one["better"], two["better"]} == {"a", "b"}


def test_a_pair_is_sampled_where_one_must_be():
    step = {"model": "gru", "regime": "step"}
    found = statebound.compare("index", 22, "gru", step, trials=100)
    assert found["a"]["engine"] == found["b"]["engine"] == "sample"
    assert statebound.measure("index", 22, **step)["engine"] == "automaton"


def table(folder, name, bits, inputs):
    x = np.array(list(itertools.product((0, 1), repeat=8)), np.uint8)[inputs]
    message = np.packbits(x[:, :bits], axis=1, bitorder="little")
    np.savez(folder / name, x=x, message=message)
    return f"table:{folder / name}"


def test_a_table_brings_its_inputs(tmp_path):
    order = np.random.Generator(np.random.PCG64(0)).permutation(256)
    a = {"protocol": table(tmp_path, "a.npz", 3, order[:200]), "state_bits": 3}
    b = {"protocol": table(tmp_path, "b.npz", 5, order[:200]), "state_bits": 5}
    other = {"protocol": table(tmp_path, "c.npz", 5, order[50:250]), "state_bits": 5}
    for one in (a, "gru"):
        found = statebound.compare("index", 8, one, b)
        assert (found["trials"], found["seed"], found["better"]) == (100, None, "b")
    with pytest.raises(statebound.errors.UsageError, match="other inputs than that of A"):
        statebound.compare("index", 8, a, other)


def test_the_command_prints_what_the_function_returns(cli):
    words = ["--n", 8, "--engine", "sample", "--trials", 200, "--seed", 3]
    a, b = "gru --numbers 4 --set units=4", "--protocol hamming --state-bits 4 --bob model"
    outcome = cli("compare", "index", a, b, *words, "--json")
    assert (outcome.code, outcome.err, outcome.out.count("\n")) == (0, "", 1)
    made = {"model": "gru", "numbers": 4, "settings": {"units": 4}}
    code = {"protocol": "hamming", "state_bits": 4, "bob": "model"}
    found = statebound.compare("index", 8, made, code, engine="sample", trials=200, seed=3)
    assert outcome.row == json.loads(json.dumps(found))


@pytest.mark.parametrize("form", ["text", "csv", "markdown", "latex"])
def test_tables_and_words(cli, form):
    words = ["compare", "index", "gru --numbers 4", "gru --numbers 8", "--n", 8, "--engine"]
    outcome = cli(*words, "sample", "--trials", 1024, "--format", form)
    assert outcome.code == 0
    assert outcome.out.count("gru") == 2
    first, bits, pairing = outcome.err.splitlines()
    assert "the 95% interval of A - B" in first
    assert bits.startswith("B has 4 bits more")
    assert "paired on 1024 inputs (seed 0)" in pairing
    exact = cli(*words, "enumerate", "--format", form).err.splitlines()
    assert exact[0].endswith(", exactly")
    assert len(exact) == 2


def test_a_broken_wall_leaves_with_3(cli):
    for pair in (("leaky", "send_nothing"), ("send_nothing", "leaky")):
        outcome = cli("compare", "index", *pair, "--n", 8)
        assert outcome.code == 3
        assert f"error: {'AB'[pair.index('leaky')]}: an uncounted bit" in outcome.err


def test_rows_are_rebuilt_or_refused(cli, tmp_path):
    points = [
        {"model": "gru", "numbers": 3, "machine_seed": 2},
        {"model": "lstm", "precision": {"h": 2, "c": 3}, "regime": "step"},
        {"model": "gru", "through": "istree"},
        {"protocol": "hamming", "state_bits": 3},
    ]
    with results.Writer(tmp_path / "r", {}, []) as writer:
        for point in points:
            writer.append(results.task_id(point), statebound.measure("index", 6, **point))
    listed = cli("export", tmp_path / "r", "--json").row
    for row in [r for r in listed if r["model"]]:
        place = f"{tmp_path / 'r'}#{row['task'][:12]}"
        found = cli("compare", "index", place, "gru --init random", "--n", 6, "--json").row
        assert found["a"] == {k: v for k, v in row.items() if k != "task"}
    code = next(r for r in listed if r["protocol"])
    for name, size, told in (
        (f"{tmp_path / 'r'}#{code['task']}", 6, "a = hamming: a row tells all of a machine only"),
        (place, 7, "a = n = 6: is another problem"),
        (f"{place} --bits 2", 6, "so bits cannot change"),
        (f"{tmp_path / 'r'}#", 6, "write FOLDER#TASK with one of "),
    ):
        outcome = cli("compare", "index", name, "gru", "--n", size)
        assert outcome.code == 2
        assert told in outcome.err


def test_a_row_that_names_code_or_was_changed_is_not_followed(tmp_path):
    row = statebound.measure("index", 6, model="gru", init="random")
    with results.Writer(tmp_path, {}, []) as writer:
        writer.append("a1", row | {"model": "os:system"})
        writer.append("b1", row | {"machine_seed": 9})
    with pytest.raises(statebound.errors.UsageError, match="one of statebound models"):
        statebound.compare("index", 6, f"{tmp_path}#a", "gru")
    with pytest.raises(statebound.errors.StateboundError, match="comes out otherwise here"):
        statebound.compare("index", 6, f"{tmp_path}#b", "gru")


@pytest.mark.parametrize(
    ("a", "b", "told"),
    [
        ("nope", "gru", "a = nope: is not the name"),
        ("gru", "", "b = : names no machine"),
        ("gru 'x", "gru", "cannot be split"),
        ("gru --nmbers 8", "gru", "No such option: --nmbers"),
        ("gru --numbers x", "gru", "Invalid value for '--numbers'"),
        ("gru rnn", "gru", "unexpected extra argument"),
        ("gru", "gru --model rnn", "b = gru: --model is given beside the name"),
        ("gru --seed 2", "gru", "No such option: --seed"),
        ("gru --help", "gru", "No such option: --help"),
        ("gru --bits 0", "gru", "bits = 0"),
        ("missing.safetensors", "gru", "missing.safetensors"),
    ],
)
def test_bad_machines(cli, a, b, told):
    outcome = cli("compare", "index", a, b, "--n", 6)
    assert outcome.code in (1, 2)
    assert outcome.out == ""
    assert outcome.err.count("\n") == 1
    assert told in outcome.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--n", 0], "n = 0"),
        (["--n", 6, "--format", "html"], "format = html"),
        (["--n", 6, "--engine", "sample", "--bob", "optimal"], "bob = optimal"),
        (["--n", 6, "--trials", 0], "trials = 0"),
        (["--n", 6, "--trails", 5], "Got unexpected extra argument"),
    ],
)
def test_bad_shared_options(cli, words, told):
    outcome = cli("compare", "index", "gru", "rnn", *words)
    assert outcome.code == 2
    assert outcome.err.startswith(f"error: {told}")


def test_bad_arguments_of_the_function():
    with pytest.raises(statebound.errors.UsageError, match="is no argument of one machine"):
        statebound.compare("index", 6, {"model": "gru", "n": 7}, "gru")
    with pytest.raises(statebound.errors.UsageError, match="is not an argument of compare"):
        statebound.compare("index", 6, "gru", "gru", level=0.9)
