"""Index and its kin, counted over all inputs, against numbers that are known beforehand."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from statebound import limits, measure
from statebound.experiments.engines.enumerate import count_optimal
from statebound.protocols.codes.golay import Golay
from statebound.protocols.codes.hamming import Hamming
from statebound.protocols.message import Bytes, byte_length, from_bits
from statebound.protocols.partitions import Partitions
from statebound.protocols.problem import make as make_problem
from statebound.protocols.problems.index import Index
from statebound.protocols.table import Table
from statebound.reductions.map import make


def bytes_of(numbers, bits) -> Bytes:
    """Return numbers (B,) as messages of so many bits."""
    digits = numbers[:, None] >> np.arange(bits) & 1
    return from_bits(digits.astype(np.uint8)).reshape(len(numbers), byte_length(bits))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_every_encoder_with_fewer_states_than_inputs_errs(n):
    """None is right always. What a message is called does not matter: partitions of the x's."""
    x = Index(n).enumerate(0, 2**n).astype(np.int64)
    messages = 2**n - 1
    every = Partitions(2**n)
    codes = every.unrank(np.arange(every.count))
    codes = codes[codes.max(axis=1) < messages]
    right = np.zeros(len(codes), np.int64)
    for m in range(messages):
        member = codes == m
        size, ones = member.sum(axis=1)[:, None], member @ x
        right += np.maximum(ones, size - ones).sum(axis=1)
    best = Fraction(int(right.max()), n * 2**n)
    assert best == 1 - Fraction(1, n * 2**n)
    assert len(codes) == {1: 1, 2: 14, 3: 4139}[n]


@pytest.mark.parametrize("n", range(1, 13))
def test_two_inputs_with_one_message_err_by_their_distance(n):
    """Never less than one answer of all: to be right always an encoder must be one-to-one.

    Merging x and x' depends on x xor x' alone, so pairs with 0 stand for all pairs.
    """
    problem = Index(n)
    x = problem.enumerate(0, 2**n)
    numbers = np.arange(2**n)
    own = count_optimal(Table(problem, x, bytes_of(numbers, n), n))
    assert own.success(problem.weights) == 1
    assert x.any(axis=1).sum() == 2**n - 1  # different inputs differ in an answer
    generator = np.random.default_rng(n)
    for other in {1, 2**n - 1, int(generator.integers(1, 2**n))}:
        merged = np.where(numbers == other, 0, numbers)
        found = count_optimal(Table(problem, x, bytes_of(merged, n), n))
        assert found.distinct == 2**n - 1
        lost = Fraction(other.bit_count(), n * 2**n)
        assert found.success(problem.weights) == 1 - lost < 1


@pytest.mark.parametrize(
    ("n", "bits", "value"),
    [
        (3, 1, Fraction(3, 4)),
        (4, 2, Fraction(13, 16)),
        (4, 3, Fraction(7, 8)),
        (5, 2, Fraction(31, 40)),
    ],
)
def test_the_optimum_over_all_sets_of_words(n, bits, value):
    """.75, .8125, .875 and .775; by symmetry the word 0 may be taken."""
    x = Index(n).enumerate(0, 2**n)
    apart = (x[:, None] != x).sum(axis=2)
    others = np.array(list(combinations(range(1, 2**n), 2**bits - 1)))
    nearest = np.minimum(apart[0], apart[others].min(axis=1))
    assert 1 - Fraction(int(nearest.sum(axis=1).min()), n * 2**n) == value
    found = limits("index", n, state_bits=bits)
    assert found["optimum_low"] <= float(value) <= found["optimum_high"] <= found["ball"]


def test_perfect_codes():
    for code, n, bits, value in (
        (Hamming, 7, 4, Fraction(7, 8)),
        (Golay, 23, 12, Fraction(897, 1024)),
    ):
        assert code(Index(n), bits).success() == value
    assert round(897 / 1024, 5) == 0.87598
    assert measure("index", 7, protocol="hamming", state_bits=4)["success_fraction"] == "7/8"


def test_the_ceiling_by_information():
    for bits, value in ((1, 0.646), (2, 0.705), (4, 0.785), (8, 0.890), (12, 0.958), (15, 0.993)):
        found = limits("index", 16, state_bits=bits)
        assert found["rate_distortion"] == pytest.approx(value, abs=0.00051)
        assert found["ball"] < found["rate_distortion"]


def test_a_window_of_12_of_16_bits():
    """Half of the answers that it lost are guessed; all 16 at once are right in 1 of 16."""
    row = measure("index", 16, model="sliding_window", numbers=12)
    assert row["state_bits"] == 12
    assert Fraction(row["success_fraction"]) == Fraction(1, 2) + Fraction(12, 32)
    assert row["all_correct"] == 1 / 16
    assert limits("index", 16, state_bits=12)["all_correct_fraction"] == "1/16"


@pytest.mark.parametrize("target", ["associative_recall", "cgram", "counting"])
def test_maps_agree_with_index_up_to_ten(target):
    """All x and all queries, at once."""
    seen = 0
    for n in range(1, 11):
        through = make(Index(n), target)
        x = through.source.enumerate(0, 2**n)
        query = np.arange(n)
        said = through.target.answers(through.instance(x))[:, through.query(query)]
        back = through.answer(np.tile(query, len(x)), said.reshape(-1)).reshape(said.shape)
        assert np.array_equal(back, x)
        seen += back.size
    assert seen == 18434


@pytest.mark.parametrize(
    ("length", "symbols", "kept"), [(4, 2, 0), (6, 2, 3), (8, 2, 7), (3, 4, 1), (4, 4, 3)]
)
def test_copying_with_a_prefix_and_a_guess_meets_the_bound(length, symbols, kept):
    """Error 1 - 2^M / D^L where the prefix fills its bits."""
    problem = make_problem("copy", length, {"alphabet": symbols})
    x = problem.enumerate(0, problem.inputs)
    width = (symbols - 1).bit_length()
    M = kept * width
    prefix = x[:, :kept].astype(np.int64) @ (symbols ** np.arange(kept))
    found = count_optimal(Table(problem, x, bytes_of(prefix, M), M))
    bound = Fraction(2**M, symbols**length)
    assert found.success(problem.weights) == bound
    wall = limits("copy", length, alphabet=symbols, state_bits=M)
    assert Fraction(wall["ball_fraction"]) == bound


def test_copying_with_a_window_meets_the_bound_and_no_machine_passes_it():
    row = measure("copy", 8, model="sliding_window", numbers=5)
    assert row["state_bits"] == 5
    assert Fraction(row["success_fraction"]) == Fraction(2**5, 2**8)
    for seed in range(12):
        row = measure("copy", 7, model="gru", numbers=2, bits=2, machine_seed=seed)
        assert row["success"] <= 2**4 / 2**7 == row["wall_ball"]
