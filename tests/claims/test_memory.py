"""An associative memory of random keys against the normal tails that are derived for it."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from scipy.special import ndtr

from statebound import measure
from statebound.errors import UsageError
from statebound.protocols.problems.index import Index
from statebound.reductions.machine import cut


def success(n, d, *, inputs=256, **arguments):
    """Return how often the model reads a bit rightly, over inputs and all queries."""
    arguments = {"quantiser": "fp32", "init": "random_keys"} | arguments
    machine = cut(Index(n), "linear_attention", numbers=d, **arguments)
    x = machine.problem.sample(np.random.default_rng(3), inputs)
    message = machine.encode(x)
    said = [machine.answer(message, np.full(inputs, k)) for k in range(n)]
    return (np.stack(said, axis=1) == x).mean(axis=0), machine


def signal(n, d, decay):
    """Return SNR_a for the ages 0..n-1."""
    powers = decay ** (2.0 * np.arange(n))
    return d * powers / (powers.sum() - powers)


@pytest.mark.parametrize(
    ("n", "d", "expected"), [(256, 64, 0.6918), (64, 64, 0.8433), (128, 512, 0.9777)]
)
def test_floating_point_states(n, d, expected):
    found, machine = success(n, d)
    assert machine.spec.init == "random_keys"
    assert ndtr((d / (n - 1)) ** 0.5) == pytest.approx(expected, abs=1e-4)
    assert found.mean() == pytest.approx(expected, abs=0.005)


@pytest.mark.parametrize(("n", "d"), [(256, 64), (512, 64), (256, 128)])
def test_sign_states(n, d):
    """One bit a number: above a window of as many bits, below the ceiling."""
    found, machine = success(n, d, quantiser="sign", inputs=512)
    expected = ndtr((2 * d / (np.pi * n)) ** 0.5)
    assert machine.state_bits == d
    assert found.mean() == pytest.approx(expected, abs=0.01)
    if (n, d) == (256, 64):
        assert 0.5 + d / (2 * n) < found.mean()
        assert expected == pytest.approx(0.6550, abs=1e-4)
        assert found.mean() < 0.785


@pytest.mark.parametrize(
    ("decay", "expected"), [("1", 0.692), ("0.99", 0.650), ("0.97", 0.586), ("0.9", 0.537)]
)
def test_forgetting_does_not_help_where_all_are_asked(decay, expected):
    n, d = 256, 64
    found, machine = success(n, d, settings={"decay": decay}, inputs=512)
    ratios = signal(n, d, float(decay))
    assert machine.cell.config.decay == decay
    assert ndtr(ratios**0.5).mean() == pytest.approx(expected, abs=0.002)
    assert found.mean() == pytest.approx(expected, abs=0.005)
    assert found.mean() == pytest.approx(ndtr(ratios**0.5).mean(), abs=0.005)
    oldest, newest = found[: n // 8].mean(), found[-n // 8 :].mean()
    assert abs(newest - oldest) < 0.02 if decay == "1" else newest > oldest + 0.05


def test_the_ratios_add_up_to_the_dimension():
    """Up to the share of the newest: an age that dominates the sum has less in its way."""
    for decay, slack in ((1.0, 0.005), (0.99, 0.012), (0.97, 0.035), (0.9, 0.13)):
        total = signal(256, 64, decay).sum()
        assert 64 <= total <= 64 * (1 + slack)
    averages = [ndtr(signal(256, 64, g) ** 0.5).mean() for g in (1.0, 0.99, 0.97, 0.9)]
    assert averages == sorted(averages, reverse=True)


def test_from_the_command():
    row = measure(
        "index",
        256,
        model="linear_attention",
        numbers=64,
        init="random_keys",
        settings={"decay": "0.97"},
        quantiser="fp32",
        engine="sample",
        bob="model",
        trials=256,
    )
    assert (row["init"], row["config"]["decay"]) == ("random_keys", "0.97")
    assert row["success_low"] < 0.586 < row["success_high"]
    plain = measure("index", 5, model="linear_attention", init="random_keys")
    assert "decay" not in plain["config"]


@pytest.mark.parametrize("wrong", ["0", "-0.5", "1.01", "nan", "often"])
def test_other_decays_are_refused(wrong):
    with pytest.raises(UsageError, match="decay"):
        cut(Index(5), "linear_attention", settings={"decay": wrong})


@pytest.mark.parametrize("problem", [Index(4, alphabet=3)], ids=["three symbols"])
@pytest.mark.parametrize("model", ["linear_attention", "deltanet"])
def test_random_keys_are_for_bits(model, problem):
    with pytest.raises(UsageError, match="random_keys"):
        cut(problem, model, init="random_keys")


def exact(machine, passes=1):
    """Return the share of right answers over all inputs, after reading x so many times."""
    problem = machine.problem
    x = problem.enumerate(0, problem.inputs)
    state, tokens = machine.starts(len(x)), machine.encoding.tokens(x)
    for _ in range(passes):
        state = machine.extend(state, tokens)
    message = machine.message(state)
    said = [machine.answer(message, np.full(len(x), k)) for k in range(problem.queries)]
    return (np.stack(said, axis=1) == x).mean()


def test_orthogonal_keys_are_exact_up_to_the_dimension_and_then_drop():
    d = 8
    found = [exact(cut(Index(n), "linear_attention", numbers=d)) for n in (1, 4, 8, 9, 10, 12)]
    assert found[:3] == [1.0] * 3
    assert all(0.5 < value < 0.95 for value in found[3:])


def test_the_delta_rule_is_exact_with_independent_keys_and_enough_passes():
    """Passes of a delta rule with b = 1 solve k_j . S = v_j, one equation after another."""
    d = 8
    found = {}
    for n in (7, 8, 9):
        machine = cut(
            Index(n),
            "deltanet",
            numbers=d,
            init="random_keys",
            quantiser="fp32",
            dtype="float64",
            machine_seed=1,
        )
        keys = np.sign(machine.cell.weights["k_proj.weight"][:, :n])
        assert np.linalg.matrix_rank(keys) == min(n, d)
        found[n] = [exact(machine, passes) for passes in (1, 100)]
    assert [found[n][1] for n in (7, 8)] == [1.0, 1.0]
    assert max(found[n][0] for n in (7, 8)) < 0.95  # one pass is not enough
    assert found[9][1] < 0.99
    # nor could any number be: d numbers have at most this many sign patterns on 9 keys
    assert 2 * sum(comb(8, i) for i in range(d)) == 510 < 2**9


@pytest.mark.parametrize("normalise", [0, 1])
def test_a_decay_is_the_same_as_attention(normalise):
    settings = {"decay": "0.8", "normalise": normalise}
    machine = cut(Index(12), "linear_attention", init="random", settings=settings, dtype="float64")
    x = machine.problem.sample(np.random.default_rng(0), 1)
    outputs, terms = machine.cell.both_forms(machine.encoding.tokens(x)[0])
    assert terms.outputs().reshape(outputs.shape) == pytest.approx(outputs, abs=1e-12)
