"""What every registered cell must satisfy, whatever it computes."""

from __future__ import annotations

import numpy as np
import pytest

from statebound import registry
from statebound.errors import UsageError
from statebound.models import Cell
from statebound.models._build import build, family
from statebound.models._lanes import LANES, take_lanes, to_lanes, to_rows

DTYPES = ["float32", "float64"]
ROWS = 2 * LANES + 3


def same(one, other) -> bool:
    """Whether two states agree in every bit."""
    return len(one) == len(other) and all(
        a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()
        for a, b in zip(one, other, strict=True)
    )


def rows_of(state, which):
    return tuple(take_lanes(part, np.asarray(which, np.int64)) for part in state)


def test_the_registry_lists_the_families():
    assert {"gru", "linear_attention", "rnn", "s4d", "sliding_window"} <= set(
        registry.names("statebound.models")
    )


@pytest.mark.parametrize("name", registry.names("statebound.models"))
def test_the_file_stem_names_the_family(name):
    cell = family(name)
    assert issubclass(cell, Cell)
    assert cell.name == name
    assert cell.summary
    assert cell.inits


@pytest.mark.parametrize("dtype", DTYPES)
def test_fields_declare_the_whole_state(kind, dtype):
    cell = kind.make(dtype)
    assert sum(f.numbers for f in cell.fields) == cell.config.numbers
    assert len({f.name for f in cell.fields}) == len(cell.fields)
    start = cell.start(2)
    after = cell.scan(start, to_lanes(kind.tokens(cell, 2 * LANES, 3)))
    for field, before, part in zip(cell.fields, start, after, strict=True):
        assert before.shape == part.shape == (2, field.numbers, LANES)
        assert before.dtype == part.dtype == np.dtype(dtype)
        assert not before.any()
        assert part.flags.c_contiguous


@pytest.mark.parametrize("dtype", DTYPES)
def test_scanning_in_chunks_changes_no_bit(kind, dtype):
    cell = kind.make(dtype)
    tokens = to_lanes(kind.tokens(cell, ROWS, 14))
    first = kind.state(cell, ROWS)
    assert same(cell.scan(first, tokens[:, :0]), first)
    whole = cell.scan(first, tokens)
    for chunk in (1, 2, 3):
        state = first
        for t in range(0, 14, chunk):
            state = cell.scan(state, tokens[:, t : t + chunk])
        assert same(state, whole), chunk
    assert not same(whole, first)


def test_scan_and_branch_leave_their_arguments_alone(kind):
    cell = kind.make()
    state = kind.state(cell, ROWS)
    before = tuple(part.copy() for part in state)
    fan = np.arange(cell.vocabulary.size, dtype=np.int32)
    for steps in (0, 1, 5):
        tokens = to_lanes(kind.tokens(cell, ROWS, steps))
        read = tokens.copy()
        after = (*cell.scan(state, tokens), *cell.branch(state, fan))
        for part in after:
            assert not any(np.shares_memory(part, old) for old in state)
            part[:] = 7
        assert same(state, before)
        assert (tokens == read).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_do_not_know_of_each_other(kind, dtype):
    """Alone, in another order, with other neighbours and other padding: the same bits."""
    cell = kind.make(dtype)
    rows = kind.tokens(cell, ROWS, 6)
    state = kind.state(cell, ROWS)
    whole = cell.scan(state, to_lanes(rows))
    order = np.random.Generator(np.random.PCG64(5)).permutation(ROWS)
    shuffled = cell.scan(rows_of(state, order), to_lanes(rows[order]))
    for one, other in zip(shuffled, whole, strict=True):
        assert to_rows(one, ROWS).tobytes() == to_rows(other, ROWS)[order].tobytes()
    for row in (0, LANES - 1, LANES, ROWS - 1):
        alone = cell.scan(rows_of(state, [row]), to_lanes(rows[[row]]))
        for one, other in zip(alone, whole, strict=True):
            assert to_rows(one, 1).tobytes() == to_rows(other, ROWS)[[row]].tobytes()
    lanes = to_lanes(rows)
    lanes[-1, :, ROWS % LANES :] = cell.vocabulary.size - 1
    noisy = tuple(part.copy() for part in state)
    for part in noisy:
        part[-1, :, ROWS % LANES :] = 0.375
    for one, other in zip(cell.scan(noisy, lanes), whole, strict=True):
        assert to_rows(one, ROWS).tobytes() == to_rows(other, ROWS).tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
def test_branch_is_a_scan_of_length_one_for_every_token(kind, dtype):
    cell = kind.make(dtype)
    state = kind.state(cell, ROWS)
    tiles = len(state[0])
    fan = np.arange(cell.vocabulary.size, dtype=np.int32)[::-1].copy()
    grown = cell.branch(state, fan)
    for v, token in enumerate(fan):
        single = cell.scan(state, np.full((tiles, 1, LANES), token, np.int32))
        assert same(tuple(part[v * tiles : (v + 1) * tiles] for part in grown), single)


