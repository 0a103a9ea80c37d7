"""The prefix tree meets the inputs in the order in which a problem counts them."""

from __future__ import annotations

import numpy as np
import pytest

from statebound.errors import UsageError
from statebound.models._build import family
from statebound.protocols.problems.index import Index
from statebound.protocols.problems.istree import IsTree
from statebound.reductions.machine import cut

from .conftest import CELLS

PROBLEMS = [Index(9), IsTree(11), Index(5, alphabet=3)]


def grown(machine):
    state = machine.start()
    assert machine.size(state) == 1
    for position in range(machine.problem.length):
        before = machine.size(state)
        state = machine.branch(state, position)
        assert machine.size(state) == before * machine.problem.symbols
    return state


@pytest.mark.parametrize("problem", PROBLEMS, ids=["index", "istree", "ternary"])
@pytest.mark.parametrize("regime", ["handoff", "step"])
@pytest.mark.parametrize("encoding", ["bits", "pairs"])
def test_growing_all_prefixes_gives_every_message_in_order(
    model, problem, regime, encoding, size_of
):
    name, init, settings = model
    for quantiser, bits in (("quantile", 2), ("uniform", 9)):
        try:
            machine = cut(
                problem,
                name,
                numbers=None if settings else size_of(name),
                settings=dict(settings),
                init=init,
                bits=bits,
                regime=regime,
                quantiser=quantiser,
                encoding=encoding,
            )
        except UsageError:
            blind = encoding == "bits" and family(name).needs_positions
            by_hand = init in family(name).by_hand  # for some languages only
            if not by_hand and not blind:
                raise
            return
        message = machine.message(grown(machine))
        assert (message == machine.encode(problem.enumerate(0, problem.inputs))).all()
        assert len(np.unique(message, axis=0)) > 1


@pytest.mark.parametrize("cell", CELLS, ids=[c[0] for c in CELLS])
@pytest.mark.parametrize(
    ("quantisation_of", "regime", "rounding"),
    [
        (("absmax_channel", 3), "step", "nearest"),
        (("quantile", 2), "step", "stochastic"),
        (("absmax", 3), "handoff", "stochastic_private"),
        (("fp8_e4m3", 8), "step", "stochastic_private"),
        (("lloyd", 2), "step", "feedback"),
        (("absmax_group", 2), "step", "feedback"),
    ],
    ids=str,
)
def test_growing_whole_tiles_keeps_scales_coins_and_residuals(
    cell, quantisation_of, regime, rounding, kind_of
):
    """From 128 prefixes on all symbols are read at once."""
    kind = kind_of(cell, quantisation_of, regime, rounding=rounding)
    machine = kind.fresh(problem=Index(9))
    message = machine.message(grown(machine))
    assert (message == machine.encode(machine.problem.enumerate(0, 512))).all()
    assert len(np.unique(message, axis=0)) > 1


@pytest.mark.parametrize("regime", ["handoff", "step"])
def test_prefixes_can_be_taken_apart_and_grown_alone(model, regime, kind_of):
    """A chunk of the tree, in any order, gives the messages of its own inputs."""
    machine = kind_of(model, ("quantile", 3), regime).fresh()
    state = machine.start()
    for position in range(4):
        state = machine.branch(state, position)
    which = np.array([13, 2, 2, 7], np.int64)
    part = machine.take(state, which)
    assert machine.size(part) == 4
    for position in range(4, 6):
        part = machine.branch(part, position)
    x = machine.problem.enumerate(0, machine.problem.inputs)
    expected = machine.encode(x)[(which[None] + 16 * np.arange(4)[:, None]).ravel()]
    assert (machine.message(part) == expected).all()
    assert machine.take(state, np.zeros(0, np.int64)).count == 0
