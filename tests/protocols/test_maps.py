"""Maps keep every answer, by exhaustion, and carry protocols back."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from statebound import registry
from statebound.errors import UsageError
from statebound.experiments.engines.enumerate import count_bob, count_optimal
from statebound.experiments.reduce import reduced
from statebound.protocols.controls.send_everything import SendEverything
from statebound.protocols.problem import make as make_problem
from statebound.protocols.problems.index import Index
from statebound.reductions.machine import cut
from statebound.reductions.map import PACKAGE, Mapped, make
from statebound.reductions.maps.index_to_associative_recall import IndexToAssociativeRecall

MAPS = [tuple(name.split("_to_")) for name in registry.names(PACKAGE)]
OPTIONS = {"associative_recall": [{"alphabet": 2}, {"alphabet": 3}]}
ALPHABETS = {("index", t): [{"alphabet": 3}] for t in ("copy", "phonebook", "noisy_recall")}


def sources():
    for source, target in MAPS:
        for n in (1, 2, 5, 8):
            size = n + {"istree": 3, "associative_recall": 1}.get(source, 0)
            for options in OPTIONS.get(source, [{}]):
                yield source, size, target, options
        for options in ALPHABETS.get((source, target), []):
            yield source, 4, target, options


def wrong_answers(through) -> int:
    """Return how many answers a map changes, over all inputs and queries that are asked."""
    problem = through.source
    x = problem.enumerate(0, problem.inputs)
    image = through.instance(x)
    assert image.shape == (len(x), through.target.length)
    assert image.dtype == np.uint8
    assert image.max() < through.target.symbols
    assert through.target.contains(image).all()
    asked = np.arange(problem.queries)
    there = through.query(asked)
    assert there.min() >= 0
    assert there.max() < through.target.queries
    truth, times = problem.answers(x), problem.multiplicities(x)
    known = through.target.multiplicities(image)
    wrong = 0
    for k in asked:
        query = np.full(len(x), k)
        may = np.ones(len(x), bool) if times is None else times[:, k] > 0
        said = through.answer(query, through.target.ask(image, through.query(query)))
        wrong += int((said != truth[:, k])[may].sum())
        if known is not None:  # what is asked of the target may be asked
            assert (known[may, there[k]] > 0).all()
    return wrong


@pytest.mark.parametrize(("source", "n", "target", "options"), list(sources()))
def test_every_answer_is_kept(source, n, target, options):
    through = make(make_problem(source, n, options), target)
    assert wrong_answers(through) == 0
    assert through.source_name == source
    assert through.target_name == target == through.target.name
    x = through.source.enumerate(0, through.source.inputs)
    if "one-to-one on inputs" in through.statement:
        assert len(np.unique(through.instance(x), axis=0)) == len(x)
    if "two-to-one on inputs" in through.statement:
        assert 2 * len(np.unique(through.instance(x), axis=0)) == len(x)
    there = through.query(np.arange(through.source.queries))
    if "queries one-to-one" in through.statement or "and on queries" in through.statement:
        assert len(set(there.tolist())) == through.source.queries


class Careless(IndexToAssociativeRecall):
    """Forgets to keep keys and values apart: key 2 is the value 1."""

    def instance(self, x):
        image = super().instance(x)
        image[:, 2] = 1
        return image


class OffByOne(IndexToAssociativeRecall):
    def query(self, query):
        return (query + 1) % self.source.n + 2


class Inverted(IndexToAssociativeRecall):
    def answer(self, query, said):
        return 1 - said


@pytest.mark.parametrize("broken", [Careless, OffByOne, Inverted])
def test_a_broken_map_is_caught(broken):
    assert wrong_answers(broken(Index(4))) > 0


@pytest.mark.parametrize(("source", "target"), MAPS)
def test_a_protocol_for_the_target_serves_the_source(source, target):
    problem = make_problem(source, 6)
    through = make(problem, target)
    mapped = Mapped(through, SendEverything(through.target))
    assert mapped.problem is problem
    assert mapped.state_bits == mapped.protocol.state_bits
    count = count_bob(mapped, mapped.answer)
    assert count.right_at_once == problem.inputs
    assert count.right == count.totals
    machine = cut(through.target, "gru", numbers=3)
    found = count_optimal(Mapped(through, machine))
    assert found.inputs == problem.inputs
    assert found.distinct <= 2**machine.state_bits
    assert not Mapped(through, machine).has_bob
    with pytest.raises(UsageError, match="must be for"):
        Mapped(through, SendEverything(make_problem(target, through.target.n + 1)))


def test_graph_in_the_record_is_a_tree_or_not():
    for query in range(1, 6):
        record = reduced("index", "istree", "10110", query)
        graph = nx.Graph([*record["alice_edges"], record["bob_edge"]])
        assert sorted(graph) == list(range(1, record["target_n"] + 1))
        assert nx.is_tree(graph) == bool(record["answer"]) == bool(record["target_answer"])
        assert record["answer"] == int("10110"[query - 1])


def test_unknown_maps():
    with pytest.raises(UsageError, match="target"):
        make(Index(4), "nowhere")
    with pytest.raises(UsageError, match="alphabet"):
        make(Index(4, alphabet=3), "istree")


def test_a_map_refuses_what_it_has_no_form_for():
    with pytest.raises(UsageError, match="marked"):
        make(Index(6, marked=3), "counting")
    with pytest.raises(UsageError, match="distractors"):
        make(Index(6, distractors=3), "counting")
    with pytest.raises(UsageError, match="target"):
        make(make_problem("word_problem", 3), "index")