def test_nothing_hides_on_the_cell(kind):
    """Reading leaves no trace on the object, and earlier reading has no effect."""
    cell = kind.make()

    def arrays():
        return {
            name: [np.asarray(a).tobytes() for a in (value if isinstance(value, list) else [value])]
            for name, value in vars(cell).items()
            if isinstance(value, (np.ndarray, list))
        }

    before, attributes = arrays(), set(vars(cell))
    tokens = to_lanes(kind.tokens(cell, 5, 8))
    first = cell.scan(cell.start(1), tokens)
    cell.scan(cell.start(3), to_lanes(kind.tokens(cell, ROWS, 4, seed=9)))
    cell.branch(first, np.arange(2, dtype=np.int32))
    assert arrays() == before
    assert set(vars(cell)) == attributes
    assert same(cell.scan(cell.start(1), tokens), first)


def test_bounded_fields_stay_within_their_bounds(kind):
    cell = kind.make()
    loud = {name: array * 40.0 for name, array in cell.weights.items()}
    for weights in (cell.weights, loud):
        other = type(cell)(cell.config, weights, cell.vocabulary)
        state = other.scan(other.start(1), to_lanes(kind.tokens(cell, LANES, 40)))
        for field, part in zip(other.fields, state, strict=True):
            if field.low is not None:
                assert part.min() >= field.low
            if field.high is not None:
                assert part.max() <= field.high


def test_caches_shift_by_one_entry_a_token(kind):
    cell = kind.make()
    state = kind.state(cell, ROWS)
    after = cell.scan(state, to_lanes(kind.tokens(cell, ROWS, 1)))
    for field, old, new in zip(cell.fields, state, after, strict=True):
        if field.cache:
            width = field.numbers // field.shape[0]
            assert new[:, :-width].tobytes() == old[:, width:].tobytes()


def test_every_number_of_the_state_depends_on_the_input(kind):
    """A number that no input moves would be billed for nothing.

    Dead are only the entries of a cache longer than the stream, and the imaginary parts
    of modes that do not turn (S4D-Lin starts with one such mode a channel).
    """
    cell, length = kind.make(), 9
    stream = cell.vocabulary.without_queries()
    generator = np.random.Generator(np.random.PCG64(3))
    symbols = generator.integers(0, stream.symbols, (LANES, length))
    at = np.arange(length) * stream.symbols if stream.positional else 0
    state = cell.scan(cell.start(1), to_lanes((symbols + at).astype(np.int32)))
    dead = int((cell.weights.get("A_imag", np.ones(1)) == 0).sum())
    for field in cell.fields:
        if field.cache:
            dead += max(0, field.shape[0] - length) * (field.numbers // field.shape[0])
    assert sum(int((np.ptp(part[0], axis=1) == 0).sum()) for part in state) == dead


def test_single_and_double_precision_agree(kind):
    single, double = kind.make("float32"), kind.make("float64")
    tokens = to_lanes(kind.tokens(single, LANES, 20))
    for a, b in zip(
        single.scan(single.start(1), tokens), double.scan(double.start(1), tokens), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6)


def test_the_seed_decides_the_parameters(kind):
    def draw(seed):
        return kind.make(seed=seed).weights

    one, again, other = draw(1), draw(1), draw(2)
    assert all(one[name].tobytes() == again[name].tobytes() for name in one)
    if kind.init == "random":
        assert any(one[name].tobytes() != other[name].tobytes() for name in one)


def test_weights_alone_rebuild_the_cell(kind):
    cell = kind.make("float64")
    again, origin = build(
        type(cell),
        cell.vocabulary,
        weights=cell.weights,
        settings=cell.settings(),
        dtype="float64",
    )
    assert origin == "file"
    assert again.config == cell.config
    tokens = to_lanes(kind.tokens(cell, 9, 7))
    assert same(again.scan(again.start(1), tokens), cell.scan(cell.start(1), tokens))


def test_impossible_requests_are_refused(kind):
    cell = kind.make()
    make = type(cell)
    vocabulary = cell.vocabulary
    with pytest.raises(UsageError, match="at least 1"):
        build(make, vocabulary, numbers=0)
    with pytest.raises(UsageError, match="not a field"):
        build(make, vocabulary, settings={"no_such_size": 1})
    with pytest.raises(UsageError, match="no such parameters"):
        build(make, vocabulary, init="no_such_init")
    with pytest.raises(UsageError, match="supported type"):
        build(make, vocabulary, dtype="float16")
    with pytest.raises(UsageError, match="the weights make a state"):
        build(
            make,
            vocabulary,
            weights=cell.weights,
            settings=cell.settings(),
            numbers=cell.config.numbers + 1,
        )
    name = next(iter(cell.shapes(cell.config, vocabulary)))
    broken = dict(cell.weights)
    broken[name] = np.full_like(broken[name], np.nan)
    with pytest.raises(UsageError, match="not finite"):
        build(make, vocabulary, weights=broken, settings=cell.settings())
    with pytest.raises(UsageError, match="weights"):
        build(make, vocabulary, weights={}, settings=cell.settings())
