"""Problems against their definitions: graphs, query laws, enumeration, parsing."""

from __future__ import annotations

import itertools
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statebound import registry
from statebound.errors import UsageError
from statebound.protocols.problem import MAX_N, make, query_weights
from statebound.protocols.problems.index import Index
from statebound.protocols.problems.istree import IsTree


@pytest.mark.parametrize("n", [4, 5, 8])
def test_istree_is_whether_the_graph_is_a_tree(n):
    """Every input and every query, judged by another library's definition of a tree."""
    problem = IsTree(n)
    x = problem.enumerate(0, problem.inputs)
    answers = problem.answers(x)
    assert answers.shape == (2 ** (n - 2), n - 3)
    for row, given_x in enumerate(x):
        for k in range(problem.queries):
            graph = nx.Graph()
            graph.add_nodes_from(range(1, n + 1))
            edges = [*problem.edges(given_x), problem.bob_edge(k)]
            graph.add_edges_from(edges)
            assert len(edges) == n - 1
            assert answers[row, k] == nx.is_tree(graph)


PROBLEMS = [Index(1), Index(6), Index(3, alphabet=5), IsTree(4), IsTree(9)]


@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
def test_structure_tells_the_truth(problem):
    """The answer vectors are uniform over all, each equally often; parities give them."""
    structure = problem.structure
    x = problem.enumerate(0, problem.inputs)
    assert len(np.unique(x, axis=0)) == problem.inputs
    answers = problem.answers(x)
    vectors, counts = np.unique(answers, axis=0, return_counts=True)
    assert structure.independent
    assert len(vectors) == problem.alphabet**structure.effective_n
    assert len(set(counts.tolist())) == 1
    assert sum(structure.weights) == 1
    assert len(structure.weights) == problem.queries
    for k, positions in enumerate(structure.parities):
        assert np.array_equal(x[:, positions].sum(axis=1) % 2, answers[:, k])
    assert structure.index_stream == (problem.name == "index")


@pytest.mark.parametrize("name", registry.names("statebound.protocols.problems"))
def test_contract(name):
    problem = make(name, 7)
    generator = np.random.default_rng(0)
    x = problem.sample(generator, 50)
    assert x.shape == (50, problem.length)
    assert x.dtype == np.uint8
    assert x.max() < problem.symbols
    kept = x.copy()
    answers = problem.answers(x)
    assert answers.shape == (50, problem.queries)
    assert answers.max() < problem.alphabet
    assert np.array_equal(x, kept)
    again = make(name, **{"n": 7}, options={k: v for k, v in problem.options().items() if k != "n"})
    assert again.options() == problem.options()
    text = "".join(map(str, x[3]))
    assert np.array_equal(problem.parse(text), x[3:4])
    assert [problem.query(k) for k in (1, problem.queries)] == [0, problem.queries - 1]


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 30), st.sampled_from(["uniform", "zipf", "recency:1/3", "recency:0.9"]))
def test_query_weights(queries, law):
    weights = query_weights(law, queries)
    assert sum(weights) == 1
    assert len(weights) == queries
    assert all(isinstance(w, Fraction) and w > 0 for w in weights)
    assert list(weights) == sorted(weights)  # recent symbols are asked at least as often
    ratios = {b / a for a, b in itertools.pairwise(weights)}
    if law.startswith("recency"):
        assert ratios <= {1 / Fraction(law.partition(":")[2])}
    if law == "zipf":
        assert weights[-1] == queries * weights[0]
    assert query_weights("recency:1", queries) == query_weights("uniform", queries)


@pytest.mark.parametrize(
    "law",
    [
        "",
        "Uniform",
        "uniform:1",
        "zipf:2",
        "recency",
        "recency:0",
        "recency:1.1",
        "recency:-1",
        "recency:inf",
        "recency:1/0",
    ],
)
def test_unknown_laws(law):
    with pytest.raises(UsageError, match="query_law"):
        query_weights(law, 5)


def test_sizes():
    for kind, least in ((Index, 1), (IsTree, 4)):
        kind(least)
        with pytest.raises(UsageError, match=f"n = {least - 1}"):
            kind(least - 1)
    with pytest.raises(UsageError, match="at most"):
        make("index", MAX_N + 1)
    with pytest.raises(UsageError, match="no such option"):
        make("istree", 5, {"alphabet": 3})


@pytest.mark.parametrize("text", ["", "10", "1011", "102", "1-1", "1 1", "10\n", "1٣1"])
def test_parse_refuses(text):
    with pytest.raises(UsageError, match="x = "):
        Index(3).parse(text)


def test_parse_other_alphabets():
    assert Index(3, alphabet=36).parse("0aZ").tolist() == [[0, 10, 35]]


@pytest.mark.parametrize("name", registry.names("statebound.protocols.problems"))
def test_declared_parities_are_the_answers(name):
    problem = make(name, 9)
    x = problem.enumerate(0, problem.inputs)
    for k, positions in enumerate(problem.structure.parities):
        assert (problem.answers(x)[:, k] == x[:, list(positions)].sum(axis=1) % 2).all()
