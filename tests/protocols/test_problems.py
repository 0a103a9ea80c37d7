"""Problems against their definitions, their laws, and what they claim of themselves."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction
from math import ceil, comb, log2

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statebound import registry
from statebound.errors import UsageError
from statebound.protocols.problem import MAX_N, PACKAGE, make, query_weights
from statebound.protocols.problems.index import Index
from statebound.protocols.problems.istree import IsTree

from .cases import CASES, label, made

EVERY = pytest.mark.parametrize("case", CASES, ids=label)


def everything(problem):
    return problem.enumerate(0, problem.inputs)


def test_every_problem_has_cases():
    assert {case[0] for case in CASES} == set(registry.names(PACKAGE))


@EVERY
def test_contract(case):
    """Sizes, types, the numbering of inputs and queries, and every way to write them."""
    problem = made(case)
    x = everything(problem)
    assert x.shape == (problem.inputs, problem.length)
    assert x.dtype == np.uint8
    assert x.max() < problem.symbols
    assert len(np.unique(x, axis=0)) == problem.inputs
    assert problem.contains(x).all()
    kept = x.copy()
    answers = problem.answers(x)
    assert answers.shape == (len(x), problem.queries)
    assert answers.dtype == problem.answer_type
    assert answers.min() >= 0
    assert answers.max() < problem.alphabet
    assert np.array_equal(x, kept)
    for k in sorted({0, problem.queries // 2, problem.queries - 1}):
        assert np.array_equal(problem.ask(x, np.full(len(x), k)), answers[:, k])
        assert problem.query(k + 1) == problem.query(str(k + 1)) == k
        assert problem.query(problem.query_text(k)) == k
    for row in (x[0], x[len(x) // 3], x[-1]):
        assert np.array_equal(problem.parse(problem.text(row)), row[None])
    for asked in (0, -1, problem.queries + 1, "0", "nothing", "y=2", "=", "1,x", "key=", "²"):
        with pytest.raises(UsageError, match="query"):
            problem.query(asked)
    options = {k: v for k, v in problem.options().items() if k != "n"}
    again = make(problem.name, problem.n, options)
    assert again.options() == problem.options()
    texts = {k: str(v) for k, v in options.items()}
    assert make(problem.name, problem.n, texts).options() == problem.options()


@EVERY
def test_x_is_uniform_and_the_law_is_its_average(case):
    problem = made(case)
    x = everything(problem)
    times = problem.multiplicities(x)
    assert sum(problem.weights) == 1
    assert len(problem.weights) == problem.queries
    assert problem.joint == (times is not None)
    if times is not None:
        assert times.min() >= 0
        assert len(set(times.sum(axis=1).tolist())) == 1
        every = int(times.sum())
        assert [Fraction(int(t), every) for t in times.sum(axis=0)] == list(problem.weights)


@EVERY
def test_drawn_inputs_and_queries_follow_the_law(case):
    problem = made(case)
    x = problem.sample(np.random.default_rng(0), 400)
    assert problem.contains(x).all()
    assert x.max() < problem.symbols
    one = x[:1]
    times = problem.multiplicities(one)
    law = [float(w) for w in problem.weights] if times is None else times[0] / times.sum()
    drawn = problem.draw(np.random.default_rng(1), np.repeat(one, 500, axis=0), 8)
    assert drawn.shape == (500, 8)
    share = np.bincount(drawn.ravel(), minlength=problem.queries) / 4000
    assert (share[np.array(law) == 0] == 0).all()
    assert np.abs(share - law).max() < 5 * 0.5 / 4000**0.5


@EVERY
def test_structure_tells_the_truth(case):
    """Independent answers are, by counting; other claims are tested below by exhaustion."""
    problem = made(case)
    structure = problem.structure
    x = everything(problem)
    answers = problem.answers(x)
    assert structure.alphabet == problem.alphabet
    assert bool(structure.reason) != structure.walled
    assert bool(structure.basis) <= (not structure.independent)
    if structure.independent:
        assert not problem.joint
        assert structure.weights == problem.weights
        assert structure.effective_n == problem.queries
        vectors, counts = np.unique(answers, axis=0, return_counts=True)
        assert len(vectors) == problem.alphabet**structure.effective_n
        assert len(set(counts.tolist())) == 1
    if structure.walled:
        assert sum(structure.weights) == 1
        assert len(structure.weights) == structure.effective_n
    else:
        assert structure.effective_n == 0
    for k, positions in enumerate(structure.parities):
        assert np.array_equal(x[:, list(positions)].sum(axis=1) % 2, answers[:, k])
    if structure.index_stream:
        assert np.array_equal(answers, x)


def messages_without_error(problem, x) -> int:
    """Return the least number of messages with which Bob never errs, by the conflict graph."""
    answers, times = problem.answers(x), problem.multiplicities(x)
    if times is None:
        return len(np.unique(answers, axis=0))
    conflicts = nx.Graph()
    conflicts.add_nodes_from(range(len(x)))
    for i, j in itertools.combinations(range(len(x)), 2):
        both = (times[i] > 0) & (times[j] > 0)
        if (answers[i] != answers[j])[both].any():
            conflicts.add_edge(i, j)
    colours = nx.greedy_color(conflicts, strategy="largest_first")
    clique = max(len(c) for c in nx.find_cliques(conflicts))
    assert max(colours.values()) + 1 == clique  # then both are the chromatic number
    return clique


@EVERY
def test_the_cost_of_never_erring_is_exact(case):
    problem = made(case)
    if problem.least_messages is None:
        assert problem.deterministic_bits is None
        return
    found = messages_without_error(problem, everything(problem))
    assert problem.least_messages == found
    assert problem.deterministic_bits == ceil(log2(found))


def test_rows_are_counted_where_no_formula_is_known():
    """Squares of tables from the definition; recall of grams from a dictionary."""
    for n in (2, 3, 4):
        tables = itertools.product(range(n), repeat=n)
        squares = {tuple(f[f[s]] for s in range(n)) for f in tables}
        assert make("pointer_chasing", n, {"hops": 2}).least_messages == len(squares)
    assert make("pointer_chasing", 6, {"hops": 2}).least_messages == 13356
    assert make("pointer_chasing", 7, {"hops": 2}).least_messages is None
    for n in (4, 7):
        told = {
            frozenset({x[a : a + 2]: x[a + 2] for a in range(n - 2)}.items())
            for x in itertools.product(range(2), repeat=n)
        }
        assert make("cgram", n, {"c": 3}).least_messages == len(told)


@pytest.mark.parametrize("n", [4, 5, 8])
def test_istree_is_whether_the_graph_is_a_tree(n):
    """Every input and every query, judged by another library's definition of a tree."""
    problem = IsTree(n)
    x = everything(problem)
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


