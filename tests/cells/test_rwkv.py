"""The RWKV blocks against renderings of their equations, and against other libraries."""

from __future__ import annotations

import math

import numpy as np
import pytest

from statebound.errors import UsageError
from statebound.models import Vocabulary, rwkv4, rwkv7
from statebound.models._build import build, family
from statebound.models._lanes import LANES, take_lanes, to_lanes, to_rows

from .layers import ROWS, STEPS, case, draw_state, run
from .rwkv_blocks import norm, rendered
from .test_matrix_oracles import reference

CASES = [
    case("rwkv4", width=6, hidden=10),
    case("rwkv4", width=3, hidden=2),
    case("rwkv6", heads=2, head_size=3, hidden=5, mix_rank=4, decay_rank=2),
    case("rwkv6", heads=1, head_size=4, hidden=7),
    case("rwkv7", heads=2, head_size=3, hidden=5, decay_rank=4, rate_rank=2, gate_rank=5),
    case("rwkv7", heads=1, head_size=4, hidden=7),
]
FOUR, SIX, SEVEN = CASES[0], CASES[2], CASES[4]
FAMILIES = ["rwkv4", "rwkv6", "rwkv7"]
each = pytest.mark.parametrize("kind", CASES, ids=str)
STATES = {"rwkv4": ["mean", "mass"], "rwkv6": ["S"], "rwkv7": ["S"]}


@pytest.fixture
def generator():
    return np.random.Generator(np.random.PCG64(5))


def drawn(layer, generator, dtype="float64", steps=STEPS):
    """Return a state that is not zero and inputs."""
    start = draw_state(layer, generator, dtype)
    if layer.fields[1].name == "mass":
        start[1] = np.abs(start[1])
    return start, generator.standard_normal((ROWS, steps, layer.width)).astype(dtype)


def close(found, wanted, error):
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=error * np.abs(np.asarray(b)).max())


@each
@pytest.mark.parametrize(("dtype", "error"), [("float64", 1e-12), ("float32", 1e-5)])
@pytest.mark.parametrize("steps", [1, STEPS])
def test_a_block_is_its_equations_from_any_state(kind, dtype, error, steps, generator):
    layer, w = kind.make(dtype)
    start, u = drawn(layer, generator, dtype, steps)
    states, outputs = rendered(kind.family, layer, w, start, u.astype(np.float64))
    found, y = run(layer, start, u)
    close([*found, y], [*states, outputs], error)
    nothing = [np.zeros_like(part) for part in start]
    with np.errstate(invalid="ignore"):
        states, outputs = rendered(kind.family, layer, w, nothing, u.astype(np.float64))
    found, y = run(layer, nothing, u)
    close([*found, y], [*states, outputs], error)


def tensors(*arrays):
    torch = pytest.importorskip("torch")
    return [torch.from_numpy(np.ascontiguousarray(a, np.float32)) for a in arrays]


def theirs6(S, r, k, v, w, u):
    naive = reference("rwkv6", "recurrent_naive.py").naive_recurrent_rwkv6
    turned = [part.swapaxes(1, 2) for part in (r, k, v, np.log(w))]
    o, S = naive(*tensors(*turned), *tensors(u), 1.0, tensors(S)[0], True)
    return o.numpy().swapaxes(1, 2).astype(float), S.numpy()


def theirs7(S, r, k, v, w, z, a):
    naive = reference("generalized_delta_rule/dplr").dplr_recurrence
    r = r * r.shape[-1] ** 0.5  # it divides by that
    turned = [part.swapaxes(1, 2) for part in (r, k, v, -z, z * a, np.log(w))]
    o, S = naive(*tensors(*turned), tensors(S.swapaxes(2, 3))[0])
    return o.numpy().swapaxes(1, 2).astype(float), S.numpy().swapaxes(2, 3)


@pytest.mark.parity
@pytest.mark.parametrize(("kind", "core"), [(SIX, theirs6), (SEVEN, theirs7)], ids=["6", "7"])
def test_flash_linear_attention_agrees(kind, core, generator):
    """Its recurrence in the middle of the rendering."""
    layer, w = kind.make("float32")
    start, u = drawn(layer, generator, "float32")
    states, outputs = rendered(kind.family, layer, w, start, u.astype(np.float64), core=core)
    found, y = run(layer, start, u)
    close([*found, y], [*states, outputs], 1e-5)


