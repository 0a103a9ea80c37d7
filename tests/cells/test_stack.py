"""Stacks and hybrids: the whole model, its sizes, and how a quantised step goes up."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from statebound import registry
from statebound.errors import UsageError
from statebound.models import Vocabulary
from statebound.models._build import build, family
from statebound.models._lanes import LANES, to_lanes, to_rows
from statebound.models._layer import COLUMNS
from statebound.models._stack_size import MOST_LAYERS
from statebound.models.hybrid import places
from statebound.models.stack import parse
from statebound.protocols.problems.index import Index
from statebound.reductions.machine import cut

ROWS, STEPS = 9, 8
LANGUAGE = Vocabulary(STEPS, 2, True, 4, 3)
WITH_LAYER = [
    name
    for name in registry.names("statebound.models")
    if getattr(family(name), "layer", None) is not None
]


@pytest.fixture
def generator():
    return np.random.Generator(np.random.PCG64(7))


def answering(name, numbers=None, vocabulary=LANGUAGE, dtype="float64", seed=3, **settings):
    """Return a cell with loud parameters, norms that differ from 1, and a readout."""
    generator = np.random.Generator(np.random.PCG64(seed))
    cell, _ = build(family(name), vocabulary, numbers=numbers, settings=settings, init="random")
    w = type(cell).random(cell.config, vocabulary, generator)
    for key, array in w.items():
        if key.rpartition(".")[2] in ("weight", "weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            w[key] = array + 0.4 * generator.standard_normal(array.shape)
    D, answers = cell.config.width, vocabulary.answers
    w["readout.weight"] = generator.standard_normal((answers, D))
    w["readout.bias"] = generator.standard_normal(answers)
    made, _ = build(family(name), vocabulary, weights=w, settings=cell.settings(), dtype=dtype)
    assert made.config == cell.config
    assert made.has_readout
    return made


def drawn(cell, generator, rows=ROWS):
    """Return a random state, (rows, *shape) a field, within the fields' bounds."""
    return [
        generator.uniform(-1, 1, (rows, *f.shape))
        if f.low == -1
        else generator.standard_normal((rows, *f.shape)) * 0.7 + (0 if f.low is None else 3)
        for f in cell.fields
    ]


def laid(cell, rows):
    return tuple(to_lanes(part.reshape(len(part), -1).astype(cell.dtype)) for part in rows)


def spoken(cell, generator, steps=STEPS, rows=ROWS):
    """Draw (rows, steps) tokens and lay them out."""
    tokens = generator.integers(0, cell.vocabulary.size, (rows, steps), dtype=np.int32)
    return tokens, to_lanes(tokens)


def same(one, other) -> bool:
    return len(one) == len(other) and all(
        a.tobytes() == b.tobytes() for a, b in zip(one, other, strict=True)
    )


def rms(u, weight):
    return u / np.sqrt((u**2).mean(-1, keepdims=True) + 1e-5) * weight


def last_logits(cell, first, lanes):
    """Return the state after all tokens and the logits at the last one, as rows."""
    before = cell.scan(first, lanes[:, :-1])
    last = np.ascontiguousarray(lanes[:, -1:])
    after = cell.scan(before, last)
    return [to_rows(part, ROWS) for part in after], to_rows(cell.logits(before, after, last), ROWS)


