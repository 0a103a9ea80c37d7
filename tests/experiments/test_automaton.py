"""The automaton engine against enumeration, against known machines, and at length."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statebound import registry
from statebound.errors import UsageError
from statebound.experiments.engines import automaton
from statebound.experiments.engines.enumerate import count_optimal
from statebound.experiments.measure import measure
from statebound.experiments.request import Request
from statebound.protocols.limits.ball import ball
from statebound.protocols.limits.patterns import uniform
from statebound.protocols.limits.streaming import load_table, streaming_wall_states
from statebound.protocols.problem import make
from statebound.protocols.transitions import Transitions
from statebound.reductions.machine import cut


def agree(protocol):
    found, tally = automaton.run(protocol), count_optimal(protocol)
    exact = np.array(tally.right) / tally.inputs
    assert np.abs(found.success - exact).max() < 1e-12
    assert np.abs(found.information - np.array(tally.information)).max() < 1e-11
    assert abs(found.entropy - tally.message_entropy) < 1e-11
    assert found.states == tally.distinct
    return found


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(["index", "istree"]),
    st.integers(4, 9),
    st.integers(1, 24),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_random_automata_agree_with_enumeration(problem, n, states, timed, seed):
    instance = make(problem, n)
    generator = np.random.default_rng(seed)
    steps = instance.length if timed else 1
    table = generator.integers(0, states, (steps, states, 2))
    agree(Transitions(instance, np.broadcast_to(table, (instance.length, states, 2))))


@pytest.mark.parametrize("model", registry.names("statebound.models"))
@pytest.mark.parametrize("problem", ["index", "istree"])
@pytest.mark.parametrize("bits", [1, 3])
def test_every_model_in_steps_agrees_with_enumeration(model, problem, bits):
    agree(cut(make(problem, 9), model, bits=bits, regime="step"))


def test_messages_beyond_the_table_of_keys_agree_too():
    protocol = cut(make("index", 9), "gru", numbers=4, bits=20, regime="step")
    assert protocol.state_bits > 64
    agree(protocol)


def test_a_block_that_has_forgotten_is_dropped_within_the_stated_error():
    n, W = 200, 7  # a window of 7 bits: D is exactly 0 after 7 more symbols
    state = np.arange(2**W)
    table = np.stack([state >> 1, state >> 1 | 1 << (W - 1)], axis=1)
    found = automaton.run(Transitions(make("index", n), np.broadcast_to(table, (n, 2**W, 2))))
    assert found.success.tolist() == [0.5] * (n - W) + [1.0] * W
    assert found.error < 1e-10


@pytest.mark.parametrize("states", [3, 4])
def test_the_shipped_machines_reach_their_proved_optima(states):
    for n, entry in load_table().optima[states].items():
        table = np.array(entry.machine.transitions)
        assert table.shape == (n, states, 2)
        found = automaton.run(Transitions(make("index", n), table))
        assert abs(found.success.mean() - float(entry.success)) <= found.error
        assert streaming_wall_states(n, states).value == entry.success
        assert entry.success <= ball(uniform(n), states)


def test_a_row_of_the_automaton_engine():
    row = measure(Request("index", 100, model="sliding_window", numbers=10, regime="step")).row
    assert row["engine"] == "automaton"
    assert row["success"] == row["success_low"] == 0.55
    assert row["trials"] is None
    assert row["all_correct"] == float(Fraction(2**10, 2**100))
    assert row["stored_bits"] == row["message_entropy"] == 10.0
    assert row["violates_wall"] is False
    short = measure(Request("index", 9, model="gru", bits=2, regime="step", engine="automaton")).row
    exact = measure(Request("index", 9, model="gru", bits=2, regime="step", engine="enumerate")).row
    same = set(short) - {"engine", "trials", "success_fraction"}
    for name in same:
        if isinstance(exact[name], float):
            assert short[name] == pytest.approx(exact[name], abs=1e-11), name
        elif name not in ("success_by_query", "information_by_query"):
            assert short[name] == exact[name], name


def test_what_it_cannot_do_is_refused():
    with pytest.raises(UsageError, match="step"):
        measure(Request("index", 9, model="gru", engine="automaton"))
    with pytest.raises(UsageError, match="parities"):
        measure(Request("index", 9, alphabet=3, model="gru", regime="step", engine="automaton"))
    with pytest.raises(UsageError, match="optimal"):
        measure(Request("index", 9, model="gru", regime="step", engine="automaton", bob="learned"))


def test_too_many_states_are_refused_before_memory_runs_out(monkeypatch):
    monkeypatch.setattr(automaton, "MOST_STATES", 100)
    with pytest.raises(UsageError, match="reached"):
        automaton.run(cut(make("index", 12), "sliding_window", numbers=10, regime="step"))


def test_transitions_are_a_protocol_like_any_other():
    problem = make("index", 6)
    table = np.random.default_rng(3).integers(0, 5, (6, 5, 2))
    answers = np.random.default_rng(4).integers(0, 2, (5, 6))
    protocol = Transitions(problem, table, answers)
    x = problem.enumerate(0, 64)
    state = protocol.start()
    for position in range(6):
        state = protocol.branch(state, position)
    message = protocol.encode(x)
    assert (protocol.message(state) == message).all()
    last = np.zeros(64, int)
    for position in range(6):
        last = table[position, last, x[:, position]]
    assert (message[:, 0] == last).all()
    assert (protocol.answer(message, np.full(64, 2)) == answers[last, 2]).all()
    with pytest.raises(UsageError, match="table"):
        Transitions(problem, table[:5])
