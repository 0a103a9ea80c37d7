"""Re-reading: every input of small size, and the bits that the machines pass on."""

from __future__ import annotations

import itertools
import math
from dataclasses import asdict

import numpy as np
import pytest

from statebound.errors import UsageError
from statebound.models.constructions.rereading import (
    DisjointnessReader,
    IndexReader,
    exchange,
    interleaved,
    ledger,
)


def words(n: int) -> np.ndarray:
    return np.array(list(itertools.product((False, True), repeat=n))).reshape(-1, n)


def test_index_in_two_passes_or_query_first():
    seen = 0
    for n in range(1, 13):
        reader = IndexReader(n)
        assert reader.state_bits == math.ceil(math.log2(n + 1)) + 2
        x = np.repeat(words(n), n, axis=0)
        query = np.tile(np.arange(1, n + 1), 2**n)
        wanted = x[np.arange(len(x)), query - 1]
        seen += len(x)
        for order in ("twice", "first"):
            assert (reader.run(x, query, order) == wanted).all()
        assert (reader.run(x, query, "once") == -1).all()
    assert seen == 90114


def test_the_state_is_in_its_range():
    n = 9
    reader, x = IndexReader(n), words(n)
    state = reader.ask(reader.start(len(x)), np.full(len(x), n))
    for a in range(n):
        assert state.countdown.min() >= 0
        assert state.countdown.max() <= n
        state = reader.read(state, x[:, a])
    assert len(set(reader.fields) ^ set(asdict(state))) == 0


@pytest.mark.parametrize("n", [100, 5000])
def test_query_first_at_any_length(n):
    rng = np.random.default_rng(n)
    x, query = rng.random((20, n)) < 0.5, rng.integers(1, n + 1, 20)
    assert (IndexReader(n).run(x, query, "first") == x[np.arange(20), query - 1]).all()
    assert IndexReader(n).state_bits == math.ceil(math.log2(n + 1)) + 2


def test_disjointness_on_all_pairs():
    seen = 0
    for n in range(1, 8):
        every = words(n)
        x, y = np.repeat(every, 2**n, axis=0), np.tile(every, (2**n, 1))
        wanted = ~(x & y).any(axis=1)
        assert (interleaved(x, y) == wanted).all()
        for kept in (1, max(n // 2, 1)):
            reader = DisjointnessReader(n, kept)
            assert reader.state_bits == kept + 2 * math.ceil(math.log2(n + 1)) + 1
            assert reader.passes == math.ceil(n / kept)
            assert (reader.run(x, y) == wanted).all()
            seen += len(x)
            if reader.passes > 1:  # one pass too few misses some
                assert (reader.run(x, y, reader.passes - 1) != wanted).any()
    assert seen == 43688


@pytest.mark.parametrize(
    ("state_bits", "passes", "ratio"),
    [(64, 25, 3.0625), (128, 10, 2.375), (256, 5, 2.25), (1047, 1, 1.0224609375)],
)
def test_what_is_exchanged(state_bits, passes, ratio):
    record = exchange(1024, state_bits)
    assert (record["passes"], record["ratio"]) == (passes, ratio)
    reader = DisjointnessReader.of(1024, state_bits)
    assert reader.state_bits == state_bits
    cost = ledger(reader)
    assert (cost.recurrent_bits, cost.tokens_read) == (state_bits, 2 * 1024 * passes)


def test_bad_requests():
    with pytest.raises(UsageError, match="must exceed 23 at n = 1024; pass 24"):
        exchange(1024, 23)
    with pytest.raises(UsageError, match="choose from twice, first, once"):
        IndexReader(3).run(words(3), np.ones(8, int), "thrice")
    with pytest.raises(UsageError, match="at least 1"):
        IndexReader(0)
    assert ledger(IndexReader(12)).recurrent_bits == 6
    assert ledger(IndexReader(12)).tokens_read == 25
