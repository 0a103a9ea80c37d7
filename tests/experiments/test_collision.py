"""Collisions: every certificate holds, none is missed where all can be tried."""

from __future__ import annotations

import copy
import json
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statebound.errors import UsageError
from statebound.experiments import collision, collision_trails
from statebound.experiments.collision import find_collision, verify
from statebound.experiments.tally import message_keys
from statebound.protocols.message import Bytes, byte_length, from_bits
from statebound.protocols.problem import Problem, Symbols
from statebound.protocols.problems.index import Index
from statebound.protocols.problems.istree import IsTree
from statebound.protocols.protocol import Protocol, Queries


class Truncate(Protocol):
    """Send the first M symbols as bits; Bob guesses 0 for the rest."""

    def __init__(self, problem: Problem, bits: int) -> None:
        self.problem, self.state_bits = problem, bits

    def encode(self, x: Symbols) -> Bytes:
        return from_bits((x[:, : self.state_bits] % 2).astype(np.uint8))

    def answer(self, message: Bytes, query: Queries) -> Symbols:
        kept = np.zeros((len(message), self.problem.length), np.uint8)
        kept[:, : self.state_bits] = np.unpackbits(
            message, axis=1, count=self.state_bits, bitorder="little"
        )
        return kept[np.arange(len(message)), query]

    def describe(self) -> dict[str, Any]:
        return {"name": "truncate", "bits": self.state_bits}


class Linear(Protocol):
    """Send M random parities."""

    def __init__(self, problem: Problem, bits: int, seed: int = 0) -> None:
        self.problem, self.state_bits, self.seed = problem, bits, seed
        self.map = np.random.default_rng(seed).integers(0, 2, (problem.length, bits)).astype("f4")

    def encode(self, x: Symbols) -> Bytes:
        return from_bits(((x.astype("f4") @ self.map) % 2).astype(np.uint8))

    def describe(self) -> dict[str, Any]:
        return {"name": "linear", "bits": self.state_bits, "seed": self.seed}


class Differences(Truncate):
    """For IsTree: send which neighbours differ, all that Bob needs; x and its complement meet."""

    def __init__(self, problem: Problem, missing: int = 0) -> None:
        super().__init__(problem, problem.queries - missing)

    def encode(self, x: Symbols) -> Bytes:
        return from_bits((x[:, 1:] ^ x[:, :-1])[:, : self.state_bits])

    def describe(self) -> dict[str, Any]:
        return {"name": "differences", "bits": self.state_bits}


def checked(protocol: Protocol, **options: Any) -> collision.Search:
    found = find_collision(protocol, **options)
    assert found.certificate is not None
    assert json.loads(json.dumps(found.certificate)) == found.certificate
    assert verify(found.certificate, protocol) == []
    return found


@pytest.mark.parametrize("method", ["exhaustive", "birthday", "trails"])
@pytest.mark.parametrize("make", [Truncate, Linear])
def test_every_search_finds_one(method: str, make: type[Truncate]) -> None:
    found = checked(make(Index(14), 9), method=method)
    assert found.method == method
    assert found.exhausted == (method == "exhaustive")


@settings(deadline=None, max_examples=40)
@given(st.integers(2, 9), st.integers(1, 9), st.integers(0, 5))
def test_exhaustion_agrees_with_a_dictionary(n: int, bits: int, seed: int) -> None:
    protocol = Linear(Index(n), bits, seed)
    x = protocol.problem.enumerate(0, 2**n)
    groups = defaultdict(set)
    for row, message in zip(x, protocol.encode(x), strict=True):
        groups[bytes(message)].add(bytes(row))
    exists = any(len(g) > 1 for g in groups.values())
    found = find_collision(protocol, method="exhaustive")
    assert found.exhausted
    assert (found.certificate is not None) == exists
    if found.certificate is not None:
        assert verify(found.certificate, protocol) == []
    if bits < n:
        assert exists


def test_none_exists_when_everything_is_sent() -> None:
    assert find_collision(Truncate(Index(10), 10)) == collision.Search(
        None, True, "exhaustive", 1024
    )


@pytest.mark.parametrize("method", ["exhaustive", "birthday", "trails"])
def test_useless_collisions_are_passed_over(method: str) -> None:
    problem = IsTree(14)
    enough = Differences(problem)
    # every message has two inputs, so collisions abound, and none of them hurts
    assert find_collision(enough, method=method, budget=200_000).certificate is None
    checked(Differences(problem, missing=1), method=method)


def test_auto_takes_the_search_that_fits() -> None:
    assert checked(Truncate(Index(16), 8)).method == "exhaustive"
    assert checked(Truncate(Index(40), 20)).method == "birthday"
    assert checked(Linear(Index(100), 24)).method == "birthday"


def test_long_messages_with_few_values() -> None:
    class Dull(Protocol):
        def __init__(self, problem: Problem, bits: int) -> None:
            self.problem, self.state_bits = problem, bits

        def describe(self) -> dict[str, Any]:
            return {"name": "dull"}

        def encode(self, x: Symbols) -> Bytes:
            out = np.zeros((len(x), byte_length(self.state_bits)), np.uint8)
            out[:, 40] = x[:, :8].sum(axis=1)
            return out

    found = checked(Dull(Index(400), 360))
    assert found.method == "birthday"
    assert checked(Dull(Index(12), 360), method="exhaustive").exhausted


def test_large_alphabets() -> None:
    for method in ("exhaustive", "birthday", "trails"):
        certificate = checked(Truncate(Index(5, alphabet=11), 4), method=method).certificate
        assert certificate is not None
        assert len(certificate["x1"]) == 5