@pytest.mark.parametrize("n", [20, 64])
def test_istree_on_random_stars(n):
    problem = IsTree(n)
    generator = np.random.default_rng(n)
    x = problem.sample(generator, 60)
    answers = problem.answers(x)
    asked = generator.integers(0, problem.queries, 60)
    for row, given_x in enumerate(x):
        graph = nx.Graph([*problem.edges(given_x), problem.bob_edge(int(asked[row]))])
        graph.add_nodes_from(range(1, n + 1))
        assert answers[row, asked[row]] == nx.is_tree(graph)
    assert 10 < answers[np.arange(60), asked].sum() < 50


def recall(problem, x, query):
    token, found = query, problem.symbols
    for a, b in itertools.pairwise(x):
        if a == token:
            found = b
    return found


def gram(problem, x, query):
    wanted = [query // problem.symbols**i % problem.symbols for i in range(problem.c - 1)]
    found = problem.symbols
    for a in range(len(x) - problem.c + 1):
        if list(x[a : a + problem.c - 1]) == wanted:
            found = x[a + problem.c - 1]
    return found


def count(problem, x, query):
    symbol, t = divmod(query, problem.steps)
    return int(Counter(x)[symbol] > t)


def pair(problem, x, query):
    held = dict(zip(x[::2], x[1::2], strict=True))
    return held.get(query, problem.keys) - problem.keys


def word(problem, x, query):
    if not problem.whole:
        return x[query]
    part = x[query * problem.width : (query + 1) * problem.width]
    return int("".join(map(str, part)), problem.symbols)


def string(problem, query):
    """Return Bob's y as text."""
    return problem.query_text(query).partition("=")[2]


def disjoint(problem, x, query):
    y = string(problem, query)
    return int(not any(a == 1 and b == "1" for a, b in zip(x, y, strict=True)))


def larger(problem, x, query):
    return int("".join(map(str, x)) > string(problem, query))


def place(problem, x, query):
    return x[len(string(problem, query))]


def chase(problem, x, query):
    for _ in range(problem.hops):
        query = x[query]
    return query


def ones(problem, x, query):
    return sum(x[int(a) - 1] for a in problem.query_text(query).split(","))


def nearest(problem, x, query):
    word = string(problem, query)
    keys = [
        "".join(bit * problem.copies for bit in f"{j:b}".zfill(problem.key_bits)[::-1])
        for j in range(problem.n)
    ]
    apart = [sum(a != b for a, b in zip(word, key, strict=False)) for key in keys]
    assert sorted(apart)[0] <= problem.flips
    assert len(apart) == 1 or sorted(apart)[0] < sorted(apart)[1]
    return x[int(np.argmin(apart))]


def product(problem, x, query):
    if problem.group[0] == "z":
        return (query + sum(x)) % problem.queries
    elements = list(itertools.permutations(range(problem.queries)))
    for v in x:
        query = elements[v][query]
    return query


DEFINITIONS = {
    "index": lambda p, x, k: x[p.asked[k]],
    "istree": lambda p, x, k: x[k] ^ x[k + 1],
    "associative_recall": recall,
    "cgram": gram,
    "counting": count,
    "mqar": pair,
    "phonebook": word,
    "copy": word,
    "equality": lambda p, x, k: int("".join(map(str, x)) == string(p, k)),
    "disjointness": disjoint,
    "greater_than": larger,
    "augmented_index": place,
    "pointer_chasing": chase,
    "sparse_averaging": ones,
    "noisy_recall": nearest,
    "word_problem": product,
}


@EVERY
def test_answers_are_those_of_the_definition(case):
    """One input and one query at a time, in plain Python."""
    problem = made(case)
    generator = np.random.default_rng(5)
    x = everything(problem)[generator.integers(0, problem.inputs, 12)]
    answers = problem.answers(x)
    times = problem.multiplicities(x)
    define = DEFINITIONS[problem.name]
    for row, given_x in enumerate(x.tolist()):
        for k in range(problem.queries):
            if times is None or times[row, k]:
                assert answers[row, k] == define(problem, given_x, k)


def test_what_bob_knows_besides_fits_x():
    """Prefixes are true, keys occur, and y agrees with x before its last 0."""
    for name, n in (("augmented_index", 4), ("greater_than", 4), ("mqar", 2)):
        problem = make(name, n, {"pairs": "prefix"} if name == "greater_than" else {})
        x = everything(problem)
        for row, times in zip(x, problem.multiplicities(x), strict=True):
            for k in np.flatnonzero(times):
                text, written = string(problem, int(k)), problem.text(row)
                if name == "augmented_index":
                    assert written.startswith(text)
                elif name == "mqar":
                    assert text in written[::2]
                else:
                    head = text.rstrip("1")
                    assert head.endswith("0")
                    assert written.startswith(head[:-1])


@pytest.mark.parametrize("V", [2, 3, 4])
def test_counting_costs_a_histogram(V):
    for n in range(1, 9):
        assert make("counting", n, {"alphabet": V}).least_messages == comb(n + V - 1, V - 1)


def test_costs_at_large_sizes():
    assert make("associative_recall", 200, {"alphabet": 30}).deterministic_bits > 100
    assert make("associative_recall", 200, {"alphabet": 200}).deterministic_bits is None
    assert make("counting", 1 << 12, {"alphabet": 2}).deterministic_bits == 13
    assert make("phonebook", 70, {"digits": 10}).deterministic_bits == 2326
    assert make("word_problem", 1000, {"group": "s5"}).deterministic_bits == 7
    assert make("equality", 62).deterministic_bits == 62
    assert make("index", 1 << 20).deterministic_bits == 1 << 20


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("equality", {}),
        ("equality", {"pairs": "uniform"}),
        ("disjointness", {}),
        ("greater_than", {}),
        ("greater_than", {"pairs": "prefix"}),
        ("augmented_index", {}),
    ],
)
def test_many_queries_are_asked_one_by_one(name, options):
    problem = make(name, 60, options)
    generator = np.random.default_rng(2)
    x = problem.sample(generator, 64)
    drawn = problem.draw(generator, x, 3)
    assert drawn.min() >= 0
    assert drawn.max() < problem.queries
    define = DEFINITIONS[name]
    said = [problem.ask(x, drawn[:, i]) for i in range(3)]
    for i, j in itertools.product(range(64), range(3)):
        k = int(drawn[i, j])
        assert said[j][i] == define(problem, x[i].tolist(), k)
        assert problem.query(problem.query_text(k)) == k
    if options.get("pairs") != "uniform" and name != "disjointness":
        assert 0.3 < np.mean(said) < 0.7
    with pytest.raises(UsageError, match="too many"):
        problem.answers(x)
    if problem.joint:
        with pytest.raises(UsageError, match="too many"):
            problem.multiplicities(x)


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


