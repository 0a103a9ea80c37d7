"""From a recipe to a machine that is loaded and measured."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import statebound
from statebound.errors import StateboundError, UsageError
from statebound.experiments.training.recipe import Recipe
from statebound.protocols.problem import make
from statebound.reductions.checkpoint import read, write

TINY = {"steps": 12, "bob_steps": 8, "seeds": (0, 1), "decoder": 16, "bob": 8, "held": 256}


def quiet(done, total, words):
    assert 0 < done <= total


def trained(problem="index", n=6, **parts):
    pytest.importorskip("torch")
    from statebound.experiments.training.train import train

    return train(Recipe(problem, n, **TINY | {"model": "gru", "numbers": 4} | parts), quiet)


def tensors(checkpoint):
    books = checkpoint.codebooks.items()
    quantisers = {f"{f}.{k}": a for f, b in books for k, a in vars(b).items()}
    bob = {f"{i}.{j}": a for i, layer in enumerate(checkpoint.bob) for j, a in enumerate(layer)}
    return checkpoint.weights | quantisers | bob


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"regime": "step", "bits": 2},
        {"model": "mamba", "numbers": 8, "encoding": "pairs", "bits": 2},
        {"model": "lstm", "regime": "step", "encoding": "keyed"},
        {"model": "mamba", "numbers": 6, "regime": "step", "settings": {"d_state": 1, "d_conv": 3}},
        {"model": "s4d", "options": {"alphabet": 3}, "n": 4, "draws": {"log_dt": [-1.0, 0.0]}},
        {"problem": "istree", "loss": "hinge", "examples": 9},
        {"problem": "mqar", "n": 3, "model": "rnn", "loss": "ce"},
        {"problem": "augmented_index", "n": 4, "model": "deltanet", "settings": {"width": 4}},
    ],
    ids=lambda parts: "-".join(str(v) for v in parts.values()) or "plain",
)
def test_what_is_measured_is_what_is_loaded(parts, tmp_path):
    checkpoint = trained(**parts)
    path = tmp_path / "made.safetensors"
    path.write_bytes(write(checkpoint))
    about = checkpoint.about
    row = statebound.measure(
        about.problem, about.n, weights=str(path), options=about.problem_options
    )
    assert row["init"] == "trained"
    assert row["success"] == row["optimal_success"] == about.measured["success"]
    assert row["own_success"] == about.measured["own_success"]
    assert not row["violates_wall"]
    assert [r["seed"] for r in about.measured["restarts"]] == [0, 1]
    held = {r["seed"]: r["held"] for r in about.measured["restarts"]}
    assert held[about.measured["kept"]] == max(held.values())
    assert Recipe.of(about.recipe).digest == about.provenance["recipe_hash"]


def test_one_recipe_one_machine():
    first, again, other = (trained(seed=seed) for seed in (0, 0, 1))
    for name, array in tensors(first).items():
        assert (array == tensors(again)[name]).all(), name
    assert any((a != tensors(other)[name]).any() for name, a in tensors(first).items())


def test_few_examples_are_all_there_is(monkeypatch):
    """With K examples nothing but those K inputs goes through a training, held-out ones apart."""
    pytest.importorskip("torch")
    from statebound.experiments.training.examples import Examples

    seen: list[np.ndarray] = []
    plain = Examples.batch

    def spy(self, x):
        seen.append(x)
        return plain(self, x)

    monkeypatch.setattr(Examples, "batch", spy)
    trained(examples=5)
    *learned, held = seen
    assert len(held) == TINY["held"]
    assert len(np.unique(np.concatenate(learned), axis=0)) <= 5


def test_few_examples_are_not_those_of_a_sample():
    """A machine that knows K inputs by heart is not judged on just these."""
    pytest.importorskip("torch")
    from statebound.experiments.engines.sample import draw_block
    from statebound.experiments.training.loop import generator, source_of

    problem = make("index", 32)
    for seed in (0, 3):
        recipe = Recipe("index", 32, examples=64, seed=seed)
        learned = problem.sample(generator(*source_of(recipe)), 64)
        judged = draw_block(problem, seed, 0, 1024)
        assert not (learned[:, None] == judged).all(axis=2).any()


def test_a_divergence_is_said():
    with pytest.raises(StateboundError, match="diverged"):
        trained(rate=1e30, steps=60, model="linear_attention", encoding="pairs")


COMMAND = ("train", "index", "--n", 5, "--model", "rnn", "--numbers", 2, "--steps", 5)


def test_the_command_writes_and_says(cli, tmp_path):
    pytest.importorskip("torch")
    path = tmp_path / "made.safetensors"
    code, out, err, _ = cli(
        *COMMAND, "--draw", "weight_hh=-0.1:0.1", "--seeds", "4", "--out", path, "--json"
    )
    assert (code, err) == (0, "")
    record = json.loads(out)
    about = read(path.read_bytes()).about
    assert record["success"] == about.measured["success"] <= record["wall_ball"]
    assert record["state_bits"] == 2
    assert record["truncation"] == 0.7
    assert about.recipe["draws"] == {"weight_hh": [-0.1, 0.1]}
    assert about.encoding == "pairs"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--out", "x.bin"), "must end in .safetensors"),
        (("--out", "/no/such/x.safetensors"), "no existing folder"),
        (("--out", "x.safetensors", "--draw", "log_dt"), "NAME=LOW:HIGH"),
        (("--out", "x.safetensors", "--seeds", "1,1"), "different seeds"),
        (("--out", "x.safetensors", "--numbers", "0"), "numbers"),
        (("--out", "x.safetensors", "--model", "kv_fifo", "--numbers", 4), "no trainable twin"),
        (("--out", "/"), "pass made.safetensors"),
        (("--out", "/proc/x.safetensors"), "cannot be written"),
        (("--out", "x.safetensors", "--seed", "-1"), "seed = -1: must be in 0.."),
        (("--out", "x.safetensors", "--seed", 1 << 63), "must be in 0.."),
        (("--out", "x.safetensors", "--seeds", f"{1 << 63}"), "seeds = 9223372036854775808"),
        (("--out", "x.safetensors", "--bob-hidden", 0), "bob-hidden = 0"),
        (("--out", "x.safetensors", "--bob-hidden", 1 << 30), "pass fewer units"),
        (("--out", "x.safetensors", "--draw", "no=0:1"), "draw = no"),
    ],
)
def test_a_mistake_is_one_line(cli, tmp_path, monkeypatch, more, said):
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    code, out, err, _ = cli(*COMMAND, *more)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_stopped_training_leaves_the_file(cli, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    from statebound.experiments.training import loop

    path = tmp_path / "made.safetensors"
    path.write_bytes(b"before")

    def stop(self, rate, clip):
        raise KeyboardInterrupt

    monkeypatch.setattr(loop.Adam, "step", stop)
    code, _, _, _ = cli(*COMMAND, "--out", path)
    assert code == 130
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_is_no_file(cli, tmp_path):
    pytest.importorskip("torch")
    (tmp_path / "x.safetensors").mkdir()
    code, _, err, _ = cli(*COMMAND, "--out", tmp_path / "x.safetensors")
    assert (code, err.count("\n")) == (2, 1)
    assert "is a folder; name a file" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--only", "nothing_such"), "no machine's name holds nothing_such"),
        (("--only", "index-7-gru", "--limit", "-1"), "not a positive number"),
        (("--only", "index-7-gru", "--out", "taken"), "out = taken: cannot be made"),
    ],
)
def test_a_mistake_about_the_zoo(tmp_path, monkeypatch, capsys, arguments, said):
    from statebound.experiments.training import zoo

    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").write_text("")
    monkeypatch.setattr("sys.argv", ["zoo", *arguments])
    try:
        code = zoo.main()
    except SystemExit as ended:
        code = ended.code
    assert code == 2
    assert said in capsys.readouterr().err


def test_the_zoo_goes_on_where_it_was(tmp_path):
    pytest.importorskip("torch")
    from statebound.experiments.training import zoo

    recipes = [
        Recipe("index", 4, model="rnn", numbers=2, encoding="pairs", **TINY | {"seeds": (s,)})
        for s in (0, 1)
    ]
    said: list[str] = []
    assert zoo.make(recipes[:1], tmp_path, 60.0, said.append) == (1, 0)
    (path,) = tmp_path.iterdir()
    before = path.stat().st_mtime_ns
    assert zoo.make(recipes[:1], tmp_path, 60.0, said.append) == (0, 0)
    assert path.stat().st_mtime_ns == before
    assert "there already" in said[-1]
    held = read(path.read_bytes())
    older = {k: v for k, v in held.about.recipe.items() if k != "soften"}
    path.write_bytes(write(replace(held, about=replace(held.about, recipe=older))))
    assert zoo.make(recipes[:1], tmp_path, 60.0, said.append) == (0, 0)  # a part at its default
    path.write_bytes(b"torn")
    assert zoo.make(recipes[:1], tmp_path, 60.0, said.append) == (1, 0)
    assert zoo.make(recipes[1:], tmp_path, 60.0, said.append) == (1, 0)  # another recipe
    long = [Recipe.of(recipes[0].plain() | {"steps": 100})]
    assert zoo.make(long, tmp_path, 0.0, said.append) == (0, 1)
    assert "stopped after 0 s" in said[-1]


@pytest.mark.slow
def test_a_training_beats_truncation():
    """Eight numbers of one bit for sixteen bits: above truncation by 0.03, below the wall."""
    parts = {"steps": 600, "bob_steps": 300, "decoder": 128, "bob": 64, "seeds": (1, 2)}
    checkpoint = trained(n=16, model="linear_attention", numbers=8, encoding="pairs", **parts)
    found = checkpoint.about.measured
    limits = statebound.limits("index", 16, state_bits=8)
    assert limits["truncation"] + 0.03 < found["success"] < limits["ball"]
    assert found["own_success"] > found["success"] - 0.01
    assert np.isfinite([a.sum() for a in tensors(checkpoint).values()]).all()


def test_too_many_scores_are_refused():
    with pytest.raises(UsageError, match="scores"):
        trained(n=1000, options={"alphabet": 36})
