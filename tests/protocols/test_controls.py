"""Controls with results that are known, over all inputs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from statebound import registry
from statebound.errors import UsageError
from statebound.experiments.engines.enumerate import count_optimal
from statebound.protocols.message import bit_matrix, check
from statebound.protocols.problems.index import Index
from statebound.protocols.protocol import sent

from .cases import CASES
from .cases import made as made_problem

PROBLEMS = [made_problem(case) for case in CASES] + [Index(2, alphabet=36)]
ROOM = "statebound.protocols.controls"


def made(name, problem):
    return registry.load(ROOM, name, "protocol").PROTOCOL(problem)


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: f"{p.name}-{p.n}")
@pytest.mark.parametrize("name", registry.names(ROOM))
def test_contract(name, problem):
    protocol = made(name, problem)
    x = problem.enumerate(0, problem.inputs)
    message = sent(protocol, protocol.encode(x), len(x))
    assert message.shape == (len(x), protocol.message_bytes)
    check(message, protocol.state_bits)
    for k in range(problem.queries):
        answer = protocol.answer(message, np.full(len(x), k))
        assert answer.shape == (len(x),)
        assert answer.dtype == problem.answer_type
    assert protocol.describe() == {"protocol": name}
    assert protocol.has_bob
    with pytest.raises(UsageError, match="state_bits = 500"):
        registry.load(ROOM, name, "protocol").PROTOCOL(problem, state_bits=500)


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: f"{p.name}-{p.n}")
def test_send_everything_is_never_wrong(problem):
    protocol = made("send_everything", problem)
    x = problem.enumerate(0, problem.inputs)
    message = protocol.encode(x)
    for k in range(problem.queries):
        answer = protocol.answer(message, np.full(len(x), k))
        assert np.array_equal(answer, problem.answers(x)[:, k])
    assert len(np.unique(message, axis=0)) == len(x)
    assert protocol.features(message).shape == (len(x), protocol.state_bits)
    assert np.array_equal(protocol.features(message) > 0, bit_matrix(message, protocol.state_bits))


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: f"{p.name}-{p.n}")
def test_send_nothing_is_at_chance(problem):
    protocol = made("send_nothing", problem)
    x = problem.enumerate(0, problem.inputs)
    message = protocol.encode(x)
    assert message.shape == (len(x), 0)
    tally = count_optimal(protocol)
    assert tally.distinct == 1
    assert tally.message_entropy == 0.0
    assert tally.joint_information == pytest.approx(0.0, abs=1e-9)
    assert tally.right == tally.guess
    assert tally.success(problem.weights) == tally.chance(problem.weights)
    if problem.structure.walled:
        assert tally.chance(problem.weights) == Fraction(1, problem.alphabet)
    if problem.structure.independent:
        for k in range(problem.queries):
            answer = protocol.answer(message, np.full(len(x), k))
            assert (answer == problem.answers(x)[:, k]).sum() * problem.alphabet == len(x)
