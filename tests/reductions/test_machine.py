"""What is declared is what is sent, and the specification says everything."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from statebound import registry
from statebound.errors import UsageError
from statebound.models._build import family
from statebound.protocols.problems.index import Index
from statebound.protocols.problems.istree import IsTree
from statebound.reductions.machine import cut


def test_declared_bits_are_packed_bits(kind, inputs):
    machine = kind.machine()
    declared = sum(f.numbers * f.bits for f in machine.spec.fields)
    assert declared == machine.state_bits == machine.spec.state_bits
    assert declared == kind.bits * machine.cell.config.numbers
    assert [(f.name, f.numbers) for f in machine.spec.fields] == [
        (f.name, f.numbers) for f in machine.cell.fields
    ]
    message = machine.encode(inputs)
    assert message.dtype == np.uint8
    assert message.shape == (len(inputs), -(-declared // 8))
    assert machine.message_bytes == message.shape[1]
    if declared % 8:
        assert not (message[:, -1] >> declared % 8).any()


def test_equal_messages_give_equal_answers_and_queries_leave_alice_alone(model, kind_of, inputs):
    for regime in ("handoff", "step"):
        for quantisation in (("quantile", 1), ("uniform", 3)):
            machine = kind_of(model, quantisation, regime).fresh()
            state = machine.extend(machine.starts(len(inputs)), machine.encoding.tokens(inputs))
            message = machine.message(state)
            if not machine.has_bob:
                with pytest.raises(TypeError, match="readout"):
                    machine.answer(message, np.zeros(len(inputs), np.int64))
                continue
            table = {}
            for query in range(6):
                answers = machine.answer(message, np.full(len(inputs), query))
                assert set(np.unique(answers)) <= {0, 1}
                for sent, answer in zip(message, answers, strict=True):
                    assert table.setdefault((sent.tobytes(), query), answer) == answer
                assert (machine.message(state) == message).all()
                assert (machine.encode(inputs) == message).all()
            mixed = np.arange(len(inputs)) % 6
            order = np.argsort(-np.arange(len(inputs)))
            one = machine.answer(message, mixed)
            assert (machine.answer(message[order], mixed[order]) == one[order]).all()
            assert len(table) < 6 * len(inputs), "no two messages were equal: nothing was tested"


def test_features_are_the_dequantised_numbers(kind, inputs):
    machine = kind.machine()
    message = machine.encode(inputs)
    features = machine.features(message)
    assert features.shape == (len(inputs), machine.cell.config.numbers)
    assert np.isfinite(features).all()
    for sent, row in zip(message[:64], features[:64], strict=True):
        twin = np.flatnonzero((message == sent).all(axis=1))
        assert (features[twin] == row).all()


CHANGES = {
    "bits": {"bits": 4},
    "regime": {"regime": "step"},
    "quantiser": {"quantiser": "uniform"},
    "dtype": {"dtype": "float64"},
    "numbers": {"numbers": 24},
    "seed": {"machine_seed": 1, "init": "random"},
    "encoding": {"encoding": "pairs", "init": "random"},
}


@pytest.mark.parametrize("name", registry.names("statebound.models"))
def test_the_specification_tells_machines_apart(name):
    def digest(problem=None, **changes):
        spoken = "pairs" if family(name).needs_positions else "bits"
        arguments = {"numbers": 8, "bits": 3, "init": "random", "encoding": spoken} | changes
        machine = cut(problem or Index(7), name, **arguments)
        json.dumps(machine.describe())
        return machine.spec.digest

    changes = dict(CHANGES)
    if family(name).needs_positions:
        del changes["encoding"]
    digests = [digest(), *(digest(**change) for change in changes.values())]
    digests += [digest(Index(8)), digest(IsTree(9)), digest(Index(7, query_law="zipf"))]
    assert len(set(digests)) == len(digests)
    assert digest() == digests[0]


MODELS = [
    (name, init, {}) for name in registry.names("statebound.models") for init in family(name).inits
]
SCRIPT = """
import json, sys
import numpy as np
from statebound.protocols.problems.index import Index
from statebound.reductions.machine import cut
x = (np.arange(64)[:, None] >> np.arange(6) & 1).astype(np.uint8)
rows = []
for arguments in json.loads(sys.argv[1]):
    machine = cut(Index(6), arguments.pop("model"), **arguments)
    rows.append([machine.spec.digest, machine.encode(x).tobytes().hex()])
print(json.dumps(rows))
"""


def test_another_process_makes_the_same_machines_and_bytes():
    asked = [
        {
            "model": name,
            "init": init,
            "settings": dict(settings),
            "bits": bits,
            "regime": regime,
            "quantiser": quantiser,
        }
        for name, init, settings in MODELS
        for quantiser, bits in (("quantile", 3), ("uniform", 12))
        for regime in ("handoff", "step")
    ]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(asked)],
        check=True,
        capture_output=True,
        text=True,
    )
    x = (np.arange(64)[:, None] >> np.arange(6) & 1).astype(np.uint8)
    for arguments, (digest, sent) in zip(asked, json.loads(done.stdout), strict=True):
        machine = cut(Index(6), arguments.pop("model"), **arguments)
        assert machine.spec.digest == digest
        assert machine.encode(x).tobytes().hex() == sent


def test_defaults():
    assert cut(Index(6), "gru").spec.quantiser == "quantile"
    assert cut(Index(6), "gru", bits=9).spec.quantiser == "uniform"
    assert cut(Index(6), "gru").state_bits == 8
    assert cut(Index(6), "linear_attention").spec.encoding == "pairs"
    assert cut(Index(6), "sliding_window").spec.init == "constructed"
    assert cut(Index(6), "rnn").spec.init == "random"


@pytest.mark.parametrize(
    ("arguments", "argument"),
    [
        ({"bits": 0}, "bits"),
        ({"bits": 33}, "bits"),
        ({"regime": "never"}, "regime"),
        ({"quantiser": "no_such"}, "quantiser"),
        ({"encoding": "no_such"}, "encoding"),
        ({"dtype": "float16"}, "dtype"),
        ({"numbers": 0}, "numbers"),
        ({"bits": 2, "quantiser": "sign"}, "bits"),
    ],
)
def test_requests_without_meaning_are_refused(arguments, argument):
    with pytest.raises(UsageError) as caught:
        cut(Index(6), "gru", **arguments)
    assert caught.value.argument == argument


def test_unknown_models_are_refused():
    with pytest.raises(UsageError, match="gru"):
        cut(Index(6), "no_such")
    with pytest.raises(UsageError, match="cannot be imported"):
        cut(Index(6), "no_such_module:Cell")
    with pytest.raises(UsageError, match="subclass"):
        cut(Index(6), "fractions:Fraction")
