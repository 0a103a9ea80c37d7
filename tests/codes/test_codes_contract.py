"""What every code owes: exact bits, a Bob that sees only bytes, no better than the wall."""

from fractions import Fraction
from importlib import import_module
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statebound.errors import UsageError
from statebound.protocols.codes._word import check_workspace
from statebound.protocols.message import MessageError, bit_matrix
from statebound.protocols.problems.index import Index
from statebound.protocols.problems.istree import IsTree

CASES = [
    ("truncation", 10, 3, {}),
    ("truncation", 9, 0, {}),
    ("truncation", 9, 9, {}),
    ("majority", 10, 3, {}),
    ("majority", 8, 8, {}),
    ("majority", 7, 1, {}),
    ("hamming", 7, 4, {}),
    ("hamming", 15, 11, {}),
    ("hamming", 13, 6, {}),
    ("hamming", 12, 6, {"checks": 3}),
    ("golay", 23, 12, {}),
    ("golay", 28, 14, {}),
    ("linear", 10, 4, {}),
    ("linear", 9, 9, {}),
    ("linear", 6, 0, {}),
    ("linear", 9, 8, {}),
    ("trellis", 16, 8, {"memory": 3}),
    ("trellis", 16, 4, {"memory": 2}),
    ("trellis", 16, 2, {"memory": 4}),
    ("syndrome_trellis", 16, 12, {"height": 4}),
    ("syndrome_trellis", 15, 10, {"height": 7}),
    ("polar", 16, 5, {}),
    ("polar", 8, 0, {}),
    ("polar", 8, 8, {}),
    ("polar", 16, 11, {}),
    ("polar", 1, 1, {}),
    ("polar", 2, 1, {"list_size": 3}),
]
IDS = [f"{name}-{n}-{m}" for name, n, m, _ in CASES]


def make(name, problem, state_bits, **options):
    module = import_module(f"statebound.protocols.codes.{name}")
    return module.PROTOCOL(problem, state_bits, **options)


def ball(n, state_bits):
    """Fill 2^n inputs, cheapest error patterns first, 2^M inputs a pattern."""
    left, total = 2**n, 0
    for j in range(n + 1):
        here = min(left, 2**state_bits * comb(n, j))
        total += here * j
        left -= here
    return 1 - Fraction(total, n * 2**n)


def sample(problem, count, seed=0):
    return problem.sample(np.random.default_rng(seed), count)


