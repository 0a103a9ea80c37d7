"""A new model, quantiser, rounding, encoding or problem is one new file, and nothing else."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

from statebound import registry
from statebound.protocols.problems.index import Index
from statebound.reductions.machine import cut

MODEL = '''
"""A shift register: the last W symbols as plain numbers, unbounded."""
from dataclasses import dataclass
import numpy as np
from statebound.models import Cell, Config, Field

@dataclass(frozen=True)
class Size(Config):
    places: int

    @property
    def numbers(self):
        return self.places

    @classmethod
    def of(cls, numbers, settings):
        cls.check_settings(settings)
        return cls(settings.get("places", numbers))

class Register(Cell):
    name, summary = "register", "a shift register"
    Config = Size

    def __init__(self, config, weights, vocabulary, dtype="float32"):
        super().__init__(config, weights, vocabulary, dtype)
        self.fields = (Field("places", (config.places,)),)

    @classmethod
    def shapes(cls, config, vocabulary):
        return {"gain": ()}

    @classmethod
    def config_of(cls, weights, settings):
        return Size(settings["places"])

    @classmethod
    def random(cls, config, vocabulary, generator):
        return {"gain": np.float64(1 + generator.random())}

    def scan(self, state, tokens):
        fresh = (self.table("gain") * (2 * tokens + 1)).astype(self.dtype)
        both = np.concatenate([state[0], fresh], axis=1)
        return (np.ascontiguousarray(both[:, both.shape[1] - self.config.places :]),)

CELL = Register
'''

QUANTISER = '''
"""Halves: the middle of the range splits it, at one bit."""
import numpy as np
from statebound.reductions.quantiser import Quantiser

class Halves(Quantiser):
    name, summary, most_bits = "halves", "above or below the middle", 1

    def __init__(self, ends):
        self.bits, self.ends = 1, ends

    @classmethod
    def fit(cls, bits, field, sample):
        return cls(np.stack([sample.min(axis=1), sample.max(axis=1)]))

    def encode(self, values):
        return (values >= self.ends.mean(axis=0)[:, None]).astype(np.uint32)

    def decode(self, codes, dtype):
        return np.where(codes == 1, self.ends[1][:, None], self.ends[0][:, None]).astype(dtype)

    def parameters(self):
        return {"ends": self.ends}

QUANTISER = Halves
'''

ROUNDING = '''
"""Down: the lower of the two values around a number."""
import numpy as np
from statebound.reductions.rounding import Rounding

class Down(Rounding):
    name, summary = "down", "never up"

    def encode(self, quantiser, values, field, times):
        codes = quantiser.encode(values)
        above = quantiser.decode(codes, values.dtype) > values
        lower = quantiser.neighbour(codes, np.zeros(values.shape, bool))
        return np.where(above, lower, codes)

ROUNDING = Down
'''

ENCODING = '''
"""Twice: every symbol is said two times."""
import numpy as np
from statebound.reductions.encoding import Encoding, vocabulary_of

class Twice(Encoding):
    name, summary = "twice", "two tokens a symbol"

    def _vocabulary(self):
        return vocabulary_of(self.problem, positional=False)

    def block(self, position):
        symbol = np.arange(self.problem.symbols, dtype=np.int32)
        return np.stack([symbol, symbol], axis=1)

ENCODING = Twice
'''

PROBLEM = '''
"""Majority of three neighbours: Bob asks whether two of x_k, x_(k+1), x_(k+2) are 1."""
from fractions import Fraction
from statebound.protocols.problem import Problem, Structure

class Majority(Problem):
    name = "majority"

    def __init__(self, n):
        self.n = self.length = n
        self.queries = n - 2
        self.symbols = self.alphabet = 2

    @property
    def structure(self):
        law = (Fraction(1, self.queries),) * self.queries
        return Structure(2, 0, law, independent=False, index_stream=False)

    def answers(self, x):
        return (x[:, :-2] + x[:, 1:-1] + x[:, 2:] >= 2).astype(x.dtype)

PROBLEM = Majority
'''

FILES = {
    "statebound.models": ("register", MODEL),
    "statebound.reductions.quantisers": ("halves", QUANTISER),
    "statebound.reductions.roundings": ("down", ROUNDING),
    "statebound.reductions.encodings": ("twice", ENCODING),
    "statebound.protocols.problems": ("majority", PROBLEM),
}


@pytest.fixture
def one_file_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Put each file into a folder of its own that belongs to the package for a while."""
    for package, (stem, text) in FILES.items():
        folder = tmp_path / package
        folder.mkdir()
        (folder / f"{stem}.py").write_text(text)
        module = importlib.import_module(package)
        monkeypatch.setattr(module, "__path__", [*module.__path__, str(folder)])
    importlib.invalidate_caches()
    yield
    for package, (stem, _) in FILES.items():
        sys.modules.pop(f"{package}.{stem}", None)
        if hasattr(sys.modules[package], stem):
            delattr(sys.modules[package], stem)


