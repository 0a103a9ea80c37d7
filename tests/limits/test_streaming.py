"""The streaming wall against exhaustive forward searches, simulation and known values."""

import itertools
import json
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statebound.errors import StateboundError, UsageError
from statebound.protocols.limits import streaming, streaming_build
from statebound.protocols.limits.ball import ball
from statebound.protocols.limits.patterns import uniform
from statebound.protocols.limits.streaming import (
    load_table,
    lossless,
    one_bit,
    parse_table,
    streaming_wall,
    streaming_wall_states,
)
from statebound.protocols.limits.streaming_build import BALLS
from statebound.protocols.limits.streaming_game import longest, solve
from statebound.protocols.limits.streaming_machine import Machine, decode, success_of
from statebound.protocols.limits.width_ball import width_ball
from statebound.protocols.problem import Structure, query_weights

# Proved optima A 2^n, n = 4.., as integers.
THREE = {4: 32, 5: 70, 6: 150, 7: 316, 8: 658}
FOUR = {4: 40, 5: 84, 6: 184, 7: 388, 8: 820}


def groupings(items, groups):
    """Return every way to put `items` things into at most `groups` unnamed groups."""
    found = [[0]]
    for _ in range(items - 1):
        found = [[*g, j] for g in found for j in range(min(max(g) + 2, groups))]
    return found


@cache
def merges(items, groups):
    """Return the groupings as 0/1 arrays: (number, groups, items)."""
    named = np.array(groupings(items, groups))
    return (named[:, None, :] == np.arange(groups)[:, None]).astype(np.int64)


def forward(n, states):
    """Yield, for every machine followed forwards, its final states in blocks (., W, n + 1).

    A state is a row (count, excess of each symbol read); a step splits every state in
    two and groups the halves anew. No part of the midpoint game is used. Positions that
    differ by flipped symbols or renumbered states are followed once.
    """
    level = {((1,),)}
    for k in range(n):
        after = set()
        for position in level:
            halves = np.array([h for c in position for h in ((*c, c[0]), (*c, -c[0]))])
            merged = merges(len(halves), states) @ halves
            if k == n - 1:
                yield merged
                continue
            for rows in merged.tolist():
                signs = [1] + [
                    next((1 if r[j] > 0 else -1 for r in rows if r[j]), 1) for j in range(1, k + 2)
                ]
                seen = [tuple(x * y for x, y in zip(r, signs, strict=True)) for r in rows if r[0]]
                after.add(tuple(sorted(seen)))
        level = after


def forward_optimum(n, states):
    """Largest A 2^n over all machines."""
    return max(int(np.abs(final[..., 1:]).sum(axis=(1, 2)).max()) for final in forward(n, states))


def simulated(machine):
    """Success by running the machine on every x, without its own arithmetic."""
    right = 0
    for x in itertools.product((0, 1), repeat=machine.n):
        state = 0
        for k, bit in enumerate(x):
            state = machine.transitions[k][state][bit]
        right += sum(a == b for a, b in zip(machine.answers[state], x, strict=True))
    return Fraction(right, machine.n * 2**machine.n)


def index(n, law="uniform"):
    return Structure(2, n, query_weights(law, n), True, True)


@pytest.mark.parametrize("n", range(1, 7))
def test_one_bit_formula_is_the_best_of_all_machines(n):
    assert success_of(n, forward_optimum(n, 2)) == one_bit(n)


@pytest.mark.parametrize(("n", "states"), [(2, 3), (3, 3), (4, 3), (5, 3), (2, 4), (3, 4), (4, 4)])
def test_solver_against_every_machine(n, states):
    assert solve(n, states).advantage == forward_optimum(n, states)


@pytest.mark.parametrize("n", range(1, 13))
def test_two_states_follow_the_formula(n):
    assert solve(n, 2).success == one_bit(n)


@pytest.mark.parity
@pytest.mark.parametrize(
    ("states", "n", "value"),
    [(3, n, v) for n, v in THREE.items()] + [(4, n, v) for n, v in FOUR.items()],
)
def test_fresh_solutions_are_the_known_integers(states, n, value):
    solution = solve(n, states)
    assert solution.advantage == value
    assert simulated(solution.machine) == solution.success == success_of(n, value)


@pytest.mark.parity
def test_known_decimals():
    rows = {
        3: (0.75, 0.71875, 0.695312, 0.676339, 0.660645),
        4: (0.8125, 0.7625, 0.739583, 0.716518, 0.700195),
    }
    for states, row in rows.items():
        for n, value in enumerate(row, 4):
            assert abs(float(streaming_wall_states(n, states).value) - value) < 6e-7