def test_the_same_seed_gives_the_same_certificate() -> None:
    protocol = Linear(Index(64), 20)
    for method in ("birthday", "trails"):
        first = find_collision(protocol, method=method, seed=5)
        assert first == find_collision(protocol, method=method, seed=5)
        assert first != find_collision(protocol, method=method, seed=6)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("x1", "0" * 14),
        ("x1", "01"),
        ("x2", "2" * 14),
        ("message", "ffff"),
        ("query", 15),
        ("query", 0),
        ("query", "first"),
        ("query", None),
        ("answers", [1, 1]),
        ("state_bits", 8),
        ("protocol", {"name": "another"}),
        ("problem", "istree"),
        ("options", {"n": 14}),
    ],
)
def test_a_forged_certificate_is_refused(field: str, value: object) -> None:
    protocol = Linear(Index(14), 9)
    certificate = copy.deepcopy(checked(protocol, method="birthday").certificate)
    assert certificate is not None
    certificate[field] = value
    assert verify(certificate, protocol)


def test_an_incomplete_certificate_is_refused() -> None:
    protocol = Linear(Index(6), 3)
    certificate = checked(protocol).certificate
    assert certificate is not None
    del certificate["x2"]
    assert verify(certificate, protocol) == ["the certificate lacks x2"]


def test_an_alice_who_rolls_dice_ends_the_search_without_a_certificate() -> None:
    class Dice(Truncate):
        generator = np.random.default_rng(0)

        def encode(self, x: Symbols) -> Bytes:
            return from_bits(self.generator.integers(0, 2, (len(x), self.state_bits), np.uint8))

    for method in ("birthday", "trails"):
        found = find_collision(Dice(Index(64), 40), method=method, budget=1 << 16)
        assert found.certificate is None
        assert 1 << 16 <= found.encodings < 1 << 17


def test_equal_answers_prove_nothing() -> None:
    protocol = Truncate(Index(6), 3)
    certificate = checked(protocol).certificate
    assert certificate is not None
    certificate["query"], certificate["answers"] = 1, [0, 0]
    certificate["x1"], certificate["x2"], certificate["message"] = "000000", "000111", "00"
    assert verify(certificate, protocol) == ["the answers agree, so Bob can be right on both"]


def test_a_bob_who_knows_more_is_noticed() -> None:
    class Telling(Truncate):
        calls = 0

        def answer(self, message: Bytes, query: Queries) -> Symbols:
            self.calls += 1
            return np.full(len(message), self.calls % 2, np.uint8)

    protocol = Telling(Index(6), 3)
    certificate = find_collision(protocol).certificate
    assert certificate is not None
    assert verify(certificate, protocol) == [
        "Bob tells equal messages apart: something else reaches him"
    ]


def test_trails_collide_as_they_say() -> None:
    """Long trails in few lanes: all that is yielded collides, at about the expected cost."""
    protocol = Linear(Index(48), 22)
    first_costs = []
    for salt in range(12):
        for a, b, used, spent in collision_trails.walk(protocol, salt, 1 << 20, lanes=16):
            assert used == salt
            assert (a != b).all()
            x = [collision_trails.inputs_of(protocol.problem, w, used) for w in (a, b)]
            sent = [protocol.encode(each) for each in x]
            assert (sent[0] == sent[1]).all()
            first_costs.append(spent)
            break
    assert len(first_costs) == 12
    # sqrt(pi/2 * 2^22) = 2567 steps, and the rest of the trails
    assert 800 < np.mean(first_costs) < 8000


def test_another_map_is_taken_when_the_first_is_used_up() -> None:
    protocol = Linear(Index(30), 8)
    salts = {salt for *_, salt, _ in collision_trails.walk(protocol, 1, 4000, lanes=16)}
    assert len(salts) > 2


def test_the_mixing_is_a_bijection_and_balanced() -> None:
    words = collision_trails.mix(np.arange(1 << 16, dtype=np.uint64))
    assert len(np.unique(words)) == 1 << 16
    # the published first output of splitmix64 from seed 0
    assert int(words[0]) == 0xE220A8397B1DCDAF
    x = collision_trails.inputs_of(Index(130), words, 7)
    assert x.shape == (1 << 16, 130)
    assert np.abs(x.mean(axis=0) - 0.5).max() < 5 * 0.5 / 2**8
    assert len(np.unique(x[:, :64], axis=0)) == 1 << 16
    q = collision_trails.inputs_of(Index(9, alphabet=5), words, 7)
    assert set(np.unique(q)) == set(range(5))
    assert np.abs(q.mean(axis=0) - 2).max() < 0.03


def test_message_words_read_little_endian() -> None:
    message = np.array([[1, 2], [255, 0]], np.uint8)
    assert message_keys(message).tolist() == [513, 255]
    assert message_keys(np.zeros((2, 0), np.uint8)).tolist() == [0, 0]


def test_no_bits_at_all() -> None:
    for method in ("exhaustive", "birthday", "trails"):
        checked(Truncate(Index(5), 0), method=method)


def test_requests_without_meaning() -> None:
    with pytest.raises(UsageError, match="method"):
        find_collision(Truncate(Index(5), 2), method="luck")
    with pytest.raises(UsageError, match="2097152 inputs"):
        find_collision(Truncate(Index(21), 2), method="exhaustive")
    with pytest.raises(UsageError, match="at most 64 bits"):
        find_collision(Truncate(Index(80), 70), method="trails")
    with pytest.raises(UsageError, match="budget"):
        find_collision(Truncate(Index(80), 7), budget=0)


@pytest.mark.slow
@pytest.mark.parametrize("bits", [32, 36])
def test_trails_at_size(bits: int) -> None:
    found = checked(Linear(Index(128), bits), method="trails")
    assert found.encodings < 12 * 2 ** (bits / 2) + 40 * collision_trails.LANES
