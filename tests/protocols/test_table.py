"""A table of (x, message): complete tables are exact, others are judged on a half."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest

import statebound
from statebound.errors import StateboundError, UsageError
from statebound.protocols.problems.index import Index
from statebound.protocols.problems.istree import IsTree
from statebound.protocols.table import Table
from statebound.reductions.machine import cut


def save(path, **arrays):
    np.savez(path, **arrays)
    return f"table:{path}"


@pytest.mark.parametrize(("problem", "n"), [("index", 9), ("istree", 10)])
@pytest.mark.parametrize("model", ["gru", "sliding_window"])
def test_complete_table_equals_its_machine(tmp_path, problem, n, model):
    machine = cut({"index": Index, "istree": IsTree}[problem](n), model, numbers=3)
    x = machine.problem.enumerate(0, machine.problem.inputs)
    shuffled = np.random.default_rng(0).permutation(len(x))
    name = save(tmp_path / "t.npz", x=x[shuffled], message=machine.encode(x)[shuffled])
    row = statebound.measure(problem, n, protocol=name, state_bits=3)
    exact = statebound.measure(problem, n, model=model, numbers=3)
    same = [
        "success_fraction",
        "success_by_query",
        "all_correct",
        "distinct_messages",
        "message_entropy",
        "information_by_query",
        "stored_bits",
        "needed_bits",
        "efficiency",
        "utilisation",
        "state_bits",
        "engine",
    ]
    assert {k: row[k] for k in same} == {k: exact[k] for k in same}
    assert row["protocol"] == "table:t.npz"


def test_partial_table_is_sampled(tmp_path):
    n, W = 24, 6
    x = Index(n).sample(np.random.default_rng(1), 6000)
    x = np.unique(x, axis=0)
    np.random.default_rng(2).shuffle(x)
    message = np.packbits(x[:, -W:], axis=1, bitorder="little")
    name = save(tmp_path / "t.npz", x=x.astype(np.int64), message=message)
    row = statebound.measure("index", n, protocol=name, state_bits=W)
    assert row["engine"] == "sample"
    assert row["bob"] == "learned"
    assert row["trials"] == len(x) - len(x) // 2
    assert row["success_low"] <= 0.5 + W / (2 * n) <= row["success_high"]
    assert row["success_by_query"][-W:] == [1.0] * W
    assert row["distinct_messages"] is None
    assert not row["violates_wall"]


def test_bits_that_were_not_declared_show(tmp_path):
    """Eight bits a byte by default; fewer are declared only where the rest is zero."""
    x = Index(9).enumerate(0, 512)
    message = np.packbits(x[:, :8], axis=1, bitorder="little")
    name = save(tmp_path / "t.npz", x=x, message=message)
    assert statebound.measure("index", 9, protocol=name)["success_fraction"] == "17/18"
    with pytest.raises(UsageError, match="use bit 8"):
        statebound.measure("index", 9, protocol=name, state_bits=7)


X = Index(3).enumerate(0, 8)
M = np.zeros((8, 1), np.uint8)


@pytest.mark.parametrize(
    ("x", "message", "bits", "said"),
    [
        (X[:, :2], M, None, "must be"),
        (X[0], M, None, "must be"),
        (X[:0], M[:0], None, "must be"),
        (X.astype(float), M, None, "integers"),
        (X + 1, M, None, "integers"),
        (X.astype(np.int8) - 1, M, None, "integers"),
        (X, M.astype(np.int64), None, "uint8"),
        (X, M[:, 0], None, "uint8"),
        (X, M[:7], None, "uint8"),
        (X, M, 9, "does not fit"),
        (X, M, 0, "does not fit"),
        (X, M[:, :0], -3, "does not fit"),
        (X, M[:, :0], 1, "does not fit"),
        (X[[0, 0, 1]], M[:3], None, "more than once"),
        (X, M + 8, 3, "use bit 4"),
    ],
)
def test_broken_tables_are_refused(x, message, bits, said):
    with pytest.raises(StateboundError, match=said):
        Table(Index(3), x, message, bits)


def test_unknown_input():
    table = Table(Index(3), X[:5], M[:5], 8)
    assert not table.complete
    with pytest.raises(UsageError, match="no message"):
        table.encode(X)
    assert Table(Index(3), X, M, 8).complete
    assert Table(Index(3), X, M[:, :0]).encode(X).shape == (8, 0)


def files(folder):
    rng = np.random.default_rng(0)
    x, message = rng.integers(0, 2, (300, 9)), rng.integers(0, 256, (300, 1)).astype(np.uint8)
    np.savez_compressed(folder / "good.npz", x=x, message=message)
    whole = (folder / "good.npz").read_bytes()
    broken = bytearray(whole)
    broken[200:260] = b"\xff" * 60
    yield "empty", b""
    yield "cut off", whole[: len(whole) // 2]
    yield "overwritten", bytes(broken)
    np.savez(folder / "object.npz", x=x.astype(object), message=message)
    yield "pickled", (folder / "object.npz").read_bytes()
    np.save(folder / "bare.npy", x)
    yield "bare array", (folder / "bare.npy").read_bytes()
    np.savez(folder / "half.npz", x=x)
    yield "no message", (folder / "half.npz").read_bytes()
    np.savez(folder / "few.npz", x=X, message=M)
    yield "text", b"x,message\n0,0\n"


def test_broken_files_are_refused(tmp_path):
    for number, (name, content) in enumerate(files(tmp_path)):
        path = tmp_path / f"{number}.npz"
        path.write_bytes(content)
        with pytest.raises(UsageError) as error:
            statebound.measure("index", 9, protocol=f"table:{path}")
        assert error.value.argument == "protocol", name
        assert str(path) in str(error.value.value), name


def test_a_partial_table_needs_rows_to_judge(tmp_path):
    name = save(tmp_path / "t.npz", x=X[:5], message=M[:5])
    with pytest.raises(UsageError, match="rows"):
        statebound.measure("index", 3, protocol=name)
    with pytest.raises(UsageError):
        statebound.measure("index", 3, protocol=name, engine="enumerate")


def test_truth_values_are_symbols():
    held = Table(Index(3), X.astype(bool), M)
    assert (held.encode(X) == M).all()


def test_sorted_draws_are_judged_fairly():
    """Distinct rows come sorted out of `np.unique`; an empty message stays a coin toss."""
    missed = alarms = 0
    for seed in range(12):
        x = np.unique(np.random.default_rng(seed).integers(0, 2, (3000, 14)), axis=0)
        measured = measure_table(Index(14), x.astype(np.uint8), np.zeros((len(x), 0), np.uint8))
        missed += not measured["success_low"] <= 0.5 <= measured["success_high"]
        alarms += measured["violates_wall"]
        assert measured["seed"] is None
    assert alarms == 0
    assert missed <= 3


def test_rows_that_are_not_uniform_are_refused():
    with pytest.raises(UsageError, match="not drawn uniformly"):
        Table(Index(14), Index(14).enumerate(0, 4096), np.zeros((4096, 0), np.uint8))


def measure_table(problem, x, message):
    path = Path(tempfile.mkdtemp()) / "t.npz"
    np.savez(path, x=x, message=message)
    return statebound.measure(problem.name, problem.n, protocol=f"table:{path}")
