"""Public masks: no input and no query is worse than another, exactly, over all coins."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from statebound.errors import UsageError
from statebound.protocols.codes.hamming import Hamming
from statebound.protocols.codes.truncation import Truncation
from statebound.protocols.masked import Masked
from statebound.protocols.problem import make
from statebound.protocols.problems.index import Index
from statebound.reductions.machine import cut


def right(protocol) -> np.ndarray:
    """Return which (x, k) are answered rightly: (inputs, queries)."""
    problem = protocol.problem
    x = problem.enumerate(0, problem.inputs)
    message, wanted = protocol.encode(x), problem.answers(x)
    said = [protocol.answer(message, np.full(len(x), k)) for k in range(problem.queries)]
    return np.stack(said, axis=1) == wanted


PROTOCOLS = {
    "truncation": lambda: Truncation(Index(4), 1),
    "hamming": lambda: Hamming(Index(3), 1),
    "three symbols": lambda: Truncation(Index(3, alphabet=3), 2),
    "linear attention": lambda: cut(
        Index(4), "linear_attention", numbers=2, bits=2, init="random_keys"
    ),
}
COINS = {"truncation": 384, "hamming": 48, "three symbols": 162, "linear attention": 384}


@pytest.mark.parametrize("name", PROTOCOLS)
def test_over_all_masks_every_input_and_query_fares_alike(name):
    protocol = PROTOCOLS[name]()
    plain = right(protocol)
    every = [right(masked) for masked in Masked.every(protocol)]
    assert len(every) == COINS[name]
    total = np.sum(every, axis=0, dtype=np.int64)
    assert total.max() - total.min() == 0  # the spread
    average = Fraction(int(plain.sum()), plain.size)
    assert Fraction(int(total[0, 0]), len(every)) == average
    assert plain.min() == 0  # and yet without coins some are always wrong
    assert {Fraction(int(one.sum()), one.size) for one in every} == {average}


def test_the_spread_falls_with_the_number_of_masks():
    """One in sqrt(seeds): 6 standard deviations of a mean of 1,600 coins, against all or none."""
    protocol = Truncation(Index(6), 3)
    plain = right(protocol)
    assert (plain.min(), plain.max()) == (0, 1)
    found = np.mean([right(Masked.drawn(protocol, seed)) for seed in range(1600)], axis=0)
    assert np.abs(found - 0.75).max() < 6 * (0.75 * 0.25 / 1600) ** 0.5
    assert found.max() - found.min() < 0.12


def test_the_same_bits_are_sent_and_the_coins_are_public():
    protocol = Truncation(Index(9), 4)
    masked = Masked.drawn(protocol, 5)
    again = Masked.drawn(protocol, 5)
    x = masked.problem.sample(np.random.default_rng(0), 30)
    assert masked.state_bits == protocol.state_bits == 4
    assert np.array_equal(masked.encode(x), again.encode(x))
    assert masked.describe() == again.describe() != Masked.drawn(protocol, 6).describe()
    assert right(masked).mean() == right(protocol).mean() == 0.5 + 4 / 18


def test_what_cannot_be_masked_is_refused():
    with pytest.raises(UsageError, match="symmetry"):
        Masked.drawn(Truncation(make("istree", 6), 2), 0)
    with pytest.raises(UsageError, match="symmetry"):
        Masked.drawn(Truncation(Index(6, marked=3), 2), 0)
    with pytest.raises(UsageError, match="mask"):
        Masked(Truncation(Index(3), 1), np.array([0, 2, 0]), np.arange(3))
    with pytest.raises(UsageError, match="order"):
        Masked(Truncation(Index(3), 1), np.zeros(3, int), np.array([0, 1, 1]))