@pytest.mark.slow
@pytest.mark.parity
def test_transformers_agrees(generator):
    """The CPU path of its RWKV-4 block, from a stored state (num, den, max) that is not zero."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    theirs = pytest.importorskip("transformers.models.rwkv.modeling_rwkv")
    layer, w = FOUR.make("float32")
    config = transformers.RwkvConfig(
        hidden_size=6, attention_hidden_size=6, intermediate_size=10, num_hidden_layers=2
    )
    block = theirs.RwkvBlock(config, layer_id=1).float().eval()  # layer 0 has one more norm
    block.load_state_dict({name: torch.tensor(a) for name, a in w.items()})
    start, u = drawn(layer, generator, "float32")
    mean, mass, time, channel = (part.astype(float) for part in start)
    p = generator.uniform(-3, 3, mass.shape)
    den = np.expm1(mass) * np.exp(-p)
    stored = [channel, time, mean * den, den, p]
    both = [torch.tensor(part, dtype=torch.float32)[:, :, None].repeat(1, 1, 2) for part in stored]
    with torch.no_grad():
        outputs, _, _ = block(torch.tensor(u), state=both, use_cache=True)
    channel, time, num, den, p = (part[:, :, 1].double().numpy() for part in both)
    found, y = run(layer, start, u)
    wanted = [num / den, np.log1p(den * np.exp(p)), time, channel]
    close([*found, y], [*wanted, outputs.numpy()], 1e-5)


@each
def test_every_state_number_reaches_an_output(kind, generator):
    """Both shifts too, which others have forgotten to hand over."""
    layer, _ = kind.make()
    start, u = drawn(layer, generator, steps=3)
    _, y = run(layer, start, u)
    for i, part in enumerate(start):
        for at in np.ndindex(part.shape[1:]):
            changed = [p.copy() for p in start]
            changed[i][(slice(None), *at)] += 1.0
            _, z = run(layer, changed, u)
            assert np.abs(z - y).max() > 1e-9, (layer.fields[i].name, at)


@each
def test_the_shifts_hold_inputs_after_their_norms(kind, generator):
    layer, w = kind.make()
    assert [f.name for f in layer.fields] == [
        *STATES[kind.family],
        "time_shift",
        "channel_shift",
    ]
    start, u = drawn(layer, generator)
    found, _ = run(layer, start, u)
    np.testing.assert_allclose(found[-2], norm(w, "ln1", u[:, -1]), atol=1e-13)
    scale, bias = w["ln2.weight"], w["ln2.bias"]
    plain = (found[-1] - bias) / scale
    np.testing.assert_allclose(plain.mean(-1), 0, atol=1e-13)
    assert ((plain**2).mean(-1) > 0.99).all()


def made(kind, dtype):
    """Return a cell of this layer that reads 5 tokens."""
    layer, w = kind.make()
    embedding = np.random.Generator(np.random.PCG64(2)).standard_normal((5, layer.width))
    weights = {"embedding.weight": embedding} | w
    return build(kind.cell, Vocabulary(STEPS, 5, False, 0, 2), weights=weights, dtype=dtype)[0]


def same(one, other):
    return all(a.tobytes() == b.tobytes() for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("kind", [FOUR, SIX, SEVEN], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_splits_blocks_rows_and_inputs_change_no_bit(kind, dtype, generator, monkeypatch):
    cell = made(kind, dtype)
    rows = LANES + 3
    tokens = generator.integers(0, 5, (rows, STEPS), dtype=np.int32)
    lanes = to_lanes(tokens)
    start = cell.scan(cell.start(2), to_lanes(tokens[:, ::-1].copy()))
    whole = cell.scan(start, lanes)
    for cuts in [(1,), (2, 3), (8,), tuple(range(1, STEPS))]:
        state = start
        for part in np.split(lanes, cuts, axis=1):
            state = cell.scan(state, np.ascontiguousarray(part))
        assert same(state, whole)
    order = generator.permutation(rows)
    shuffled = cell.scan(tuple(take_lanes(p, order) for p in start), to_lanes(tokens[order]))
    for a, b in zip(shuffled, whole, strict=True):
        assert to_rows(a, rows).tobytes() == to_rows(b, rows)[order].tobytes()
    inputs = cell.table("embedding.weight")[lanes].transpose(0, 1, 3, 2)
    layered, _ = cell._layer.run(start, np.ascontiguousarray(inputs))
    assert same(layered, whole)
    for block in (1, 3 * 2 * LANES):
        monkeypatch.setattr("statebound.models._rwkv.BLOCK", block)
        assert same(cell.scan(start, lanes), whole)


@pytest.mark.parametrize("kind", [FOUR, SIX, SEVEN], ids=str)
def test_a_readout_reads_the_output_of_the_block(kind, generator):
    layer, w = kind.make()
    D = layer.width
    weights = {
        "embedding.weight": generator.standard_normal((4, D)),
        "readout.weight": generator.standard_normal((2, D)),
        "readout.bias": generator.standard_normal(2),
    }
    vocabulary = Vocabulary(3, 2, False, 2, 2)
    cell, _ = build(kind.cell, vocabulary, weights=weights | w, dtype="float64")
    tokens = generator.integers(0, 2, (ROWS, 4), dtype=np.int32)
    tokens[:, -1] = generator.integers(2, 4, ROWS)
    old = cell.scan(cell.start(1), to_lanes(tokens[:, :-1]))
    query = to_lanes(tokens[:, -1:])
    found = to_rows(cell.logits(old, cell.scan(old, query), query), ROWS)
    nothing = [np.zeros((ROWS, *f.shape)) for f in cell.fields]
    with np.errstate(invalid="ignore"):
        _, y = rendered(kind.family, layer, w, nothing, weights["embedding.weight"][tokens])
    wanted = y[:, -1] @ weights["readout.weight"].T + weights["readout.bias"]
    np.testing.assert_allclose(found, wanted, atol=1e-12)


@each
def test_weights_tell_their_size(kind):
    layer, w = kind.make()
    config = layer.config
    assert {name: a.shape for name, a in w.items()} == layer.shapes(config)
    assert layer.config_of(w, {}) == config
    assert config.numbers == sum(f.numbers for f in layer.fields)
    if kind.family != "rwkv4":
        assert config.numbers == config.heads * config.head_size**2 + 2 * config.width


def test_published_sizes():
    """RWKV-4 169M stores 5 numbers a channel; RWKV-6 1.6B and RWKV-7 heads are 64 by 64."""
    assert family("rwkv4").Config.of(4 * 768, {}).hidden == 3072
    for name in ("rwkv6", "rwkv7"):
        config = family(name).Config.of(2048 * 66, {"head_size": 64})
        assert config.heads == 32
        assert config.numbers == 2048 * 64 + 2 * 2048
    assert (config.decay_rank, config.rate_rank, config.gate_rank) == (128, 128, 224)
    assert config.hidden == 8192


@pytest.mark.parametrize("name", ["rwkv6", "rwkv7"])
@pytest.mark.parametrize(
    ("numbers", "settings", "found"),
    [
        (8, {}, (1, 2)),
        (15, {}, (1, 3)),
        (16, {}, (2, 2)),
        (24, {}, (1, 4)),
        (24, {"heads": 3}, (3, 2)),
        (24, {"head_size": 2}, (3, 2)),
        (30, {"heads": 2}, (2, 3)),
    ],
)
def test_totals_become_heads(name, numbers, settings, found):
    config = family(name).Config.of(numbers, settings)
    assert (config.heads, config.head_size) == found
    assert config.numbers == numbers


@pytest.mark.parametrize(
    ("name", "numbers", "settings", "possible"),
    [
        ("rwkv4", 4, {}, "8 or more"),
        ("rwkv4", 10, {}, "8 or 12"),
        ("rwkv6", 1, {}, "8"),
        ("rwkv7", 12, {}, "8 or 15"),
        ("rwkv6", 33, {}, "32 or 35"),
        ("rwkv7", 20, {"heads": 2}, "16 or 30"),
        ("rwkv7", 8, {"head_size": 4}, "24"),
        ("rwkv6", 8, {"head_size": 1}, "2 or more"),
        ("rwkv4", 8, {"width": 1}, "2 or more"),
    ],
)
def test_impossible_sizes_name_a_remedy(name, numbers, settings, possible):
    with pytest.raises(UsageError) as error:
        family(name).Config.of(numbers, settings)
    assert error.value.remedy == f"pass {possible}"


@pytest.mark.parametrize("name", FAMILIES)
def test_sizes_of_nothing_are_refused(name):
    for setting in family(name).Config.__dataclass_fields__:
        with pytest.raises(UsageError, match="pass"):
            family(name).Config.of(8, {setting: 0})


@pytest.mark.parametrize("name", FAMILIES)
def test_single_precision_holds_at_the_smallest_size(name):
    """At D = 2 a norm is all but a sign; the authors' small inputs keep it from amplifying."""
    tokens = to_lanes(np.random.Generator(np.random.PCG64(1)).integers(0, 2, (256, 20)))
    for seed in range(8):
        pair = [
            build(family(name), Vocabulary(9, 2, False, 0, 2), numbers=8, seed=seed, dtype=d)[0]
            for d in ("float32", "float64")
        ]
        one, other = (cell.scan(cell.start(2), tokens.astype(np.int32)) for cell in pair)
        for a, b in zip(one, other, strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6)
        assert np.ptp(one[-1], axis=(0, 2)).min() > 1e-4, "an input moves what is kept"


