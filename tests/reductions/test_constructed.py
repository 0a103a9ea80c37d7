"""Constructed parameters reach the success that was proved for them, to the last input."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from statebound import measure
from statebound.errors import UsageError
from statebound.protocols.problems.index import Index
from statebound.protocols.problems.istree import IsTree
from statebound.reductions.machine import cut


def rights(machine) -> list[Fraction]:
    """Return for every query the share of all inputs that the model answers rightly."""
    problem = machine.problem
    x = problem.enumerate(0, problem.inputs)
    message, answers = machine.encode(x), problem.answers(x)
    return [
        Fraction(int((machine.answer(message, np.full(len(x), k)) == answers[:, k]).sum()), len(x))
        for k in range(problem.queries)
    ]


def average(machine) -> Fraction:
    return sum(rights(machine)) / machine.problem.queries


REGIMES = pytest.mark.parametrize("regime", ["handoff", "step"])
QUANTISERS = pytest.mark.parametrize(
    ("quantiser", "bits"), [("sign", 1), ("quantile", 1), ("uniform", 1), ("quantile", 3)]
)


@REGIMES
@QUANTISERS
@pytest.mark.parametrize("window", [1, 3, 6, 7, 9])
def test_a_window_keeps_its_last_bits_and_no_others(regime, quantiser, bits, window):
    n = 7
    machine = cut(
        Index(n), "sliding_window", numbers=window, bits=bits, regime=regime, quantiser=quantiser
    )
    kept = min(window, n)
    assert machine.spec.init == "constructed"
    assert average(machine) == Fraction(1, 2) + Fraction(kept, 2 * n)
    assert rights(machine) == [Fraction(1, 2)] * (n - kept) + [Fraction(1)] * kept


@REGIMES
@QUANTISERS
@pytest.mark.parametrize("window", [1, 2, 4, 7, 9])
def test_a_window_knows_an_edge_when_it_keeps_both_ends(regime, quantiser, bits, window):
    n = 9  # 7 bits, 6 queries
    machine = cut(
        IsTree(n), "sliding_window", numbers=window, bits=bits, regime=regime, quantiser=quantiser
    )
    known = min(window, n - 2) - 1
    expected = [Fraction(1, 2)] * (n - 3 - known) + [Fraction(1)] * known
    assert rights(machine) == expected
    assert average(machine) == Fraction(1, 2) + Fraction(known, 2 * (n - 3))


@pytest.mark.parametrize(
    ("regime", "quantiser", "bits"),
    [
        ("handoff", "sign", 1),
        ("handoff", "quantile", 1),
        ("handoff", "uniform", 1),
        ("handoff", "quantile", 3),
        # one bit cannot also tell a number that is not yet written: 3 values, or equal bins
        ("step", "uniform", 1),
        ("step", "quantile", 3),
    ],
)
@pytest.mark.parametrize("numbers", [6, 8])
@pytest.mark.parametrize("problem", [Index(6), IsTree(8)], ids=["index", "istree"])
def test_orthogonal_keys_are_never_wrong(regime, quantiser, bits, numbers, problem):
    machine = cut(
        problem, "linear_attention", numbers=numbers, bits=bits, regime=regime, quantiser=quantiser
    )
    assert machine.spec.init == "constructed"
    assert average(machine) == 1


@pytest.mark.parametrize("problem", [Index(9), IsTree(11)], ids=["index", "istree"])
def test_random_keys_beyond_capacity_are_above_chance_and_below_certainty(problem):
    machine = cut(problem, "linear_attention", numbers=4, bits=8, init="constructed")
    assert Fraction(1, 2) < average(machine) < 1


def test_random_keys_read_a_bit_with_the_probability_of_a_normal_tail():
    """Phi(sqrt(K / (n - 1))) over random keys; three standard errors of 20 machines."""
    n, K = 11, 5
    found = [
        float(average(cut(Index(n), "linear_attention", numbers=K, bits=12, machine_seed=s)))
        for s in range(20)
    ]
    assert abs(np.mean(found) - 0.7602) < 3 * np.std(found, ddof=1) / np.sqrt(20) + 0.01


@REGIMES
@QUANTISERS
@pytest.mark.parametrize(
    ("units", "encoding"), [(1, "bits"), (3, "bits"), (3, "pairs"), (7, "bits"), (9, "bits")]
)
def test_a_shift_register_holds_its_last_bits(regime, quantiser, bits, units, encoding):
    """Exactly 1/2 + H/2n of all inputs, for the best Bob of its messages."""
    n = 7
    row = measure(
        "index",
        n,
        model="rnn",
        init="constructed",
        numbers=units,
        bits=bits,
        regime=regime,
        quantiser=quantiser,
        encoding=encoding,
    )
    kept = min(units, n)
    assert row["init"] == "constructed"
    assert Fraction(row["success_fraction"]) == Fraction(1, 2) + Fraction(kept, 2 * n)
    assert row["information_by_query"] == [0.0] * (n - kept) + [1.0] * kept


def test_a_shift_register_reads_one_bit_a_register():
    """Every bit of the stream is the sign of its register, in the order of the registers."""
    n, units = 9, 5
    machine = cut(Index(n), "rnn", numbers=units, bits=1, quantiser="sign", init="constructed")
    x = machine.problem.enumerate(0, machine.problem.inputs)
    signs = machine.features(machine.encode(x)) > 0
    assert (signs == (x[:, : n - units - 1 : -1] == 1)).all()


def test_a_shift_register_of_a_long_stream_keeps_its_signs_in_step():
    """Where a level is the mean of a bit and of the zeros before it, the gain restores it."""
    n = 40
    for quantiser in ("sign", "quantile"):
        machine = cut(
            Index(n),
            "rnn",
            numbers=n,
            bits=1,
            regime="step",
            quantiser=quantiser,
            init="constructed",
        )
        x = machine.problem.sample(np.random.Generator(np.random.PCG64(1)), 300)
        codes = np.unpackbits(machine.encode(x), axis=1, bitorder="little")[:, :n]
        assert (codes == x[:, ::-1]).all()


def test_a_shift_register_is_for_bits_and_has_no_readout():
    machine = cut(Index(5), "rnn", init="constructed")
    assert not machine.has_bob
    assert machine.cell.vocabulary.queries == 0
    with pytest.raises(UsageError, match="constructed for bits"):
        cut(Index(5, alphabet=3), "rnn", init="constructed")