def test_small_sizes_have_no_loss():
    for states in (2, 3, 4):
        for n in range(1, states.bit_length() + 1):
            if states >= 2 ** (n - 1):
                assert solve(n, states).success == lossless(n, states) == ball(uniform(n), states)


def test_every_machine_of_the_table_reaches_its_value():
    optima = load_table().optima
    assert set(range(1, 13)) <= set(optima[3])
    assert set(range(1, 13)) <= set(optima[4])
    for states, rows in optima.items():
        for n, entry in rows.items():
            assert entry.machine.states == states
            assert entry.machine.n == n
            if n <= 10:
                assert simulated(entry.machine) == entry.success


@pytest.mark.parametrize(("states", "last"), [(3, 12), (4, 9)])
def test_table_is_what_a_fresh_proof_gives(states, last):
    for n in range(1, last + 1):
        entry, fresh = load_table().optima[states][n], solve(n, states)
        assert (fresh.advantage, fresh.machine) == (entry.advantage, entry.machine)


@pytest.mark.slow
def test_balls_of_the_table():
    for states, rows in load_table().balls.items():
        assert set(rows) == set(BALLS.get(states, ()))
    n = min(load_table().balls[4])
    assert width_ball(n, 4, BALLS[4][n]).success == load_table().balls[4][n]


def test_table_is_written_as_it_is_read(monkeypatch):
    monkeypatch.setattr(streaming_build, "OPTIMA", {3: 5, 4: 4})
    monkeypatch.setattr(streaming_build, "BALLS", {4: {6: Fraction(0)}})
    table = parse_table(json.loads(streaming_build.table_text()))
    assert table.optima[3] == {n: load_table().optima[3][n] for n in range(1, 6)}
    assert table.optima[4] == {n: load_table().optima[4][n] for n in range(1, 5)}
    assert table.balls == {3: {}, 4: {6: width_ball(6, 4, Fraction(0)).success}}


@pytest.mark.slow
@pytest.mark.parametrize(("states", "n"), [(3, 16), (4, 12)])
def test_larger_entries_of_the_table(states, n):
    assert solve(n, states).advantage == load_table().optima[states][n].advantage


def test_order_of_all_walls():
    optima = load_table().optima
    for states, rows in optima.items():
        for n, entry in rows.items():
            assert one_bit(n) <= entry.success <= ball(uniform(n), states)
            if n > 1:
                assert entry.success <= rows[n - 1].success
            if states == 4 and n in optima[3]:
                assert optima[3][n].success <= entry.success


@pytest.mark.parametrize("states", [2, 3, 4])
def test_width_ball_is_never_below_the_optimum(states):
    for n in range(1, 15):
        exact = one_bit(n) if states == 2 else load_table().optima[states][n].success
        wall = width_ball(n, states).success
        assert exact <= wall
        if states == 2:
            assert wall - exact <= Fraction(states, 2 * n * 2**20)
        elif n >= 6:
            assert wall <= ball(uniform(n), states) + Fraction(1, 10**12)


@pytest.mark.parity
@pytest.mark.parametrize(("n", "states", "value"), [(12, 3, 0.638060), (16, 4, 0.650137)])
def test_width_ball_known_values(n, states, value):
    found = float(width_ball(n, states).success)
    assert value - 2e-5 < found <= value + 1e-6


def test_width_ball_slack_only_raises():
    tight = width_ball(10, 3, Fraction(0)).success
    loose = width_ball(10, 3, Fraction(1, 100)).success
    assert tight <= loose <= tight + Fraction(3, 20 * 100)


def event_value(n, states, slope):
    """J by brute force: every set of final states of every machine."""
    events = np.array(list(itertools.product((0, 1), repeat=states)))
    unit = slope.denominator
    best = max(
        int((unit * np.abs(e[..., 1:]).sum(axis=2) - slope.numerator * e[..., 0]).max())
        for e in (events @ final for final in forward(n, states))
    )
    return Fraction(best, unit * 2**n)


@pytest.mark.parametrize(("n", "states"), [(3, 2), (4, 2), (3, 3), (4, 3), (3, 4)])
def test_plane_game_is_the_best_event(n, states):
    found = width_ball(n, states, Fraction(0))
    assert found.value == event_value(n, states, found.slope)


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_no_machine_is_above_the_wall(data):
    states = data.draw(st.sampled_from([2, 3, 4]))
    n = data.draw(st.integers(1, 7))
    digit = st.integers(0, states - 1)
    tables = data.draw(
        st.lists(
            st.lists(st.tuples(digit, digit), min_size=states, max_size=states),
            min_size=n,
            max_size=n,
        )
    )
    answers = data.draw(
        st.lists(
            st.lists(st.integers(0, 1), min_size=n, max_size=n), min_size=states, max_size=states
        )
    )
    machine = Machine(states, tuple(map(tuple, tables)), tuple(map(tuple, answers)))
    assert machine.success() == simulated(machine)
    assert machine.success() <= streaming_wall_states(n, states).value


