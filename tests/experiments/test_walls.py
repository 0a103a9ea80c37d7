"""No success above a proved wall, and machines whose success is known."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import statebound
from statebound import registry
from statebound.errors import UsageError
from statebound.experiments.engines.enumerate import count_optimal
from statebound.experiments.measure import measure
from statebound.experiments.request import Request, subject
from statebound.models._build import family
from statebound.protocols.limits.report import wall
from statebound.protocols.limits.streaming import streaming_wall
from statebound.protocols.problem import make
from statebound.reductions.machine import cut


def least_size(model: str) -> int:
    """Return the smallest total of numbers that a model's state can have."""
    for numbers in range(1, 257):
        try:
            family(model).Config.of(numbers, {})
        except UsageError:
            continue
        return numbers
    raise AssertionError(model)


MODELS = {name: least_size(name) for name in registry.names("statebound.models")}
SHAPES = [(1, 1), (2, 1), (1, 3), (3, 2)]  # multiples of the least size, bits a number


def row_of(problem: str, n: int, **arguments):
    measured = measure(Request(problem, n, **arguments))
    assert measured.broken is None
    row = measured.row
    assert not row["violates_wall"]
    return row


def check(row) -> None:
    """Check the order of the numbers that sum a machine up."""
    M, small = row["state_bits"], 1e-9
    assert row["success"] <= row["wall_ball"]
    if row["wall_streaming"] is not None:
        assert row["success"] <= row["wall_streaming"] <= row["wall_ball"]
    assert row["success"] >= row["chance"]
    assert row["stored_bits"] <= row["message_entropy"] + small
    assert row["message_entropy"] <= M + small
    assert row["distinct_messages"] <= 2**M
    assert row["needed_bits"] <= M + small
    assert row["efficiency"] <= 1 + small
    assert row["utilisation"] <= 1 + small
    if row["problem"] == "index":
        assert row["all_correct"] == row["distinct_messages"] / row["trials"]
    else:
        assert row["all_correct"] <= 2 * row["distinct_messages"] / row["trials"]


def machines():
    """Yield 520 random machines, small enough to be counted in a moment."""
    for model, regime, (numbers, bits), n, seed in product(
        MODELS, ("handoff", "step"), SHAPES, (3, 7), range(5)
    ):
        yield "index", n, model, regime, numbers, bits, seed
    for model, regime, (numbers, bits), seed in product(
        MODELS, ("handoff", "step"), SHAPES, range(3)
    ):
        yield "istree", 8, model, regime, numbers, bits, seed


ALL = list(machines())


def test_there_are_many():
    assert len(ALL) >= 100 * len(MODELS)


@pytest.mark.parametrize("model", MODELS)
def test_random_machines_stay_below_the_walls(model):
    for problem, n, _, regime, numbers, bits, seed in (m for m in ALL if m[2] == model):
        row = row_of(
            problem,
            n,
            model=model,
            init="random",
            numbers=numbers * MODELS[model],
            bits=bits,
            regime=regime,
            machine_seed=seed,
        )
        check(row)


PER_MODEL = -(-2000 // len(MODELS))


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_two_thousand_random_machines_by_exact_counts(model):
    generator = np.random.default_rng(len(model))
    for seed in range(PER_MODEL):
        n = int(generator.integers(2, 8))
        problem = make("index", n) if seed % 2 else make("istree", n + 2)
        regime = ("handoff", "step")[seed // 2 % 2]
        machine = cut(
            problem,
            model,
            init="random",
            numbers=MODELS[model] * int(generator.integers(1, 4)),
            bits=int(generator.integers(1, 4)),
            quantiser=("quantile", "uniform")[seed // 4 % 2],
            regime=regime,
            machine_seed=seed,
        )
        tally = count_optimal(machine)
        success = tally.success(problem.weights)
        assert success <= wall(problem, tally.distinct) <= wall(problem, 2**machine.state_bits)
        stream = streaming_wall(problem.structure, machine.state_bits)
        if regime == "step" and stream is not None:
            assert success <= stream.value


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("regime", ["handoff", "step"])
def test_more_random_machines(model, regime):
    for problem, n, law, seed in product(
        ("index", "istree"), (5, 10), ("uniform", "recency:0.7"), range(2)
    ):
        numbers = MODELS[model] * (1 + seed % 3)
        row = row_of(
            problem,
            n,
            query_law=law,
            model=model,
            init="random",
            numbers=numbers,
            bits=1 + seed % 4,
            regime=regime,
            machine_seed=100 + seed,
            quantiser="uniform" if seed % 2 else None,
        )
        check(row)


@pytest.mark.parametrize("n", [5, 9])
@pytest.mark.parametrize("W", [1, 2, 4, 5])
@pytest.mark.parametrize("regime", ["handoff", "step"])
@pytest.mark.parametrize("bob", ["optimal", "model"])
def test_window_keeps_exactly_its_last_bits(n, W, regime, bob):
    row = row_of("index", n, model="sliding_window", numbers=W, regime=regime, bob=bob)
    assert Fraction(row["success_fraction"]) == Fraction(1, 2) + Fraction(W, 2 * n)
    assert row["state_bits"] == W
    assert row["success_by_query"] == [0.5] * (n - W) + [1.0] * W
    assert row["information_by_query"] == pytest.approx([0.0] * (n - W) + [1.0] * W, abs=1e-12)


@pytest.mark.parametrize("n", [1, 3, 6])
@pytest.mark.parametrize("bob", ["optimal", "model"])
def test_orthogonal_keys_store_everything(n, bob):
    row = row_of("index", n, model="linear_attention", numbers=6, bob=bob)
    assert row["success_fraction"] == "1/1"
    assert row["all_correct"] == 1.0


@pytest.mark.parametrize("problem", ["index", "istree"])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("regime", ["handoff", "step"])
def test_optimal_is_the_best_bob(problem, model, regime):
    arguments = {"model": model, "numbers": 2 * MODELS[model], "regime": regime}
    optimal = row_of(problem, 7, bob="optimal", **arguments)
    bobs = ["learned"]
    if subject(Request(problem, 7, **arguments)).has_bob:
        bobs.append("model")
    for bob in bobs:
        other = row_of(problem, 7, bob=bob, **arguments)
        assert Fraction(other["success_fraction"]) <= Fraction(optimal["success_fraction"])
        assert other["optimal_success"] == optimal["success"]
        for mine, best in zip(other["success_by_query"], optimal["success_by_query"], strict=True):
            assert mine <= best
        assert other["all_correct"] <= optimal["all_correct"]
        assert other["message_entropy"] == optimal["message_entropy"]


@pytest.mark.parametrize("problem", ["index", "istree"])
def test_controls(problem):
    everything = statebound.measure(problem, 7, protocol="send_everything", bob="model")
    assert everything["success_fraction"] == "1/1"
    assert not everything["violates_wall"]
    nothing = statebound.measure(problem, 7, protocol="send_nothing", bob="model")
    assert nothing["success_fraction"] == "1/2"
    assert nothing["needed_bits"] == 0.0
    assert nothing["efficiency"] is None
    assert nothing["utilisation"] is None
    assert nothing["distinct_messages"] == 1
    assert not nothing["violates_wall"]
