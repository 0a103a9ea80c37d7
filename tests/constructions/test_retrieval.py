"""Transformers and hybrids against plain loops, on all small inputs and samples of large ones."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from statebound.errors import UsageError
from statebound.models.constructions.hybrids import Hybrid
from statebound.models.constructions.rounding import Arithmetic
from statebound.models.constructions.tasks import Task
from statebound.models.constructions.transformers import Transformer

MODELS = {
    "transformer": Transformer,
    "hybrid": Hybrid,
    "hybrid with a counter": lambda task, **k: Hybrid(task, places="counter", **k),
}


def words(symbols: int, n: int) -> np.ndarray:
    return np.array(list(itertools.product(range(symbols), repeat=n))).reshape(-1, n)


def pairs(contexts, queries):
    """Return every context with every query."""
    return np.repeat(contexts, len(queries), 0), np.tile(queries, (len(contexts), 1))


def truth(task, context, query):
    """Answer by a loop."""
    if task.name == "index":
        return context[query[0]]
    if task.name.startswith("count"):
        return int(list(context).count(query[0]) > query[1])
    found, width = -1, task.gram - 1
    for j in range(width, len(context)):
        if list(context[j - width : j]) == list(query):
            found = context[j]
    return found


def errors(model, task, contexts, queries) -> int:
    wanted = [truth(task, c, q) for c, q in zip(contexts, queries, strict=True)]
    return int(np.count_nonzero(model(contexts, queries) != wanted))


def small(task_name):
    """Yield every small task of a kind with all its contexts and queries."""
    if task_name == "index":
        for n in range(1, 9):
            yield Task("index", n), *pairs(words(2, n), np.arange(n)[:, None])
    elif task_name == "recall":
        for n in range(1, 6):
            yield Task("gram", n, 4, 2), *pairs(words(4, n), words(4, 1))
    elif task_name == "grams":
        for c, n in [(3, n) for n in range(2, 8)] + [(4, n) for n in range(3, 8)]:
            yield Task("gram", n, 2, c), *pairs(words(2, n), words(2, c - 1))
    else:
        for n in range(1, 6):
            asked = np.array([(q, t) for q in range(3) for t in range(n + 1)])
            yield Task(task_name, n, 3), *pairs(words(3, n), asked)


@pytest.mark.parametrize("kind", sorted(MODELS))
@pytest.mark.parametrize(
    ("task_name", "cases"),
    [("index", 3586), ("recall", 5456), ("grams", 2992), ("count", 6012), ("count_one", 6012)],
)
def test_all_small_inputs(kind, task_name, cases):
    seen = wrong = 0
    for task, contexts, queries in small(task_name):
        seen += len(contexts)
        wrong += errors(MODELS[kind](task), task, contexts, queries)
    assert (seen, wrong) == (cases, 0)


@pytest.mark.parametrize("kind", ["transformer", "hybrid"])
def test_half_the_scale_is_too_little(kind):
    """Parts of a key that are zero, before the start, cost K once and not twice."""
    wrong = 0
    for task, contexts, queries in small("grams"):
        half = 2 ** (task.length + 1).bit_length() // 4
        model = MODELS[kind](task, scale=half)
        wrong += errors(model, task, contexts, queries)
    assert wrong == 1468


@pytest.mark.parametrize("kind", ["transformer", "hybrid"])
@pytest.mark.parametrize("n", [64, pytest.param(512, marks=pytest.mark.slow)])
def test_long_inputs(kind, n):
    rng = np.random.default_rng(n)
    B = 6
    task = Task("index", n)
    assert (
        errors(MODELS[kind](task), task, rng.integers(0, 2, (B, n)), rng.integers(0, n, (B, 1)))
        == 0
    )
    task = Task("gram", n, 4, 5)
    x = rng.integers(0, 4, (B, n))
    queries = rng.integers(0, 4, (B, 4))
    for i in range(B // 2):
        queries[i] = x[i, n // 2 + i : n // 2 + i + 4]
    assert errors(MODELS[kind](task), task, x, queries) == 0
    task = Task("count", n, 4)
    model = MODELS[kind](task)
    for less in (0, 1):
        asked = np.stack([x[:, 0], (x == x[:, :1]).sum(1) - less], axis=1)
        assert errors(model, task, x, asked) == 0


def test_recall_is_index_in_other_words():
    """Write x as pairs (position, symbol): recall of a position is the symbol there."""
    for n in range(1, 9):
        x = words(2, n)
        stream = np.empty((len(x), 2 * n), np.int64)
        stream[:, 0::2], stream[:, 1::2] = 2 + np.arange(n), x
        contexts, queries = pairs(stream, 2 + np.arange(n)[:, None])
        answers = Hybrid(Task("gram", 2 * n, n + 2, 2))(contexts, queries)
        assert answers.tolist() == x.reshape(-1).tolist()


def test_grams_are_index_in_other_words():
    """Write x as (position's two digits, symbol): the two digits ask for the symbol."""
    for n in range(1, 9):
        x, digits = words(2, n), np.stack([2 + np.arange(n) // 3, 5 + np.arange(n) % 3], axis=1)
        stream = np.empty((len(x), 3 * n), np.int64)
        stream[:, 0::3], stream[:, 1::3], stream[:, 2::3] = digits[:, 0], digits[:, 1], x
        contexts, queries = pairs(stream, digits)
        answers = Hybrid(Task("gram", 3 * n, 8, 3))(contexts, queries)
        assert answers.tolist() == x.reshape(-1).tolist()


def test_counting_is_index_in_other_words():
    """Write symbol a once, and once more where x_a = 1: more than one means x_a = 1."""
    for n in range(1, 9):
        for x in words(2, n):
            stream = np.repeat(np.arange(n), 1 + x)
            task = Task("count", len(stream), max(n, 2))
            asked = np.stack([np.arange(n), np.ones(n, np.int64)], axis=1)
            context = np.tile(stream, (n, 1))
            assert Hybrid(task)(context, asked).tolist() == x.tolist()


def test_states_are_small_and_caches_grow():
    ledgers = {
        n: [
            Hybrid(Task("index", n)).ledger(),
            Hybrid(Task("index", n), places="counter").ledger(),
            Hybrid(Task("gram", n, 4, 5)).ledger(),
            Transformer(Task("gram", n, 4, 5)).ledger(),
        ]
        for n in (64, 128, 256)
    }
    assert [one.recurrent_bits for one in ledgers[64]] == [7 + 14 * 32, 7, 7 + 4 * 3, 0]
    assert [one.recurrent_bits for one in ledgers[256]] == [9 + 18 * 32, 9, 9 + 4 * 3, 0]
    for kind in range(4):
        small_cache, large_cache = (ledgers[n][kind].cache_bits for n in (128, 256))
        assert large_cache > 1.9 * small_cache  # at least linear
    assert len({ledgers[n][2].parameters for n in ledgers}) == 1


def test_register_is_nilpotent_and_the_rest_linear():
    task = Task("gram", 9, 3, 4)
    hybrid = Hybrid(task)
    register = hybrid.A[: 3 * task.code.width, : 3 * task.code.width]
    assert not np.linalg.matrix_power(register, 3).any()
    assert np.linalg.matrix_power(register, 2).any()
    # superposition: the state is a linear map of the inputs
    rng = np.random.default_rng(0)
    x, y = (rng.integers(-3, 4, (1, 6, hybrid.E.shape[0])).astype(np.float32) for _ in range(2))
    assert (hybrid.states(x + 2 * y) == hybrid.states(x) + 2 * hybrid.states(y)).all()


def test_too_few_bits_make_errors():
    task = Task("gram", 60, 2, 2)
    rng = np.random.default_rng(3)
    contexts, queries = rng.integers(0, 2, (40, 60)), rng.integers(0, 2, (40, 1))
    assert errors(Hybrid(task, Arithmetic(6)), task, contexts, queries) == 0
    assert errors(Hybrid(task, Arithmetic(3)), task, contexts, queries) > 0


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("recall", 4), "is not a task"),
        (("index", 0), "at least 1"),
        (("index", 4, 1), "at least 2"),
        (("gram", 4, 2, 1), "at least 2"),
    ],
)
def test_bad_tasks(arguments, text):
    with pytest.raises(UsageError, match=text):
        Task(*arguments)
    with pytest.raises(UsageError, match="choose from rotation, counter"):
        Hybrid(Task("index", 4), places="sinusoid")
