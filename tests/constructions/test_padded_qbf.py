"""Padded formulas against a recursion: with and without chain of thought, both paddings."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from statebound.errors import UsageError
from statebound.models.constructions.padded_qbf import Formula, Reader


def truth(formula: Formula, chosen: tuple[bool, ...] = ()) -> bool:
    if len(chosen) == len(formula.universal):
        return all(any(chosen[v] == positive for v, positive in c) for c in formula.clauses)
    both = [truth(formula, (*chosen, value)) for value in (False, True)]
    return all(both) if formula.universal[len(chosen)] else any(both)


def small():
    """Yield formulas: all of one variable and two clauses, all of two and up to two clauses."""
    for k, most in ((1, 2), (2, 2)):
        literals = list(itertools.product(range(k), (False, True)))
        clauses = list(itertools.combinations_with_replacement(literals, 2))
        for count in range(1, most + 1):
            for chosen in itertools.combinations_with_replacement(clauses, count):
                for universal in itertools.product((False, True), repeat=k):
                    yield Formula(universal, chosen)


def random(k: int, rng: np.random.Generator) -> Formula:
    clauses = tuple(
        tuple((int(rng.integers(k)), bool(rng.integers(2))) for _ in range(3)) for _ in range(k + 1)
    )
    return Formula(tuple(map(bool, rng.integers(0, 2, k))), clauses)


def test_all_small_formulas():
    seen = []
    for formula in small():
        k, clauses = len(formula.universal), formula.clauses
        reader = Reader(k, len(clauses), 2)
        wanted = truth(formula)
        length = len(formula.tokens) + 2**k
        assert reader.run(formula, length, "before") == (None, 0)
        assert reader.run(formula, length, "before", 2**k - 1) == (None, 2**k - 1)
        assert reader.run(formula, length, "before", 99) == (wanted, 2**k)
        assert reader.run(formula, length, "after") == (wanted, 0)
        seen.append(wanted)
    assert len(seen) == 2 * (3 + 6) + 4 * (10 + 55)
    assert 0 < sum(seen) < len(seen)


@pytest.mark.parametrize("k", [3, 5, 7])
def test_random_formulas(k):
    rng = np.random.default_rng(k)
    reader, answers = Reader(k, k + 1), set()
    for _ in range(40 if k < 7 else 12):
        formula = random(k, rng)
        length = max(2**k + len(formula.tokens), 64)
        wanted = truth(formula)
        answers.add(wanted)
        assert reader.run(formula, length) == (None, 0)
        assert reader.run(formula, length, thoughts=2**k) == (wanted, 2**k)
        assert reader.run(formula, length, "after") == (wanted, 0)
    assert answers == {True, False}


def test_padding_before_leaves_no_trace():
    reader = Reader(3, 2)
    state = reader.start()
    for _ in range(50):
        state = reader.read(state, None)
    assert state == reader.start()


def test_the_state_is_small():
    assert Reader(3, 4).fields == {
        "formula": 3 + 4 * 3 * 3,
        "known": 4,
        "assignment": 3,
        "values": 3,
        "answer": 2,
    }
    assert Reader(3, 4).state_bits == 51
    assert Reader(10, 11).state_bits == 10 + 33 * 5 + 6 + 10 + 10 + 2
    ledger = Reader(3, 4).ledger(64, 8)
    assert (ledger.recurrent_bits, ledger.tokens_written) == (51, 8)


def test_bad_requests():
    literal = ((0, True),)
    with pytest.raises(UsageError, match=r"variables are 0\.\.0"):
        Formula((True,), (((1, True),),))
    with pytest.raises(UsageError, match="of one width"):
        Formula((True,), (literal, literal * 2))
    with pytest.raises(UsageError, match=r"must be 1\.\.16"):
        Formula((), (literal,))
    formula = Formula((True,), (literal,))
    with pytest.raises(UsageError, match="another size"):
        Reader(2, 1, 1).run(formula, 8)
    with pytest.raises(UsageError, match="choose from before, after"):
        Reader(1, 1, 1).run(formula, 8, "between")
    with pytest.raises(UsageError, match="pass 2 or more"):
        Reader(1, 1, 1).run(formula, 1)
