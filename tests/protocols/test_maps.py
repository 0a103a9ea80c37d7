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

MAPS = [tuple(name.split("_to_")) for name in registry.names(PACKAGE)]


@pytest.mark.parametrize(("source", "target"), MAPS)
@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_every_answer_is_kept(source, target, n):
    problem = make_problem(source, n)
    through = make(problem, target)
    x = problem.enumerate(0, problem.inputs)
    image = through.instance(x)
    assert image.shape == (len(x), through.target.length)
    assert len(np.unique(image, axis=0)) == len(x)
    there = through.query(np.arange(problem.queries))
    assert len(set(there.tolist())) == problem.queries
    assert there.min() >= 0
    assert there.max() < through.target.queries
    assert np.array_equal(through.target.answers(image)[:, there], problem.answers(x))


@pytest.mark.parametrize(("source", "target"), MAPS)
def test_a_protocol_for_the_target_serves_the_source(source, target):
    problem = make_problem(source, 6)
    through = make(problem, target)
    mapped = Mapped(through, SendEverything(through.target))
    assert mapped.problem is problem
    assert mapped.state_bits == through.target.length
    count = count_bob(mapped, mapped.answer)
    assert count.right_at_once == problem.inputs
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
