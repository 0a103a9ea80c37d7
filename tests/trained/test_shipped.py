"""The trained machines that are shipped, counted anew from their files."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import pytest

from statebound.experiments.engines import enumerate as enumeration
from statebound.protocols.limits import report
from statebound.protocols.problem import make
from statebound.reductions import zoo
from statebound.reductions.machine import cut

EXACT = 16  # n up to which all inputs are counted
SHIPPED = [each for each in zoo.shipped() if each.about.n <= EXACT]


@cache
def counted(name: str) -> tuple[Fraction, int]:
    """Return the optimal Bob's success on a machine, and its M."""
    each = next(e for e in SHIPPED if e.file.name == name)
    problem = make(each.about.problem, each.about.n, each.about.problem_options)
    machine = cut(problem, None, checkpoint=each.load())
    return enumeration.count_optimal(machine).success(problem.weights), machine.state_bits


@pytest.mark.parametrize("each", SHIPPED, ids=lambda each: each.file.name)
def test_the_file_says_what_is_counted_and_no_wall_is_passed(each):
    success, state_bits = counted(each.file.name)
    problem = make(each.about.problem, each.about.n, each.about.problem_options)
    # A processor that rounds otherwise may move an input over a threshold: few of 2^n.
    assert float(success) == pytest.approx(each.about.measured["success"], abs=1e-4)
    wall = report.wall(problem, 2**state_bits)
    assert wall is not None
    assert success <= wall


def test_families_beat_truncation_with_half_of_the_bits():
    n = 16
    truncation = Fraction(1, 2) + Fraction(n // 2, 2 * n)
    better = set()
    for each in SHIPPED:
        about = each.about
        if (about.n, about.regime, about.numbers, about.bits) == (n, "handoff", n // 2, 1):
            success, _ = counted(each.file.name)
            if success >= truncation + Fraction(3, 100):
                better.add(about.model)
    assert len(better) >= 3
