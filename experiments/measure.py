"""Measure one point: a protocol's exact or sampled success, and what it means.

The result is one plain dict with the keys documented for ``statebound measure``. What
an engine or a Bob cannot know is None, never guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statebound.experiments import blocks, readout
from statebound.experiments.columns import ordered
from statebound.experiments.engines import automaton, sample
from statebound.experiments.engines import enumerate as enumeration
from statebound.experiments.point import Point, facts, prepare
from statebound.experiments.request import Request
from statebound.experiments.tally import share
from statebound.experiments.threads import serial_algebra
from statebound.protocols.limits import report
from statebound.protocols.limits.streaming import streaming_wall
from statebound.protocols.message import Bytes
from statebound.protocols.problem import Answers, Problem, Symbols, make
from statebound.protocols.protocol import Protocol, StreamingProtocol
from statebound.protocols.table import Table, is_partial
from statebound.reductions.machine import CutMachine
from statebound.reductions.map import Mapped

OUTDO_INPUTS = 1 << 12  # up to here a protocol's own Bob is always counted too
OUTDO_ANSWERS = 1 << 20

Answer = Callable[[Bytes, NDArray[np.int64]], Answers]


@dataclass(frozen=True)
class Exact:
    """What an exact engine counted: each true value is within `error` of the one here."""

    success: Fraction
    by_query: tuple[Fraction | None, ...]
    error: Fraction = Fraction(0)


@dataclass(frozen=True)
class Measured:
    """A result row, and what made a proved wall break, if anything did.

    `exact` is what the row of an exact engine was derived from, where it was measured now.
    """

    row: dict[str, Any]
    broken: str | None
    exact: Exact | None = None


@dataclass(frozen=True)
class _Found:
    """What an exact engine found: the row's values, and what is needed to judge them."""

    values: dict[str, Any]
    exact: Exact
    success: Fraction
    optimal: Fraction
    distinct: int


def measure(request: Request, rows: int = 1) -> Measured:
    """Measure what a request asks for.

    Parameters
    ----------
    request
        The point.
    rows
        R, how many rows the experiment has: a sampled row may claim a broken wall with
        probability at most 1e-6 / R.

    Raises
    ------
    UsageError
        When the request has no meaning.
    """
    with serial_algebra():
        point = prepare(request)
        if not point.in_blocks:
            return whole(point, rows)
        count, trials = counter(point), request.trials
        every = range(blocks.number(trials))
        counted = [count(block, blocks.size_of(block, trials)) for block in every]
        return sampled(facts(point), counted, rows, problem=point.protocol.problem)


def whole(point: Point, rows: int) -> Measured:
    """Measure a point that has no blocks."""
    protocol, bob = point.protocol, point.bob
    problem = protocol.problem
    if point.engine == "sample":
        assert is_partial(protocol)
        counted = count_given(point, stored_inputs(protocol))
        return sampled(facts(point), [counted], rows, problem=problem)
    found = _exact(protocol, bob) if point.engine == "enumerate" else _automaton(protocol)
    row = facts(point) | found.values
    row["efficiency"] = _efficiency(row)
    broken = _broken(protocol, found, bob, row["regime"] == "step") or row["leak"]
    row["own_success"] = None
    if protocol.has_bob:
        own = _own(protocol, found, row)
        row["own_success"] = None if own is None else float(own)
        if broken is None and own is not None and own > found.optimal:
            broken = (
                f"its own Bob reaches {float(own):.6f}, above the {float(found.optimal):.6f} "
                "that the messages allow"
            )
    row |= {"violates_wall": broken is not None, "leak": broken}
    return Measured(ordered(row), broken, found.exact)


