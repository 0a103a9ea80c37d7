"""Pointer chasing by attention: one retrieval a layer or a token, and coincidences counted."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from statebound.errors import UsageError
from statebound.models.constructions.chasing import Chaser, coincidence
from statebound.models.constructions.rounding import Arithmetic
from statebound.protocols.problems.pointer_chasing import PointerChasing

SHAPES = [(1, 0), (2, 0), (4, 0), (1, 1), (1, 7), (2, 2)]


def every(n):
    """All tables with all starts, and the tables alone."""
    tables = np.array(list(product(range(n), repeat=n)))
    return np.repeat(tables, n, axis=0), np.tile(np.arange(n), len(tables)), tables


def truth(tables, hops):
    return PointerChasing(tables.shape[1], hops).answers(tables.astype(np.uint8))


@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize(("layers", "thoughts"), SHAPES)
def test_every_table_and_start(n, layers, thoughts):
    model = Chaser(n, layers, thoughts)
    table, start, tables = every(n)
    assert model.retrievals == layers * (thoughts + 1)
    assert (model(table, start) == truth(tables, model.retrievals).ravel()).all()


@pytest.mark.parametrize("n", [37, 64, 256])
@pytest.mark.parametrize(("layers", "thoughts"), [(3, 0), (1, 4)])
def test_samples_of_large_tables(n, layers, thoughts):
    draw = np.random.default_rng(n)
    tables, starts = draw.integers(0, n, (30, n)), draw.integers(0, n, 30)
    wanted = truth(tables, layers * (thoughts + 1))[np.arange(30), starts]
    assert (Chaser(n, layers, thoughts)(tables, starts) == wanted).all()


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_coincidences_are_counted_exactly(n):
    tables = every(n)[2]
    at = {hops: truth(tables, hops) for hops in range(1, 10)}
    for hops, made in product(at, at):
        counted = Fraction(int((at[hops] == at[made]).sum()), at[hops].size)
        assert coincidence(n, hops, made) == counted


def test_coincidences_vanish_where_tables_are_large():
    for hops, made in ((2, 1), (8, 1), (5, 4), (8, 4)):
        values = [coincidence(n, hops, made) for n in (16, 64, 256)]
        assert values[0] > values[1] > values[2] >= Fraction(1, 256)
    # one step apart: only a walk that stands still coincides
    assert coincidence(256, 2, 1) == Fraction(1, 256) + Fraction(255, 256**2)


def test_the_precision_that_is_needed_is_that_of_the_counter():
    draw = np.random.default_rng(0)
    tables, starts = draw.integers(0, 64, (40, 64)), draw.integers(0, 64, 40)
    wanted = truth(tables, 3)[np.arange(40), starts]
    assert (Chaser(64, 3, arithmetic=Arithmetic(7))(tables, starts) == wanted).all()
    assert (Chaser(64, 3, arithmetic=Arithmetic(5))(tables, starts) != wanted).any()


@pytest.mark.parametrize("bits", [2, 8, 24])
def test_found_digits_become_exact_between_layers(bits):
    t = Arithmetic(bits)
    found = t(np.linspace(0.5, 1, 9))
    assert (Chaser(4, arithmetic=t)._sharpen(found) == 1).all()
    assert (Chaser(4, arithmetic=t)._sharpen(-found) == -1).all()


def test_what_it_costs():
    one, four, thinks = Chaser(256), Chaser(256, layers=4), Chaser(256, thoughts=7)
    assert four.ledger().cache_bits == 4 * one.ledger().cache_bits
    assert thinks.ledger().cache_bits == one.ledger().cache_bits >= 256 * 8
    assert (one.ledger().tokens_written, thinks.ledger().tokens_written) == (0, 7)
    bits = [Chaser(2**j).ledger().recurrent_bits for j in range(2, 11)]
    assert set(np.diff(bits)) == {1}


def test_bad_sizes():
    for arguments, name in (((1,), "n"), ((4, 0), "layers"), ((4, 1, -1), "thoughts")):
        with pytest.raises(UsageError, match=f"^{name} = "):
            Chaser(*arguments)