@pytest.mark.usefixtures("one_file_each")
def test_each_is_listed_under_its_file_name():
    for package, (stem, _) in FILES.items():
        assert stem in registry.names(package)
        registry.load(package, stem, "name")


def test_and_is_gone_afterwards():
    for package, (stem, _) in FILES.items():
        assert stem not in registry.names(package)


@pytest.mark.usefixtures("one_file_each")
@pytest.mark.parametrize("regime", ["handoff", "step"])
@pytest.mark.parametrize("encoding", ["bits", "twice"])
def test_they_work_together_and_with_what_ships(regime, encoding):
    problem = registry.load("statebound.protocols.problems", "majority", "problem").PROBLEM(9)
    for model in ("register", "gru"):
        for quantiser in ("halves", "quantile"):
            machine = cut(
                problem,
                model,
                numbers=8,
                regime=regime,
                quantiser=quantiser,
                encoding=encoding,
                machine_seed=1,
            )
            assert machine.state_bits == 8
            x = problem.enumerate(0, problem.inputs)
            message = machine.encode(x)
            state = machine.start()
            for position in range(9):
                state = machine.branch(state, position)
            assert (machine.message(state) == message).all()
            tokens = machine.encoding.tokens(x)
            half = machine.extend(machine.starts(len(x)), tokens[:, :5])
            bob = machine.resume(machine.message(half), 5)
            if regime == "step":
                assert (machine.message(machine.extend(bob, tokens[:, 5:])) == message).all()
            if model == "register" and regime == "handoff":
                kept = 8 if encoding == "bits" else 4
                twice = np.repeat(x, 1 if encoding == "bits" else 2, axis=1)
                bits = np.unpackbits(message, axis=1, bitorder="little")
                assert (bits == twice[:, -8:]).all()
                assert len(np.unique(message, axis=0)) == 2**kept


@pytest.mark.usefixtures("one_file_each")
def test_measure_takes_them_by_name():
    measure = pytest.importorskip("statebound.experiments.measure")
    request = pytest.importorskip("statebound.experiments.request")
    found = measure.measure(
        request.Request(
            "index", 10, model="register", numbers=4, quantiser="halves", encoding="bits"
        )
    )
    row = found.row
    assert (row["model"], row["quantiser"], row["state_bits"]) == ("register", "halves", 4)
    assert row["success"] == 0.5 + 4 / 20
    found = measure.measure(
        request.Request(
            "index", 10, model="register", numbers=4, encoding="bits", bits=2, rounding="down"
        )
    )
    assert (found.row["rounding"], found.row["state_bits"]) == ("down", 8)
    found = measure.measure(
        request.Request("majority", 6, model="register", numbers=6, quantiser="halves")
    )
    assert found.row["success"] == 1
    assert found.row["wall_ball"] is None


def test_a_class_of_the_user_needs_no_file_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "my_register.py").write_text(MODEL)
    monkeypatch.syspath_prepend(str(tmp_path))
    machine = cut(Index(5), "my_register:Register", numbers=5, quantiser="sign")
    assert machine.spec.model == "register"
    assert machine.state_bits == 5
    sys.modules.pop("my_register", None)