def test_random_parameters_are_the_authors():
    def weights(name, **settings):
        vocabulary = Vocabulary(9, 2, False, 0, 2)
        return build(family(name), vocabulary, settings=settings, seed=2)[0].weights

    def orthogonal(a, gain):
        a = a if a.shape[0] >= a.shape[1] else a.T
        np.testing.assert_allclose(a.T @ a, gain**2 * np.eye(a.shape[1]), atol=1e-12)

    four = weights("rwkv4", width=8)
    assert four["attention.time_decay"][[0, -1]].tolist() == [-5, 3]
    np.testing.assert_allclose(
        four["attention.time_first"][:4], math.log(0.3) + np.array([0, 0.5, -0.5, 0])
    )
    assert four["attention.time_mix_key"].ravel().tolist() == [i / 8 for i in range(8)]
    np.testing.assert_allclose(four["attention.time_mix_receptance"].ravel()[2], 0.5)
    gains = {"attention.key": 1.0, "feed_forward.key": 2.0, "attention.output": 0.1}
    for name, gain in gains.items():
        orthogonal(four[f"{name}.weight"], gain)
    six = weights("rwkv6", heads=2, head_size=4)
    assert six["att.time_decay"].ravel()[[0, -1]].tolist() == [-6, -1]
    np.testing.assert_allclose(six["att.time_faaaa"].ravel()[:4], [0, 0.1, -0.1, 0])
    np.testing.assert_allclose(six["att.time_maa_g"].ravel()[[0, 2]], [1, 0.5])
    np.testing.assert_allclose(six["att.time_maa_w"].ravel()[[0, 2]], [1, 0.75])
    assert 0.009 < np.abs(six["att.time_maa_w2"]).max() <= 0.01
    for name, gain in {"att.key": 0.1, "att.value": 1.0, "att.gate": 0.1, "ffn.key": 1.0}.items():
        orthogonal(six[f"{name}.weight"], gain)
    seven = weights("rwkv7", heads=2, head_size=4)
    np.testing.assert_allclose(seven["att.w0"].ravel()[[0, 3, 7]], [-8, -3 + 18 / 7, 3])
    np.testing.assert_allclose(seven["att.a0"].ravel()[[0, 7]], [-0.69, 0.31])
    np.testing.assert_allclose(seven["att.k_k"].ravel()[[0, 7]], [0.76, 0.66])
    assert (seven["att.k_a"] == 1.02).all()
    assert (seven["att.r_k"] == -0.04).all()
    for name, gain in {"key.weight": 0.1, "receptance.weight": 1.0, "w1": 1.0, "w2": 0.1}.items():
        orthogonal(seven[f"att.{name}"], gain)
    for w in (four, six, seven):
        assert (w["ln1.weight"] == 1).all()
        np.testing.assert_allclose(w["embedding.weight"].mean(axis=1), 0, atol=1e-12)
        assert 1e-3 < np.abs(w["embedding.weight"]).max() < 0.064


