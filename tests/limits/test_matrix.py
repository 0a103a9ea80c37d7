"""Matrix limits against brute force over all protocols, closed forms and other programs."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from statebound.errors import UsageError
from statebound.protocols.limits import matrix as limits
from statebound.protocols.limits import matrix_bounds as bounds
from statebound.protocols.limits import matrix_fooling as fooling
from statebound.protocols.limits import matrix_measures as measures
from statebound.protocols.limits.rate_distortion import rate_distortion
from statebound.protocols.problems.index import Index
from statebound.protocols.problems.istree import IsTree

SMALL = arrays(
    np.uint8, st.tuples(st.integers(1, 6), st.integers(1, 5)), elements=st.integers(0, 1)
)
MEDIUM = arrays(
    np.uint8, st.tuples(st.integers(1, 12), st.integers(1, 9)), elements=st.integers(0, 1)
)


def cube(n: int) -> np.ndarray:
    return np.array(list(product((0, 1), repeat=n)), np.uint8)


def index(n: int) -> np.ndarray:
    return limits.answer_matrix(Index(n))


def inner_product(n: int) -> np.ndarray:
    return (cube(n).astype(int) @ cube(n).T.astype(int) % 2).astype(np.uint8)


def disjointness(n: int) -> np.ndarray:
    return (cube(n).astype(int) @ cube(n).T.astype(int) == 0).astype(np.uint8)


def equality(n: int) -> np.ndarray:
    return np.eye(2**n, dtype=np.uint8)


def greater_than(n: int) -> np.ndarray:
    return np.tril(np.ones((2**n, 2**n), np.uint8), -1)


def optimum(matrix: np.ndarray, messages: int) -> Fraction:
    """The best success, over every map from inputs to messages."""
    best = 0
    for classes in product(range(messages), repeat=len(matrix)):
        right = 0
        for m in range(messages):
            part = matrix[np.array(classes) == m]
            ones = part.sum(axis=0, dtype=int)
            right += int(np.maximum(ones, len(part) - ones).sum())
        best = max(best, right)
    return Fraction(best, matrix.size)


@settings(deadline=None, max_examples=60)
@given(SMALL, st.integers(1, 3))
def test_no_protocol_passes_a_bound(matrix: np.ndarray, messages: int) -> None:
    rows = bounds.distinct_rows(matrix)
    best = optimum(matrix, messages)
    found = bounds.ball(rows, messages)
    assert found is not None
    assert best <= found <= 1
    assert best <= bounds.fano(rows, messages)
    norm = float(np.linalg.svd(1.0 - 2.0 * matrix, compute_uv=False)[0])
    assert best <= bounds.spectral(rows, messages, norm)
    if messages == 1:
        assert best == bounds.chance(rows)
    if messages >= len(rows.rows):
        assert best == found == bounds.all_correct(rows, messages) == 1


def test_a_bound_for_fewer_messages_is_broken() -> None:
    """The comparison above can fail: three messages pass the ball for two."""
    rows = bounds.distinct_rows(index(3))
    allowed = bounds.ball(rows, 2)
    assert allowed is not None
    assert optimum(index(3), 3) == Fraction(19, 24) > allowed


@settings(deadline=None, max_examples=80)
@given(MEDIUM)
def test_largest_balls(matrix: np.ndarray) -> None:
    rows = bounds.distinct_rows(matrix)
    n = matrix.shape[1]
    apart = (cube(n)[:, None] != matrix[None]).sum(axis=2)
    expected = [int((apart <= t).sum(axis=1).max()) for t in range(n + 1)]
    assert bounds._largest_balls(rows) == expected


@pytest.mark.parametrize("n", [3, 5, 7])
@pytest.mark.parametrize("bits", [0, 1, 2, 3])
def test_the_ball_of_index_is_its_closed_form(n: int, bits: int) -> None:
    rows = bounds.distinct_rows(index(n))
    assert bounds.ball(rows, 2**bits) == bounds.index_ball(n, 2**bits)


@pytest.mark.parity
def test_published_values_of_the_ball() -> None:
    # Hamming [7,4], majority of 3 and 5 bits, Golay [23,12] and its extension
    assert bounds.index_ball(7, 16) == Fraction(7, 8)
    assert bounds.index_ball(3, 2) == Fraction(3, 4)
    assert bounds.index_ball(5, 2) == Fraction(11, 16)
    assert bounds.index_ball(23, 2**12) == Fraction(897, 1024)
    assert bounds.index_ball(24, 2**12) == Fraction(21143, 24576)


@pytest.mark.parity
def test_inner_product_of_four_bits() -> None:
    rows = bounds.distinct_rows(inner_product(4))
    norm = measures.spectral_norm(rows.rows, rows.counts)
    assert norm == pytest.approx(4, abs=1e-6)
    found = [bounds.spectral(rows, 2**m, 4.0) for m in (1, 2, 3)]
    assert found == pytest.approx([0.677, 0.750, 0.854], abs=6e-4)


def test_fano_solves_its_equation() -> None:
    rows = bounds.distinct_rows(index(8))
    s = bounds.fano(rows, 2**4)
    assert 1 + s * math.log2(s) + (1 - s) * math.log2(1 - s) == pytest.approx(0.5, abs=1e-10)
    assert bounds.fano(rows, 2**8) == pytest.approx(1, abs=1e-9)
    assert bounds.row_entropy(rows) == 8


@pytest.mark.parametrize("bits", [1, 3, 6])
def test_fano_is_rate_distortion_where_answers_are_independent(bits: int) -> None:
    rows = bounds.distinct_rows(index(8))
    expected = rate_distortion([Fraction(1, 8)] * 8, 2, bits)
    assert bounds.fano(rows, 2**bits) == pytest.approx(expected, abs=1e-9)


def test_repeated_rows_weigh() -> None:
    matrix = np.array([[0, 0], [0, 0], [0, 0], [1, 1]], np.uint8)
    rows = bounds.distinct_rows(matrix)
    assert rows.counts.tolist() == [3, 1]
    assert bounds.row_entropy(rows) == pytest.approx(2 - 0.75 * math.log2(3))
    assert bounds.all_correct(rows, 1) == Fraction(3, 4) == bounds.chance(rows)


@pytest.mark.parametrize("n", [4, 5, 6])
def test_open_and_cyclic_neighbours(n: int) -> None:
    tree = bounds.distinct_rows(limits.answer_matrix(IsTree(n + 2)))
    assert len(tree.rows) == 2 ** (n - 1)
    assert set(tree.counts.tolist()) == {2}
    for bits in (1, 2):
        assert bounds.ball(tree, 2**bits) == bounds.index_ball(n - 1, 2**bits)
    x = cube(n)
    ring = bounds.distinct_rows(x ^ np.roll(x, -1, axis=1))
    assert bounds.one_way_cost(ring) == n - 1
    assert bounds.row_entropy(ring) == n - 1


def test_one_way_cost_at_every_width() -> None:
    for width in (1, 8, 9, 63, 64, 65, 200):
        matrix = np.zeros((12, width), np.uint8)
        matrix[np.arange(1, 6), np.arange(1, 6) % width] = 1
        matrix[6, -1] = 1
        rows = bounds.distinct_rows(matrix)
        assert len(rows.rows) == len(np.unique(matrix, axis=0))
        assert rows.inputs == 12
        assert bounds.one_way_cost(rows) == math.ceil(math.log2(len(rows.rows)))


@settings(deadline=None, max_examples=80)
@given(MEDIUM)
def test_vc_dimension(matrix: np.ndarray) -> None:
    rows = bounds.distinct_rows(matrix).rows
    found = measures.vc_dimension(rows)
    assert found.exact
    picked = rows[:, list(found.columns)]
    assert len(np.unique(picked, axis=0)) == 2**found.value
    larger = combinations(range(rows.shape[1]), found.value + 1)
    assert all(len({bytes(r) for r in rows[:, list(c)]}) < 2 ** (found.value + 1) for c in larger)


@pytest.mark.parametrize(
    ("matrix", "expected"),
    [
        (index(6), 6),
        (disjointness(4), 4),
        (inner_product(4), 4),
        (equality(4), 1),
        (greater_than(4), 1),
    ],
)
def test_known_vc_dimensions(matrix: np.ndarray, expected: int) -> None:
    found = measures.vc_dimension(bounds.distinct_rows(matrix).rows)
    assert (found.value, found.exact) == (expected, True)


def test_vc_dimension_past_its_cap_is_a_lower_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measures, "_VC_WORK", 4e5)
    rows = np.unique(np.random.default_rng(1).integers(0, 2, (60, 30), dtype=np.uint8), axis=0)
    found = measures.vc_dimension(rows)
    assert not found.exact
    assert len(np.unique(rows[:, list(found.columns)], axis=0)) == 2**found.value


def fraction_rank(matrix: np.ndarray) -> int:
    left = [[Fraction(int(v)) for v in row] for row in matrix]
    rank = 0
    for column in range(matrix.shape[1]):
        pivot = next((r for r in range(rank, len(left)) if left[r][column]), None)
        if pivot is None:
            continue
        left[rank], left[pivot] = left[pivot], left[rank]
        for r in range(rank + 1, len(left)):
            ratio = left[r][column] / left[rank][column]
            left[r] = [a - ratio * b for a, b in zip(left[r], left[rank], strict=True)]
        rank += 1
    return rank


@settings(deadline=None, max_examples=80)
@given(MEDIUM)
def test_ranks(matrix: np.ndarray) -> None:
    found = measures.rank_rationals(matrix)
    assert found.exact
    assert found.value == fraction_rank(matrix)
    span = {bytes(matrix.shape[1])}
    for row in matrix:
        span |= {bytes(a ^ b for a, b in zip(v, bytes(row), strict=True)) for v in span}
    assert measures.rank_gf2(matrix) == math.log2(len(span))


def test_known_ranks() -> None:
    # over GF(2) inner product has the rank of its factors, over the rationals nearly all
    assert measures.rank_rationals(inner_product(5)) == measures.Rank(31, True)
    assert measures.rank_gf2(inner_product(5)) == 5
    assert measures.rank_rationals(disjointness(6)) == measures.Rank(64, True)
    assert measures.rank_gf2(disjointness(6)) == 64
    # the odd cycle: full over the rationals, one less modulo 2
    cycle = np.eye(9, dtype=np.uint8) | np.roll(np.eye(9, dtype=np.uint8), 1, axis=1)
    assert measures.rank_rationals(cycle) == measures.Rank(9, True)
    assert measures.rank_gf2(cycle) == 8


def test_a_deficient_rank_is_proved_by_several_primes() -> None:
    generator = np.random.default_rng(4)
    base = generator.integers(0, 2, (20, 60), dtype=np.uint8)
    # 0/1 rows that are sums of disjointly supported rows add nothing to the rank
    base[:10, :30] = 0
    base[10:, 30:] = 0
    sums = np.array([base[i] + base[10 + j] for i in range(10) for j in range(10)], np.uint8)
    matrix = np.concatenate([base, sums])
    found = measures.rank_rationals(matrix)
    assert found == measures.Rank(int(np.linalg.matrix_rank(matrix.astype(float))), True)


def test_primes() -> None:
    primes = measures._primes()
    first = [next(primes) for _ in range(3)]
    assert first == [2147483647, 2147483629, 2147483587]


@settings(deadline=None, max_examples=60)
@given(
    arrays(np.uint8, st.tuples(st.integers(1, 4), st.integers(1, 4)), elements=st.integers(0, 1))
)
def test_fooling_sets(matrix: np.ndarray) -> None:
    found = fooling.fooling_set(matrix)
    assert found.exact

    def fools(cells: tuple[tuple[int, int], ...]) -> bool:
        z = matrix[cells[0]]
        return all(matrix[c] == z for c in cells) and all(
            matrix[a[0], b[1]] != z or matrix[b[0], a[1]] != z for a, b in combinations(cells, 2)
        )

    assert found.size >= 1
    assert fools(found.cells)
    every = list(product(range(matrix.shape[0]), range(matrix.shape[1])))
    assert not any(fools(cells) for cells in combinations(every, found.size + 1))


def test_known_fooling_sets() -> None:
    found = fooling.fooling_set(equality(4))
    assert (found.size, found.answer) == (16, 1)
    # the pairs (S, complement of S) fool disjointness
    assert fooling.fooling_set(disjointness(6)).size == 64
    assert not fooling.fooling_set(disjointness(6)).exact
    assert fooling.fooling_set(greater_than(3)).size == 8


@pytest.mark.parity
def test_fooling_sets_are_cliques_of_another_program() -> None:
    import networkx as nx

    generator = np.random.default_rng(6)
    for _ in range(6):
        matrix = generator.integers(0, 2, (9, 9), dtype=np.uint8)
        best = 0
        for z in (0, 1):
            graph = nx.Graph()
            cells = [tuple(c) for c in np.argwhere(matrix == z).tolist()]
            graph.add_nodes_from(cells)
            graph.add_edges_from(
                (a, b)
                for a, b in combinations(cells, 2)
                if matrix[a[0], b[1]] != z or matrix[b[0], a[1]] != z
            )
            best = max(best, *(len(c) for c in nx.find_cliques(graph)))
        found = fooling.fooling_set(matrix)
        assert (found.size, found.exact) == (best, True)


@settings(deadline=None, max_examples=60)
@given(MEDIUM)
def test_the_norm_is_an_upper_bound_and_close(matrix: np.ndarray) -> None:
    rows = bounds.distinct_rows(matrix)
    found = measures.spectral_norm(rows.rows, rows.counts)
    exact = float(np.linalg.svd(1.0 - 2.0 * matrix, compute_uv=False)[0])
    assert found is not None
    assert exact - 1e-13 <= found <= exact * (1 + 1e-6)


def test_a_large_norm_is_still_an_upper_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = np.random.default_rng(2).integers(0, 2, (40, 50), dtype=np.uint8)
    ones = np.ones(40, np.int64)
    exact = measures.spectral_norm(matrix, ones)
    monkeypatch.setattr(measures, "_EIGEN_SIDE", 10)
    loose = measures.spectral_norm(matrix, ones)
    assert exact is not None
    assert loose is not None
    assert exact <= loose < math.sqrt(matrix.size)
    monkeypatch.setattr(measures, "_GRAM_SIDE", 10)
    assert measures.spectral_norm(matrix, ones) is None


@settings(deadline=None, max_examples=40)
@given(SMALL)
def test_discrepancy_bounds_every_rectangle(matrix: np.ndarray) -> None:
    signs = 1 - 2 * matrix.astype(int)
    worst = max(
        abs(np.array(u) @ signs @ np.array(v))
        for u in product((0, 1), repeat=matrix.shape[0])
        for v in product((0, 1), repeat=matrix.shape[1])
    )
    report = limits.matrix_limits(matrix, 1)
    assert worst / matrix.size <= report["discrepancy"] + 1e-12


def test_the_report() -> None:
    report = limits.matrix_limits(index(7), 4)
    assert report["ball_fraction"] == "7/8"
    assert report["wall"] == report["ball"] == 0.875
    assert report["worst_case_success"] == 0.875
    assert report["one_way_deterministic"] == report["vc_dimension"] == 7
    assert report["vc_queries"] == [1, 2, 3, 4, 5, 6, 7]
    assert report["all_correct"] == 1 / 8
    assert report["chance"] == 0.5
    # Bob can send his query: 3 bits, and the answer comes back
    assert report["two_way_deterministic_low"] <= 4
    wide = limits.matrix_limits(inner_product(5), 1)
    assert wide["ball"] is None
    assert wide["ball_fraction"] is None
    assert wide["wall"] == min(wide["fano"], wide["spectral"])
    assert wide["two_way_deterministic_low"] == 6
    assert wide["two_way_third_error_low"] == pytest.approx(math.log2(2**2.5 / 3))
    constant = limits.matrix_limits(np.ones((4, 3), np.uint8), 0)
    assert constant["wall"] == constant["chance"] == 1
    assert constant["two_way_deterministic_low"] == 0
    assert constant["vc_dimension"] == 0


@pytest.mark.parametrize(("n", "two_way"), [(3, 3 + 1), (4, 4 + 1)])
def test_two_way_bounds_stay_below_known_protocols(n: int, two_way: int) -> None:
    for matrix in (equality(n), greater_than(n), disjointness(n), inner_product(n)):
        report = limits.matrix_limits(matrix, 1)
        assert report["two_way_deterministic_low"] <= two_way
        assert report["two_way_third_error_low"] <= two_way
    assert limits.matrix_limits(equality(n), 1)["two_way_deterministic_low"] == two_way


@pytest.mark.parametrize(
    "matrix", [np.zeros((0, 3)), np.zeros(3), np.array([[0, 2]]), np.array([[0.5, 1.0]])]
)
def test_a_matrix_that_is_none(matrix: np.ndarray) -> None:
    with pytest.raises(UsageError, match="matrix"):
        bounds.distinct_rows(matrix)


def test_requests_beyond_the_caps() -> None:
    with pytest.raises(UsageError, match="inputs"):
        limits.answer_matrix(Index(21))
    with pytest.raises(UsageError, match="alphabet"):
        limits.answer_matrix(Index(3, alphabet=3))
    with pytest.raises(UsageError, match="state_bits"):
        limits.matrix_limits(index(3), -1)


@pytest.mark.slow
def test_many_inputs() -> None:
    report = limits.matrix_limits(index(17), 10)
    assert report["ball"] == float(bounds.index_ball(17, 2**10))
    assert report["vc_dimension"] == report["rank_rationals"] == report["rank_gf2"] == 17