@pytest.mark.parametrize(
    ("name", "n", "options", "argument"),
    [
        ("index", 5, {"marked": 6}, "marked"),
        ("index", 5, {"marked": "two"}, "marked"),
        ("index", 5, {"marked": True}, "marked"),
        ("index", 5, {"query_law": 3}, "query_law"),
        ("index", 5, {"distractors": -1}, "distractors"),
        ("associative_recall", 1, {}, "n"),
        ("associative_recall", 5, {"alphabet": 256}, "alphabet"),
        ("cgram", 2, {}, "n"),
        ("cgram", 9, {"c": 1}, "c"),
        ("cgram", 20, {"c": 13, "alphabet": 3}, "c"),
        ("counting", 5, {"thresholds": 6}, "thresholds"),
        ("counting", 1 << 18, {}, "n"),
        ("mqar", 0, {}, "n"),
        ("mqar", 4, {"keys": 3}, "keys"),
        ("mqar", 4, {"values": 3}, "values"),
        ("mqar", 4, {"replacement": "perhaps"}, "replacement"),
        ("mqar", 100, {}, "keys"),
        ("phonebook", 3, {"credit": "some"}, "credit"),
        ("phonebook", 3, {"digits": 19}, "credit"),
        ("phonebook", 3, {"base": 37}, "base"),
        ("copy", 63, {}, "credit"),
        ("equality", 63, {}, "n"),
        ("equality", 5, {"pairs": "some"}, "pairs"),
        ("disjointness", 40, {"ones": 20}, "ones"),
        ("greater_than", 5, {"pairs": "some"}, "pairs"),
        ("augmented_index", 63, {}, "n"),
        ("pointer_chasing", 257, {}, "n"),
        ("pointer_chasing", 5, {"hops": 0}, "hops"),
        ("sparse_averaging", 200, {}, "q"),
        ("sparse_averaging", 5, {"q": 6}, "q"),
        ("noisy_recall", 5, {"flips": 9}, "flips"),
        ("noisy_recall", 5, {"credit": "some"}, "credit"),
        ("word_problem", 5, {"group": "s6"}, "group"),
        ("word_problem", 5, {"group": "z1"}, "group"),
    ],
)
def test_options_that_do_not_fit(name, n, options, argument):
    with pytest.raises(UsageError) as caught:
        make(name, n, options)
    assert caught.value.argument == argument


@pytest.mark.parametrize("text", ["", "10", "1011", "102", "1-1", "1 1", "10\n", "1٣1"])
def test_parse_refuses(text):
    with pytest.raises(UsageError, match="x = "):
        Index(3).parse(text)


@pytest.mark.parametrize("text", ["0304", "0335", "3040", "0414", "04", "0,4"])
def test_parse_refuses_what_is_no_input(text):
    with pytest.raises(UsageError, match="x = "):
        make("mqar", 2, {"keys": 3, "values": 3}).parse(text)


def test_parse_other_alphabets():
    assert Index(3, alphabet=36).parse("0aZ").tolist() == [[0, 10, 35]]
    many = make("word_problem", 3, {"group": "s5"})
    assert many.parse("0,119,7").tolist() == [[0, 119, 7]]
    for wrong in ("0,119", "0,120,7", "011", "0,,7", "0,-1,7", "0,x,7"):
        with pytest.raises(UsageError, match="x = "):
            many.parse(wrong)