def test_a_file_may_hold_what_only_later_layers_read(generator):
    _, w = SEVEN.make()
    more = {"att.v0": np.zeros((1, 1, 6)), "att.v1": np.ones((6, 2)), "att.v2": np.ones((2, 6))}
    embedding = {"embedding.weight": generator.standard_normal((2, 6))}
    vocabulary = Vocabulary(9, 2, False, 0, 2)
    cells = [
        build(SEVEN.cell, vocabulary, weights=embedding | w | extra)[0] for extra in ({}, more)
    ]
    tokens = to_lanes(generator.integers(0, 2, (ROWS, STEPS), dtype=np.int32))
    assert same(*(cell.scan(cell.start(1), tokens) for cell in cells))


def test_decays_of_rwkv7_stay_between_0545_and_1(generator):
    layer, w = SEVEN.make()
    for shift in (-30.0, 0.0, 30.0):
        w["att.w0"][:] = shift
        loud = type(layer)(layer.config, w, np.dtype("float64"))
        n = generator.standard_normal((2, 6, 50))
        _, _, decay, z, rate = loud.write(*n)
        assert (decay >= math.exp(-math.exp(-0.5)) - 1e-15).all()
        assert (decay <= 1).all()
        np.testing.assert_allclose((z.reshape(2, 3, 50) ** 2).sum(1), 1)
        assert (np.abs(rate) <= np.abs(z)).all()