@pytest.mark.parametrize(("name", "n", "m", "options"), CASES, ids=IDS)
def test_message_has_exactly_m_bits_and_zero_padding(name, n, m, options):
    code = make(name, Index(n), m, **options)
    message = code.encode(sample(code.problem, 50))
    assert message.dtype == np.uint8
    assert message.shape == (50, -(-m // 8))
    assert code.message_bytes == message.shape[1]
    if m % 8:
        assert not (message[:, -1] >> (m % 8)).any()
        forged = message.copy()
        forged[3, -1] |= np.uint8(1 << (m % 8))
        with pytest.raises(MessageError):
            code.decode(forged)


@pytest.mark.parametrize(("name", "n", "m", "options"), CASES, ids=IDS)
def test_bob_in_another_instance_answers_from_bytes_alone(name, n, m, options):
    code = make(name, Index(n), m, **options)
    x = sample(code.problem, 40)
    message = code.encode(x).tobytes()
    bob = make(name, Index(n), m, **options)
    received = np.frombuffer(message, np.uint8).reshape(40, bob.message_bytes)
    word = bob.decode(received)
    assert word.shape == (40, n)
    assert word.dtype == np.uint8
    assert (word < 2).all()
    for k in range(n):
        answer = bob.answer(received, np.full(40, k))
        assert (answer == word[:, k]).all()


@pytest.mark.parametrize(("name", "n", "m", "options"), CASES, ids=IDS)
def test_alice_is_deterministic_and_sees_each_input_alone(name, n, m, options):
    code = make(name, Index(n), m, **options)
    x = sample(code.problem, 70)
    kept = x.copy()
    whole = code.encode(x)
    assert (x == kept).all()
    assert (whole == code.encode(x)).all()
    one = np.concatenate([code.encode(x[i : i + 1]) for i in range(70)])
    assert (whole == one).all()
    back = code.encode(x[::-1].copy())[::-1]
    assert (whole == back).all()
    strided = np.repeat(x, 2, axis=1)[:, ::2]
    assert (whole == code.encode(strided)).all()


@pytest.mark.parametrize(("name", "n", "m", "options"), CASES, ids=IDS)
def test_an_empty_batch_is_fine(name, n, m, options):
    code = make(name, Index(n), m, **options)
    message = code.encode(np.empty((0, n), np.uint8))
    assert message.shape == (0, code.message_bytes)
    assert code.decode(message).shape == (0, n)
    assert code.answer(message, np.empty(0, np.int64)).shape == (0,)


def test_searches_too_large_for_memory_are_refused():
    with pytest.raises(UsageError, match="height = 12: the search would hold 2048 MiB"):
        make("syndrome_trellis", Index(1 << 15), 1 << 14, height=12)
    check_workspace("memory", 14, 1 << 29)
    with pytest.raises(UsageError, match="smaller memory"):
        check_workspace("memory", 14, (1 << 29) + 1)


@pytest.mark.parametrize(("name", "n", "m", "options"), CASES, ids=IDS)
def test_every_message_is_used_and_its_word_is_sent_by_it(name, n, m, options):
    # Encoding a word that Bob can say must lose nothing; all 2^M words differ.
    code = make(name, Index(n), m, **options)
    number = np.arange(min(2**m, 2048))
    bits = ((number[:, None] >> np.arange(m)) & 1).astype(np.uint8)
    message = np.packbits(bits, axis=1, bitorder="little").reshape(len(bits), code.message_bytes)
    word = code.decode(message)
    assert len(np.unique(word, axis=0)) == len(word)
    if code.decode(code.encode(word)).tolist() != word.tolist():
        pytest.fail("a codeword is not its own nearest codeword")


@pytest.mark.parametrize(("name", "n", "m", "options"), [c for c in CASES if c[1] <= 16])
def test_never_above_the_ball_by_full_enumeration(name, n, m, options):
    code = make(name, Index(n), m, **options)
    x = code.problem.enumerate(0, 2**n)
    wrong = int((code.decode(code.encode(x)) != x).sum())
    success = 1 - Fraction(wrong, n * 2**n)
    assert success <= ball(n, m)
    assert success >= Fraction(1, 2) + Fraction(m, 2 * n) or name in {"polar", "majority"}
    if code.success() is not None:
        assert code.success() == success


@pytest.mark.parametrize(
    ("name", "n", "m", "options", "argument", "remedy"),
    [
        ("truncation", 8, 9, {}, "state_bits", "8"),
        ("truncation", 8, -1, {}, "state_bits", "0"),
        ("majority", 8, 0, {}, "state_bits", "1"),
        ("majority", 8, 9, {}, "state_bits", "8"),
        ("hamming", 7, 6, {}, "state_bits", "5"),
        ("hamming", 2, 1, {}, "state_bits", "another"),
        ("hamming", 7, 4, {"checks": 13}, "checks", "12"),
        ("hamming", 8, 3, {"checks": 3}, "state_bits", "4"),
        ("golay", 23, 13, {}, "state_bits", "12"),
        ("golay", 22, 12, {}, "state_bits", "another"),
        ("linear", 30, 9, {}, "state_bits", "10"),
        ("linear", 30, 31, {}, "state_bits", "30"),
        ("linear", 30, 15, {"tries": 0}, "tries", "1"),
        ("trellis", 16, 7, {}, "state_bits", "8"),
        ("trellis", 15, 7, {}, "state_bits", "another"),
        ("trellis", 16, 4, {"memory": 3}, "memory", "2"),
        ("syndrome_trellis", 16, 13, {}, "state_bits", "12 or 14"),
        ("syndrome_trellis", 16, 16, {}, "state_bits", "14"),
        ("syndrome_trellis", 16, 12, {"height": 9}, "height", "10"),
        ("polar", 12, 6, {}, "n", "8 or 16"),
        ("polar", 16, 17, {}, "state_bits", "16"),
        ("polar", 16, 8, {"list_size": 0}, "list_size", "1"),
    ],
)
def test_impossible_sizes_name_the_nearest(name, n, m, options, argument, remedy):
    with pytest.raises(UsageError) as caught:
        make(name, Index(n), m, **options)
    assert caught.value.argument == argument
    assert remedy in caught.value.remedy


def test_the_named_nearest_size_works():
    for name, n, m in [
        ("golay", 40, 3),
        ("hamming", 40, 39),
        ("syndrome_trellis", 24, 5),
        ("trellis", 24, 5),
        ("linear", 40, 3),
    ]:
        with pytest.raises(UsageError) as caught:
            make(name, Index(n), m)
        for word in caught.value.remedy.split():
            if word.isdigit():
                make(name, Index(n), int(word))


@pytest.mark.parametrize("name", ["majority", "hamming", "polar", "trellis"])
def test_bit_codes_refuse_other_alphabets(name):
    with pytest.raises(UsageError, match="alphabet"):
        make(name, Index(8, alphabet=3), 4)


def test_codes_serve_any_problem_of_bits():
    # IsTree on 18 vertices has 15 answers, so the [15, 11] code applies to them as they are.
    problem = IsTree(18)
    code = make("hamming", problem, 11)
    x = problem.enumerate(0, 2**16)
    wrong = code.decode(code.encode(x)) != problem.answers(x)
    assert 1 - Fraction(int(wrong.sum()), wrong.size) == Fraction(15, 16)


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 9), st.integers(2, 9), st.data())
def test_truncation_keeps_the_last_symbols(n, q, data):
    width = (q - 1).bit_length()
    kept = data.draw(st.integers(0, n))
    code = make("truncation", Index(n, alphabet=q), kept * width)
    x = code.problem.sample(np.random.default_rng(n * q), 20)
    word = code.decode(code.encode(x))
    assert (word[:, n - kept :] == x[:, n - kept :]).all()
    assert not word[:, : n - kept].any()
    assert code.success() == Fraction(kept, n) + Fraction(n - kept, n * q)
    if width > 1:
        with pytest.raises(UsageError):
            make("truncation", Index(n, alphabet=q), kept * width + 1)


