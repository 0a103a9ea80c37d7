"""Twins in torch against the Numba cells: states, and messages bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from statebound.models._lanes import to_rows
from statebound.protocols.problems.index import Index
from statebound.reductions.checkpoint import About, Checkpoint
from statebound.reductions.machine import cut

from .twins import SIZES, Pair, label

pytestmark = pytest.mark.parity
N = 12
INPUTS = 10_000
ERROR = 1e-5  # of a number, relative to the largest of its field


@pytest.fixture(scope="module")
def x():
    return Index(N).sample(np.random.Generator(np.random.PCG64(1)), INPUTS)


@pytest.mark.parametrize("encoding", ["bits", "pairs", "keyed"])
@pytest.mark.parametrize("size", SIZES, ids=label)
def test_states_agree(size, encoding, x):
    torch = pytest.importorskip("torch")
    from statebound.experiments.training.twins import rows_of

    pair = Pair.of(size, encoding, Index(N))
    x = x[:300]
    picks = pair.examples.batch(x).picks
    with torch.no_grad():
        whole = pair.twin.whole(pair.weights, pair.choices(), picks)
        rows = rows_of(pair.choices(), picks)
        state = pair.twin.start(1, len(x), rows)
        for some in rows.split(5, 1):  # a scan goes on from any state
            state = pair.twin.scan(state, pair.weights, some)
    for field, ours, at_once, split in zip(
        pair.cell.fields, pair.states(x), whole, state, strict=True
    ):
        scale = max(1.0, np.abs(ours).max())
        assert np.abs(at_once[0].numpy() - ours).max() <= ERROR * scale, field.name
        assert np.abs(split[0].numpy() - ours).max() <= ERROR * scale, field.name


def test_restarts_do_not_meet(x):
    torch = pytest.importorskip("torch")
    pair = Pair.of(SIZES[1], "pairs", Index(N))
    picks = pair.examples.batch(x[:64]).picks
    more = {k: torch.cat([w, torch.full_like(w, torch.nan)]) for k, w in pair.weights.items()}
    with torch.no_grad():
        (alone,) = pair.twin.whole(pair.weights, pair.choices(), picks)
        choices = pair.twin.table(more)[:, pair.examples.choices]
        (both,) = pair.twin.whole(more, choices, picks)
    assert torch.isnan(both[1]).all()
    assert (both[0] - alone[0]).abs().max() <= 1e-6


@pytest.mark.parametrize(
    ("size", "bits", "regime"),
    [(SIZES[i], 1 + i % 2, "handoff") for i in (0, 1, 2, 4, 6, 8, 11)]
    + [(SIZES[i], 2 - i % 2, "step") for i in (1, 4, 8, 12)],
    ids=label,
)
def test_messages_agree(size, bits, regime, x):
    """Codes differ only from where a number was within rounding of a threshold."""
    torch = pytest.importorskip("torch")
    from statebound.experiments.training.quantise import Cut
    from statebound.experiments.training.twins import rows_of

    pair = Pair.of(size, "pairs", Index(N))
    quantiser = Cut(pair.cell.fields, bits)
    with torch.no_grad():
        batch = pair.examples.batch(x)
        whole = pair.twin.whole(pair.weights, pair.choices(), batch.picks)
        scales = quantiser.statistics(whole)
        books = quantiser.codebooks([f.name for f in pair.cell.fields], scales, 0)
    machine = cut(Index(N), None, checkpoint=_checkpoint(pair, bits, regime, books))
    agree = np.ones(len(x), bool)
    ties = 0

    def compare(codes, state, held):
        """Count first differences, and show that each is a tie."""
        nonlocal agree, ties
        theirs = np.concatenate([to_rows(c, len(x)) for c in held], axis=1)
        wrong = (codes[0].numpy() != theirs) & agree[:, None]
        each = zip(books.values(), quantiser.entries, strict=True)
        cuts = np.concatenate([np.tile(b.thresholds, (e, 1)) for b, e in each])
        numbers = np.concatenate([part[0].numpy() for part in state], axis=1)
        row, number = np.nonzero(wrong)
        gap = np.abs(numbers[row, number, None] - cuts[number]).min(axis=1)
        assert (gap <= ERROR * max(1.0, np.abs(numbers).max())).all()
        ties += len(row)
        agree = agree & ~wrong.any(axis=1)

    with torch.no_grad():
        if regime == "handoff":
            _, codes = quantiser.rounded(whole, scales)
            cut_state = machine.extend(machine.starts(len(x)), pair.encoding.tokens(x))
            pairs = zip(machine.crossings, cut_state.values, strict=True)
            compare(codes, whole, [c.encode(part, N) for c, part in pairs])
        else:
            state, held = pair.twin.start(1, len(x), whole[0]), machine.starts(len(x))
            tokens = pair.encoding.tokens(x)
            for t, row in enumerate(rows_of(pair.choices(), batch.picks).split(1, 1)):
                new = pair.twin.scan(state, pair.weights, row)
                y, codes = quantiser.rounded(new, scales)
                state = quantiser.settled(new, y, scales)
                held = machine.extend(held, tokens[:, t : t + 1])
                if t + 1 >= max(quantiser.entries):  # entries not yet written are code 0
                    compare(codes, new, held.codes)
    assert ties <= 5, f"{ties} ties of {agree.size} inputs"
    assert agree.mean() > 0.999


def _checkpoint(pair, bits, regime, books):
    cell = pair.cell
    numbers = sum(f.numbers for f in cell.fields)
    about = About(
        "index", N, {}, cell.name, cell.settings(), numbers, bits, regime, "pairs", "float32",
        {}, {}, {"success": 0.5, "engine": "none"},
    )  # fmt: skip
    weights = {name: np.float32(array) for name, array in cell.weights.items()}
    return Checkpoint(about, weights, books)
