"""The sample engine against the exact one, and its reproducibility."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import statebound
from statebound.experiments import readout
from statebound.experiments.engines import sample
from statebound.experiments.engines.enumerate import count_bob
from statebound.protocols.problems.index import Index
from statebound.protocols.problems.istree import IsTree
from statebound.reductions.machine import cut

MACHINES = [
    {"model": "gru", "numbers": 4},
    {"model": "rnn", "numbers": 3, "regime": "step", "bits": 2},
    {"model": "s4d", "numbers": 8},
    {"model": "linear_attention", "numbers": 8},
    {"model": "sliding_window", "numbers": 5},
]


@pytest.mark.parametrize("problem", ["index", "istree"])
@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: m["model"])
def test_close_to_the_exact_success(problem, machine):
    bobs = ["learned"] + ["model"] * (machine["model"] in ("linear_attention", "sliding_window"))
    for bob in bobs:
        exact = statebound.measure(problem, 12, engine="enumerate", bob=bob, **machine)
        row = statebound.measure(
            problem, 12, engine="sample", bob=bob, trials=2000, seed=0, **machine
        )
        width = row["success_high"] - row["success_low"]  # coverage itself is tested below
        assert row["success_low"] - width <= exact["success"] <= row["success_high"] + width
        assert width < 0.05
        assert row["success_low"] < row["success"] < row["success_high"]
        assert row["interval_level"] == 0.95
        assert not row["violates_wall"]
        unknown = [
            "success_fraction",
            "distinct_messages",
            "message_entropy",
            "utilisation",
            "optimal_success",
            "information_by_query",
            "stored_bits",
        ]
        assert all(row[name] is None for name in unknown)
        assert row["trials"] == 2000
        assert 0 <= row["certified_bits"] <= row["state_bits"] or problem == "index"
        assert row["needed_bits"] <= row["state_bits"]
        near = np.abs(np.subtract(row["success_by_query"], exact["success_by_query"]))
        assert near.max() < 6 * 0.5 / 2000**0.5  # six deviations of a share of 2000
        assert abs(row["all_correct"] - exact["all_correct"]) < 6 * 0.5 / 2000**0.5


def test_coverage_over_many_seeds():
    """A 95 % interval may miss now and then; 200 intervals hardly more than 20 times."""
    machine = cut(Index(9), "linear_attention", numbers=3)
    count = count_bob(machine, machine.answer)
    exact = sum(count.right) / 9 / count.inputs
    missed = 0
    for seed in range(200):
        values = sample.count(machine, machine.answer, 300, seed).values
        interval = sample_interval(values)
        missed += not interval.low <= exact <= interval.high
    assert missed <= 20


def sample_interval(values):
    from statebound.experiments.estimates import betting_interval

    return betting_interval(values, 0.95)


def test_same_command_same_row(cli):
    words = ["measure", "index", "--n", 30, "--model", "gru", "--engine", "sample", "--json"]
    first, second = (cli(*words, "--trials", 1500, "--seed", 5) for _ in range(2))
    assert first.code == second.code == 0
    assert first.out == second.out
    assert cli(*words, "--trials", 1500, "--seed", 6).out != first.out


def test_blocks_depend_on_nothing_else():
    problem = Index(20)
    late = sample.draw_block(problem, 7, 2, 100)
    for block in range(3):
        again = sample.draw_block(problem, 7, block, 100)
    assert np.array_equal(again, late)
    assert not np.array_equal(sample.draw_block(problem, 7, 1, 100), late)
    assert not np.array_equal(sample.draw_block(problem, 8, 2, 100), late)


def test_trials_are_a_prefix():
    """More trials of the same seed keep the blocks that were there."""
    machine = cut(IsTree(12), "sliding_window", numbers=4)
    short = sample.count(machine, machine.answer, sample.BLOCK, 1)
    long = sample.count(machine, machine.answer, sample.BLOCK + 77, 1)
    assert len(long.values) == sample.BLOCK + 77
    assert np.array_equal(long.values[: sample.BLOCK], short.values)


def test_merging_is_associative():
    machine = cut(Index(10), "sliding_window", numbers=4)
    x = sample.draw_block(machine.problem, 0, 0, 90)
    a, b, c = (sample.count_inputs(machine, machine.answer, part) for part in np.split(x, [20, 50]))
    whole = sample.count_inputs(machine, machine.answer, x)
    for tally in ((a + b) + c, a + (b + c)):
        assert np.array_equal(tally.values, whole.values)
        assert np.array_equal(tally.right, whole.right)
        assert tally.right_at_once == whole.right_at_once
    assert not np.array_equal((b + a).values, (a + b).values)  # order is part of a sample


def test_values_are_weighted_shares():
    problem = Index(4, query_law="recency:0.5")
    machine = cut(problem, "sliding_window", numbers=2)
    x = problem.enumerate(0, 16)
    tally = sample.count_inputs(machine, machine.answer, x)
    message = machine.encode(x)
    right = [machine.answer(message, np.full(16, k)) == x[:, k] for k in range(4)]
    assert np.all(right[2:])
    wanted = np.array([1, 2, 4, 8]) @ right / 15
    assert tally.values == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize(("alphabet", "bits"), [*product((2, 3), (1, 3))])
def test_readout_answers_each_query_alike(alphabet, bits):
    """All queries at once, one by one, one message at a time: the same answers."""
    problem = Index(7, alphabet=alphabet)
    machine = cut(problem, "gru", numbers=3, bits=bits)
    bob = readout.fit(machine)
    x = problem.sample(np.random.default_rng(1), 40)
    message = machine.encode(x)
    apart = np.stack([bob.answer(message, np.full(40, k)) for k in range(7)], axis=1)
    mixed = bob.answer(np.repeat(message, 7, axis=0), np.tile(np.arange(7), 40)).reshape(40, 7)
    assert np.array_equal(apart, mixed)
    single = [
        [bob.answer(message[i : i + 1], np.array([k]))[0] for k in range(7)] for i in range(40)
    ]
    assert np.array_equal(apart, single)


def test_learned_bob_recovers_what_is_plainly_there():
    row = statebound.measure("index", 10, protocol="send_everything", bob="learned")
    assert row["success_fraction"] == "1/1"
    window = statebound.measure("istree", 12, model="sliding_window", numbers=5, bob="learned")
    best = statebound.measure("istree", 12, model="sliding_window", numbers=5)
    assert window["success_fraction"] == best["success_fraction"]


@pytest.mark.parametrize("regime", ["handoff", "step"])
def test_auto_takes_an_engine_that_has_the_bob(regime):
    row = statebound.measure("index", 24, model="rnn", regime=regime, bob="learned", trials=64)
    assert row["engine"] == "sample"