@pytest.mark.parametrize("law", ["recency:0.5", "zipf"])
@pytest.mark.parametrize(("name", "m"), [("truncation", 4), ("hamming", 6), ("majority", 3)])
def test_weighted_success_is_exact(name, m, law):
    problem = Index(10, query_law=law)
    code = make(name, problem, m)
    x = problem.enumerate(0, 2**10)
    right = (code.decode(code.encode(x)) == x).mean(0)
    expected = sum(w * Fraction(r) for w, r in zip(problem.weights, right.tolist(), strict=True))
    assert code.success() == expected
    if name == "truncation":
        best = sum(sorted(problem.weights)[-m:])
        assert expected == best + (1 - best) / 2


def test_describe_is_plain_and_tells_options_apart():
    import json

    seen = set()
    for name, n, m, options in CASES:
        seen.add(json.dumps(make(name, Index(n), m, **options).describe(), sort_keys=True))
    assert len(seen) == len(CASES)
    a = make("polar", Index(64), 20, seed=0).describe()
    b = make("polar", Index(64), 20, seed=1).describe()
    assert a != b


def test_message_bits_are_the_features():
    code = make("golay", Index(23), 12)
    message = code.encode(sample(code.problem, 5))
    assert (code.features(message) == 2.0 * bit_matrix(message, 12) - 1).all()
