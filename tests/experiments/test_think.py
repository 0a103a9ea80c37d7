"""However long Bob thinks, he is not right more often than the message allows."""

from __future__ import annotations

import doctest
import json
import re
from collections import Counter, defaultdict
from fractions import Fraction
from math import log2
from pathlib import Path

import numpy as np
import pytest

from statebound.errors import UsageError
from statebound.experiments import think as work
from statebound.experiments.engines.enumerate import count_optimal
from statebound.experiments.think import leaks, means, think, trace
from statebound.protocols.codes.hamming import Hamming
from statebound.protocols.codes.linear import Linear
from statebound.protocols.problem import make
from statebound.protocols.problems.index import Index
from statebound.protocols.scratchpad import Scratchpad
from statebound.reductions.thinking import Thinking, thinking

TOKENS = (0, 1, 2, 5, 20)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("regime", ["handoff", "step"])
@pytest.mark.parametrize("cell", ["gru", "sliding_window", "linear_attention", "s5"])
def test_nobody_is_above_the_best_reader_of_the_message(cell, regime, temperature):
    problem = Index(6)
    for seed in (0, 1):
        bob = thinking(
            problem,
            cell,
            numbers=4,
            regime=regime,
            machine_seed=seed,
            temperature=temperature,
            coins=seed,
        )
        tally = count_optimal(bob.protocol)
        points = trace(bob, TOKENS, tally)
        assert [p.tokens for p in points] == list(TOKENS)
        for point in points:
            assert point.leak is None
            assert sum(point.right) <= sum(point.reader) <= sum(tally.right)
            assert all(r <= best for r, best in zip(point.reader, tally.right, strict=True))
            for both, alone in zip(point.information, point.transcript_information, strict=True):
                assert alone <= both + 1e-12
                assert both == pytest.approx(tally.message_entropy, abs=1e-12)
                assert both <= bob.protocol.state_bits
        if not temperature:  # then what comes is a function of what is held: nothing returns
            held = [sum(p.reader) for p in points]
            assert held == sorted(held, reverse=True)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_the_counts_are_those_of_one_bob_at_a_time(temperature):
    problem = Index(4)
    bob = thinking(problem, "gru", numbers=3, temperature=temperature)
    points = trace(bob, (0, 3, 9), count_optimal(bob.protocol))
    inputs = problem.enumerate(0, 16)
    for point in points:
        for k in range(4):
            by_state: dict[bytes, Counter[int]] = defaultdict(Counter)
            pairs: Counter[tuple[bytes, bytes]] = Counter()
            alone: Counter[bytes] = Counter()
            for x in inputs:
                message = bob.protocol.encode(x[None])
                thought = bob.think(bob.begin(message, np.array([k])), point.tokens)
                by_state[bob.holds(thought.state).tobytes()][int(x[k])] += 1
                pairs[message.tobytes(), thought.transcript.tobytes()] += 1
                alone[thought.transcript.tobytes()] += 1
            assert point.reader[k] == sum(max(c.values()) for c in by_state.values())
            for counts, found in (
                (pairs, point.information[k]),
                (alone, point.transcript_information[k]),
            ):
                entropy = sum(c / 16 * log2(16 / c) for c in counts.values())
                assert found == pytest.approx(entropy, abs=1e-12)


def test_a_hamming_bob_needs_his_scratchpad():
    rows = think(Index(7), models=(), codes=("hamming",), state_bits=4, tokens=range(6))
    # Checks use message bits 1 2 4, 1 3 4 and 2 3 4, the other places one bit each; a sum
    # that lacks a bit is a coin toss, a complete one is wrong once in 8 times.
    complete = [0, 1, 2, 3, 7, 7]
    expected = [(c * Fraction(7, 8) + (7 - c) * Fraction(1, 2)) / 7 for c in complete]
    assert [Fraction(row["success_fraction"]) for row in rows] == expected
    assert {row["optimal_fraction"] for row in rows} == {"7/8"}
    assert {row["reader_success"] for row in rows} == {0.875}
    assert [row["information"] for row in rows] == pytest.approx([4.0] * 6)
    assert rows[0]["transcript_information"] == 0
    assert not leaks(rows)


