"""What is declared is what is sent, and the specification says everything."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import numpy as np
import pytest

from statebound import registry
from statebound.errors import UsageError
from statebound.models._build import family
from statebound.protocols.problems.index import Index
from statebound.protocols.problems.istree import IsTree
from statebound.reductions import quantiser as quantisers
from statebound.reductions.machine import cut

from .conftest import CELLS, fitted_quantisers


def check_bits(machine, bits, inputs):
    lines = machine.spec.fields
    declared = sum(f.numbers * f.bits for f in lines)
    assert declared == machine.state_bits == machine.spec.state_bits == machine.widths.sum()
    real = [f for f in lines if f.kind == "real"]
    assert [(f.name, f.numbers) for f in real] == [(f.name, f.numbers) for f in machine.cell.fields]
    assert {f.bits for f in real} == {bits}
    assert sum(f.numbers for f in real) == machine.numbers == machine.cell.config.numbers
    message = machine.encode(inputs)
    assert message.dtype == np.uint8
    assert message.shape == (len(inputs), -(-declared // 8))
    assert machine.message_bytes == message.shape[1]
    if declared % 8:
        assert not (message[:, -1] >> declared % 8).any()
    return lines


def test_declared_bits_are_packed_bits(kind, inputs):
    machine = kind.machine()
    beside = {f.name: f for f in check_bits(machine, kind.bits, inputs) if f.kind != "real"}
    for field in machine.cell.fields:
        scale = beside.pop(f"{field.name}.scale", None)
        assert (scale is not None) == kind.quantiser.startswith("absmax")
        if scale is not None:
            assert (scale.kind, scale.bits) == ("scale", 32)
            assert scale.numbers == scales_of(kind.quantiser, field)
    assert not beside


@pytest.mark.parametrize("cell", CELLS, ids=[c[0] for c in CELLS])
@pytest.mark.parametrize("quantisation_of", [("sign", 1), ("absmax", 3)], ids=["sign", "absmax"])
def test_residuals_are_declared_where_they_cross(cell, quantisation_of, kind_of, inputs):
    machine = kind_of(cell, quantisation_of, "step", rounding="feedback").fresh()
    lines = check_bits(machine, quantisation_of[1], inputs)
    found = {f.name: (f.numbers, f.bits) for f in lines if f.kind == "residual"}
    assert found == {
        f"{f.name}.residual": (f.numbers, 32) for f in machine.cell.fields if not f.cache
    }


def scales_of(quantiser, field):
    """Count the scales: of a cache for each entry by itself."""
    entries, shape = (field.shape[0], field.shape[1:]) if field.cache else (1, field.shape)
    numbers = math.prod(shape)
    if quantiser == "absmax":
        return entries
    if quantiser == "absmax_channel":
        return entries * numbers // shape[-1]
    return entries * math.ceil(numbers / 32)


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
    "rounding": {"rounding": "stochastic"},
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
        for quantiser, bits, regime in (("quantile", 3, "handoff"), ("uniform", 12, "step"))
    ]
    asked += [
        {"model": "gru", "quantiser": name, "regime": "step", "rounding": rounding}
        for name in fitted_quantisers()
        for rounding in ("nearest", "stochastic_private")
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
    assert cut(Index(6), "gru", precision={"h": 9}).spec.quantiser == "uniform"
    assert cut(Index(6), "gru").state_bits == 8
    assert cut(Index(6), "gru").spec.rounding == "nearest"
    assert cut(Index(6), "linear_attention").spec.encoding == "pairs"
    assert cut(Index(6), "sliding_window").spec.init == "constructed"
    assert cut(Index(6), "rnn").spec.init == "random"


@pytest.mark.parametrize("name", fitted_quantisers())
def test_bits_that_are_not_given_are_the_fewest(name):
    machine = cut(Index(6), "gru", numbers=2, quantiser=name)
    (bits,) = {f.bits for f in machine.spec.fields if f.kind == "real"}
    assert bits == quantisers.load(name).least_bits
    assert machine.spec == cut(Index(6), "gru", numbers=2, quantiser=name, bits=bits).spec


def test_fields_can_have_precisions_of_their_own():
    def bits(**arguments):
        made = cut(Index(6), "mamba", numbers=8, quantiser="uniform", **arguments)
        x = (np.arange(64)[:, None] >> np.arange(6) & 1).astype(np.uint8)
        assert made.encode(x).shape == (64, -(-made.state_bits // 8))
        assert made.state_bits == sum(f.numbers * f.bits for f in made.spec.fields)
        return {f.name: f.bits for f in made.spec.fields}

    assert bits(bits=3) == {"h": 3, "conv": 3}
    assert bits(bits=3, precision={"conv": 5}) == {"h": 3, "conv": 5}
    assert bits(precision={"conv": 5}) == {"h": 1, "conv": 5}
    assert bits(precision={"conv": 5, "h": 32}) == {"h": 32, "conv": 5}
    mixed = cut(Index(6), "mamba", numbers=8, quantiser="absmax", precision={"h": 4})
    assert [(f.name, f.bits) for f in mixed.spec.fields] == [
        ("h", 4),
        ("h.scale", 32),
        ("conv", 2),
        ("conv.scale", 32),
    ]


def test_what_is_quantised_alike_is_one_machine():
    one = cut(Index(6), "mamba", numbers=8, bits=3)
    same = cut(Index(6), "mamba", numbers=8, bits=7, precision={"h": 3, "conv": 3})
    other = cut(Index(6), "mamba", numbers=8, bits=3, precision={"h": 2})
    assert one.spec.digest == same.spec.digest != other.spec.digest


def test_the_seed_is_that_of_coins_too(tmp_path):
    weights = cut(Index(6), "gru", numbers=3).cell.weights

    def made(seed, rounding):
        return cut(Index(6), "gru", weights=weights, machine_seed=seed, bits=2, rounding=rounding)

    assert made(0, "nearest").spec == made(1, "nearest").spec
    assert made(0, "nearest").spec.machine_seed is None
    assert made(1, "stochastic").spec.machine_seed == 1
    digests = [made(s, r).spec.digest for s in (0, 1) for r in ("stochastic", "stochastic_private")]
    assert len({*digests, made(0, "nearest").spec.digest}) == 5


@pytest.mark.parametrize(
    ("arguments", "argument"),
    [
        ({"bits": 0}, "bits"),
        ({"bits": 33}, "bits"),
        ({"regime": "never"}, "regime"),
        ({"quantiser": "no_such"}, "quantiser"),
        ({"rounding": "no_such"}, "rounding"),
        ({"encoding": "no_such"}, "encoding"),
        ({"dtype": "float16"}, "dtype"),
        ({"numbers": 0}, "numbers"),
        ({"bits": 2, "quantiser": "sign"}, "bits"),
        ({"bits": 8, "quantiser": "fp16"}, "bits"),
        ({"bits": 1, "quantiser": "absmax"}, "bits"),
        ({"precision": {"h": 33}}, "precision"),
        ({"precision": {"h": 0}}, "precision"),
        ({"precision": {"conv": 3}}, "precision"),
        ({"quantiser": "sign", "precision": {"h": 3}}, "precision"),
        ({"quantiser": "quantile", "bits": 3, "precision": {"h": 13}}, "precision"),
        ({"rounding": "feedback"}, "rounding"),
    ],
    ids=str,
)
def test_requests_without_meaning_are_refused(arguments, argument):
    with pytest.raises(UsageError) as caught:
        cut(Index(6), "gru", **arguments)
    assert caught.value.argument == argument


def test_a_field_that_is_not_there_is_refused_with_those_that_are():
    with pytest.raises(UsageError, match="h, conv"):
        cut(Index(6), "mamba", precision={"convolution": 3})


def test_feedback_says_why_a_handoff_cannot_have_it():
    with pytest.raises(UsageError, match="quantises once"):
        cut(Index(6), "gru", rounding="feedback")


def test_unknown_models_are_refused():
    with pytest.raises(UsageError, match="gru"):
        cut(Index(6), "no_such")
    with pytest.raises(UsageError, match="cannot be imported"):
        cut(Index(6), "no_such_module:Cell")
    with pytest.raises(UsageError, match="subclass"):
        cut(Index(6), "fractions:Fraction")
