"""The searches of the trellis, syndrome-trellis and polar codes against exhaustion."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statebound.protocols.codes._polar_list import nearest
from statebound.protocols.codes._syndrome_search import fill_checks, nearest_checked
from statebound.protocols.codes._viterbi import nearest_inputs
from statebound.protocols.codes.polar import (
    Polar,
    crossover,
    frozen_groups,
    information_places,
    transform,
)
from statebound.protocols.codes.syndrome_trellis import (
    COLUMNS,
    SyndromeTrellis,
    blocks_to_reach,
)
from statebound.protocols.codes.trellis import GENERATORS, Trellis, register_outputs
from statebound.protocols.problems.index import Index


def all_words(code):
    m = code.state_bits
    bits = ((np.arange(2**m)[:, None] >> np.arange(m)) & 1).astype(np.uint8)
    return code.expand(bits)


def assert_nearest(code, count, seed):
    x = np.random.default_rng(seed).integers(0, 2, (count, code.length), dtype=np.uint8)
    found = (code.decode(code.encode(x)) != x).sum(1)
    best = (x[:, None] != all_words(code)[None]).sum(2).min(1)
    assert (found == best).all()


@pytest.mark.parametrize(
    ("w", "memory"), [(2, 2), (2, 3), (2, 5), (2, 6), (2, 14), (4, 2), (4, 4), (8, 2), (8, 14)]
)
def test_viterbi_finds_the_nearest_path(w, memory):
    assert_nearest(Trellis(Index(9 * w), 9, memory=memory), 100, w + memory)


def test_viterbi_on_words_longer_than_its_memory_and_renewals():
    assert_nearest(Trellis(Index(24), 12, memory=2), 150, 0)
    assert_nearest(Trellis(Index(48), 12, memory=2), 150, 0)


def least_cost_of_register(x, outputs, w, memory):
    """Dynamic programming on plain integers: the distance of each word to the code."""
    states = 1 << memory
    cost = np.full((len(x), states), 10**6)
    cost[:, 0] = 0
    symbols = (outputs[:, None] >> np.arange(w)) & 1
    register = np.arange(2 * states)
    for t in range(x.shape[1] // w):
        branch = (x[:, None, t * w : (t + 1) * w] != symbols[None]).sum(2)
        after = cost[:, register >> 1] + branch
        cost = np.minimum(after[:, :states], after[:, states:])
    return cost.min(1)


@pytest.mark.parametrize(("w", "memory", "steps"), [(8, 2, 300), (2, 4, 1500), (4, 6, 300)])
def test_viterbi_on_words_that_cost_more_than_a_byte_holds(w, memory, steps):
    code = Trellis(Index(w * steps), steps, memory=memory)
    x = np.random.default_rng(5).integers(0, 2, (4, w * steps), dtype=np.uint8)
    found = (code.decode(code.encode(x)) != x).sum(1)
    outputs = register_outputs(GENERATORS[w][memory], memory)
    assert (found > 256).all()
    assert (found == least_cost_of_register(x, outputs, w, memory)).all()


@settings(deadline=None, max_examples=25)
@given(st.integers(1, 4), st.integers(2, 5), st.integers(0, 10**6))
def test_viterbi_with_any_labels(memory, w, seed):
    # Arbitrary output labels: the search must not lean on linearity.
    source = np.random.default_rng(seed)
    outputs = source.integers(0, 2**w, 2 << memory).astype(np.uint8)
    steps = 10
    x = source.integers(0, 2, (8, w * steps), dtype=np.uint8)
    inputs = np.empty((8, steps), np.uint8)
    nearest_inputs(x, outputs, w, memory, inputs)

    def output(bits):
        register, word = 0, []
        for u in bits:
            register = (2 * register + int(u)) % (2 << memory)
            word += [(int(outputs[register]) >> i) & 1 for i in range(w)]
        return word

    every = ((np.arange(2**steps)[:, None] >> np.arange(steps)) & 1).astype(np.uint8)
    words = np.array([output(row) for row in every], np.uint8)
    found = np.array([output(row) for row in inputs], np.uint8)
    best = (x[:, None] != words[None]).sum(2).min(1)
    assert ((found != x).sum(1) == best).all()


def test_generators_begin_and_end_with_one():
    for by_memory in GENERATORS.values():
        for memory, generators in by_memory.items():
            for g in generators:
                assert g >> memory == 1, oct(g)
                assert g & 1 == 1, oct(g)


def test_register_convention():
    # (1 + D^2, 1 + D + D^2): an impulse comes out as 11 01 11.
    code = Trellis(Index(8), 4, memory=2)
    bits = np.array([[1, 0, 0, 0]], np.uint8)
    assert code.expand(bits).tolist() == [[1, 1, 0, 1, 1, 1, 0, 0]]
    assert register_outputs((0o6,), 2).tolist() == [0, 1, 1, 0, 0, 1, 1, 0]


@pytest.mark.parametrize(
    ("w", "height", "blocks"),
    [(2, 4, 8), (3, 4, 5), (4, 4, 3), (8, 4, 1), (2, 7, 10), (3, 7, 6), (2, 10, 8), (4, 12, 3)],
)
def test_syndrome_search_finds_the_nearest_checked_word(w, height, blocks):
    code = SyndromeTrellis(Index(w * blocks), (w - 1) * blocks, height=height)
    assert_nearest(code, 70, w)


@settings(deadline=None, max_examples=25)
@given(st.integers(2, 4), st.integers(3, 5), st.integers(0, 10**6))
def test_syndrome_search_with_any_columns(w, height, seed):
    source = np.random.default_rng(seed)
    columns = source.integers(0, 2**height, w) | 1 | (1 << (height - 1))
    try:
        top = w * blocks_to_reach(columns, height) + 1
    except ArithmeticError:
        return
    blocks = 12 // w
    info = (np.arange(2 ** (blocks * (w - 1)))[:, None] >> np.arange(blocks * (w - 1))) & 1
    words = np.empty((len(info), w * blocks), np.uint8)
    fill_checks(info.astype(np.uint8), columns, words)
    x = source.integers(0, 2, (33, w * blocks), dtype=np.uint8)
    near = np.empty_like(x)
    nearest_checked(x, columns, height, top, near)
    best = (x[:, None] != words[None]).sum(2).min(1)
    assert ((near != x).sum(1) == best).all()


def least_cost_of_checks(x, columns, height):
    """Dynamic programming on plain integers: the distance to the nearest checked word."""
    w, states = len(columns), np.arange(1 << height)
    cost = np.full((len(x), len(states)), 10**6)
    cost[:, 0] = 0
    for t in range(x.shape[1] // w):
        for i, column in enumerate(columns):
            bit = x[:, t * w + i, None].astype(int)
            cost = np.minimum(cost + bit, cost[:, states ^ column] + 1 - bit)
        passed = cost[:, ::2]
        cost = np.concatenate([passed, np.full_like(passed, 10**6)], axis=1)
    return cost.min(1)


@pytest.mark.parametrize(("w", "height", "blocks"), [(2, 4, 1400), (8, 4, 1600), (3, 7, 1500)])
def test_syndrome_search_on_words_that_cost_more_than_a_byte_holds(w, height, blocks):
    code = SyndromeTrellis(Index(w * blocks), (w - 1) * blocks, height=height)
    x = np.random.default_rng(6).integers(0, 2, (3, w * blocks), dtype=np.uint8)
    found = (code.decode(code.encode(x)) != x).sum(1)
    assert (found > 256).all()
    assert (found == least_cost_of_checks(x, COLUMNS[height][w], height)).all()


def check_matrix(columns, height, blocks):
    w = len(columns)
    h = np.zeros((blocks, w * blocks), np.int64)
    for t in range(blocks):
        for i, column in enumerate(columns):
            for d in range(height):
                if column >> d & 1 and t + d < blocks:
                    h[t + d, t * w + i] = 1
    return h


@pytest.mark.parametrize(("w", "height"), [(2, 4), (3, 10), (5, 7), (8, 12)])
def test_checked_words_are_orthogonal_to_the_check_matrix(w, height):
    blocks = 20
    code = SyndromeTrellis(Index(w * blocks), (w - 1) * blocks, height=height)
    h = check_matrix(COLUMNS[height][w], height, blocks)
    words = code.expand(np.eye(code.state_bits, dtype=np.uint8)).astype(np.int64)
    assert not ((words @ h.T) & 1).any()
    x = np.random.default_rng(0).integers(0, 2, (10, code.length), dtype=np.uint8)
    assert not ((code.decode(code.encode(x)).astype(np.int64) @ h.T) & 1).any()


def test_all_column_tables_fit_the_byte_arithmetic():
    for height, by_w in COLUMNS.items():
        for w, columns in by_w.items():
            assert len(columns) == w
            assert all(c & 1 and c >> (height - 1) == 1 for c in columns)
            d = blocks_to_reach(np.array(columns), height)
            assert w * d + 1 + w < 256


@pytest.mark.parametrize(("n", "m"), [(2, 1), (4, 2), (8, 3), (8, 5), (16, 4), (16, 8), (32, 6)])
def test_polar_with_a_list_of_all_is_exhaustive(n, m):
    assert_nearest(Polar(Index(n), m, list_size=2**m), 200, n + m)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 5), st.integers(1, 9), st.integers(0, 10**6))
def test_polar_search_reports_a_codeword_and_its_distance(levels, size, seed):
    source = np.random.default_rng(seed)
    n = 2**levels
    free = tuple(np.flatnonzero(source.integers(0, 2, n)).tolist())
    x = source.integers(0, 2, (5, n), dtype=np.uint8)
    out = np.empty_like(x)
    distance = nearest(x, frozen_groups(n, free), size, out)
    assert (distance == (out != x).sum(1)).all()
    u = transform(out)
    u[:, list(free)] = 0
    assert not u.any()


def plain_list_search(word, free, size):
    """Successive cancellation by recursion on whole prefixes, with no shared state."""
    n = len(word)

    def values(channel, prefix):
        # The min-sum value of u_i given the earlier places.
        if len(channel) == 1:
            return channel[0]
        half = len(channel) // 2
        a, b = channel[:half], channel[half:]
        if len(prefix) < half:
            sign = np.where((a < 0) != (b < 0), -1, 1)
            return values(sign * np.minimum(abs(a), abs(b)), prefix)
        left = transform(np.array([prefix[:half]], np.uint8))[0].astype(int)
        return values(b + (1 - 2 * left) * a, prefix[half:])

    channel = 1 - 2 * word.astype(int)
    paths = [(0, [])]
    for i in range(n):
        grown = []
        for cost, prefix in paths:
            v = values(channel, prefix)
            grown += [
                (cost + (abs(v) if (v < 0) != (u == 1) else 0), [*prefix, u])
                for u in ((0, 1) if i in free else (0,))
            ]
        grown.sort(key=lambda path: path[0])
        paths = grown[:size]
        # Ties at the edge make the kept set a matter of choice: say so.
        if len(grown) > size and grown[size - 1][0] == grown[size][0]:
            return None
    return paths[0][0]


def test_polar_list_against_a_plain_recursion():
    compared = 0
    for seed in range(400):
        source = np.random.default_rng(seed)
        n = int(2 ** source.integers(2, 5))
        free = set(np.flatnonzero(source.random(n) < 0.4).tolist())
        size = int(source.integers(2, 6))
        word = source.integers(0, 2, n).astype(np.uint8)
        plain = plain_list_search(word, free, size)
        if plain is None:
            continue
        compared += 1
        out = np.empty((1, n), np.uint8)
        found = nearest(word[None], frozen_groups(n, tuple(sorted(free))), size, out)
        assert found[0] == plain
    assert compared > 50


def test_transform_is_the_kronecker_power_and_its_own_inverse():
    f = np.array([[1, 0], [1, 1]])
    g = np.kron(np.kron(f, f), f)
    u = Index(8).enumerate(0, 256)
    assert (transform(u) == (u.astype(int) @ g) % 2).all()
    assert (transform(transform(u)) == u).all()


def test_crossover_inverts_entropy():
    from math import log2

    for rate in (0.001, 0.125, 0.5, 0.75, 0.999):
        d = crossover(rate)
        assert 0 < d < 0.5
        assert abs(1 + d * log2(d) + (1 - d) * log2(1 - d) - rate) < 1e-12


def test_information_places_are_public_and_sensible():
    places = information_places(64, 32, 0)
    assert places == information_places.__wrapped__(64, 32, 0)
    assert len(set(places)) == 32
    assert list(places) == sorted(places)
    # The worst synthetic channel is place 0, the best is the last one.
    assert 0 not in places
    assert 63 in places
    # Partial order: raising one binary digit of an index never makes it worse.
    chosen = set(information_places(16, 8, 0))
    for i in chosen:
        assert all(i | 1 << b in chosen for b in range(4))


@pytest.mark.parity
def test_information_places_are_the_same_on_every_machine():
    assert information_places(16, 5, 0) == (7, 11, 13, 14, 15)
    assert information_places(16, 8, 3) == (6, 7, 10, 11, 12, 13, 14, 15)
    assert Polar(Index(256), 128).describe()["free_places"] == "d26b33f42554088c"


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 6), st.data())
def test_frozen_groups_cover_exactly_the_frozen_places(levels, data):
    n = 2**levels
    free = data.draw(st.sets(st.integers(0, n - 1)))
    skip = frozen_groups(n, tuple(sorted(free)))
    covered = set()
    for at, t in enumerate(skip.tolist()):
        if t >= 0:
            assert at % 2**t == 0
            group = set(range(at, at + 2**t))
            assert not group & covered
            covered |= group
        if t == -1:
            assert at in free
    assert covered == set(range(n)) - free


def test_longer_lists_are_better():
    problem = Index(128)
    x = problem.sample(np.random.default_rng(0), 200)
    wrong = []
    for size in (1, 4, 32):
        code = Polar(problem, 64, list_size=size)
        wrong.append((code.decode(code.encode(x)) != x).mean())
    assert wrong[0] > wrong[1] > wrong[2]