def test_the_first_token_replaces_the_mean_whatever_it_was(generator):
    """The start state is zeros; with a mass of 0 the mean has no say."""
    layer, _ = FOUR.make()
    start, u = drawn(layer, generator, steps=2)
    start[1][:] = 0
    one = run(layer, start, u)
    start[0][:] = 100.0
    other = run(layer, start, u)
    np.testing.assert_allclose(one[1], other[1], rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(one[0][0], other[0][0], rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("loud", [40.0, 3000.0, -40.0])
def test_huge_keys_stay_finite(generator, dtype, loud):
    """With one key above all others its value is the mean; the mass follows the key."""
    layer, w = FOUR.make(dtype)
    w["attention.key.weight"] *= loud
    layer = type(layer)(layer.config, w, np.dtype(dtype))
    start, u = drawn(layer, generator, dtype, 20)
    final, outputs = run(layer, start, u)
    assert all(np.isfinite(part).all() for part in (*final, outputs))
    assert (final[1] >= 0).all()
    assert final[1].max() > min(60, abs(loud))


@pytest.mark.parametrize(
    ("mass", "w", "k"),
    [
        (0.0, -0.5, -3.0),
        (0.0, -0.5, -80.0),
        (1e-6, -0.01, -12.0),
        (0.999, -0.3, 0.5),
        (30.0, -0.001, 29.0),
        (63.0, -0.2, 65.0),
        (64.5, -0.1, 64.0),
        (90.0, -0.001, 20.0),
        (100.0, -50.0, 3.0),
        (100.0, -8000.0, 0.0),
        (100.0, -0.1, -50.0),
        (0.5, -0.1, 300.0),
        (300.0, -0.1, 299.0),
    ],
)
@pytest.mark.parametrize(("dtype", "error"), [("float32", 2e-6), ("float64", 1e-13)])
def test_sums_hold_over_the_whole_range(mass, w, k, dtype, error):
    """Share and new mass against exponentials of wider range."""
    kind, wide = np.dtype(dtype).type, np.longdouble
    past, now, shift = rwkv4._sums(kind(mass), kind(w), kind(k), kind(0), kind(64))
    m, v, x = (wide(kind(value)) for value in (mass, w, k))
    true_past, true_now = np.exp(v) * np.expm1(m), np.exp(x)
    share = rwkv4._share(past, now, kind(0), kind(1))
    assert abs(share - true_now / (true_past + true_now)) <= error
    grown = float(shift) + math.log1p(float(past) + float(now))
    expected = float(np.log1p(true_past + true_now))
    assert abs(grown - expected) <= error * max(expected, 1e-30)
    plain = rwkv4._sums.py_func(kind(mass), kind(w), kind(k), kind(0), kind(64))
    np.testing.assert_allclose(plain, (past, now, shift), rtol=1e-5, atol=1e-30)
    assert rwkv4._share.py_func(kind(0), kind(0), kind(0), kind(1)) == 1


def test_equal_states_in_the_stored_form_are_one_state(generator):
    """(num s, den s, p - log s) for every s: what is left of the three is the same."""
    num, den, p = generator.standard_normal(50), generator.uniform(0.1, 3, 50), 2.0
    for s in (1e-3, 50.0):
        np.testing.assert_allclose((num * s) / (den * s), num / den)
        mass = np.log1p(den * s * np.exp(p - math.log(s)))
        np.testing.assert_allclose(mass, np.log1p(den * np.exp(p)))


def test_kernels_equal_their_source_interpreted(generator):
    def draw(*shape):
        return generator.uniform(0.1, 1, shape)

    mean, mass, w = draw(1, 2, LANES), draw(1, 2, LANES), -draw(2)
    k, v, constants = draw(2, 2 * LANES), draw(2, 2 * LANES), np.array([0.0, 1.0, 64.0])
    results = [(mean.copy(), mass.copy()) for _ in range(2)]
    rwkv4._scan(*results[0], k, v, w, constants)
    rwkv4._scan.py_func(*results[1], k, v, w, constants)
    np.testing.assert_allclose(*results, rtol=1e-12)
    row = draw(2, 5), draw(2, 5), draw(2, 5), draw(2, 5)
    outs = [np.empty((2, 5)) for _ in range(2)]
    rwkv4._average(*row, w, constants, outs[0])
    rwkv4._average.py_func(*row, w, constants, outs[1])
    np.testing.assert_allclose(*outs, rtol=1e-12)
    S, rows = draw(1, 8, LANES), [draw(4, 2 * LANES) for _ in range(5)]
    states = [S.copy(), S.copy()]
    rwkv7._scan(states[0], 2, *rows)
    rwkv7._scan.py_func(states[1], 2, *rows)
    np.testing.assert_allclose(*states, rtol=1e-12)
