"""Alice and Bob: two processes and a pipe, and everything that may go wrong on it."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys

import numpy as np
import pytest

from statebound import registry
from statebound.errors import StateboundError
from statebound.experiments import readout, wire
from statebound.experiments.request import Request, subject

MODELS = {
    "gru": ["--numbers", 5, "--bits", 3],
    "rnn": ["--numbers", 4, "--regime", "step", "--bits", 2],
    "s4d": ["--numbers", 8],
    "linear_attention": ["--numbers", 9],
    "sliding_window": ["--numbers", 5],
}
SIZES = {"index": 9, "istree": 11}


def request_of(problem: str, words: list) -> Request:
    names = [w.removeprefix("--") for w in words[::2]]
    return Request(problem, SIZES[problem], **dict(zip(names, words[1::2], strict=True)))


@pytest.mark.parametrize(("problem", "raw"), [("index", False), ("istree", True)])
@pytest.mark.parametrize("model", MODELS)
def test_every_answer_crosses(cli, problem, model, raw):
    words = ["--model", model, *MODELS[model]]
    protocol = subject(request_of(problem, words))
    x = protocol.problem.sample(np.random.default_rng(8), 1)
    text = "".join(map(str, x[0].tolist()))
    common = [problem, "--n", SIZES[problem], *words, *(["--raw"] if raw else [])]
    message = protocol.encode(x)
    alice = cli("alice", *common, "--x", text)
    assert alice.code == 0
    assert alice.raw.endswith(message.tobytes())
    assert alice.err == f"{protocol.state_bits} bits in {protocol.message_bytes} bytes\n"
    if raw:
        assert len(alice.raw) == protocol.message_bytes
    kinds = {"learned": readout.fit(protocol).answer}
    if protocol.has_bob:
        kinds["model"] = protocol.answer
    for query in (0, protocol.problem.queries - 1):
        for kind, answer in kinds.items():
            outcome = cli(
                *("bob", *common, "--query", query + 1, "--bob", kind, "--json"), stdin=alice.raw
            )
            assert outcome.code == 0
            assert outcome.row["answer"] == answer(message, np.array([query]))[0]
            assert outcome.row["bob"] == kind
            assert outcome.row["message"] == message.tobytes().hex()
        plain = cli("bob", *common, "--query", query + 1, stdin=alice.raw)
        chosen = "model" if protocol.has_bob else "learned"
        assert plain.out == f"{kinds[chosen](message, np.array([query]))[0]}\n"


def test_optimal_bob_counts_the_inputs_of_the_message(cli):
    words = ["index", "--n", 8, "--model", "gru", "--numbers", 3]
    protocol = subject(Request("index", 8, model="gru", numbers=3))
    x = protocol.problem.enumerate(0, 256)
    messages = protocol.encode(x)
    alice = cli("alice", *words, "--x", "10110100")
    mine = np.frombuffer(alice.raw.split(b"\n", 1)[1], np.uint8)
    alike = x[(messages == mine).all(axis=1)]
    assert len(alike) > 1
    for k in range(8):
        outcome = cli("bob", *words, "--query", k + 1, "--bob", "optimal", stdin=alice.raw)
        assert outcome.out == f"{int(2 * alike[:, k].sum() > len(alike))}\n"


WORDS = ["index", "--n", "9", "--model", "sliding_window", "--numbers", "5"]


# A small size of every problem, and a model or protocol for it
PAIRS = {
    "associative_recall": (6, ["--model", "gru", "--numbers", "5", "--bits", "3"]),
    "augmented_index": (5, ["--model", "sliding_window", "--numbers", "3", "--raw"]),
    "cgram": (6, ["--model", "rnn", "--regime", "step", "--bits", "2", "--raw"]),
    "copy": (6, ["--model", "sliding_window", "--numbers", "4"]),
    "counting": (6, ["--model", "s4d", "--numbers", "8"]),
    "disjointness": (6, ["--model", "gru", "--numbers", "3", "--encoding", "spelled"]),
    "equality": (6, ["--protocol", "send_everything", "--raw"]),
    "greater_than": (6, ["--model", "rnn", "--numbers", "4"]),
    "index": (9, ["--model", "linear_attention", "--bits", "3"]),
    "istree": (11, ["--model", "gru", "--numbers", "5", "--raw"]),
    "mqar": (3, ["--model", "linear_attention", "--numbers", "6", "--encoding", "pairs"]),
    "noisy_recall": (4, ["--model", "rnn", "--numbers", "6", "--bits", "4"]),
    "phonebook": (3, ["--protocol", "truncation", "--state-bits", "4", "--raw"]),
    "pointer_chasing": (5, ["--model", "gru", "--numbers", "7"]),
    "sparse_averaging": (6, ["--model", "s4d", "--numbers", "4", "--raw"]),
    "word_problem": (8, ["--model", "rnn", "--numbers", "4", "--init", "random"]),
}
OPTIONS = {"copy": {"credit": "symbol"}, "phonebook": {"base": 4, "credit": "digit"}}
OPTIONS |= {"noisy_recall": {"flips": 1}}


def test_every_problem_is_tried_by_two_processes():
    assert sorted(PAIRS) == registry.names("statebound.protocols.problems")


@pytest.mark.slow
@pytest.mark.parametrize("problem", registry.names("statebound.protocols.problems"))
def test_two_processes(problem, tmp_path):
    """Bob's process is given his arguments and the pipe; the bytes on it are counted."""
    n, words = PAIRS[problem]
    raw = [w for w in words if w == "--raw"]
    chosen = [w for w in words if w != "--raw"]
    options = OPTIONS.get(problem, {})
    given = {
        name.removeprefix("--").replace("-", "_"): int(value) if value.isdecimal() else value
        for name, value in zip(chosen[::2], chosen[1::2], strict=True)
    }
    protocol = subject(Request(problem, n, options=options, **given))
    generator = np.random.default_rng(len(problem))
    x = protocol.problem.sample(generator, 1)
    query = int(protocol.problem.draw(generator, x, 1)[0, 0])
    text, asked = protocol.problem.text(x[0]), protocol.problem.query_text(query)
    spelled = [part for k, v in options.items() for part in ("--option", f"{k}={v}")]
    machine = shlex.join([problem, "--n", str(n), *chosen, *spelled, *raw])
    command = shlex.join([sys.executable, "-m", "statebound"])
    for name in ("alice", "bob"):
        (tmp_path / name).mkdir()
    pipe = (
        f"(cd alice; exec {command} alice {machine} --x {shlex.quote(text)}) | tee crossed | "
        f"(cd bob; exec {command} bob {machine} --query {shlex.quote(asked)} --json)"
    )
    done = subprocess.run(
        ["sh", "-c", pipe], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    message = protocol.encode(x)
    answer, bob = wire.reply(protocol, message, query, None)
    said = json.loads(done.stdout)
    assert (said["answer"], said["bob"]) == (answer, bob)
    assert said["message"] == message.tobytes().hex()
    crossed = (tmp_path / "crossed").read_bytes()
    assert crossed.endswith(message.tobytes())
    header = b"" if raw else wire.header(protocol)
    assert len(crossed) == len(header) + protocol.message_bytes
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["alice", "bob", "crossed"]


def broken(sent: bytes):
    head, body = sent.split(b"\n", 1)
    magic, digest, bits = head.split(b" ")
    yield "nothing", b""
    yield "cut off", sent[:-1]
    yield "cut in the header", sent[:20]
    yield "header alone", head + b"\n"
    yield "over-long", sent + b"\0"
    yield "a newline more", sent + b"\n"
    yield "padded", head + b"\n" + bytes([body[0] | 0x80])
    yield "another version", sent.replace(b"statebound/1", b"statebound/2")
    yield "another digest", b" ".join([magic, digest[::-1], bits]) + b"\n" + body
    yield "another size", b" ".join([magic, digest, b"6"]) + b"\n" + body
    yield "another case", b" ".join([magic, digest.upper(), bits]) + b"\n" + body
    yield "a space more", b" ".join([magic, digest, b"", bits]) + b"\n" + body
    yield "carriage return", head + b"\r\n" + body
    yield "no header", body
    yield "binary", bytes(range(256))
    yield "twice", sent + sent


def test_broken_messages_are_refused(cli):
    sent = cli("alice", *WORDS, "--x", "101101001").raw
    assert cli("bob", *WORDS, "--query", 9, stdin=sent).out == "1\n"
    for name, wrong in broken(sent):
        outcome = cli("bob", *WORDS, "--query", 9, stdin=wrong)
        assert outcome.code == 1, name
        assert outcome.out == "", name
        assert re.fullmatch("error: message.*\n", outcome.err), name


@pytest.mark.parametrize("wrong", [b"", b"\0\0", b"\xff", b"\x20"])
def test_broken_raw_messages_are_refused(cli, wrong):
    outcome = cli("bob", *WORDS, "--raw", "--query", 9, stdin=wrong)
    assert outcome.code == 1
    assert outcome.out == ""
    assert outcome.err.startswith("error: message")
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize(
    "other",
    [
        ["index", "--n", "9", "--model", "sliding_window", "--numbers", "6"],
        ["index", "--n", "10", "--model", "sliding_window", "--numbers", "5"],
        [*WORDS, "--regime", "step"],
        [*WORDS, "--quantiser", "uniform"],
        [*WORDS, "--dtype", "float64"],
        [*WORDS, "--query-law", "zipf"],
        [*WORDS, "--init", "random"],
        ["istree", "--n", "11", "--model", "sliding_window", "--numbers", "5"],
    ],
)
def test_bob_with_other_arguments_refuses(cli, other):
    sent = cli("alice", *WORDS, "--x", "101101001").raw
    outcome = cli("bob", *other, "--query", 3, stdin=sent)
    assert outcome.code == 1
    assert "header" in outcome.err


def test_neither_is_told_the_others_input(cli):
    """There is no way to give Alice a query, or Bob x."""
    query = cli("alice", *WORDS, "--x", "101101001", "--query", 3)
    x = cli("bob", *WORDS, "--query", 3, "--x", "101101001")
    assert (query.code, query.out, x.code, x.out) == (2, "", 2, "")
    assert "--query" in query.err
    assert "--x" in x.err


def test_empty_message(cli):
    words = ["index", "--n", 6, "--protocol", "send_nothing", "--raw"]
    sent = cli("alice", *words, "--x", "101101")
    assert (sent.code, sent.raw) == (0, b"")
    for bob in ("model", "learned", "optimal"):
        outcome = cli("bob", *words, "--query", 2, "--bob", bob, "--json", stdin=b"")
        assert outcome.code == 0
        assert outcome.row["message"] == ""
    assert cli("bob", *words, "--query", 2, stdin=b"\0").code == 1


def test_header_depends_on_public_facts_alone():
    protocol = subject(Request("index", 9, model="gru"))
    x = protocol.problem.enumerate(0, 2)
    heads = {wire.send(protocol, protocol.encode(x[i : i + 1]), raw=False)[:-1] for i in (0, 1)}
    assert len(heads) == 1
    again = subject(Request("index", 9, model="gru"))
    assert wire.header(protocol) == wire.header(again)
    with pytest.raises(StateboundError):
        wire.receive(protocol, wire.header(protocol), raw=False)


def test_a_message_for_reading(cli):
    words = ["index", "--n", "9", "--model", "sliding_window", "--numbers", "9"]
    outcome = cli("alice", *words, "--x", "110000001", "--json")
    assert outcome.row == {"state_bits": 9, "message_bytes": 2, "message": "0301"}