@pytest.mark.parametrize(("n", "states"), [(6, 3), (7, 4), (12, 3)])
def test_changed_machines_never_win(n, states):
    """Every single change leaves the value or lowers it, and most lower it."""
    entry = load_table().optima[states][n]
    steps, answers = entry.machine.encode()
    lower = total = 0
    for at in range(n):
        for place in range(2 * states):
            for digit in range(states):
                if int(steps[at][place]) == digit:
                    continue
                changed = list(steps)
                changed[at] = steps[at][:place] + str(digit) + steps[at][place + 1 :]
                value = decode(states, changed, answers).advantage()
                assert value <= entry.advantage
                lower += value < entry.advantage
                total += 1
    assert lower > total / 2
    for s in range(states):
        flipped = list(answers)
        flipped[s] = answers[s].translate(str.maketrans("01", "10"))
        assert decode(states, steps, flipped).advantage() < entry.advantage


def test_walls_of_the_structure():
    assert streaming_wall(index(5), 0).value == Fraction(1, 2)
    wall = streaming_wall(index(5), 1)
    assert (wall.value, wall.status) == (Fraction(101, 160), "exact")
    assert streaming_wall(index(8), 2).value == success_of(8, 820)
    for bits in range(1, 9):
        assert streaming_wall(index(bits), bits).value == 1
        assert streaming_wall(index(bits + 1), bits).value == 1 - Fraction(1, 2 * bits + 2)
    assert streaming_wall(index(5), 3) is None
    assert streaming_wall(index(8), 3) is None
    assert streaming_wall(index(8), 10**6).value == 1


@pytest.mark.parametrize(
    "other",
    [
        index(6, "zipf"),
        Structure(3, 6, query_weights("uniform", 6), True, True),
        Structure(2, 6, query_weights("uniform", 6), False, True),
        Structure(2, 6, query_weights("uniform", 6), True, False),
        Structure(2, 5, query_weights("uniform", 6), True, True),
    ],
)
def test_no_wall_for_other_problems(other):
    assert streaming_wall(other, 1) is None


@pytest.mark.parametrize("states", [3, 4])
def test_beyond_the_table(states):
    last = max(load_table().optima[states])
    before = streaming_wall_states(last, states)
    assert before.status == "exact"
    for n in [*range(last + 1, last + 30), 100, 400]:
        wall = streaming_wall_states(n, states)
        assert wall.status == "bound"
        assert one_bit(n) < wall.value <= before.value
        assert wall.value <= ball(uniform(n), states)
        before = wall


def test_usage():
    for n, states in ((0, 2), (3, 0)):
        with pytest.raises(UsageError):
            streaming_wall_states(n, states)
    with pytest.raises(UsageError):
        streaming_wall(index(3), -1)
    for n, states in ((0, 3), (longest(3) + 1, 3), (5, 5), (5, 1)):
        with pytest.raises(UsageError):
            solve(n, states)
    for n, states, slack in ((0, 3, 0), (27, 3, 0), (5, 5, 0), (5, 3, -1)):
        with pytest.raises(UsageError):
            width_ball(n, states, Fraction(slack))


def damaged(change):
    raw = json.loads(streaming.TABLE.read_text(encoding="ascii"))
    change(raw)
    return raw


@pytest.mark.parametrize(
    "change",
    [
        lambda raw: raw.pop("balls"),
        lambda raw: raw["optima"][5].update(advantage=151),
        lambda raw: raw["optima"][5].update(advantage=150.0),
        lambda raw: raw["optima"][5].update(n=True),
        lambda raw: raw["optima"][5].update(n=7),
        lambda raw: raw["optima"][5].update(states=5),
        lambda raw: raw["optima"][5].update(transitions="012012"),
        lambda raw: raw["optima"][5].update(answers=[1, 2, 3]),
        lambda raw: raw["optima"][5]["transitions"].__setitem__(0, "000003"),
        lambda raw: raw["optima"][5]["answers"].__setitem__(0, "00"),
        lambda raw: raw["optima"][5]["answers"].pop(),
        lambda raw: raw["balls"][0].update(success="3/2"),
        lambda raw: raw["balls"][0].update(success=0.6),
    ],
)
def test_damaged_tables_are_refused(change):
    with pytest.raises((KeyError, TypeError, ValueError)):
        parse_table(damaged(change))


def test_missing_table_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(streaming, "TABLE", tmp_path / "streaming_table.json")
    with pytest.raises(StateboundError, match="reinstall"):
        load_table.__wrapped__()
