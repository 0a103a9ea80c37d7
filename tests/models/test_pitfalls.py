"""Faults that tools of this kind have shipped, looked for in every registered cell.

A state that is declared but never read, one that is ignored when handed in, a window
that loses its last inputs at the start of a chunk, a piece of state that arrives late:
each would let a machine look smaller or better than it is.
"""

from __future__ import annotations

import numpy as np
import pytest

from statebound.models._build import build
from statebound.models._lanes import LANES, to_lanes

STEPS = 10


def with_readout(kind):
    """Return the same cell with queries to read and a random readout, if it can have one."""
    plain = kind.make("float64")
    kin, vocabulary = type(plain), plain.vocabulary
    if not vocabulary.queries:
        length = vocabulary.length
        vocabulary = type(vocabulary)(
            length, vocabulary.symbols, vocabulary.positional, length, vocabulary.symbols
        )
        weights = kin.random(plain.config, vocabulary, np.random.Generator(np.random.PCG64(4)))
    else:
        weights = dict(plain.weights)
    generator = np.random.Generator(np.random.PCG64(8))
    for name, shape in kin.readout_shapes(plain.config, vocabulary).items():
        if name not in weights:
            rows = getattr(plain.config, "d_key", 1) or 1
            weights[name] = generator.standard_normal([s or rows for s in shape])
    cell, _ = build(kin, vocabulary, weights=weights, settings=plain.settings(), dtype="float64")
    return cell


def stream(cell, steps, seed=5):
    """Draw stream tokens, the ones of their place where tokens tell it."""
    generator = np.random.Generator(np.random.PCG64(seed))
    v = cell.vocabulary
    symbols = generator.integers(0, v.symbols, (LANES, steps))
    at = np.arange(steps) % v.length * v.symbols if v.positional else 0
    return to_lanes((symbols + at).astype(np.int32))


def asked(cell, state):
    """Return the logits at every query of a state, or the state where there is no readout."""
    if not cell.has_readout:
        return np.concatenate([part.reshape(-1) for part in state])
    found = []
    for k in range(cell.vocabulary.queries):
        token = np.full((1, 1, LANES), cell.vocabulary.stream_tokens + k, np.int32)
        found.append(cell.logits(state, cell.scan(state, token), token).reshape(-1))
    return np.concatenate(found)


def test_a_readout_is_what_is_looked_at():
    """Most cells answer by themselves, so that a state nobody reads cannot hide."""
    from .conftest import kinds

    answering = [kind for kind in kinds() if with_readout(kind).has_readout]
    assert len(answering) > 0.7 * len(kinds())


@pytest.mark.parametrize("steps", [1, 3])
def test_every_field_is_written_at_once_and_read_later(kind, steps):
    """After a token each field holds something; moved, it moves what comes out."""
    cell = with_readout(kind)
    length = cell.vocabulary.length
    state = cell.scan(cell.start(1), stream(cell, steps))
    rest = stream(cell, length)[:, steps:]
    generator = np.random.Generator(np.random.PCG64(1))
    plain = asked(cell, cell.scan(state, rest))
    soon = asked(cell, state)
    for field, part in zip(cell.fields, state, strict=True):
        if steps >= part_written(field):
            assert part.any(), f"{field.name} is empty after {steps} tokens"
        if field.low == 0:  # scores: scaled, so that another one may win
            other = part * generator.uniform(0, 2, part.shape)
        else:
            other = part + 3.0 * generator.standard_normal(part.shape)
        moved = tuple(other if p is part else p for p in state)
        later = asked(cell, cell.scan(moved, rest))
        assert (later != plain).any() or (asked(cell, moved) != soon).any(), (
            f"{field.name} is declared, but nothing reads it"
        )


def part_written(field) -> int:
    """Return how many tokens must have been read before a field must hold something."""
    return 2 if field.name in ("heavy_values", "heavy_keys") else 1


def test_a_state_that_is_handed_in_is_used(kind):
    """What a whole prefix left must not be what the start state gives."""
    cell = with_readout(kind)
    left, tail = cell.scan(cell.start(1), stream(cell, 6)), stream(cell, 7)[:, 6:]
    one = [asked(cell, left), asked(cell, cell.scan(left, tail))]
    other = [asked(cell, cell.start(1)), asked(cell, cell.scan(cell.start(1), tail))]
    assert (one[0] != other[0]).any()
    if cell.config.numbers > 4 * len(cell.fields):  # a cache of one entry forgets it
        assert (one[1] != other[1]).any()


def test_outputs_after_a_chunk_and_three_single_steps(kind):
    cell = with_readout(kind)
    tokens = stream(cell, STEPS)
    whole, chunk = cell.start(1), cell.scan(cell.start(1), tokens[:, : STEPS - 3])
    for t in range(STEPS - 3):
        whole = cell.scan(whole, tokens[:, t : t + 1])
    for t in range(STEPS - 3, STEPS):
        assert asked(cell, whole).tobytes() == asked(cell, chunk).tobytes()
        whole = cell.scan(whole, tokens[:, t : t + 1])
        chunk = cell.scan(chunk, tokens[:, t : t + 1])
    assert asked(cell, whole).tobytes() == asked(cell, chunk).tobytes()


def test_an_earlier_batch_leaves_nothing_for_a_later_one(kind):
    """A large batch, then a small one, on one object: as on a fresh object."""
    used, fresh = with_readout(kind), with_readout(kind)
    tokens = stream(used, 5)
    used.scan(used.start(4), np.concatenate([stream(used, 5, seed=s) for s in range(4)]))
    one, other = used.scan(used.start(1), tokens), fresh.scan(fresh.start(1), tokens)
    assert asked(used, one).tobytes() == asked(fresh, other).tobytes()


def test_the_state_does_not_grow_unless_it_says_so(kind):
    """Numbers depend on the config alone, and on the length only where a field grows."""
    cell = kind.make()
    v = cell.vocabulary
    longer = type(v)(v.length + 3, v.symbols, v.positional, v.queries, v.answers)
    other, _ = build(
        type(cell), longer, numbers=None, settings=dict(kind.settings), init=_random(cell)
    )
    plain, _ = build(type(cell), v, settings=dict(kind.settings), init=_random(cell))
    for field, grown in zip(plain.fields, other.fields, strict=True):
        a_token = field.growing
        assert grown.numbers == field.numbers + 3 * a_token
        state = other.scan(other.start(1), stream(other, 2 * longer.length))
        assert sum(part.shape[1] for part in state) == sum(f.numbers for f in other.fields)


def _random(cell) -> str:
    return "random" if "random" in type(cell).inits else type(cell).inits[0]
