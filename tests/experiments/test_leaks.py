"""Channels beside the message: protocols that cheat must be refused or caught."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import statebound.experiments
import statebound.models
import statebound.protocols
import statebound.reductions
from statebound.experiments.measure import measure
from statebound.experiments.replay import replay
from statebound.experiments.request import Request
from statebound.protocols.controls.leaky import Leaky
from statebound.protocols.controls.send_everything import SendEverything
from statebound.protocols.controls.send_nothing import SendNothing
from statebound.protocols.problems.index import Index
from statebound.protocols.problems.istree import IsTree
from statebound.protocols.protocol import Protocol
from statebound.reductions.machine import cut

ENGINES = {
    "enumerate": ["optimal", "learned", "model", None],
    "sample": ["learned", "model", None],
}
PAIRS = [(engine, bob) for engine, bobs in ENGINES.items() for bob in bobs]


@pytest.mark.parametrize(("engine", "bob"), PAIRS)
@pytest.mark.parametrize(("problem", "n"), [("index", 8), ("istree", 9), ("index", 13)])
def test_leaky_is_caught(cli, problem, n, engine, bob):
    words = ["measure", problem, "--n", n, "--protocol", "leaky", "--engine", engine, "--json"]
    outcome = cli(*words, *([] if bob is None else ["--bob", bob]))
    assert outcome.code == 3
    assert re.fullmatch("error: an uncounted bit: .*\n", outcome.err)
    assert outcome.row["violates_wall"] is True
    assert outcome.row["leak"] in outcome.err
    if (engine, bob) == ("enumerate", "model"):
        assert outcome.row["success"] == pytest.approx(0.5 + 0.5 / outcome.row["queries"])
        assert "wall" in outcome.err


def test_no_check_knows_leaky():
    """Only its own file and the self test that must catch it name the control."""
    rooms = (statebound.experiments, statebound.models, statebound.protocols, statebound.reductions)
    folders = [Path(room.__path__[0]) for room in rooms] + [Path(statebound.__file__).parent]
    naming = {
        path.name
        for folder in folders
        for path in folder.rglob("*.py")
        if re.search("leaky", path.read_text(), re.IGNORECASE)
    }
    assert naming == {"leaky.py", "doctor.py"}


class Cheat(Protocol):
    """Declares one bit, the parity of x, and answers 0: honest until a subclass cheats."""

    def __init__(self, problem) -> None:
        self.problem, self.state_bits = problem, 1

    def encode(self, x):
        return (x.sum(axis=1, dtype=np.uint8) % 2)[:, None]

    def answer(self, message, query):
        return message[:, 0] & 0

    def describe(self):
        return {"protocol": type(self).__name__}


LEFT_BEHIND = {"x": np.zeros((1, 64), np.uint8)}


class ModuleState(Cheat):
    """Bob reads what Alice left in the module."""

    def encode(self, x):
        LEFT_BEHIND["x"] = x
        return super().encode(x)

    def answer(self, message, query):
        x = LEFT_BEHIND["x"]
        return x[np.arange(len(message)) % len(x), query]


class Collected(Cheat):
    """Bob looks x up by the message, in a store that Alice fills and never empties."""

    def __init__(self, problem) -> None:
        super().__init__(problem)
        self.store = {}

    def encode(self, x):
        message = super().encode(x)
        self.store.update({m.tobytes(): row for m, row in zip(message, x, strict=True)})
        return message

    def answer(self, message, query):
        found = [self.store[m.tobytes()][k] for m, k in zip(message, query, strict=True)]
        return np.array(found, np.uint8)


class Counting(Cheat):
    """The answer depends on how often Bob was asked."""

    def __init__(self, problem) -> None:
        super().__init__(problem)
        self.calls = 0

    def answer(self, message, query):
        self.calls += 1
        return np.full(len(message), self.calls % 2, np.uint8)


class Position(Cheat):
    """The answer depends on the place in the batch, which tells x where all are listed."""

    def answer(self, message, query):
        return (np.arange(len(message)) >> query & 1).astype(np.uint8)


class Fickle(Cheat):
    """Alice sends something else for the same input."""

    def __init__(self, problem) -> None:
        super().__init__(problem)
        self.calls = 0

    def encode(self, x):
        self.calls += 1
        return (super().encode(x) + self.calls) % 2


class Padding(Cheat):
    """Sends a second bit in the padding."""

    def encode(self, x):
        return super().encode(x) | x[:, :1] << 1


class TooLong(Cheat):
    """Sends a byte more than declared."""

    def encode(self, x):
        return np.concatenate([super().encode(x), x[:, :1]], axis=1)


class TooWide(Cheat):
    """Sends numbers that are no bytes."""

    def encode(self, x):
        return super().encode(x).astype(np.int64)


class TooMany(Cheat):
    """Sends a row more than there are inputs."""

    def encode(self, x):
        return np.concatenate([super().encode(x), np.zeros((1, 1), np.uint8)])


@pytest.fixture
def cheats(monkeypatch) -> str:
    """Put the cheats where ``module:factory`` finds them."""
    module = ModuleType("statebound_cheats")
    for kind in (Cheat, *Cheat.__subclasses__()):
        setattr(module, kind.__name__, kind)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module.__name__


@pytest.mark.parametrize(("engine", "bob"), PAIRS)
@pytest.mark.parametrize("kind", ["ModuleState", "Collected", "Counting", "Position", "Fickle"])
def test_a_bob_who_knows_more_is_caught(cli, cheats, kind, engine, bob):
    words = ["measure", "index", "--n", 8, "--protocol", f"{cheats}:{kind}", "--json"]
    outcome = cli(*words, "--engine", engine, *([] if bob is None else ["--bob", bob]))
    assert outcome.code == 3, kind
    assert outcome.row["violates_wall"] is True


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", ["Padding", "TooLong", "TooWide", "TooMany"])
def test_a_message_beyond_its_declared_bits_is_refused(cli, cheats, kind, engine):
    outcome = cli(
        *("measure", "index", "--n", 8, "--protocol", f"{cheats}:{kind}", "--engine", engine)
    )
    assert outcome.code == 1
    assert outcome.out == ""
    assert outcome.err.count("\n") == 1
    assert outcome.err.startswith("error: message")


def test_the_honest_base_passes(cli, cheats):
    outcome = cli("measure", "index", "--n", 8, "--protocol", f"{cheats}:Cheat", "--json")
    assert outcome.code == 0
    assert outcome.row["leak"] is None


@pytest.mark.parametrize("problem", [Index(3), Index(12), IsTree(6), Index(40)], ids=str)
def test_replay_passes_the_honest_and_fails_the_control(problem):
    assert replay(SendEverything(problem)) is None
    assert replay(SendNothing(problem)) is None
    assert replay(cut(problem, "sliding_window", numbers=3)) is None
    found = replay(Leaky(problem))
    assert found is not None
    assert "query 1" in found


def test_replay_compares_many_pairs(monkeypatch):
    """With one bit of message, hundreds of inputs share a message."""
    seen = []

    class Watched(Cheat):
        def encode(self, x):
            message = super().encode(x)
            seen.append(np.bincount(message[:, 0], minlength=2))
            return message

    assert replay(Watched(Index(12))) is None
    assert seen[0].min() > 100


def test_every_shipped_machine_passes_replay():
    for model in ("linear_attention", "sliding_window"):
        for regime in ("handoff", "step"):
            measured = measure(Request("index", 10, model=model, regime=regime, bob="model"))
            assert measured.broken is None


class Restless(Protocol):
    """An Alice who rolls dice, without a Bob of her own."""

    def __init__(self, problem):
        self.problem, self.state_bits = problem, 3
        self._dice = np.random.default_rng(1)

    def encode(self, x):
        return self._dice.integers(0, 8, (len(x), 1)).astype(np.uint8)

    def describe(self):
        return {"protocol": "restless"}


def test_alice_must_repeat_herself_with_or_without_a_bob():
    assert replay(Restless(Index(8))) == "Alice sent another message for the same input"
    assert replay(cut(Index(8), "gru")) is None


def test_a_run_that_holds_a_leak_says_so(cli, tmp_path):
    words = ["run", "--n", "6", "--models", "sliding_window", "--codes", "leaky,majority", "--json"]
    outcome = cli(*words, "--out", tmp_path / "r")
    assert outcome.code == 3
    assert "index leaky n=6: asked" in outcome.err
    assert len(outcome.row["broken"]) == 1
    again = cli(*words, "--out", tmp_path / "r")  # nothing is measured anew, and it still says so
    assert (again.code, again.out) == (3, outcome.out)
