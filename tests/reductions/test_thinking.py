"""A thinking Bob is a function of message, query and coins, and thinks one token at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statebound import registry
from statebound.errors import UsageError
from statebound.models import Vocabulary
from statebound.protocols.codes.golay import Golay
from statebound.protocols.codes.hamming import Hamming
from statebound.protocols.codes.linear import Linear
from statebound.protocols.codes.majority import Majority
from statebound.protocols.message import from_bits
from statebound.protocols.problem import make
from statebound.protocols.problems.index import Index
from statebound.protocols.problems.istree import IsTree
from statebound.protocols.scratchpad import Scratchpad
from statebound.protocols.thinker import NOTHING, Thinker, Thought
from statebound.reductions.machine import cut
from statebound.reductions.thinking import Thinking, thinking

N = 6
REGIMES = ["handoff", "step"]
CELLS = ["gru", "sliding_window", "linear_attention", "s5"]


def everybody(bob: Thinker[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return the messages of all inputs with all queries."""
    problem = bob.protocol.problem
    message = bob.protocol.encode(problem.enumerate(0, problem.inputs))
    queries = np.repeat(np.arange(problem.queries), len(message))
    return np.tile(message, (problem.queries, 1)), queries


def same(bob: Thinker[Any], one: Thought[Any], other: Thought[Any]) -> bool:
    return (
        np.array_equal(one.transcript, other.transcript)
        and np.array_equal(one.ended, other.ended)
        and np.array_equal(bob.holds(one.state), bob.holds(other.state))
    )


def test_tokens_to_think_with_come_last():
    spoken = Vocabulary(3, 2, False, 3, 2, ((0,), (1,), (2,)))
    whole = spoken.aloud(4)
    assert (spoken.size, whole.size, whole.scratch, whole.queries) == (5, 9, 7, 0)
    assert whole.stream_tokens == spoken.stream_tokens
    assert whole.without_queries() == whole


@pytest.mark.parametrize("regime", REGIMES)
@pytest.mark.parametrize("cell", CELLS)
def test_no_thought_is_the_plain_reading(cell, regime):
    bob = thinking(Index(N), cell, numbers=4, regime=regime)
    message, query = everybody(bob)
    thought = bob.think(bob.begin(message, query), 0)
    machine = bob.machine
    tokens = machine.encoding.question(query)
    state = machine.extend(machine.resume(message, N), tokens)
    assert thought.transcript.shape == (len(query), 0)
    assert np.array_equal(bob.holds(thought.state), machine.read_off(state))
    assert np.array_equal(bob.holds(machine.restored(message)), machine.features(message))


@pytest.mark.parametrize("temperature", [0.0, 0.7])
@pytest.mark.parametrize("regime", REGIMES)
@pytest.mark.parametrize("cell", CELLS)
def test_a_transcript_is_a_function_of_message_query_and_coins(cell, regime, temperature):
    bob = thinking(Index(N), cell, numbers=4, regime=regime, temperature=temperature)
    message, query = everybody(bob)
    whole = bob.think(bob.begin(message, query), 12)
    seen: dict[bytes, bytes] = {}
    for m, k, t in zip(message, query, whole.transcript, strict=True):
        assert seen.setdefault(m.tobytes() + bytes([k]), t.tobytes()) == t.tobytes()
    assert len(set(seen.values())) > 1
    order = np.random.default_rng(1).permutation(len(query))[:100]  # another batch
    some = bob.think(bob.begin(message[order], query[order]), 12)
    assert np.array_equal(some.transcript, whole.transcript[order])
    assert np.array_equal(bob.holds(some.state), bob.holds(whole.state)[order])


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 9), st.integers(0, 9), st.sampled_from(REGIMES), st.sampled_from([0.0, 1.5]))
def test_thinking_may_be_split(a, b, regime, temperature):
    bob = thinking(Index(4), "gru", numbers=3, regime=regime, temperature=temperature, coins=3)
    start = bob.begin(*everybody(bob))
    assert same(bob, bob.think(bob.think(start, a), b), bob.think(start, a + b))


@pytest.mark.parametrize("regime", REGIMES)
def test_every_token_is_the_best_of_the_head_and_is_read_by_the_cell(regime):
    bob = thinking(Index(N), "gru", numbers=4, bits=2, regime=regime, seed=5, machine_seed=2)
    machine = bob.machine
    message, query = everybody(bob)
    rows = np.arange(0, len(query), 37)
    thought = bob.think(bob.begin(message[rows], query[rows]), 10)
    scores_of = np.random.Generator(np.random.PCG64(5)).standard_normal((5, 4)) / 2
    for row, transcript in zip(rows, thought.transcript, strict=True):
        token = np.array([[2 + query[row]]], np.int32)
        state = machine.extend(machine.resume(message[row : row + 1], N), token)
        for said in transcript:
            if said == NOTHING:
                break
            z = (machine.read_off(state)[0] - bob._mean) / bob._spread
            scores = scores_of @ z - [0, 0, 0, 0, 1.0]
            assert said == scores.argmax()
            if said < 4:
                token = np.array([[2 + N + said]], np.int32)
                state = machine.extend(state, token)
        if regime == "step":
            again = machine.resume(machine.message(state), N)  # the state is what is sent
            assert np.array_equal(machine.read_off(again), machine.read_off(state))