@pytest.mark.parity
@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize(("dtype", "error"), [("float64", 1e-12), ("float32", 1e-5)])
def test_a_stack_of_grus_is_torchs(depth, dtype, error, generator):
    """From a random state: every layer's final state, and the logits after a token."""
    torch = pytest.importorskip("torch")
    cell = answering("stack", 5 * depth, cell="gru", depth=depth, dtype=dtype)
    D, w = 5, {n: torch.tensor(a).double() for n, a in cell.weights.items()}
    kept = drawn(cell, generator)
    tokens, lanes = spoken(cell, generator)
    u, states = w["embedding.weight"][torch.tensor(tokens).long()], []
    with torch.no_grad():
        for place in range(depth):
            gru = torch.nn.GRU(D, D, batch_first=True).double()
            prefix = f"layers.{place}.mixer."
            gru.load_state_dict(
                {f"{n}_l0": w[prefix + n] for n in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")}
            )
            norm = torch.nn.functional.rms_norm(u, (D,), w[f"layers.{place}.norm.weight"], 1e-5)
            y, h = gru(norm, torch.tensor(kept[place])[None])
            u, states = u + y, [*states, h[0].numpy()]
        top = torch.nn.functional.rms_norm(u[:, -1], (D,), w["norm.weight"], 1e-5)
        logits = (top @ w["readout.weight"].T + w["readout.bias"]).numpy()
    found, said = last_logits(cell, laid(cell, kept), lanes)
    for part, expected in zip(found, states, strict=True):
        np.testing.assert_allclose(part, expected, rtol=error, atol=error)
    np.testing.assert_allclose(said, logits, rtol=0, atol=error * np.abs(logits).max())


@pytest.mark.parametrize("window", [0, 4])
@pytest.mark.parametrize(("dtype", "error"), [("float64", 1e-11), ("float32", 3e-5)])
def test_a_hybrid_is_its_definition(window, dtype, error, generator):
    """Linear attention, attention, linear attention; from a state with a full cache."""
    sizes = {"heads": 2, "width": 6, "window": window, "0.d_value": 3, "1.d_key": 3}
    cell = answering("hybrid", 60 if window else 36, depth=3, attention="2", dtype=dtype, **sizes)
    w, (S, keys, values, R) = cell.weights, drawn(cell, generator)
    tokens, lanes = spoken(cell, generator)
    first = laid(cell, (S, keys, values, R))

    def memory(S, place, x):
        p = f"layers.{place}.mixer."
        q, k, v = ((x @ w[f"{p}{n}_proj.weight"].T).reshape(ROWS, 2, -1) for n in "qkv")
        S = S + k[..., None] * v[:, :, None]
        o = np.einsum("rhkv,rhk->rhv", S, q) / np.sqrt(k.shape[-1])
        return S, o.reshape(ROWS, -1) @ w[f"{p}o_proj.weight"].T

    for t in range(STEPS):
        u = w["embedding.weight"][tokens[:, t]]
        S, y = memory(S, 0, rms(u, w["layers.0.norm.weight"]))
        u = u + y
        x, p = rms(u, w["layers.1.norm.weight"]), "layers.1.mixer."
        q, k, v = (x @ w[f"{p}{n}_proj.weight"].T for n in "qkv")
        keys, values = (
            np.concatenate([part, new[:, None]], axis=1) for part, new in ((keys, k), (values, v))
        )
        score = np.einsum(
            "rhk,rehk->rhe", q.reshape(ROWS, 2, -1), keys.reshape(ROWS, keys.shape[1], 2, -1)
        )
        weight = np.exp(score / np.sqrt(3))
        weight = weight / weight.sum(-1, keepdims=True)
        o = np.einsum("rhe,rehv->rhv", weight, values.reshape(ROWS, keys.shape[1], 2, -1))
        keys, values = keys[:, 1:], values[:, 1:]
        u = u + o.reshape(ROWS, -1) @ w[f"{p}o_proj.weight"].T
        R, y = memory(R, 2, rms(u, w["layers.2.norm.weight"]))
        u = u + y
    logits = rms(u, w["norm.weight"]) @ w["readout.weight"].T + w["readout.bias"]
    found, said = last_logits(cell, first, lanes)
    for part, expected in zip(found, (S, keys, values, R), strict=True):
        np.testing.assert_allclose(
            part, expected.reshape(ROWS, -1), rtol=0, atol=error * np.abs(expected).max()
        )
    np.testing.assert_allclose(said, logits, rtol=0, atol=error * np.abs(logits).max())


def logistic(x):
    return 1 / (1 + np.exp(-x))


def gru(w, prefix, h, x):
    """One step of torch's GRU for one row."""
    i = np.split(w[f"{prefix}weight_ih"] @ x + w[f"{prefix}bias_ih"], 3)
    r = np.split(w[f"{prefix}weight_hh"] @ h + w[f"{prefix}bias_hh"], 3)
    reset, update = logistic(i[0] + r[0]), logistic(i[1] + r[1])
    return (1 - update) * np.tanh(i[2] + reset * r[2]) + update * h


def settled(machine, place, h):
    """Return the codes of one row's numbers in one field, and what they stand for."""
    lanes = np.zeros((1, len(h), LANES))
    lanes[0, :, 0] = h
    quantiser = machine.crossings[place].quantiser
    codes = quantiser.encode(lanes)
    return codes[0, :, 0].tolist(), quantiser.decode(codes, lanes.dtype)[0, :, 0]


def slow(machine, tokens, *, at_once=False):
    """Run one row of a stack of two grus in steps; return its message as bits."""
    w, H = machine.cell.weights, machine.cell.config.width
    held, codes = [np.zeros(H), np.zeros(H)], [[], []]
    for token in tokens:
        u = w["embedding.weight"][token]
        for place in (0, 1):
            prefix = f"layers.{place}."
            x = rms(u, w[f"{prefix}norm.weight"])
            new = gru(w, f"{prefix}mixer.", held[place], x)
            codes[place], held[place] = settled(machine, place, new)
            u = u + (new if at_once else held[place])
    return [code >> bit & 1 for place in codes for code in place for bit in range(2)]


def test_in_steps_a_layer_reads_the_settled_output_below():
    n = 6
    machine = cut(
        Index(n), "stack", numbers=6, bits=2, regime="step", dtype="float64", machine_seed=4
    )
    x = (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(np.uint8)
    sent = np.unpackbits(machine.encode(x), axis=1, bitorder="little")[:, : machine.state_bits]
    tokens = machine.encoding.tokens(x)
    assert sent.tolist() == [slow(machine, row) for row in tokens]
    unsettled = [slow(machine, row, at_once=True) for row in tokens]
    assert sent.tolist() != unsettled, "the order of settling would not show here"


def test_answers_in_steps_read_settled_layers(generator):
    """The logits are made anew from both states, and equal those of an unsplit step."""
    cell = answering("stack", 8, vocabulary=Vocabulary(5, 2, False, 5, 2), cell="gru")
    _, lanes = spoken(cell, generator, 1)
    old = laid(cell, drawn(cell, generator))
    seen = []

    def settle(first, values):
        seen.append((first, len(values)))
        return tuple(np.round(part * 2) / 2 for part in values)

    new = cell.step(old, lanes, settle)
    assert seen == [(0, 1), (1, 1)]
    w, token = cell.weights, to_rows(lanes, ROWS)[:, 0]
    u = w["embedding.weight"][token] + to_rows(new[0], ROWS)
    second = [
        gru(w, "layers.1.mixer.", h, x)
        for h, x in zip(to_rows(old[1], ROWS), rms(u, w["layers.1.norm.weight"]), strict=True)
    ]
    np.testing.assert_allclose(to_rows(new[1], ROWS), np.round(np.array(second) * 2) / 2)
    u = u + to_rows(new[1], ROWS)
    expected = rms(u, w["norm.weight"]) @ w["readout.weight"].T + w["readout.bias"]
    np.testing.assert_allclose(to_rows(cell.logits(old, new, lanes), ROWS), expected, atol=1e-12)


@cache
def smallest(name):
    """Return the least total that two layers of a model can share, above one number each."""
    for numbers in range(4, 200):
        try:
            family("stack").Config.of(numbers, {"cell": name, "depth": 2})
        except UsageError:
            continue
        return numbers
    raise AssertionError(name)


def test_layers_are_found():
    assert {"gru", "lstm", "rnn", "linear_attention", "s4", "s4d", "attention", "mamba"} <= set(
        WITH_LAYER
    )


@pytest.mark.parametrize("name", WITH_LAYER)
def test_two_layers_of_every_model_obey_the_laws(name, generator):
    """Chunks and single steps give the same bits; a split is no split; all is alive."""
    cell = answering("stack", smallest(name), dtype="float32", cell=name, depth=2)
    _, lanes = spoken(cell, generator)
    first = cell.scan(cell.start(1), spoken(cell, generator)[1])
    whole = cell.scan(first, lanes)
    for chunk in (1, 3):
        state = first
        for t in range(0, STEPS, chunk):
            state = cell.scan(state, lanes[:, t : t + chunk])
        assert same(state, whole)
    stepped = first
    for t in range(STEPS):
        stepped = cell.step(stepped, lanes[:, t : t + 1], lambda _, values: values)
    assert same(stepped, whole)
    last = spoken(cell, generator, 1)[1]
    plain = cell.logits(whole, cell.scan(whole, last), last)
    for i, field in enumerate(cell.fields):
        moved = list(whole)
        moved[i] = whole[i] + (1.5 * generator.standard_normal(whole[i].shape)).astype("float32")
        logits = cell.logits(tuple(moved), cell.scan(tuple(moved), last), last)
        assert (logits != plain).any(), f"{field.name} is not read"


@pytest.mark.parametrize("regime", ["handoff", "step"])
@pytest.mark.parametrize("name", WITH_LAYER)
def test_two_layers_of_every_model_may_be_split(name, regime):
    made = [
        cut(
            Index(5),
            "stack",
            numbers=smallest(name),
            bits=2,
            regime=regime,
            settings={"cell": name, "depth": 2},
        )
        for _ in range(2)
    ]
    alice, bob = made
    x = (np.arange(32)[:, None] >> np.arange(5) & 1).astype(np.uint8)
    tokens = alice.encoding.tokens(x)
    for handoff in (1, 3):
        begun = alice.extend(alice.starts(32), tokens[:, :handoff])
        message = alice.message(begun)
        after = bob.extend(bob.resume(message, handoff), tokens[:, handoff:])
        kept = alice.resume(message, handoff)  # one process that quantises there
        once = alice.extend(kept if regime == "handoff" else begun, tokens[:, handoff:])
        assert (bob.message(after) == alice.message(once)).all()
    declared = sum(f.numbers for f in alice.cell.fields)
    assert declared == alice.cell.config.numbers
    assert alice.state_bits == 2 * declared


def test_numbers_add_up_and_the_sum_that_goes_up_is_no_state():
    cell, _ = build(family("stack"), LANGUAGE, numbers=24, settings={"layers": "mamba*2,gru"})
    assert [f.name for f in cell.fields] == ["0.h", "0.conv", "1.h", "1.conv", "2.h"]
    assert [part.numbers for part in cell.config.parts] == [8, 8, 8]
    assert sum(f.numbers for f in cell.fields) == cell.config.numbers == 24
    wide, _ = build(
        family("stack"),
        LANGUAGE,
        numbers=24,
        settings={"cell": "linear_attention", "depth": 3, "width": 40},
    )
    assert wide.config.numbers == sum(f.numbers for f in wide.fields) == 24
    assert wide.config.width == 40


@pytest.mark.parametrize(
    ("numbers", "settings", "sizes", "width"),
    [
        (8, {}, [4, 4], 4),
        (16, {"cell": "gru", "depth": 2}, [8, 8], 8),
        (12, {"layers": "lstm,gru"}, [8, 4], 4),
        (24, {"layers": "mamba*2,gru"}, [8, 8, 8], 8),
        (20, {"layers": "mamba*2,gru", "width": 4}, [8, 8, 4], 4),
        (8, {"cell": "s4d"}, [4, 4], 1),
        (32, {"cell": "s4d"}, [16, 16], 4),
        (16, {"cell": "s4"}, [8, 8], 4),
        (8, {"cell": "linear_attention"}, [4, 4], 8),
        (12, {"cell": "linear_attention", "normalise": 1, "width": 3}, [6, 6], 3),
    ],
)
def test_a_total_is_divided(numbers, settings, sizes, width):
    config = family("stack").Config.of(numbers, settings)
    assert [part.numbers for part in config.parts] == sizes
    assert [part.width for part in config.parts] == [width] * len(sizes)
    assert config.width == width
    assert config.numbers == numbers


def test_settings_that_decide_a_size_leave_the_rest_to_others():
    of = family("stack").Config.of
    config = of(20, {"layers": "mamba,gla*2", "0.d_inner": 3})
    assert [part.numbers for part in config.parts] == [12, 4, 4]
    config = of(8, {"cell": "mamba", "d_inner": 3, "1.d_inner": 1})  # nothing left to divide
    assert [part.numbers for part in config.parts] == [12, 4]
    with pytest.raises(UsageError, match="contradicts the settings, which make 16"):
        build(
            family("stack"),
            LANGUAGE,
            numbers=8,
            settings={"cell": "mamba", "d_inner": 3, "1.d_inner": 1},
        )
    with pytest.raises(UsageError, match="pass 14 or 16"):
        of(15, {"layers": "mamba,gla*2", "0.d_inner": 3})


def test_settings_reach_the_layers_that_know_them():
    config = family("stack").Config.of(
        18, {"layers": "mamba*2,gla", "d_state": 2, "0.d_state": 5, "heads": 2, "width": 6}
    )
    assert [getattr(part, "d_state", None) for part in config.parts] == [5, 2, None]
    assert config.parts[2].heads == 2
    told = config.settings()
    assert (told["layers"], told["width"], told["0.d_state"]) == ("mamba*2,gla", 6, 5)
    assert family("stack").Config.of(config.numbers, told) == config


@pytest.mark.parametrize(
    ("model", "numbers", "settings", "words"),
    [
        ("stack", 7, {}, "pass 6 or 8"),
        ("stack", 8, {"width": 3}, "of width 3; pass 6"),
        ("stack", 10, {"depth": 3}, "pass 9 or 12"),
        ("stack", None, {"layers": "gru,sliding_window"}, "choose from attention, .*gru"),
        ("stack", None, {"cell": "stack"}, "not a model that has a layer"),
        ("stack", None, {"layers": "os:path"}, "not a model that has a layer"),
        ("stack", None, {"layers": ""}, "nothing is not a model"),
        ("stack", None, {"layers": "gru*0"}, "not a count"),
        ("stack", None, {"layers": "gru*40,rnn*40"}, "more than 64"),
        ("stack", None, {"layers": "gru", "depth": 2}, "contradicts"),
        ("stack", None, {"depth": MOST_LAYERS + 1}, "beyond 64"),
        ("stack", None, {"depth": "two"}, "positive number"),
        ("stack", None, {"d_state": 3}, "nor of one of its layers"),
        ("stack", None, {"0.width": 3}, "nor of one of its layers"),
        ("stack", None, {"2.heads": 3, "cell": "gla"}, "nor of one of its layers"),
        ("stack", None, {"cell": "mamba", "d_state": "x"}, "whole number"),
        ("stack", None, {"cell": "mamba", "d_state": -1}, "d_state=-1"),
        ("hybrid", None, {"attention": 3}, "no places from 1 to 2"),
        ("hybrid", None, {"attention": "1,1"}, "no places"),
        ("hybrid", None, {"attention": "1/0"}, "no places"),
        ("hybrid", None, {"attention": "1/3"}, "no places"),
        ("hybrid", None, {"window": 1}, "keeps nothing"),
        ("hybrid", None, {"cell": "nope"}, "nope is not a model"),
    ],
)
def test_what_has_no_meaning_is_refused(model, numbers, settings, words):
    with pytest.raises(UsageError, match=words):
        build(family(model), LANGUAGE, numbers=numbers, settings=settings)


def test_weights_do_not_tell_the_models():
    cell = answering("stack", 8)
    for model, settings, words in [
        ("stack", {}, "do not tell the models"),
        ("stack", {"cell": "gru"}, "do not tell the models"),
        ("hybrid", {"cell": "gru", "depth": 2}, "do not tell attention"),
        ("stack", {"layers": "gru"}, "layers.1.mixer"),
        ("stack", {"layers": "gru*3"}, "weights"),
        ("stack", {"layers": "lstm*2"}, "weights"),
    ]:
        with pytest.raises(UsageError, match=words):
            build(family(model), LANGUAGE, weights=cell.weights, settings=settings)
    wide = dict(cell.weights) | {"embedding.weight": np.ones((LANGUAGE.size, 5))}
    with pytest.raises(UsageError, match="is not of the embedding's width 5"):
        build(family("stack"), LANGUAGE, weights=wide, settings={"layers": "gru*2"})
    named = {f"{n}_l0" if "mixer" in n else n: a for n, a in cell.weights.items()}
    again, _ = build(family("stack"), LANGUAGE, weights=named, settings={"layers": "gru*2"})
    assert again.config == cell.config


def test_lists_and_places():
    assert parse("gru") == ("gru",)
    assert parse("gru*2, mamba") == ("gru", "gru", "mamba")
    assert places("1/4", 9) == {4, 8}
    assert places("2,4", 4) == {2, 4}
    assert places("3", 3) == {3}
    config = family("hybrid").Config.of(
        16, {"cell": "gru", "depth": 4, "attention": "1/2", "window": 3}
    )
    assert config.models == ("gru", "attention", "gru", "attention")
    told = config.settings()
    assert (told["cell"], told["depth"], told["attention"]) == ("gru", 4, "2,4")
    assert family("hybrid").Config.of(16, told) == config
    assert family("hybrid").Config.models_of({"attention": 1}) == ("attention", "linear_attention")


def test_what_grows_is_told_apart():
    machines = [
        cut(Index(n), "hybrid", numbers=12, bits=3, settings={"depth": 3, "attention": "2"})
        for n in (5, 9)
    ]
    for n, machine in zip((5, 9), machines, strict=True):
        grows = {f.name: f.growing for f in machine.cell.fields}
        assert grows == {"0.S": 0, "1.keys": 2, "1.values": 2, "2.S": 0}
        assert machine.cell.growing == machine.cell.config.growing == 4
        assert machine.spec.growing == (("1.keys", 2), ("1.values", 2))
        assert machine.state_bits == 3 * (8 + 4 * n)
        assert dict(machine.spec.config)["1.length"] == n
    windowed = cut(Index(9), "hybrid", numbers=12, settings={"window": 4})
    assert windowed.spec.growing == ()
    assert sum(f.numbers for f in windowed.cell.fields) == 12


def test_many_tiles_and_long_pieces_are_the_same_bits(generator):
    """Pieces are cut where memory ends, not where it shows."""
    cell = answering("stack", 8, vocabulary=Vocabulary(5, 2, False, 5, 2), dtype="float32")
    tiles = COLUMNS // LANES + 2
    tokens = generator.integers(0, 7, (tiles, 3, LANES), dtype=np.int32)
    state = cell.scan(cell.start(tiles), tokens)
    for tile in (0, tiles - 3, tiles - 1):
        one = cell.scan(cell.start(1), tokens[tile : tile + 1])
        assert same(one, tuple(part[tile : tile + 1] for part in state))
    long = generator.integers(0, 7, (3, 60, LANES), dtype=np.int32)  # pieces of 21 tokens
    state = cell.start(3)
    for t in range(60):
        state = cell.scan(state, long[:, t : t + 1])
    assert same(cell.scan(cell.start(3), long), state)
