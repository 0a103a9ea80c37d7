"""Trained machines that are shipped: found by their size, and by default."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from statebound.errors import UsageError
from statebound.protocols.problem import make
from statebound.protocols.problems.index import Index
from statebound.reductions import zoo
from statebound.reductions.checkpoint import Checkpoint, write
from statebound.reductions.machine import cut

from .checkpoints import made, ship

MIXED = {"numbers": 8, "bits": 2, "precision": {"conv": 1}}


@pytest.fixture(scope="module")
def held() -> dict[str, Checkpoint]:
    return {
        "a": made(bits=1),
        "b": made(bits=1, encoding="pairs"),
        "c": made(bits=1, regime="step"),
        "d": made(bits=2, numbers=2),
        "e": made(n=6, bits=1),
        "f": made(model="s4d", bits=1, encoding="pairs"),
        "g": made(problem="istree", n=9, bits=1),
        "h": made(model="mamba", **MIXED),
    }


@pytest.fixture
def shipped(held, tmp_path, monkeypatch) -> Path:
    folder = ship(tmp_path / "zoo", **held)
    (folder / "notes.txt").write_text("not a machine")
    monkeypatch.setattr(zoo, "FOLDER", folder)
    return folder


def test_the_list_is_the_folder(shipped, held):
    assert [each.about for each in zoo.shipped()] == [c.about for c in held.values()]
    assert [each.file.name[0] for each in zoo.of(Index(7), "gru")] == ["d", "a", "b", "c"]
    assert [each.file.name[0] for each in zoo.of(Index(7), "gru", "handoff", 1)] == ["a", "b"]
    assert zoo.of(Index(7, query_law="zipf"), "gru") == zoo.of(Index(5), "gru") == []
    assert zoo.sizes("gru") == "index 6, 7; istree 9"
    assert zoo.sizes("rnn") == ""
    assert [each.size for each in zoo.of(Index(7), "mamba")] == ["8x(conv=1, h=2) handoff bits"]
    assert write(zoo.shipped()[0].load()) == write(held["a"])


def test_without_a_folder_nothing_is_shipped(tmp_path, monkeypatch):
    monkeypatch.setattr(zoo, "FOLDER", tmp_path / "none")
    assert zoo.shipped() == ()
    assert cut(Index(7), "gru", numbers=4).spec.init == "random"


@pytest.mark.parametrize("insist", [True, False])
@pytest.mark.parametrize(
    ("name", "problem", "n", "model", "arguments"),
    [
        ("a", "index", 7, "gru", {"numbers": 4}),
        ("a", "index", 7, "gru", {"numbers": 4, "bits": 1, "regime": "handoff"}),
        ("a", "index", 7, "gru", {"settings": {"units": 4}}),
        ("b", "index", 7, "gru", {"numbers": 4, "encoding": "pairs"}),
        ("c", "index", 7, "gru", {"numbers": 4, "regime": "step"}),
        ("d", "index", 7, "gru", {"numbers": 2, "bits": 2, "precision": {"h": 2}}),
        ("e", "index", 6, "gru", {"numbers": 4}),
        ("f", "index", 7, "s4d", {"numbers": 4}),
        ("g", "istree", 9, "gru", {"numbers": 4}),
        ("h", "index", 7, "mamba", MIXED),
    ],
)
def test_the_one_of_that_size_is_found(shipped, held, insist, name, problem, n, model, arguments):
    given = arguments | ({"init": "trained"} if insist else {})
    machine = cut(make(problem, n), model, **given)
    spec = machine.spec
    assert spec == cut(make(problem, n), None, checkpoint=held[name]).spec
    assert (spec.init, spec.machine_seed, spec.quantiser) == ("trained", None, "trained")
    assert machine.has_bob


@pytest.mark.parametrize(
    "against",
    [
        {"init": "random"},
        {"machine_seed": 0},
        {"quantiser": "quantile"},
        {"rounding": "stochastic"},
        {"dtype": "float64"},
        {"numbers": 5},
        {"bits": 3},
        {"encoding": "keyed"},
        {"precision": {"h": 2}},
    ],
    ids=str,
)
def test_it_is_not_taken_where_something_else_is_asked_for(shipped, against):
    assert cut(Index(7), "gru", **({"numbers": 4} | against)).spec.init == "random"
    assert cut(Index(7), "rnn", numbers=4).spec.init == "random"
    assert cut(Index(8), "gru", numbers=4).spec.init == "random"


def test_weights_of_a_file_come_first(shipped):
    weights = cut(Index(7), "gru", numbers=4, init="random").cell.weights
    assert cut(Index(7), "gru", weights=weights).spec.init == "file"


def test_a_trained_encoder_can_be_quantised_otherwise(shipped):
    one = cut(Index(7), "gru", numbers=4, init="trained", quantiser="sign")
    assert (one.spec.init, one.spec.quantiser, one.has_bob) == ("trained", "sign", False)


@pytest.mark.parametrize(
    ("arguments", "argument", "match"),
    [
        ({"init": "trained", "numbers": 5}, "init", "2x2 handoff bits, 4x1 handoff bits"),
        ({"quantiser": "trained", "numbers": 5}, "quantiser", "choose from"),
        ({"init": "trained", "numbers": 4, "bits": 3}, "init", "choose from"),
        ({"init": "trained", "numbers": 4, "machine_seed": 1}, "machine_seed", "no meaning"),
        ({"quantiser": "trained", "numbers": 4, "machine_seed": 1}, "machine_seed", "no meaning"),
    ],
    ids=str,
)
def test_what_is_not_shipped_is_refused(shipped, arguments, argument, match):
    with pytest.raises(UsageError, match=match) as caught:
        cut(Index(7), "gru", **arguments)
    assert caught.value.argument == argument


def test_coins_have_a_seed_still(shipped):
    coins = {"numbers": 4, "init": "trained", "rounding": "stochastic"}
    first, second = (cut(Index(7), "gru", machine_seed=s, **coins) for s in (0, 1))
    assert [m.spec.machine_seed for m in (first, second)] == [0, 1]
    assert first.spec.digest != second.spec.digest


def test_a_torn_file_is_named(shipped):
    (shipped / "b.safetensors").write_bytes((shipped / "a.safetensors").read_bytes()[:100])
    zoo._LISTED.clear()
    with pytest.raises(UsageError, match=r"b\.safetensors"):
        cut(Index(7), "gru")


def test_what_the_package_ships_is_sound():
    """Every file is a checkpoint of its own size, makes its machine, and is small."""
    sizes = {}
    for each in zoo.shipped():
        about = each.about
        problem = make(about.problem, about.n, about.problem_options)
        machine = cut(problem, None, checkpoint=each.load())
        assert machine.spec.init == "trained"
        bits = json_key(about.bits)
        key = (*about_key(about), bits)
        assert sizes.setdefault(key, each.file.name) == each.file.name, "two of one size"
        x = problem.sample(np.random.Generator(np.random.PCG64(0)), 3)
        assert machine.encode(x).shape == (3, machine.message_bytes)
    total = sum(len(each.file.read_bytes()) for each in zoo.shipped())
    assert total < 2 * 10**6


def json_key(bits: int | dict[str, int]) -> str:
    return str(sorted(bits.items()) if isinstance(bits, dict) else bits)


def about_key(about) -> tuple[object, ...]:
    options = tuple(sorted(about.problem_options.items()))
    where = about.problem, about.n, options
    return *where, about.model, about.numbers, about.regime, about.encoding
