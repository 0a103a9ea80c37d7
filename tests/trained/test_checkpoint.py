"""A trained machine in a file: what is written is read, what is not of the form is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load, save

from statebound.errors import UsageError
from statebound.experiments.readout import Readout
from statebound.experiments.replay import replay
from statebound.models._lanes import to_lanes
from statebound.protocols.problems.index import Index
from statebound.protocols.problems.istree import IsTree
from statebound.reductions.checkpoint import (
    KEY,
    MOST_HEADER,
    Checkpoint,
    Codebook,
    is_checkpoint,
    read,
    read_about,
    write,
)
from statebound.reductions.machine import CutMachine, cut
from statebound.reductions.quantisers.trained import Trained

from .checkpoints import checkpoint_of, made

N = 6
KINDS: dict[str, dict[str, Any]] = {
    "gru": {"model": "gru", "bits": 2},
    "gru-step": {"model": "gru", "bits": 1, "regime": "step"},
    "gru-double": {"model": "gru", "bits": 3, "dtype": "float64"},
    "linear-attention": {"model": "linear_attention", "bits": 1, "numbers": 4},
    "s4d-pairs": {"model": "s4d", "bits": 1, "encoding": "pairs"},
    "cache": {"model": "kv_fifo", "numbers": 12, "bits": 2, "regime": "step"},
    "mixed": {"model": "mamba", "numbers": 8, "bits": 2, "precision": {"conv": 1}},
}


def original(which: str) -> CutMachine:
    arguments = {"numbers": 4, "quantiser": "lloyd", "init": "random"} | KINDS[which]
    return cut(Index(N), arguments.pop("model"), **arguments)


@pytest.fixture
def inputs() -> np.ndarray:
    """130 rows: two tiles, the second all but empty; all 64 inputs occur."""
    every = Index(N).enumerate(0, 64)
    return np.concatenate([every, every[::-1], every[[5, 40]]])


@pytest.fixture(scope="module")
def held() -> Checkpoint:
    return made(n=N, bits=2)


@pytest.fixture(scope="module")
def data(held: Checkpoint) -> bytes:
    return write(held)


@pytest.mark.parametrize("which", KINDS)
def test_a_checkpoint_makes_the_machine_that_it_is_of(which, inputs):
    one = original(which)
    data = write(checkpoint_of(one))
    two = cut(Index(N), None, checkpoint=read(data))
    assert two.spec.fields == one.spec.fields
    assert two.state_bits == one.state_bits == sum(f.numbers * f.bits for f in two.spec.fields)
    assert (two.spec.init, two.spec.machine_seed) == ("trained", None)
    assert two.spec.quantiser == "trained"
    assert (two.regime, two.encoding.name) == (one.regime, one.encoding.name)
    message = two.encode(inputs)
    assert message.shape == (len(inputs), two.message_bytes)
    assert (message == one.encode(inputs)).all()
    tokens = two.encoding.tokens(inputs)
    for handoff in range(tokens.shape[1] + 1):
        alice = two.extend(two.starts(len(inputs)), tokens[:, :handoff])
        bob = two.resume(two.message(alice), handoff)
        if one.regime == "step":  # a split must not show
            assert (two.message(two.extend(bob, tokens[:, handoff:])) == message).all()
        assert (two.message(bob) == two.message(alice)).all()
    assert two.has_bob
    assert replay(two) is None
    again = cut(Index(N), None, checkpoint=read(write(read(data))))
    assert again.spec.digest == two.spec.digest
    assert write(read(data)) == data


def test_bob_is_the_network_of_the_file(held, inputs):
    machine = cut(Index(N), None, checkpoint=held)
    message = machine.encode(inputs)
    z = machine.features(message)
    for i, (weight, bias) in enumerate(held.bob):
        z = (np.maximum(z, 0) if i else z) @ weight.T.astype(float) + bias
    scores = z.reshape(len(inputs), N, 2)
    clear = np.abs(scores[:, :, 1] - scores[:, :, 0]) > 1e-4
    assert clear.mean() > 0.9
    for k in range(N):
        said = machine.answer(message, np.full(len(inputs), k))
        assert (said == scores[:, k].argmax(axis=1))[clear[:, k]].all()
    linear = Readout(
        machine,
        False,
        np.zeros(4),
        np.ones(4),
        np.vstack([held.bob[1][1], held.bob[1][0][:, :4].T]).astype(float),
    )
    asked = np.arange(len(inputs)) % N
    agrees = linear.answer(message, asked) == machine.answer(message, asked)
    assert agrees[clear[np.arange(len(inputs)), asked]].all()


def test_an_answer_depends_on_its_message_alone(held, inputs):
    machine = cut(Index(N), None, checkpoint=held)
    message = machine.encode(inputs)
    asked = np.arange(len(inputs)) % N
    together = machine.answer(message, asked)
    for i in (0, 5, 129):
        assert machine.answer(message[i : i + 1], asked[i : i + 1]) == together[i]
    order = np.argsort(-asked)
    assert (machine.answer(message[order], asked[order]) == together[order]).all()


def test_equal_scores_give_the_least_answer(held, inputs):
    bob = ((np.zeros((2 * N, 4), np.float32), np.ones(2 * N, np.float32)),)
    machine = cut(Index(N), None, checkpoint=replace(held, bob=bob))
    assert not machine.answer(machine.encode(inputs), np.zeros(len(inputs), np.int64)).any()


def test_what_bob_knows_is_in_the_specification(held):
    digests = {cut(Index(N), None, checkpoint=held).spec.digest}
    weight, bias = held.bob[1]
    shifted = replace(held, bob=(held.bob[0], (weight, bias + np.float32(1))))
    book = held.codebooks["h"]
    moved = Codebook(book.thresholds, np.nextafter(book.levels, np.float32(0)))
    for other in (shifted, replace(held, bob=()), replace(held, codebooks={"h": moved})):
        digests.add(cut(Index(N), None, checkpoint=other).spec.digest)
    assert len(digests) == 4
    assert not cut(Index(N), None, checkpoint=replace(held, bob=())).has_bob


def test_another_quantiser_leaves_the_encoder_alone(held, inputs):
    trained = cut(Index(N), None, checkpoint=held)
    other = cut(Index(N), None, checkpoint=held, quantiser="uniform", bits=5, regime="step")
    assert (other.state_bits, other.regime, other.spec.quantiser) == (20, "step", "uniform")
    assert other.spec.weights_hash == trained.spec.weights_hash
    assert (other.spec.init, other.spec.bob_hash) == ("trained", None)
    assert not other.has_bob
    assert cut(Index(N), None, checkpoint=held, quantiser="uniform").state_bits == 8
    assert cut(Index(N), None, checkpoint=held, quantiser="fp16").state_bits == 64


def test_an_encoder_goes_on_where_its_bob_cannot(held):
    for problem in (Index(N + 3), IsTree(N + 2), Index(N, query_law="zipf")):
        machine = cut(problem, None, checkpoint=held)
        assert (machine.spec.quantiser, machine.has_bob) == ("trained", False)
        assert machine.spec.weights_hash == cut(Index(N), None, checkpoint=held).spec.weights_hash


@pytest.mark.parametrize(
    ("arguments", "argument"),
    [
        ({"model": "rnn"}, "model"),
        ({"numbers": 5}, "numbers"),
        ({"settings": {"units": 3}}, "set"),
        ({"settings": {"no_such": 3}}, "set"),
        ({"bits": 1}, "bits"),
        ({"precision": {"h": 3}}, "precision"),
        ({"precision": {"conv": 3}}, "precision"),
        ({"regime": "step"}, "regime"),
        ({"encoding": "pairs"}, "encoding"),
        ({"dtype": "float16"}, "dtype"),
        ({"quantiser": "sign", "bits": 2}, "bits"),
    ],
    ids=str,
)
def test_contradictions_are_refused(held, arguments, argument):
    with pytest.raises(UsageError) as caught:
        cut(Index(N), checkpoint=held, **({"model": None} | arguments))
    assert caught.value.argument == argument


def test_what_agrees_is_not(held):
    plain = cut(Index(N), None, checkpoint=held).spec
    same = {"numbers": 4, "bits": 2, "regime": "handoff", "quantiser": "trained"}
    assert cut(Index(N), "gru", checkpoint=held, precision={"h": 2}, **same).spec == plain
    coins = cut(Index(N), None, checkpoint=held, rounding="stochastic", machine_seed=3)
    assert (coins.spec.machine_seed, coins.has_bob) == (3, True)
    assert cut(Index(N), None, checkpoint=held, dtype="float64").spec.dtype == "float64"
    assert cut(Index(N), None, checkpoint=held, quantiser="sign").state_bits == 4


def test_without_a_checkpoint_there_is_no_trained_quantiser():
    weights = cut(Index(N), "gru", numbers=4, init="random").cell.weights
    for arguments in ({"weights": weights}, {"init": "random"}, {}):
        with pytest.raises(UsageError, match="trained") as caught:
            cut(Index(N), "gru", quantiser="trained", **arguments)
        assert caught.value.argument == "quantiser"
    assert not Trained.needs_calibration(cut(Index(N), "gru", init="random").cell.fields[0])


def test_the_codebook_is_what_it_says():
    cuts, levels = np.array([[-0.5, 0.0, 0.5]]), np.array([[-0.7, -0.2, 0.3, 0.9]])
    quantiser = Trained(2, cuts, levels)
    values = to_lanes(np.array([[-0.5], [-0.51], [0.0], [0.49], [0.5], [7.0]], np.float32))
    codes = quantiser.encode(values)[0, 0, :6]
    assert codes.tolist() == [1, 0, 2, 2, 3, 3]
    back = quantiser.decode(quantiser.encode(values), np.dtype(np.float32))[0, 0, :6]
    assert back.tolist() == levels[0].astype(np.float32)[codes].tolist()


def refused(data: bytes, match: str | None = None) -> None:
    with pytest.raises(UsageError, match=match) as caught:
        read(data, "f.safetensors")
    assert caught.value.argument == "weights"
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_a_torn_file_is_refused_at_every_length(data):
    header = 8 + int.from_bytes(data[:8], "little")
    for length in {*range(0, 16), *range(0, len(data), 37), header, len(data) - 1}:
        refused(data[:length])
        assert is_checkpoint(data[:length]) == (length >= header)
    refused(data + b"\0")


def test_a_header_of_no_sensible_size_is_refused(data):
    for length in (0, MOST_HEADER + 1, 2**63, 2**64 - 1):
        refused(length.to_bytes(8, "little") + data[8:])
    deep = b"[" * 100_000
    refused(len(deep).to_bytes(8, "little") + deep, "no JSON")
    for text in (b"\xff\xfe", b"[]", b"null", b'{"a": NaN}', b"1" * 5000):
        refused(len(text).to_bytes(8, "little") + text + data)


@given(at=st.integers(0, 10**6), value=st.integers(0, 255))
def test_a_changed_byte_is_refused_or_harmless(at, value, data):
    """Whatever is read has the form: nothing but a `UsageError` comes out of bad bytes."""
    wrong = bytearray(data)
    wrong[at % len(data)] = value
    said = ""
    try:
        cut(Index(N), None, checkpoint=read(bytes(wrong)))
    except UsageError as error:
        said = str(error)
    assert "\n" not in said


def changed(data: bytes, about: Any = None, **tensors: np.ndarray | None) -> bytes:
    """Return the file with another metadata text and other tensors; None takes one away."""
    held = load(data)
    for name, array in tensors.items():
        named = name.replace("__", ".")
        if array is None:
            del held[named]
        else:
            held[named] = np.ascontiguousarray(array)
    plain = read_about(data).plain() if about is None else about
    return bytes(save(held, {KEY: plain if isinstance(plain, str) else json.dumps(plain)}))


BOOK = "quantiser__h__"
F = np.float32


@pytest.mark.parametrize(
    ("tensors", "match"),
    [
        ({BOOK + "thresholds": None}, "thresholds is missing"),
        ({BOOK + "levels": None}, "levels is missing"),
        ({BOOK + "levels": np.zeros((4, 3), F)}, "levels"),
        ({BOOK + "levels": np.zeros((3, 4), F)}, "thresholds"),
        ({BOOK + "levels": np.zeros(16, F)}, "float32 matrix"),
        ({BOOK + "levels": np.zeros((4, 4))}, "float32 matrix"),
        ({BOOK + "levels": np.full((4, 4), np.inf, F)}, "not finite"),
        ({BOOK + "thresholds": np.full((4, 3), np.nan, F)}, "not finite"),
        ({BOOK + "thresholds": np.tile(np.array([0, 2, 1], F), (4, 1))}, "sorted"),
        ({BOOK + "levels": np.tile(np.array([0, 2, 1, 3], F), (4, 1))}, "sorted"),
        ({BOOK + "levels": np.tile(np.array([5, 6, 7, 8], F), (4, 1))}, "outside its cell"),
        ({"quantiser__h__scale": np.zeros(1, F)}, "no part of a quantiser"),
        ({"quantiser__c__levels": np.array([[0, 1]], F)}, "quantiser.c.thresholds"),
        ({"bob__0__bias": None}, "bob.0 must have"),
        ({"bob__0__weight": None, "bob__0__bias": None}, "bob.0 must have"),
        ({"bob__1__bias": np.zeros(3, F)}, "vector of its rows"),
        ({"bob__1__weight": np.zeros((12, 5), F)}, "must have 8 columns"),
        ({"bob__7__weight": np.zeros((2, 2), F)}, "bob.2 must have"),
        ({"bob__x": np.zeros(1, F)}, "no part of a quantiser or of a Bob"),
        ({"bob__0__bias": np.full(8, np.nan, F)}, "not finite"),
        ({"bob__0__bias": np.full(8, 1e300)}, "too large"),
        ({"weight_hh": np.zeros((12, 4), np.int32)}, "float16, float32 or float64"),
        ({"weight_hh": np.full((12, 4), np.nan, F)}, "not finite"),
    ],
    ids=lambda value: value if isinstance(value, str) else ",".join(value),
)
def test_tensors_that_are_not_of_the_form(data, tensors, match):
    refused(changed(data, **tensors), match)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"schema": 2}, "schema 2"),
        ({"schema": None}, "schema None"),
        ({"schema": True}, "schema True"),
        ({"extra": 1}, "unknown: extra"),
        ({"recipe": ...}, "missing or unknown: recipe"),
        ({"model": 3}, "model must be text"),
        ({"n": True}, "n must be"),
        ({"n": 0}, "n must be"),
        ({"numbers": 4.0}, "numbers must be"),
        ({"settings": []}, "settings must be"),
        ({"settings": {"units": None}}, "settings must be"),
        ({"problem_options": {"alphabet": [2]}}, "problem_options must be"),
        ({"bits": 13}, "bits must be"),
        ({"bits": {}}, "bits must be"),
        ({"bits": 1}, "says 1"),
        ({"bits": {"h": 2, "c": 2}}, "codebooks of"),
        ({"measured": {}}, "success"),
        ({"measured": {"success": 2, "engine": "enumerate"}}, "success"),
        ({"measured": {"success": 0.5}}, "engine"),
    ],
    ids=str,
)
def test_metadata_that_is_not_of_the_form(data, change, match):
    plain = read_about(data).plain() | change
    refused(changed(data, {k: v for k, v in plain.items() if v is not ...}), match)


@pytest.mark.parametrize("text", ["", "{", "[]", "{" * 1000, '{"schema": NaN}', "null"])
def test_metadata_that_is_no_object(data, text):
    refused(changed(data, text or " "), "JSON")


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"numbers": 3}, "fit"),
        ({"settings": {"units": 3}}, "fit"),
        ({"model": "no_such"}, "not a known name"),
        ({"model": "lstm"}, "must have the shape"),
        ({"regime": "never"}, "not a known regime"),
        ({"encoding": "no_such"}, "not a known name"),
        ({"encoding": "pairs"}, "must have the shape"),
        ({"dtype": "float16"}, "dtype"),
    ],
    ids=str,
)
def test_files_that_do_not_fit_their_model(data, change, match):
    wrong = read(changed(data, read_about(data).plain() | change))
    with pytest.raises(UsageError, match=match):
        cut(Index(N), None, checkpoint=wrong)


def test_a_file_has_no_code_run(data, tmp_path, monkeypatch):
    (tmp_path / "planted.py").write_text("raise AssertionError('this was imported')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    for named in ("planted:factory", "os:getcwd"):
        wrong = read(changed(data, read_about(data).plain() | {"model": named}))
        with pytest.raises(UsageError, match=f"no file may have run; .* --model {named} too"):
            cut(Index(N), None, checkpoint=wrong)


def test_parts_that_do_not_fit_each_other(data):
    names = {f"quantiser__c__{part}": load(data)[f"quantiser.h.{part}"] for part in PARTS}
    gone = {f"quantiser__h__{part}": None for part in PARTS}
    few = {f"quantiser__h__{part}": load(data)[f"quantiser.h.{part}"][:3] for part in PARTS}
    short = {"bob__1__weight": np.zeros((10, 8), F), "bob__1__bias": np.zeros(10, F)}
    narrow = {"bob__0__weight": np.zeros((8, 3), F)}
    for tensors in (names, names | gone, few, short, narrow, {"weight_hx": np.zeros(1, F)}):
        wrong = read(changed(data, **tensors))
        with pytest.raises(UsageError, match=r"does not fit|no parameter"):
            cut(Index(N), None, checkpoint=wrong)


PARTS = ("thresholds", "levels")


def test_what_cannot_be_read_is_not_written(held):
    with pytest.raises(UsageError, match="JSON"):
        write(replace(held, about=replace(held.about, recipe={"lr": float("nan")})))
    with pytest.raises(UsageError, match="JSON"):
        write(replace(held, about=replace(held.about, recipe={"lr": np.float32(1)})))
    with pytest.raises(UsageError, match="no quantiser"):
        write(replace(held, codebooks={}))


def test_plain_weights_are_no_checkpoint(data):
    assert is_checkpoint(data)
    assert not is_checkpoint(bytes(save({"a": np.zeros(1, F)})))
    assert not is_checkpoint(bytes(save({"a": np.zeros(1, F)}, {"format": "pt"})))
    assert not is_checkpoint(b"")
