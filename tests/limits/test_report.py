"""The record that ``limits`` prints, and the walls that engines ask for."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from statebound.errors import UsageError
from statebound.protocols.limits.report import (
    MAX_STATE_BITS,
    WALLS,
    bits_needed,
    limits,
    wall,
)
from statebound.protocols.problems.index import Index
from statebound.protocols.problems.istree import IsTree

F = Fraction
CONTRACT = (
    "n", "effective_n", "alphabet", "state_bits", "ball", "ball_fraction", "rate_distortion",
    "random_coding", "truncation", "streaming", "optimum_low", "optimum_high", "all_correct",
    "status",
)  # fmt: skip


class Dependent(Index):
    """Index whose answers are declared dependent."""

    @property
    def structure(self):
        return replace(super().structure, independent=False)


class Doubled(Index):
    """Index with more queries than independent answers."""

    @property
    def structure(self):
        return replace(super().structure, effective_n=self.n - 1)


def test_hamming_record():
    record = limits(Index(7), 4)
    assert set(CONTRACT) <= set(record)
    assert record["ball"] == 0.875
    assert record["ball_fraction"] == "7/8"
    assert record["rate_distortion"] == pytest.approx(0.912352, abs=1e-6)
    assert record["truncation_fraction"] == "11/14"
    assert record["all_correct_fraction"] == "1/8"
    assert record["optimum_low_fraction"] == record["optimum_high_fraction"] == "7/8"
    assert record["optimum_low_source"] == "Hamming [7,4]"
    assert record["streaming"] is None
    assert record["status"] == {name: None if name == "streaming" else "proved" for name in WALLS}
    assert json.loads(json.dumps(record)) == record


def test_istree_counts_its_independent_answers():
    tree, index = limits(IsTree(10), 4), limits(Index(7), 4)
    assert (tree["n"], tree["effective_n"]) == (10, 7)
    for name in WALLS:
        if name != "streaming":
            assert tree[name] == index[name]
    assert wall(IsTree(10), 16) == F(7, 8)


@pytest.mark.parametrize("problem", [Dependent(6), Doubled(6)])
def test_no_wall_where_assumptions_fail(problem):
    record, needed = limits(problem, 3), bits_needed(problem, 0.75)
    assert wall(problem, 8) is None
    for name in WALLS:
        assert record[name] is None
        assert record["status"][name] is None
        assert record["notes"][name]
    for name, value in needed["bits_needed"].items():
        assert value is None
        assert needed["notes"][name]
    assert set(record) == set(limits(Index(6), 3))
    assert set(needed) == set(bits_needed(Index(6), 0.75))


@pytest.mark.parametrize(
    ("problem", "state_bits"),
    [
        (Index(1), 0), (Index(16), 4), (Index(16, 3), 9), (Index(16, 2, "zipf"), 5),
        (Index(64, 2, "zipf"), 9), (Index(600, 2, "zipf"), 200), (Index(4096), 2048),
        (Index(4096, 36), 512), (Index(12), MAX_STATE_BITS), (IsTree(4), 1),
        (Index(50, 2, "recency:0.5"), 12), (Index(40_000), 20_000),
    ],
)  # fmt: skip
def test_every_null_has_a_reason_and_every_wall_its_assumptions(problem, state_bits):
    record = limits(problem, state_bits)
    json.dumps(record)
    for name in WALLS:
        assert (record[name] is None) == (record["status"][name] is None)
        assert record["notes"][name]
        if record[name] is not None:
            assert 0 <= record[name] <= 1
    chain = ["truncation", "optimum_low", "optimum_high", "ball", "rate_distortion"]
    known = [record[name] for name in chain if record[name] is not None]
    assert all(a <= b + 1e-12 for a, b in pairwise(known))
    assert len(known) >= 4


def test_rounded_costs_are_declared():
    record = limits(Index(64, 2, "zipf"), 9)
    assert any("rounded down" in note for note in record["notes"]["ball"])
    assert record["random_coding"] is None
    assert "ball" not in {n for n, v in record["status"].items() if v is None}


def test_many_more_bits_than_needed():
    record = limits(Index(12), MAX_STATE_BITS)
    for name in WALLS:
        assert record[name] == 1
    assert limits(Index(12, 3), 19)["optimum_high"] < 1  # 12 log2 3 = 19.02
    assert limits(Index(12, 3), 20)["optimum_high"] == 1


def test_bits_needed_of_a_perfect_code():
    found = bits_needed(Index(23), F(897, 1024))
    assert found["success_fraction"] == "897/1024"
    needed = found["bits_needed"]
    assert needed["ball"] == needed["ball_whole"] == 12
    assert needed["rate_distortion"] < 12 < needed["truncation"] == 18
    assert bits_needed(Index(23), 0.5)["bits_needed"]["ball"] == 0
    whole = bits_needed(Index(23), 1)["bits_needed"]
    assert whole["ball"] == whole["truncation"] == whole["all_correct"] == 23


@pytest.mark.parametrize("success", [0.9, "0.9", "9/10", F(9, 10), np.float64(0.9)])
def test_a_success_is_read_as_a_decimal(success):
    assert bits_needed(Index(10), success)["success_fraction"] == "9/10"


@pytest.mark.parametrize("state_bits", [0, 1, 5, 11, 16])
def test_needed_bits_invert_the_walls(state_bits):
    record = limits(Index(16), state_bits)
    needed = bits_needed(Index(16), record["ball_fraction"])["bits_needed"]
    assert needed["ball"] == needed["ball_whole"] == state_bits
    needed = bits_needed(Index(16), record["truncation_fraction"])["bits_needed"]
    assert needed["truncation"] == state_bits
    needed = bits_needed(Index(16), record["all_correct_fraction"])["bits_needed"]
    assert needed["all_correct"] == needed["all_correct_whole"] == state_bits


def test_wall_takes_any_number_of_messages():
    assert wall(Index(3), 3) == F(19, 24)
    assert wall(Index(3), np.int64(3)) == F(19, 24)
    assert wall(Index(3), 10**30) == 1
    assert wall(Index(600, 2, "zipf"), 8) is None


@pytest.mark.parametrize("state_bits", [-1, MAX_STATE_BITS + 1])
def test_state_bits_out_of_range(state_bits):
    with pytest.raises(UsageError, match="state_bits"):
        limits(Index(4), state_bits)


@pytest.mark.parametrize("success", [0, -0.1, 1.01, "nine tenths", "1/0", float("nan")])
def test_success_out_of_range(success):
    with pytest.raises(UsageError, match="success"):
        bits_needed(Index(4), success)


def test_no_messages_at_all():
    with pytest.raises(UsageError, match="messages"):
        wall(Index(4), 0)


def test_heavy_libraries_stay_out():
    code = (
        "import sys, statebound.protocols.limits.report as r\n"
        "from statebound.protocols.problems.index import Index\n"
        "r.limits(Index(16), 2); r.bits_needed(Index(16), 0.9)\n"
        "print([m for m in ('numba', 'scipy', 'matplotlib') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