def test_who_is_done_writes_and_reads_no_more():
    bob = thinking(Index(N), "linear_attention", numbers=6, temperature=0.5)
    start = bob.begin(*everybody(bob))
    early, late = bob.think(start, 20), bob.think(start, 60)
    ended = early.ended
    assert 0 < ended.mean() < 1
    assert (late.transcript[ended, 20:] == NOTHING).all()
    assert np.array_equal(bob.holds(early.state)[ended], bob.holds(late.state)[ended])
    for row in late.transcript[late.ended]:
        (place,) = np.flatnonzero(row == bob.done)
        assert (row[:place] >= 0).all()
        assert (row[place + 1 :] == NOTHING).all()
    assert np.array_equal(late.written, [(row >= 0).sum() for row in late.transcript])


def test_coins_draw_each_token_as_often_as_its_score_says():
    bob = thinking(Index(4), "gru", numbers=3, temperature=0.8)
    start = bob.begin(*everybody(bob))
    one, draws = start.state, 4000
    greedy = Thinking(bob.machine, temperature=0.0)
    z = (bob.holds(one)[0] - bob._mean) / bob._spread
    scores = bob.head @ z - [0, 0, 0, 0, bob.patience]
    law = np.exp(scores / 0.8) / np.exp(scores / 0.8).sum()
    assert greedy.write(one, start.query, 0)[0] == scores.argmax()
    first = bob.machine.take(one, np.zeros(1, np.int64))
    said = [int(bob.write(first, np.zeros(1, np.int64), turn)[0]) for turn in range(draws)]
    seen = np.bincount(said, minlength=5) / draws
    assert (np.abs(seen - law) < 5 * np.sqrt(law / draws)).all()
    other = Thinking(bob.machine, temperature=0.8, coins=1).think(start, 8)
    assert not np.array_equal(bob.think(start, 8).transcript, other.transcript)


@pytest.mark.parametrize("regime", REGIMES)
@pytest.mark.parametrize("cell", registry.names("statebound.models"))
def test_every_model_thinks(cell, regime):
    bob = thinking(Index(4), cell, regime=regime, scratch=2)
    thought = bob.think(bob.begin(*everybody(bob)), 4)
    assert thought.transcript.min() >= NOTHING
    assert thought.transcript.max() <= bob.done == 2
    assert np.isfinite(bob.holds(thought.state)).all()


def test_the_rest_of_a_machine_does_not_notice():
    spoken = thinking(IsTree(6), "gru", numbers=4).machine
    plain = cut(IsTree(6), "gru", numbers=4)
    assert spoken.state_bits == plain.state_bits
    assert spoken.encoding.vocabulary == plain.encoding.vocabulary
    assert not spoken.has_bob
    assert plain.cell.vocabulary.scratch == 0


def test_given_parameters_think_like_the_same_drawn_ones():
    drawn = thinking(Index(4), "gru", numbers=3, machine_seed=7)
    given_ones = thinking(Index(4), "gru", weights=drawn.machine.cell.weights)
    one, other = (b.think(b.begin(*everybody(b)), 9) for b in (drawn, given_ones))
    assert same(drawn, one, other)
    with pytest.raises(UsageError, match="shape"):
        thinking(Index(4), "gru", weights=drawn.machine.cell.weights, scratch=5)


def test_what_cannot_think_is_refused():
    with pytest.raises(UsageError, match="no tokens to ask"):
        Thinking(cut(Index(4), "gru", numbers=3))
    with pytest.raises(UsageError, match="tokens to think with"):
        thinking(Index(4), "gru", numbers=3, scratch=0)
    for temperature in (-1.0, float("nan"), float("inf")):
        with pytest.raises(UsageError, match="0 or more"):
            thinking(Index(4), "gru", numbers=3, temperature=temperature)
    with pytest.raises(UsageError, match="choose linear, hamming or golay"):
        Scratchpad(Majority(Index(9), 3))


CODES = [
    (Hamming, "index", 7, 4),
    (Hamming, "index", 10, 7),
    (Linear, "index", 9, 5),
    (Linear, "istree", 11, 0),
    (Linear, "index", 6, 6),
    (Golay, "index", 25, 13),
]


@pytest.mark.parametrize(
    ("family", "problem", "n", "bits"), CODES, ids=lambda v: getattr(v, "__name__", str(v))
)
def test_a_scratchpad_ends_with_the_answer_of_the_code(family, problem, n, bits):
    code = family(make(problem, n), bits)
    bob = Scratchpad(code)
    queries = code.problem.queries
    generator = np.random.default_rng(0)
    held = generator.integers(0, 2, (200, bits), dtype=np.uint8)
    message = np.repeat(from_bits(held).reshape(200, -1), queries, axis=0)
    query = np.tile(np.arange(queries), 200)
    thought = bob.think(bob.begin(message, query), bits + 1)
    assert np.array_equal(bob.answer(thought.state, query), code.answer(message, query))
    assert thought.ended.all()
    assert np.array_equal(thought.written, bob.lengths[query] + 1)
    for row in range(0, len(query), 101):  # what is written is the sum of what has been read
        m, k = held[row // queries], query[row]
        sums = np.cumsum(m * bob.uses[k]) % 2
        written = thought.transcript[row]
        assert written[: bob.lengths[k]].tolist() == sums[: bob.lengths[k]].tolist()
        assert written[bob.lengths[k]] == bob.done
    split = bob.think(bob.begin(message, query), bits // 2)
    assert same(bob, bob.think(split, bits + 1 - bits // 2), thought)
