"""One bit of state, every machine: all sixteen maps after every symbol."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from statebound.protocols.limits.ball import ball
from statebound.protocols.limits.patterns import uniform
from statebound.protocols.limits.streaming import streaming_wall
from statebound.protocols.problems.index import Index
from statebound.protocols.problems.istree import IsTree

F = Fraction
GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "index_limits.json").read_text())


def best_two_state_machine(n):
    """Return the best success over all time-varying machines of two states.

    A machine is summed up by the probability of state 1 and, for every symbol read, the
    difference of its probabilities given that symbol: integers in units of 2^-t.
    """
    reached = {(0, ())}
    for t in range(n):
        grown = set()
        for ones, vector in reached:
            zeros = 2**t - ones
            for code in range(16):
                go = [code >> i & 1 for i in range(4)]  # next state from (state, symbol)
                # Symbols 0 and 1 each carry the old mass; state 0's vector is the opposite.
                mass = zeros * (go[0] + go[1]) + ones * (go[2] + go[3])
                keep = (go[2] + go[3]) - (go[0] + go[1])
                new = zeros * (go[0] - go[1]) + ones * (go[2] - go[3])
                # Signs do not matter for what can be reached later, nor does the order.
                grown.add((mass, tuple(sorted(abs(v) for v in (*(v * keep for v in vector), new)))))
        reached = grown
    most = max(sum(vector) for _, vector in reached)
    return F(1, 2) + F(2 * most, 2 * n * 2**n)


@pytest.mark.parametrize("n", range(1, 8))
def test_formula_is_the_best_machine(n):
    assert streaming_wall(Index(n).structure, 1).value == best_two_state_machine(n)


@pytest.mark.parity
@pytest.mark.parametrize("row", GOLDEN["one_bit_streaming_optimum"], ids=lambda r: str(r["n"]))
def test_published_values(row):
    assert streaming_wall(Index(row["n"]).structure, 1).value == F(row["optimum"])


@pytest.mark.parametrize("n", range(1, 12))
def test_storing_loses_nothing_in_a_stream_up_to_one_bit_short(n):
    for bits in (n - 1, n, n + 3):
        assert streaming_wall(Index(n).structure, bits).value == ball(uniform(n), 2**bits)
    assert streaming_wall(Index(n).structure, 0).value == F(1, 2)


def test_never_above_the_message_wall():
    for n in range(1, 60):
        assert streaming_wall(Index(n).structure, 1).value <= ball(uniform(n), 2)


def test_other_problems_have_no_such_wall():
    assert streaming_wall(IsTree(8).structure, 1) is None
    assert streaming_wall(Index(8, alphabet=3).structure, 1) is None
    assert streaming_wall(Index(8, query_law="zipf").structure, 1) is None
