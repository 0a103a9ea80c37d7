"""Requantised after every token, a delta-rule memory drifts: by how much, with which rounding."""

from __future__ import annotations

import numpy as np
import pytest

from statebound.models._lanes import LANES, to_lanes
from statebound.protocols.problems.index import Index
from statebound.reductions.machine import cut

TOKENS, SIZE, SETTLED = 88, 64, 24
ROUNDINGS = ("nearest", "stochastic", "feedback")


def memory(decay, rounding):
    """Return a gated DeltaNet of one head, 64 by 64, with int8 rows and a constant decay."""
    generator = np.random.default_rng(0)
    maps = {
        f"{name}_proj.weight": generator.standard_normal((SIZE, SIZE)) / SIZE**0.5
        for name in "qkvgo"
    }
    maps["b_proj.weight"] = generator.standard_normal((1, SIZE)) / SIZE**0.5
    gate = {  # exp(-exp(A_log) softplus(dt_bias)) is the decay
        "a_proj.weight": np.zeros((1, SIZE)),
        "A_log": np.zeros(1),
        "dt_bias": np.array([np.log(1 / decay - 1)]),
    }
    return cut(
        Index(TOKENS),
        "gated_deltanet",
        weights=maps
        | gate
        | {
            "embedding.weight": generator.standard_normal((2 * TOKENS, SIZE)),
            "o_norm.weight": np.ones(SIZE),
        },
        encoding="pairs",
        quantiser="absmax_channel",
        bits=8,
        rounding=rounding,
        regime="step",
    )


def drift(machine) -> float:
    """Return the mean relative error of what is read, over the last tokens of 16 inputs."""
    layer, streams = machine.cell._layer, machine.cell._streams
    tokens = machine.encoding.tokens(machine.problem.sample(np.random.default_rng(1), LANES))
    free, held = machine.cell.start(1), machine.starts(LANES)
    errors = []
    for t in range(TOKENS):
        token = to_lanes(tokens[:, t : t + 1])
        free = machine.cell.scan(free, token)
        held = machine.extend(held, tokens[:, t : t + 1])
        if t >= TOKENS - SETTLED:
            exact = layer.read(free, free, streams, token)[0]
            rounded = layer.read(held.values, held.values, streams, token)[0]
            errors.append(np.linalg.norm(rounded - exact, axis=0) / np.linalg.norm(exact, axis=0))
    return float(np.mean(errors))


@pytest.mark.slow
def test_feedback_is_flat_in_the_decay_and_stochastic_rounding_is_worst():
    found = {
        decay: {rounding: drift(memory(decay, rounding)) for rounding in ROUNDINGS}
        for decay in (0.9, 0.99)
    }
    for errors in found.values():
        assert errors["feedback"] < errors["nearest"] < errors["stochastic"]
        assert errors["feedback"] == pytest.approx(0.006, abs=0.001)
    assert found[0.9]["feedback"] == pytest.approx(found[0.99]["feedback"], abs=0.0005)
    assert found[0.9]["nearest"] == pytest.approx(0.0133, abs=0.003)
    assert found[0.9]["stochastic"] == pytest.approx(0.0185, abs=0.003)
    assert 0.02 < found[0.99]["nearest"] < 0.04
    assert 0.03 < found[0.99]["stochastic"] < 0.055
    assert found[0.99]["nearest"] > 1.8 * found[0.9]["nearest"]


def test_the_decay_is_what_it_says_and_the_residual_is_counted():
    plain, fed = memory(0.9, "nearest"), memory(0.9, "feedback")
    assert plain.cell._layer.split(plain.cell._streams)[4] == pytest.approx(0.9, abs=1e-6)
    assert plain.state_bits == 64 * 64 * 8 + 64 * 32
    assert fed.state_bits == plain.state_bits + 64 * 64 * 32