@pytest.mark.parametrize(("problem", "n", "bits"), [("index", 8, 5), ("istree", 10, 4)])
def test_a_linear_bob_reaches_the_code_and_no_more(problem, n, bits):
    code = Linear(make(problem, n), bits)
    points = trace(Scratchpad(code), range(bits + 2), count_optimal(code))
    inputs = code.problem.inputs
    found = [Fraction(sum(p.right), inputs * code.problem.queries) for p in points]
    assert found[0] == Fraction(1, 2)
    assert found == sorted(found)
    assert found[-2] == found[-1] == code.success()
    assert points[-1].ended == 1


class Peeking(Scratchpad):
    """Knows the first symbol of x from elsewhere, and `shows` it."""

    shows = ""

    def __init__(self, protocol):
        super().__init__(protocol)
        encode = protocol.encode

        def spied(x):
            self.stolen = x[:, 0].copy()
            return encode(x)

        protocol.encode = spied

    def begin(self, message, query):
        self.first = np.tile(self.stolen, len(query) // len(self.stolen))
        return super().begin(message, query)

    def answer(self, state, query):
        said = super().answer(state, query)
        return np.where(query == 0, self.first, said) if self.shows == "answer" else said

    def write(self, state, query, turn):
        said = self.honest = super().write(state, query, turn)
        hidden = (turn == 0) & (self.lengths[query] > 0) & (self.shows == "transcript")
        return np.where(hidden, self.first, said).astype(np.int16)

    def read(self, state, written, live):
        return super().read(state, self.honest, live)  # what he holds does not show it

    def holds(self, state):
        held = super().holds(state)
        return np.c_[held, self.first] if self.shows == "state" else held


@pytest.mark.parametrize(
    ("shows", "says"),
    [
        ("", None),
        ("answer", "a thinking Bob reaches"),
        ("transcript", "pairs of message and transcript"),
        ("state", "the best reader of his state reaches"),
    ],
)
def test_a_bit_from_elsewhere_is_caught(shows, says, monkeypatch, cli):
    monkeypatch.setattr(Peeking, "shows", shows)
    code = Hamming(Index(7), 4)
    points = trace(Peeking(code), (0, 1, 6), count_optimal(code))
    found = [p.leak for p in points if p.leak is not None]
    assert bool(found) == (says is not None)
    assert all(says in text for text in found)
    monkeypatch.setattr(work, "Scratchpad", Peeking)
    words = ("think", "--n", 7, "--models", "none", "--codes", "hamming", "--state-bits", 4)
    done = cli(*words, "--tokens", "0,1,6")
    assert done.code == (3 if says else 0)
    assert ("error: an uncounted bit: hamming" in done.err) == bool(says)


def test_a_machine_that_peeks_is_caught():
    class Spy(Thinking):
        def begin(self, message, query):
            x = self.machine.problem.enumerate(0, self.machine.problem.inputs)
            self.first = np.tile(x[:, 1], len(query) // len(x) + 1)[: len(query)]
            return super().begin(message, query)

        def write(self, state, query, turn):
            return self.first.astype(np.int16)

    honest = thinking(Index(5), "gru", numbers=3)
    tally = count_optimal(honest.protocol)
    assert [p.leak for p in trace(honest, (0, 2), tally)] == [None, None]
    first, last = trace(Spy(honest.machine), (0, 2), tally)
    assert first.leak is None
    assert last.leak is not None
    assert max(last.information) > tally.message_entropy


def test_rows_are_averages_over_coins_and_the_verb_prints_them(cli, tmp_path):
    words = ("think", "--n", 4, "--models", "gru", "--numbers", 3, "--tokens", "0,2,8")
    words += ("--machine-seeds", "0,1", "--temperature", 1, "--coins", 2)
    done = cli(*words, "--json", "--out", tmp_path / "t")
    assert done.code == 0
    rows = done.row["rows"]
    assert len(rows) == 2 * 3 + 3
    assert json.loads(json.dumps(rows)) == think(
        Index(4),
        models=("gru",),
        numbers=3,
        tokens=(0, 2, 8),
        machine_seeds=(0, 1),
        temperature=1.0,
        coins=2,
    )
    assert sorted(p.name for p in tmp_path.iterdir()) == ["t.png", "t.svg"]
    assert rows[0]["coin_seeds"] == [0, 1]
    assert rows[-1]["coin_seeds"] is None
    single = []
    for coins in (0, 1):
        bob = thinking(Index(4), "gru", numbers=3, temperature=1.0, coins=coins)
        single.append(trace(bob, (0, 2, 8), count_optimal(bob.protocol))[2])
    mean = Fraction(sum(sum(p.right) for p in single), 2 * 4 * 16)
    assert Fraction(rows[2]["success_fraction"]) == mean
    averaged = means(rows)
    assert [row["tokens"] for row in averaged] == [0, 2, 8] * 2
    assert averaged[1]["success"] == pytest.approx((rows[1]["success"] + rows[4]["success"]) / 2)
    table = cli(*words)
    assert table.code == 0
    assert len(table.out.splitlines()) == 2 + 6


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--n", 20), "the cap is"),
        (("--tokens", "-1"), "must not be negative"),
        (("--models", "none", "--codes", "none"), "nobody is left"),
        (("--models", "none", "--codes", "linear"), "--state-bits"),
        (("--n", 4, "--models", "none", "--codes", "truncation", "--state-bits", 2), "sums of"),
        (("--models", "nothing"), "is not a known name"),
        (("--coins", 2), "temperature 0"),
        (("--temperature", 1, "--coins", 0), "at least 1"),
        (("--temperature", -1), "0 or more"),
        (("--temperature", 1, "--coins", 10**9), "the cap is"),
        (("--models", "gru,", "--codes", "none"), "is not a known name"),
        (("--codes", "linear,nothing"), "is not a known name"),
        (("--out", "."), "names no file"),
        (("--seed", -1), "must not be negative"),
        (("--machine-seeds", "-1"), "must not be negative"),
        (("--style", "wide"), "known style"),
        (("--n", 4, "--regime", "never"), "is not a known regime"),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_said_in_a_line(cli, words, says):
    done = cli("think", *words)
    assert (done.code, done.out) == (2, "")
    assert says in done.err
    assert done.err.count("\n") == 1


def test_the_code_is_there_by_default_where_it_fits():
    """Its message is the first model's, cut to one bit an answer."""
    few = think(make("index", 3), models=["gru"], numbers=5, tokens=[0, 1], machine_seeds=[0])
    assert [(row["protocol"], row["state_bits"]) for row in few] == [
        *[(None, 5), (None, 5), ("linear", 3), ("linear", 3)]
    ]
    chase = make("pointer_chasing", 3)
    rows = think(chase, models=["gru"], numbers=5, tokens=[0], machine_seeds=[0])
    assert [row["protocol"] for row in rows] == [None]


def test_the_table_is_there_when_the_figure_cannot_be_written(cli, tmp_path):
    (tmp_path / "file").write_text("")
    words = ["--n", 4, "--models", "none", "--codes", "linear", "--state-bits", 2]
    done = cli("think", *words, "--tokens", "0,1", "--out", tmp_path / "file" / "figure")
    assert done.code == 1
    assert len(done.out.splitlines()) == 4
    assert "cannot be written" in done.err


def test_problems_whose_answers_cannot_be_listed_alike_are_refused():
    for name in ("phonebook", "sparse_averaging", "mqar"):
        problem = make(name, 4)
        if problem.joint or problem.credits is not None:
            with pytest.raises(UsageError, match="depends on the input"):
                think(problem)


def test_the_page_shows_what_is_printed(cli):
    text = (Path(__file__).parents[2] / "docs" / "thinking.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    command, _, printed = block.partition("\n")
    assert cli(*command.removeprefix("$ statebound ").split()).out == printed
    (block,) = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    test = doctest.DocTestParser().get_doctest(block, {}, "thinking", "thinking.md", 0)
    said: list[str] = []
    assert doctest.DocTestRunner().run(test, out=said.append).failed == 0, "".join(said)
    assert len(test.examples) == 10