def stored_inputs(table: Table) -> Symbols:
    """Return the inputs that a table of some inputs is judged on: its second half."""
    return table.x[len(table.x) // 2 :]


def count_given(point: Point, x: Symbols) -> blocks.Counts:
    """Count a sample on these inputs (X, length), independent and uniform, as one block."""
    protocol, problem = point.protocol, point.protocol.problem
    tally = sample.count_inputs(protocol, _bob_of(protocol, point.bob), x)
    own = _own_bob(point)
    return blocks.Counts.of(tally, problem, own and sample.count_inputs(protocol, own, x))


def _own_bob(point: Point) -> Answer | None:
    """Return the protocol's own Bob where a sample counts him beside another one."""
    beside = point.bob != "model" and _quick_bob(point.protocol)
    return point.protocol.answer if beside else None


def counter(point: Point) -> Callable[[int, int], blocks.Counts]:
    """Return what counts a block of a sample, by its number and size."""
    protocol, seed = point.protocol, point.request.seed
    answer = _bob_of(protocol, point.bob)
    own = _own_bob(point)

    def count(block: int, size: int) -> blocks.Counts:
        return blocks.count(protocol, answer, seed, block, size, own)

    return count


def sampled(
    about: dict[str, Any],
    counted: Sequence[blocks.Counts],
    rows: int,
    *,
    watched: bool = False,
    problem: Problem | None = None,
) -> Measured:
    """Return the row that blocks add up to.

    Parameters
    ----------
    about
        The `facts` of the point; all else is in the blocks.
    counted, rows, watched
        See `blocks.values`.
    problem
        The problem, where it is at hand; else it is made from the facts.
    """
    if problem is None:
        problem = make(about["problem"], about["n"], about["problem_options"])
    M = about["state_bits"]
    row = about | blocks.values(problem, M, counted, rows, watched=watched)
    broken = about["leak"]
    if row.pop("above_ball"):
        broken = f"a sample is above the ball wall for {M} bits"
    if row["bob"] == "model":
        row["own_success"] = row["success"]
    row |= {
        "efficiency": _efficiency(row),
        "violates_wall": broken is not None,
        "leak": broken,
    }
    return Measured(ordered(row), broken)


def _efficiency(row: dict[str, Any]) -> float | None:
    M, needed = row["state_bits"], row["needed_bits"]
    return needed / M if M and needed is not None else None


def _bob_of(protocol: Protocol, bob: str) -> Answer:
    return protocol.answer if bob == "model" else readout.fit(protocol).answer


def _exact(protocol: Protocol, bob: str) -> _Found:
    problem = protocol.problem
    tally = enumeration.count_optimal(protocol)
    right, at_once = tally.right, tally.right_at_once
    if bob != "optimal":
        counted = enumeration.count_bob(protocol, _bob_of(protocol, bob))
        right, at_once = counted.right, counted.right_at_once
    weights, totals = problem.weights, tally.totals
    fraction = share(weights, right, totals)
    by_query = tuple(Fraction(r, t) if t else None for r, t in zip(right, totals, strict=True))
    stored = sum(tally.information) if problem.structure.independent else tally.joint_information
    values = {
        "trials": tally.inputs,
        "success": float(fraction),
        "success_fraction": f"{fraction.numerator}/{fraction.denominator}",
        "success_low": float(fraction),
        "success_high": float(fraction),
        "interval_level": None,
        "success_by_query": [r / t if t else None for r, t in zip(right, totals, strict=True)],
        "all_correct": None if at_once is None else at_once / tally.inputs,
        "distinct_messages": tally.distinct,
        "message_entropy": tally.message_entropy,
        "utilisation": tally.message_entropy / protocol.state_bits if protocol.state_bits else None,
        "information_by_query": list(tally.information),
        "stored_bits": stored,
        "certified_bits": None,
        "needed_bits": blocks.needed(problem, fraction),
        "optimal_success": float(tally.success(weights)),
    }
    if not problem.structure.walled:
        values["chance"] = float(tally.chance(weights))
    exact = Exact(fraction, by_query)
    return _Found(values, exact, fraction, tally.success(weights), tally.distinct)


def _automaton(protocol: Protocol) -> _Found:
    problem = protocol.problem
    assert isinstance(protocol, StreamingProtocol)
    found = automaton.run(protocol)
    by_query = tuple(Fraction(s) for s in found.success.tolist())
    weighted = zip(problem.weights, by_query, strict=True)
    carried = sum((w * s for w, s in weighted), Fraction(0))
    success, error = float(carried), Fraction(found.error)
    low = carried - error
    independent = problem.structure.independent
    index = problem.structure.index_stream
    values = {
        "trials": None,
        "success": success,
        "success_fraction": None,
        "success_low": success,
        "success_high": success,
        "interval_level": None,
        "success_by_query": found.success.tolist(),
        "all_correct": float(Fraction(found.states, problem.inputs)) if index else None,
        "distinct_messages": found.states,
        "message_entropy": found.entropy,
        "utilisation": found.entropy / protocol.state_bits if protocol.state_bits else None,
        "information_by_query": found.information.tolist(),
        "stored_bits": float(found.information.sum()) if independent else None,
        "certified_bits": None,
        "needed_bits": blocks.needed(problem, low),
        "optimal_success": success,
    }
    return _Found(values, Exact(carried, by_query, error), low, carried, found.states)


def _broken(protocol: Protocol, found: _Found, bob: str, step: bool) -> str | None:
    """Return which proved wall a result is above, if any: exact fractions for exact ones."""
    problem, M = protocol.problem, protocol.state_bits
    ball = report.wall(problem, 2**M)
    walls = {"ball": ball}
    if step:
        stream = streaming_wall(problem.structure, M)
        walls["streaming"] = None if stream is None else stream.value
    if bob == "optimal":
        walls["ball of the messages that occur,"] = report.wall(problem, found.distinct)
    for name, limit in walls.items():
        if limit is not None and found.success > limit:
            return (
                f"success {float(found.success):.6f} is above the {name} wall "
                f"{float(limit):.6f} for {M} bits"
            )
    return None


def _quick_bob(protocol: Protocol) -> bool:
    """Whether a protocol's own Bob is a trained network, who answers all queries at once."""
    inner = protocol.protocol if isinstance(protocol, Mapped) else protocol
    return isinstance(inner, CutMachine) and inner.bob is not None


def _own(protocol: Protocol, found: _Found, row: dict[str, Any]) -> Fraction | None:
    """Return what a protocol's own Bob reaches, None where he is not counted.

    Over all inputs where they are few, and where he is a trained network.
    """
    if row["bob"] == "model":
        return found.success
    problem = protocol.problem
    few = problem.inputs <= OUTDO_INPUTS and problem.inputs * problem.queries <= OUTDO_ANSWERS
    if not few and not (_quick_bob(protocol) and row["engine"] == "enumerate"):
        return None
    every = enumeration.count_bob(protocol, protocol.answer)
    return share(problem.weights, every.right, every.totals)
