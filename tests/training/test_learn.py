"""More data, other lengths, and a hybrid from scratch: tiny runs, judged independently."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from statebound.errors import UsageError
from statebound.experiments.cli.learn import counts
from statebound.experiments.learn import _machines, data, hybrid, length
from statebound.experiments.learn.examples import answers, pairs
from statebound.experiments.learn.record import record
from statebound.models.constructions.hybrids import Hybrid
from statebound.models.constructions.tasks import NONE, Task
from statebound.protocols.limits import report
from statebound.protocols.problems.index import Index

pytestmark = pytest.mark.slow

TINY = {"model": "linear_attention", "numbers": 2, "bits": 1, "seeds": (0, 1), "steps": 20}
LENGTHS = {"model": "rnn", "lengths": (4, 6, 21), "trained_at": (5,), "trials": 64}
SMALL = {"seeds": (0, 1), "batch": 16, "trials": 40}


def quiet(done: int, total: int, words: str) -> None:
    assert 0 < done <= total
    assert words


@pytest.fixture(scope="module", autouse=True)
def short() -> Iterator[None]:
    """Fit Bobs in few steps."""
    with pytest.MonkeyPatch.context() as patch:
        real = _machines.recommended
        patch.setattr(_machines, "recommended", lambda *a: real(*a) | {"bob_steps": 60})
        yield


@pytest.fixture(scope="module")
def by_data() -> dict[str, Any]:
    pytest.importorskip("torch")
    return record("data", quiet, n=5, examples=(4, None), **TINY)


@pytest.fixture(scope="module")
def by_length() -> dict[str, Any]:
    pytest.importorskip("torch")
    return record("length", quiet, **TINY | LENGTHS)


@pytest.fixture(scope="module")
def by_hybrid() -> dict[str, Any]:
    pytest.importorskip("torch")
    return record("hybrid", quiet, task="index", sizes=(3, 9), steps=100, **SMALL)


def test_examples_are_rows_under_the_wall(by_data):
    rows = by_data["rows"]
    assert [(row["examples"], row["seed"]) for row in rows] == [
        (4, 0),
        (4, 1),
        (None, 0),
        (None, 1),
    ]
    wall = float(report.wall(Index(5), 4))
    for row in rows:
        assert (row["state_bits"], row["trials"], row["drawn"]) == (2, 32, 20 * 256)
        assert row["own_success"] <= row["success"] <= row["wall_ball"] == wall
        assert row["truncation"] == pytest.approx(0.7)
        assert not row["violates_wall"]
        assert (row["train_success"] is None) == (row["examples"] is None)
    few = [row for row in rows if row["examples"]]
    assert all(row["train_success"] >= row["own_success"] for row in few)
    assert rows[0]["recipe_hash"] == rows[1]["recipe_hash"] != rows[2]["recipe_hash"]


def test_the_bob_learns_from_the_examples_of_the_encoder_alone(monkeypatch):
    pytest.importorskip("torch")
    from statebound.experiments.training.train import plan, restarts_of

    drawn: list[np.ndarray] = []
    real = Index.sample

    def noted(self: Index, generator: np.random.Generator, count: int) -> np.ndarray:
        found = real(self, generator, count)
        drawn.append(found)
        return found

    monkeypatch.setattr(Index, "sample", noted)
    recipe = _machines.recipe_of(
        "linear_attention", 12, 2, 1, (0,), examples=4, steps=5, bob_steps=5
    )
    restarts_of(plan(recipe), lambda *_: None)
    few = [x for x in drawn if len(x) == 4]
    assert len(few) == 3  # for the encoder, for its scales, for Bob
    assert all((each == few[0]).all() for each in few)


def test_lengths_are_beside_their_own_walls(by_length):
    rows = by_length["rows"]
    assert [(row["n"], row["seed"]) for row in rows] == [
        (n, seed) for n in (4, 6, 21) for seed in (0, 1)
    ]
    for row in rows:
        assert row["wall_ball"] == float(report.wall(Index(row["n"]), 4))
        assert (row["trained_n"], row["encoding"], row["state_bits"]) == (5, "bits", 2)
        assert len(row["success_by_query"]) == row["n"]
        assert np.mean(row["success_by_query"]) == pytest.approx(row["success"], abs=1e-9)
        assert not row["violates_wall"]
        exact = row["n"] <= 20
        assert (row["bob"], row["interval_level"]) == (
            ("optimal", None) if exact else ("learned", 0.95)
        )
        assert row["trials"] == (2 ** row["n"] if exact else 64)


def test_the_state_at_another_length_is_that_of_the_same_machine(by_length):
    """Counted here by hand: majority of every bit among the inputs of each message."""
    pytest.importorskip("torch")
    recipe = _machines.recipe_of("rnn", 5, 2, 1, (0, 1), encoding="bits", loss="hinge", steps=20)
    machine = _machines.machine_of(Index(6), _machines.trained(recipe, quiet)[1])
    x = Index(6).enumerate(0, 64)
    message = [bytes(row) for row in machine.encode(x)]
    right = 0
    for kind in set(message):
        mine = x[[m == kind for m in message]].astype(int)
        ones = mine.sum(axis=0)
        right += int(np.maximum(ones, len(mine) - ones).sum())
    (row,) = [r for r in by_length["rows"] if (r["n"], r["seed"]) == (6, 1)]
    assert row["success"] == right / (64 * 6)


def by_hand(context: Sequence[int], symbols: int) -> list[int]:
    found = []
    for symbol in range(symbols):
        places = [i for i, s in enumerate(context[:-1]) if s == symbol]
        found.append(context[places[-1] + 1] if places else NONE)
    return found


@given(st.lists(st.integers(0, 3), min_size=2, max_size=9))
def test_what_follows_the_last_occurrence(context):
    task = Task("gram", len(context), 4)
    assert answers(task, np.array([context]))[0].tolist() == by_hand(context, 4)
    assert answers(Task("index", len(context), 4), np.array([context]))[0].tolist() == context


@pytest.mark.parametrize("task", [Task("index", 5), Task("gram", 12, 5)], ids=["index", "gram"])
def test_the_constructed_hybrid_agrees_with_the_answers(task):
    context, query, truth, every = pairs(task, 50, np.random.default_rng(0))
    assert every == (task.name == "index")
    assert len(context) == (2**5 * 5 if every else 50)
    assert (Hybrid(task)(context, query[:, None]) == truth).all()


def test_hybrids_are_rows_of_both(by_hybrid):
    rows = by_hybrid["rows"]
    kinds = [hybrid.CONSTRUCTED, *[hybrid.TRAINED] * 2, *[hybrid.TABLE] * 2]
    assert [(row["n"], row["kind"]) for row in rows] == [(n, k) for n in (3, 9) for k in kinds]
    for row in rows:
        assert row["trials"] == (24 if row["n"] == 3 else 40)
        assert (row["interval_level"] is None) == (row["n"] == 3)
        assert row["recurrent_bits"] == row["ledger"]["recurrent_bits"]
        if row["kind"] == hybrid.CONSTRUCTED:
            assert (row["success"], row["seed"], row["loss"]) == (1.0, None, None)
        else:
            assert row["recurrent_bits"] == 2 * 8 * 32
            assert row["cache_bits"] == (row["n"] + 2) * 2 * 16 * 32
            assert row["loss"] > 0
    first = [row for row in rows if row["n"] == 3 and row["kind"] == hybrid.TRAINED]
    assert max(row["success"] for row in first) > 0.9


def test_the_trained_hybrid_reads_the_past_alone():
    """States against the recurrence step by step, and scores of one context against many."""
    torch = pytest.importorskip("torch")
    from statebound.experiments.learn.attending import MODES, Attending

    model = Attending(Task("gram", 6, 4), (0, 3), table=True)
    context = np.random.default_rng(1).integers(0, 4, (5, 6))
    with torch.no_grad():
        w = {name: part.double() for name, part in model.flat.named().items()}
        x = torch.randn(2, 5, 8, 16, dtype=torch.float64)
        states = model._states(w, x).numpy()
        both, alone = model.scores(w, context).numpy(), model.scores(w, context[2:3]).numpy()
    a = np.exp(-np.exp(w["log_decay"].numpy()) + 1j * w["angle"].numpy())[:, None]
    h = np.zeros((2, 5, MODES), complex)
    for t in range(9):
        assert states[:, :, t] == pytest.approx(np.concatenate([h.real, h.imag], 2), abs=1e-12)
        if t < 8:
            h = a * h + np.einsum(
                "sbd,snd->sbn", x[:, :, t].numpy(), w["recurrence.weight"].numpy()
            )
    assert both.shape == (2, 5, 4, 5)
    assert both[:, 2] == pytest.approx(alone[:, 0], abs=1e-9)


@pytest.mark.parametrize("name", ["by_data", "by_length", "by_hybrid"])
def test_figures_show_every_row(name, request):
    made = request.getfixturevalue(name)
    from statebound.experiments.figures import learn as figures

    axes = figures.make(made).axes[0]
    dots = [
        float(y)
        for line in axes.lines
        if str(line.get_label()).endswith("seeds")
        for y in line.get_ydata()
    ]
    keys = ("train_success", "own_success", "success") if name == "by_data" else ("success",)
    wanted = [row[key] for row in made["rows"] for key in keys if row[key] is not None]
    assert sorted(dots) == pytest.approx(sorted(wanted))


def test_the_command(cli, tmp_path):
    pytest.importorskip("torch")
    words = [
        "learn",
        "data",
        "--n",
        "4",
        "--numbers",
        "2",
        "--steps",
        "5",
        "--seeds",
        "0",
        "--examples",
        "8",
    ]
    code, said, _, _ = cli(*words, "--json", "--out", tmp_path / "x")
    assert (code, json.loads(said)["what"]) == (0, "data")
    assert (tmp_path / "x.svg").is_file()
    for wrong in (
        ["learn", "data", "--n", "17"],
        ["learn", "data", "--examples", "1"],
        ["learn", "data", "--examples", "many"],
        ["learn", "length", "--n", "1"],
        ["learn", "length", "--trials", "3"],
        ["learn", "hybrid", "--task", "other"],
        ["learn", "hybrid", "--seeds", "1,1"],
        ["learn", "hybrid", "--batch", "0"],
        ["learn", "hybrid", "--style", "other"],
    ):
        code, _, talk, _ = cli(*wrong)
        assert (code, talk.count("\n"), talk[:6]) == (2, 1, "error:"), wrong


def test_unlimited_comes_last():
    assert counts("unlimited,8") == (8, None)
    assert counts("unlimited") == (None,)
    with pytest.raises(UsageError):
        counts("8,several")
    assert data.EXAMPLES[-1] is None
    assert length.EXACT_N == 20
