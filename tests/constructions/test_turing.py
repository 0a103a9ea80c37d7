"""Machines: their text, errors in it, and what they compute against Python."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from statebound.errors import UsageError
from statebound.models.constructions.tape import simulate
from statebound.models.constructions.turing import load, machine_names, parse

BUDGET = 5000


def words(alphabet: str, longest: int):
    for n in range(longest + 1):
        yield from map("".join, itertools.product(alphabet, repeat=n))


def balanced(word: str) -> bool:
    depth = 0
    for c in word:
        depth += 1 if c == "(" else -1
        if depth < 0:
            return False
    return depth == 0


def test_increment():
    assert simulate(load("increment"), "", BUDGET)[1].tape == "1"
    for number in range(300):
        assert simulate(load("increment"), f"{number:b}", BUDGET)[1].tape == f"{number + 1:b}"


def test_palindromes():
    for word in words("ab", 8):
        assert simulate(load("palindrome"), word, BUDGET)[1].accepted == (word == word[::-1])


def test_parentheses():
    for word in words("()", 8):
        assert simulate(load("parentheses"), word, BUDGET)[1].accepted == balanced(word)


def test_multiplication():
    for a, b in itertools.product(range(7), repeat=2):
        end = simulate(load("multiply"), "1" * a + "*" + "1" * b + "=", BUDGET)[1]
        assert end.halted
        assert end.tape == "1" * (a * b)


@pytest.mark.parametrize(
    ("name", "steps", "ones"),
    [("busy-beaver-3", 21, 5), ("busy-beaver-3-ones", 13, 6), ("busy-beaver-4", 107, 13)],
)
def test_busy_beavers(name, steps, ones):
    end = simulate(load(name), "", BUDGET)[1]
    assert (end.steps, end.halted, end.tape.count("1")) == (steps, True, ones)
    assert not simulate(load(name), "", steps - 1)[1].halted
    assert simulate(load(name), "", steps)[1] == end


def test_the_counter_never_halts_but_counts():
    steps, end = simulate(load("counter"), "", BUDGET)
    assert (end.steps, end.halted, end.accepted) == (BUDGET, False, None)
    assert len(steps) == BUDGET
    numbers, tape = [], {}
    for step in steps:
        tape[step.cell] = step.rule.symbol
        if step.state == 1 and step.rule.state == 0:  # a carry is done
            low, high = min(tape), max(tape)
            numbers.append(int("".join("_01"[tape.get(c, 0)] for c in range(low, high)) or "0", 2))
    assert numbers[:200] == list(range(1, 201))


def test_all_machines_are_listed():
    assert {"increment", "palindrome", "parentheses", "multiply", "counter"} < set(machine_names())
    assert all(load(name).name for name in machine_names())


GOOD = "start: a\nblank: _\ninput: 01\naccept: b\n\na 0 -> a 1 R # turn\na _ -> b _ S\n"


def test_the_format():
    machine = parse(GOOD, "mine")
    assert (machine.name, machine.states, machine.symbols) == ("mine", ("a", "b"), ("_", "0", "1"))
    assert simulate(machine, "000", 9)[1].accepted is True
    assert simulate(machine, "01", 9)[1].accepted is False
    assert simulate(machine, "000", 9)[1].tape == "111"


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("start: a", "", "mine = no start: must name its start state; add start: STATE"),
        ("start: a", "start: c", "line 1 = c: no rule begins in this state"),
        ("start: a", "start: a b", "line 1 = a b: no rule begins"),
        ("blank: _", "blank: __", "line 2 = __: the blank is one character"),
        ("input: 01", "input: 0_", "line 3 = 0_: input symbols are different"),
        ("input: 01", "input: 00", "line 3 = 00: input symbols are different"),
        ("input: 01", "start: a", "line 3 = start: a: start was given before; keep one"),
        ("input: 01", "tape: 01", "line 3 = tape: 01: is neither a rule nor one of name:"),
        ("accept: b", "accept: b c", "line 4 = c: is not a state of any rule"),
        ("a 0 -> a 1 R", "a 0 -> a 1", "line 6 = a 0 -> a 1: is not of the form of a rule"),
        ("a 0 -> a 1 R", "a 0 1 -> a R", "line 6 = a 0 1 -> a R: is not of the form of a rule"),
        ("a 0 -> a 1 R", "a 00 -> a 1 R", "symbol 00 is not one character"),
        ("a 0 -> a 1 R", "a 0 -> a 1 RIGHT", "move RIGHT is not L, R or S; write STATE SYMBOL"),
        ("a 0 -> a 1 R", "a _ -> a 1 R", "line 7 = a _ b _ S: state a on symbol _ has a rule"),
        ("a 0 -> a 1 R", "a 0 > a 1 R", "line 6 = a 0 > a 1 R: is neither a rule nor one of"),
    ],
)
def test_errors_name_the_line(old, new, text):
    with pytest.raises(UsageError) as caught:
        parse(GOOD.replace(old, new, 1), "mine")
    assert text in str(caught.value)


WORDS = st.sampled_from(
    ["a", "b", "_", "1", "01", "->", "L", "R", "start:", "accept:", ":", "#", "é"]
)


def attempt(text: str):
    """Return the machine, or what is said against it."""
    try:
        return parse(text)
    except UsageError as error:
        return str(error)


@given(st.lists(st.lists(WORDS, max_size=7).map(" ".join), max_size=6).map("\n".join))
def test_any_text_is_a_machine_or_a_usage_error(text):
    found = attempt(f"start: a\na _ -> b 1 R\n{text}")
    if isinstance(found, str):
        assert "machine, line " in found
    else:
        assert simulate(found, "", 20)[1].steps <= 20


def test_an_arrow_may_stand_in_a_name():
    assert parse("name: a -> b\nstart: a\na _ -> a _ R").name == "a -> b"


def test_bad_requests():
    with pytest.raises(UsageError, match="choose from busy-beaver-3"):
        load("busy-beaver-5")
    with pytest.raises(UsageError, match="no input symbol '2'; write symbols of '01'"):
        simulate(load("increment"), "12", 9)
    with pytest.raises(UsageError, match="no input symbol '1'; leave the input empty"):
        simulate(load("busy-beaver-3"), "1", 9)
    with pytest.raises(UsageError, match="budget"):
        simulate(load("increment"), "1", -1)
