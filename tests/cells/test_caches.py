"""The key-value caches against attention computed anew over the set that each keeps."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from statebound.errors import UsageError
from statebound.models import Vocabulary, _cache, kv_h2o, kv_sinks
from statebound.models._build import build, family
from statebound.models._lanes import LANES, to_lanes, to_rows
from statebound.protocols.problems.index import Index
from statebound.reductions.machine import cut

ROWS, N = 23, 14
K, V = 3, 1
LANGUAGE = Vocabulary(N, 2, True, N, 2)


@pytest.fixture
def generator():
    return np.random.Generator(np.random.PCG64(11))


def maps(generator, heads=1, keys=K):
    """Return maps for all tokens; queries have keys and values of their own."""
    size = LANGUAGE.size
    w = {"v_proj.weight": generator.standard_normal((V, size))}
    if keys:
        w["k_proj.weight"] = generator.standard_normal((keys, size))
        w["q_proj.weight"] = generator.standard_normal((heads * keys, size))
    return w


def make(name, w, settings, dtype="float64"):
    cell, _ = build(family(name), LANGUAGE, weights=w, settings=settings, dtype=dtype)
    return cell


def strings(generator, length=N):
    """Draw (ROWS, length) stream tokens that tell their positions."""
    return np.arange(length) * 2 + generator.integers(0, 2, (ROWS, length))


def answer(w, kept, query, head_bias=None):
    """Return the second logit of one row: attention over kept tokens and the query."""
    every = [*kept, query]
    sign = -1.0
    heads = len(w["q_proj.weight"]) // K if "q_proj.weight" in w else len(w["bias"])
    for r in range(heads):
        score = np.zeros(len(every))
        if "q_proj.weight" in w:
            q = w["q_proj.weight"][r * K : (r + 1) * K, query]
            score = w["k_proj.weight"][:, every].T @ q / np.sqrt(K)
        if "bias" in w:
            score = score + [w["bias"][r, query, len(every) - 1 - j] for j in range(len(every))]
        p = np.exp(score - score.max())
        sign *= -((p / p.sum()) @ w["v_proj.weight"][0, every])
    return sign


def check(cell, w, tokens, kept_of, error):
    """Compare the logits of every query token class with attention over the kept tokens."""
    state = cell.scan(cell.start(1), to_lanes(tokens.astype(np.int32)))
    query = np.arange(ROWS) % N + LANGUAGE.stream_tokens
    last = to_lanes(query[:, None].astype(np.int32))
    logits = to_rows(cell.logits(state, cell.scan(state, last), last), ROWS)
    expected = [answer(w, kept_of(row), q) for row, q in zip(tokens, query, strict=True)]
    assert not logits[:, 0].any()
    np.testing.assert_allclose(logits[:, 1], expected, rtol=0, atol=error)


PRECISIONS = [("float32", 2e-5), ("float64", 1e-12)]


@pytest.mark.parametrize("P", [1, 4, N, N + 3])
@pytest.mark.parametrize("heads", [1, 2])
@pytest.mark.parametrize(("dtype", "error"), PRECISIONS)
def test_fifo_attends_to_the_last_tokens(generator, P, heads, dtype, error):
    w = maps(generator, heads)
    cell = make("kv_fifo", w, {"positions": P}, dtype)
    check(cell, w, strings(generator), lambda row: row[-P:], error)


@pytest.mark.parametrize(("S", "R"), [(1, 1), (2, 3), (4, 4), (N - 3, 3), (N, 2), (4, N + 1)])
@pytest.mark.parametrize("keys", [0, K])
@pytest.mark.parametrize(("dtype", "error"), PRECISIONS)
def test_sinks_attend_to_the_first_and_the_last(generator, S, R, keys, dtype, error):
    """Distances are places inside the cache, counted back from the query."""
    w = maps(generator, 2, keys)
    w["bias"] = generator.standard_normal((2, LANGUAGE.size, S + R + 1))
    cell = make("kv_sinks", w, {"sinks": S}, dtype)
    assert (cell.config.sinks, cell.config.recent) == (S, R)

    def kept(row):
        return [*row[:S], *row[S:][-R:]]

    check(cell, w, strings(generator), kept, error)


class Heavy:
    """H2O of one row by the definition: a list of kept tokens with what each was given."""

    def __init__(self, w, H, R, slots=(), last=()):
        self.w, self.H, self.R = w, H, R
        self.slots, self.last = list(slots), list(last)  # of [key, value, score]

    def read(self, token):
        k, q = self.w["k_proj.weight"][:, token], self.w["q_proj.weight"][:, token]
        new = [k, self.w["v_proj.weight"][:, token], 0.0]
        every = [*self.slots, *self.last, new]
        score = np.array([q @ e[0] for e in every]) / np.sqrt(K)
        p = np.exp(score - score.max())
        for entry, share in zip(every, p / p.sum(), strict=True):
            entry[2] = entry[2] + share
        self.last.append(new)
        if len(self.last) > self.R:
            candidate = self.last.pop(0)
            if len(self.slots) < self.H:
                self.slots.append(candidate)
            elif self.H:
                least = min(range(self.H), key=lambda j: self.slots[j][2])
                if self.slots[least][2] <= candidate[2]:
                    self.slots[least] = candidate

    def state(self):
        """Return values, keys and scores as the cell lays them out when all is written."""
        every = [*self.slots, *self.last]
        keys, values = (np.concatenate([e[i] for e in every]) for i in (0, 1))
        return values, keys, np.array([e[2] for e in every])


def states(cell, parts):
    """Return (values, keys, scores) with heavy entries first, as rows."""
    rows = [to_rows(part, ROWS) for part in parts]
    return [np.concatenate([rows[i], rows[i + 2]], axis=1) for i in (0, 1)] + [rows[4]]


@pytest.mark.parametrize(("H", "R"), [(1, 1), (3, 2), (2, 5)])
@pytest.mark.parametrize(("dtype", "error"), [("float32", 1e-5), ("float64", 1e-12)])
def test_h2o_keeps_what_draws_attention(generator, H, R, dtype, error):
    w = maps(generator)
    cell = make("kv_h2o", w, {"heavy": H, "recent": R}, dtype)
    tokens = strings(generator)
    found = states(cell, cell.scan(cell.start(1), to_lanes(tokens.astype(np.int32))))
    dropped_inside = 0
    for row in range(ROWS):
        heavy = Heavy(w, H, R)
        for token in tokens[row]:
            heavy.read(token)
        for part, expected in zip(found, heavy.state(), strict=True):
            np.testing.assert_allclose(part[row], expected, rtol=error, atol=error)
        slots = [e[1][0] for e in heavy.slots]
        dropped_inside += slots != list(w["v_proj.weight"][0, tokens[row, :H]])
    assert H < 2 or dropped_inside > 3  # the policy did more than fill up


@pytest.mark.parametrize(("H", "R"), [(1, 1), (3, 2), (2, 5)])
@pytest.mark.parametrize(("dtype", "error"), [("float32", 1e-5), ("float64", 1e-12)])
def test_h2o_goes_on_from_a_full_cache(generator, H, R, dtype, error):
    """From a state that is not zero, in one call and token by token; then it answers."""
    w = maps(generator)
    cell = make("kv_h2o", w, {"heavy": H, "recent": R}, dtype)
    begun = H + R
    drawn = [generator.standard_normal((ROWS, f.numbers)) for f in cell.fields]
    drawn[-1] = np.abs(drawn[-1]) * 2
    first = tuple(to_lanes(part.astype(dtype)) for part in drawn)
    tokens = strings(generator)[:, begun:]
    lanes = to_lanes(tokens.astype(np.int32))
    after = cell.scan(first, lanes)
    stepwise = first
    for t in range(tokens.shape[1]):
        stepwise = cell.scan(stepwise, lanes[:, t : t + 1])
    assert all(a.tobytes() == b.tobytes() for a, b in zip(after, stepwise, strict=True))
    query = np.arange(ROWS) % N + LANGUAGE.stream_tokens
    last = to_lanes(query[:, None].astype(np.int32))
    logits = to_rows(cell.logits(after, cell.scan(after, last), last), ROWS)
    values, keys, scores = (
        p.astype(float) for p in states(cell, [to_lanes(d.astype(dtype)) for d in drawn])
    )
    found = states(cell, after)
    for row in range(ROWS):
        every = [
            [keys[row, K * j : K * j + K], values[row, j : j + 1], scores[row, j]]
            for j in range(H + R)
        ]
        heavy = Heavy(w, H, R, every[:H], every[H:])
        for token in tokens[row]:
            heavy.read(token)
        for part, expected in zip(found, heavy.state(), strict=True):
            np.testing.assert_allclose(part[row], expected, rtol=error, atol=error)
        values_now, keys_now, _ = heavy.state()
        k = np.concatenate([keys_now.reshape(-1, K), w["k_proj.weight"][:, [query[row]]].T])
        s = k @ w["q_proj.weight"][:, query[row]] / np.sqrt(K)
        p = np.exp(s - s.max())
        o = p / p.sum() @ [*values_now, w["v_proj.weight"][0, query[row]]]
        np.testing.assert_allclose(logits[row, 1], o, rtol=0, atol=4 * error)


def by_hand(scores, heavy_values, values, place):
    """Read one token that attends to all alike, from hand-made scores; K = 1."""
    H, R = len(heavy_values), len(values)
    size = LANGUAGE.size
    w = {
        "v_proj.weight": np.arange(size, dtype=float)[None] / 100,
        "k_proj.weight": np.arange(size, dtype=float)[None] / 10,
        "q_proj.weight": np.zeros((1, size)),
    }
    cell = make("kv_h2o", w, {"heavy": H, "recent": R})
    values, heavy_values = np.array([values], float), np.array([heavy_values], float)
    parts = [heavy_values, -heavy_values, values, -values, np.array([scores], float)]
    token = LANGUAGE.token(place, 0)
    state = cell.scan(
        tuple(to_lanes(p) for p in parts), to_lanes(np.array([[token]], dtype=np.int32))
    )
    rows = [to_rows(part, 1)[0] for part in state]
    assert rows[2][-1] == token / 100
    assert rows[3][-1] == token / 10
    assert (rows[0] == -rows[1]).all()  # keys stay with their values
    assert (rows[2][:-1] == -rows[3][:-1]).all()
    return rows[0].tolist(), rows[2][:-1].tolist(), rows[4].tolist()


def test_h2o_evicts_inside_and_nothing_else_moves():
    share = 1 / 6  # five entries and the token itself
    heavy, last, scores = by_hand([3, 1, 2, 1.5, 0.1], [10, 11, 12], [20, 21], 9)
    assert heavy == [10, 20, 12]
    assert last == [21]
    np.testing.assert_allclose(scores, [3 + share, 1.5 + share, 2 + share, 0.1 + share, share])


def test_h2o_drops_the_candidate_when_it_has_the_least():
    heavy, last, _ = by_hand([3, 1, 2, 0.5, 9], [10, 11, 12], [20, 21], 9)
    assert heavy == [10, 11, 12]
    assert last == [21]


def test_h2o_breaks_ties_by_the_lowest_slot_and_keeps_the_candidate():
    heavy, _, _ = by_hand([3, 1, 1, 1, 9], [10, 11, 12], [20, 21], 9)
    assert heavy == [10, 20, 12]


def test_h2o_fills_free_slots_first():
    heavy, last, scores = by_hand([3, 0, 0, 0.5, 9], [10, 0, 0], [20, 21], 3)
    assert heavy == [10, 20, 0]
    assert last == [21]
    np.testing.assert_allclose(scores[2], 0)  # not written: draws no attention
    np.testing.assert_allclose(scores[-1], 1 / 4)  # three written entries and itself


def test_h2o_never_evicts_inside_the_recent_window(generator):
    """A token that draws next to nothing stays for R tokens, and leaves then."""
    H, R = 2, 4
    w = maps(generator)
    w["q_proj.weight"] = np.abs(w["q_proj.weight"]) + 1
    w["k_proj.weight"] = np.abs(w["k_proj.weight"])
    ignored = LANGUAGE.token(7, 1)
    w["k_proj.weight"][:, ignored] = -50.0
    cell = make("kv_h2o", w, {"heavy": H, "recent": R})
    tokens = strings(generator)
    tokens[:, 7] = ignored
    state = cell.scan(cell.start(1), to_lanes(tokens[:, :8].astype(np.int32)))
    mark = w["v_proj.weight"][0, ignored]
    for t in range(8, 8 + R):
        recent, heavy = to_rows(state[2], ROWS), to_rows(state[0], ROWS)
        assert (recent[:, R - 1 - (t - 8)] == mark).all()
        assert (heavy != mark).all()
        state = cell.scan(state, to_lanes(tokens[:, t : t + 1].astype(np.int32)))
    assert all((part != mark).all() for part in (state[0], state[2]))


def test_policies_differ():
    """One token that all attend to: only H2O keeps it; only sinks keep the first."""
    length, place = N, 3
    language = Vocabulary(length, 2, True, 0, 2)
    k = np.zeros((2, language.size))
    k[:, language.token(place, 1)] = 5.0
    q = np.ones((2, language.size))
    v = np.arange(language.size)[None] / language.size
    tokens = (np.arange(length) * 2 + (np.arange(length) == place))[None].astype(np.int32)
    kept = {}
    for name, settings, w in [
        ("kv_fifo", {"positions": 4}, {"k_proj.weight": k}),
        ("kv_sinks", {"sinks": 2, "recent": 2}, {"k_proj.weight": k}),
        ("kv_h2o", {"heavy": 2, "recent": 2}, {"k_proj.weight": k, "q_proj.weight": q}),
    ]:
        cell, _ = build(family(name), language, weights={"v_proj.weight": v} | w, settings=settings)
        state = cell.kept(cell.scan(cell.start(1), to_lanes(tokens)))
        kept[name] = np.rint(to_rows(state[0], 1)[0] * language.size / 2 - 0.25).astype(int)
    assert kept["kv_fifo"].tolist() == [10, 11, 12, 13]
    assert kept["kv_sinks"].tolist() == [0, 1, 12, 13]
    assert place in kept["kv_h2o"]
    assert {12, 13} < set(kept["kv_h2o"].tolist())


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("kv_fifo", {"positions": N + 4}),
        ("kv_sinks", {"sinks": 6, "recent": N}),
        ("kv_h2o", {"heavy": 6, "recent": N - 3}),
    ],
)
def test_what_is_not_written_has_no_effect(generator, name, settings):
    """Numbers that public counts mask are overwritten, and the answer does not change."""
    w = maps(generator)
    if name == "kv_sinks":
        positions = settings["sinks"] + settings["recent"]
        w["bias"] = generator.standard_normal((1, LANGUAGE.size, positions + 1))
    cell = make(name, w, settings)
    noisy = tuple(np.full_like(part, 7.0) for part in cell.start(1))
    tokens = to_lanes(strings(generator).astype(np.int32))
    last = to_lanes((np.arange(ROWS) % N + LANGUAGE.stream_tokens)[:, None].astype(np.int32))
    answers = []
    for begun in (cell.start(1), noisy):
        state = cell.scan(begun, tokens)
        answers.append(to_rows(cell.logits(state, cell.scan(state, last), last), ROWS))
    assert answers[0].tobytes() == answers[1].tobytes()
    assert any(f.numbers for f in cell.fields)


@pytest.mark.parametrize("name", ["kv_fifo", "kv_sinks", "kv_h2o"])
@pytest.mark.parametrize("length", [9, 40])
def test_the_number_of_sent_numbers_does_not_grow(name, length):
    machine = cut(Index(length), name, numbers=8, bits=4, init="random")
    assert sum(f.numbers for f in machine.cell.fields) == 8
    assert machine.state_bits == 32
    inputs = np.zeros((3, length), np.uint8)
    assert machine.encode(inputs).shape == (3, 4)


def success(machine, length):
    """Return the share of right answers over all inputs and queries of Index."""
    x = (np.arange(2**length)[:, None] >> np.arange(length) & 1).astype(np.uint8)
    message, answers = machine.encode(x), machine.problem.answers(x)
    found = [machine.answer(message, np.full(len(x), k)) for k in range(length)]
    return Fraction(int((np.stack(found, axis=1) == answers).sum()), answers.size)


@pytest.mark.parametrize("regime", ["handoff", "step"])
@pytest.mark.parametrize(
    ("name", "settings", "bits", "positions"),
    [
        ("kv_fifo", {"positions": 3, "d_key": 2}, 12, 3),
        ("kv_fifo", {"positions": 8, "d_key": 3}, 16, 7),
        ("kv_sinks", {"sinks": 1, "recent": 2}, 1, 3),
        ("kv_sinks", {"sinks": 3, "recent": 3}, 1, 6),
        ("kv_sinks", {"sinks": 5, "recent": 5}, 1, 7),
    ],
)
def test_constructed_caches_answer_what_they_keep(name, settings, bits, positions, regime):
    n = 7
    machine = cut(Index(n), name, settings=settings, bits=bits, init="constructed", regime=regime)
    assert machine.has_bob
    assert success(machine, n) == Fraction(1, 2) + Fraction(positions, 2 * n)


def test_sizes_that_make_no_sense_are_refused():
    for name, settings in [
        ("kv_fifo", {"d_key": 0}),
        ("kv_sinks", {"sinks": 0}),
        ("kv_sinks", {"recent": 0}),
        ("kv_h2o", {"recent": 0}),
        ("kv_h2o", {"d_value": 0}),
    ]:
        with pytest.raises(UsageError):
            build(family(name), LANGUAGE, settings=settings)
    silent = Vocabulary(N, 2, False, N, 2)
    for name in ("kv_sinks", "kv_h2o"):
        with pytest.raises(UsageError, match="how many came before"):
            build(family(name), silent, init="random")
    for name in ("kv_fifo", "kv_sinks", "kv_h2o"):
        w = maps(np.random.Generator(np.random.PCG64(1)))
        with pytest.raises(UsageError, match="weights"):
            build(family(name), LANGUAGE, weights=w)


def test_kernels_equal_their_source_interpreted(generator):
    H, R = 2, 2
    size = 6
    place = np.array([0, 1, 2, 3, 4, 5], np.int32)
    entries = generator.standard_normal((1, H + R, K + V + 1, LANES))
    tokens = generator.integers(0, size, (1, 2, LANES), dtype=np.int32)
    k, q, v = (generator.standard_normal((size, d)) for d in (K, K, V))
    results = [entries.copy(), entries.copy()]
    kv_h2o._scan(results[0], tokens, place, k, q, v, H)
    kv_h2o._scan.py_func(results[1], tokens, place, k, q, v, H)
    np.testing.assert_allclose(results[0], results[1], rtol=0, atol=1e-13)
    p = [np.empty(H + R + 1) for _ in range(2)]
    lane = entries[0, :, :K, 0]
    kv_h2o._attend(lane, k[0], q[0], 1, 1, p[0])
    kv_h2o._attend.py_func(lane, k[0], q[0], 1, 1, p[1])
    np.testing.assert_allclose(p[0], p[1], atol=1e-15)
    for heavy in (1, 2):
        one, two = entries[0, ..., 3].copy(), entries[0, ..., 3].copy()
        kv_h2o._evict(one, H, heavy)
        kv_h2o._evict.py_func(two, H, heavy)
        assert (one == two).all()
    sinks = [np.zeros((1, 2 * K, LANES)) for _ in range(2)]
    kv_sinks._settle(sinks[0], tokens, place, np.ascontiguousarray(k.T))
    kv_sinks._settle.py_func(sinks[1], tokens, place, np.ascontiguousarray(k.T))
    assert (sinks[0] == sinks[1]).all()
    assert _cache.directions(3, 5, generator).shape == (5, 3)
