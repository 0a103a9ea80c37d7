"""Encodings of every problem: public length, tokens in range, nothing lost, fillers."""

from __future__ import annotations

import numpy as np
import pytest

from statebound import registry
from statebound.errors import UsageError
from statebound.models import Vocabulary
from statebound.protocols.problem import PACKAGE, make
from statebound.reductions.encoding import MOST_TOKENS, Encoding
from statebound.reductions.encoding import make as make_encoding
from statebound.reductions.machine import cut

ENCODINGS = registry.names("statebound.reductions.encodings")
SIZES = {"mqar": 2, "phonebook": 2, "noisy_recall": 3, "word_problem": 3, "pointer_chasing": 4}
SPELLED = {
    "associative_recall", "cgram", "mqar", "equality", "disjointness", "greater_than",
    "noisy_recall",
}  # fmt: skip


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("name", registry.names(PACKAGE))
def test_contract(name, encoding):
    problem = make(name, SIZES.get(name, 6))
    if encoding == "spelled" and name not in SPELLED:
        with pytest.raises(UsageError, match="not made of symbols"):
            make_encoding(encoding, problem)
        return
    made = make_encoding(encoding, problem)
    x = problem.sample(np.random.default_rng(0), 64)
    tokens = made.tokens(x)
    blocks = [made.block(a) for a in range(problem.length)]
    assert tokens.shape == (64, sum(b.shape[1] for b in blocks))  # whatever x is
    assert tokens.dtype == np.int32
    assert tokens.min() >= 0
    assert tokens.max() < made.vocabulary.stream_tokens
    assert len(np.unique(tokens, axis=0)) == len(np.unique(x, axis=0))
    asked = made.question(np.arange(problem.queries))
    assert asked.min() >= 0
    assert asked.max() < made.vocabulary.size
    assert len(np.unique(asked, axis=0)) == problem.queries
    assert asked[0, 0] >= made.vocabulary.stream_tokens  # a question is known for one


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("name", ["index", "mqar"])
def test_fillers_follow_x_and_are_no_symbols(name, encoding):
    if (name, encoding) == ("index", "spelled"):
        return
    plain, filled = make(name, 3), make(name, 3, {"distractors": 4})
    x = plain.sample(np.random.default_rng(0), 32)
    without = make_encoding(encoding, plain).tokens(x)
    tokens = make_encoding(encoding, filled).tokens(x)
    length = without.shape[1]
    assert np.array_equal(tokens[:, :length], without)
    assert tokens.shape[1] == length + 4
    assert (tokens[:, length:] == tokens[0, length:]).all()
    used = {t for a in range(plain.length) for t in make_encoding(encoding, plain).block(a).ravel()}
    assert not used & set(tokens[0, length:].tolist())
    assert tokens.max() < make_encoding(encoding, filled).vocabulary.stream_tokens


@pytest.mark.parametrize("regime", ["handoff", "step"])
@pytest.mark.parametrize("encoding", ["bits", "pairs", "keyed"])
def test_the_prefix_tree_reads_the_same_tokens(encoding, regime):
    problem = make("index", 6, {"distractors": 2})
    machine = cut(problem, "rnn", numbers=4, bits=3, encoding=encoding, regime=regime)
    state = machine.start()
    for position in range(problem.length):
        state = machine.branch(state, position)
    whole = machine.encode(problem.enumerate(0, problem.inputs))
    assert np.array_equal(machine.message(state), whole)
    assert len(np.unique(whole, axis=0)) > 2


def test_too_many_queries_have_no_tokens():
    many = make("equality", 20)
    for encoding in ("bits", "pairs", "keyed"):
        assert make_encoding(encoding, many).vocabulary.queries == 0
    spelled = make_encoding("spelled", many)
    assert spelled.vocabulary.queries == 1
    asked = spelled.question(np.array([5, 1 << 19]))
    assert asked.tolist()[0] == [2, 1, 0, 1, *[0] * 17]
    assert not cut(many, "gru", numbers=3).has_bob
    large = make("phonebook", 3, {"digits": 4})
    assert large.alphabet > MOST_TOKENS
    assert make_encoding("bits", large).vocabulary.queries == 0


class Mute(Encoding):
    name, summary = "mute", "knows no fillers"

    def _vocabulary(self):
        return Vocabulary(self.problem.length, 2, False, 0, 2)

    def block(self, position):
        return np.array([[0], [1]], np.int32)


def test_an_encoding_that_knows_no_fillers_refuses_them():
    Mute(make("index", 3))
    with pytest.raises(UsageError, match="no filler"):
        Mute(make("index", 3, {"distractors": 1}))
