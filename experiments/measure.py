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

from statebound import __version__
from statebound.errors import UsageError
from statebound.experiments import blocks, readout
from statebound.experiments.columns import ordered
from statebound.experiments.engines import automaton, sample
from statebound.experiments.engines import enumerate as enumeration
from statebound.experiments.replay import replay
from statebound.experiments.request import Request, subject
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

ENGINES = ("auto", "enumerate", "automaton", "sample")
BOBS = ("optimal", "learned", "model")
EXACT_INPUTS = 1 << 20  # `auto` enumerates up to this many inputs
OUTDO_INPUTS = 1 << 12  # up to here a protocol's own Bob is always counted too
OUTDO_ANSWERS = 1 << 20
AUTOMATON_WORK = 1 << 33  # `auto` runs an automaton up to this many transitions
LEAST_ROWS = 32  # of a table that does not hold every input

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


def check_bob(protocol: Protocol, bob: str | None) -> None:
    """Refuse a Bob that does not exist, in general or here."""
    if bob is not None and bob not in BOBS:
        raise UsageError("bob", bob, "is not a known Bob", f"choose from {', '.join(BOBS)}")
    if bob == "model" and not protocol.has_bob:
        raise UsageError(
            "bob",
            bob,
            "this model or protocol has no readout of its own",
            "use the optimal or the learned Bob, constructed parameters, or weights with a readout",
        )


def choose(request: Request, protocol: Protocol) -> tuple[str, str]:
    """Return the engine and the Bob of a request; combinations without meaning fail.

    The choice depends on sizes only, never on the machine's speed.
    """
    engine, bob = request.engine, request.bob
    if engine not in ENGINES:
        raise UsageError(
            "engine", engine, "is not a known engine", f"choose from {', '.join(ENGINES)}"
        )
    check_bob(protocol, bob)
    if request.trials < 1:
        raise UsageError("trials", request.trials, "must be at least 1", "pass 4096, say")
    lowest = min(request.seed, request.machine_seed or 0)
    if lowest < 0:
        raise UsageError("seed", lowest, "must not be negative", "pass 0")
    problem = protocol.problem
    partial = is_partial(protocol)
    if is_partial(protocol) and len(protocol.x) < LEAST_ROWS:
        raise UsageError(
            "protocol",
            request.protocol,
            f"a table of some inputs needs at least {LEAST_ROWS} rows, half of them to fit a "
            f"readout; it has {len(protocol.x)}",
            "store more rows, or all inputs for an exact result",
        )
    if engine == "auto":
        cap = enumeration.MEMORY_CAP
        small = problem.inputs <= EXACT_INPUTS and enumeration.bytes_needed(protocol) <= cap
        small = small and not enumeration.too_many_answers(problem)
        if small and not partial:
            engine = "enumerate"
        else:
            chosen = bob in (None, "optimal") and _small_automaton(protocol)
            engine = "automaton" if chosen else "sample"
    if engine == "enumerate" and partial:
        raise UsageError(
            "engine", engine, "the table does not hold every input", "use --engine sample"
        )
    if bob is None:
        bob = "learned" if engine == "sample" else "optimal"
    if engine == "automaton":
        automaton.refuse(protocol)
    if engine == "automaton" and bob != "optimal":
        raise UsageError(
            "bob",
            bob,
            "the automaton engine carries the joint law that only the optimal Bob uses",
            "use the optimal Bob, or --engine sample",
        )
    if engine == "sample" and bob == "optimal":
        raise UsageError(
            "bob",
            bob,
            "a sample does not tell the joint law that the optimal Bob needs",
            "use --engine enumerate, or the learned Bob",
        )
    if bob == "learned":
        readout.refuse_if_too_large(problem, readout.feature_count(protocol))
    return engine, bob


@dataclass(frozen=True)
class Point:
    """A request with all that was chosen for it."""

    request: Request
    protocol: Protocol
    engine: str
    bob: str

    @property
    def in_blocks(self) -> bool:
        """Whether it is a sample of fresh inputs, counted block by block."""
        return self.engine == "sample" and not is_partial(self.protocol)


def prepare(request: Request) -> Point:
    """Return what a request asks for, checked, before anything is counted.

    Raises
    ------
    UsageError
        When the request has no meaning, or is beyond the memory cap.
    """
    if request.bob == "learned" or (request.bob, request.engine) == (None, "sample"):
        readout.refuse_if_too_large(
            request.make_problem(), request.numbers or 0
        )  # before a long calibration
    protocol = subject(request)
    engine, bob = choose(request, protocol)
    if engine == "enumerate":
        enumeration.refuse_if_too_large(protocol)
    return Point(request, protocol, engine, bob)


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


def facts(point: Point) -> dict[str, Any]:
    """Return the columns that are known before anything is counted.

    ``leak`` says whether equal messages were answered differently.
    """
    row = _identity(point.request, point.protocol, point.engine, point.bob)
    row |= _walls(point.protocol, row["regime"] == "step")
    row["leak"] = None if is_partial(point.protocol) else replay(point.protocol)
    return row


def _efficiency(row: dict[str, Any]) -> float | None:
    M, needed = row["state_bits"], row["needed_bits"]
    return needed / M if M and needed is not None else None


def _identity(request: Request, protocol: Protocol, engine: str, bob: str) -> dict[str, Any]:
    problem = protocol.problem
    structure = problem.structure
    row: dict[str, Any] = {
        "problem": problem.name,
        "n": problem.n,
        "problem_options": {k: v for k, v in problem.options().items() if k != "n"},
        "effective_n": structure.effective_n or None,
        "alphabet": problem.alphabet,
        "chance": 1 / problem.alphabet if structure.walled else None,
        "queries": problem.queries,
        "query_law": problem.law,
        "state_bits": protocol.state_bits,
        "message_bytes": protocol.message_bytes,
        "engine": engine,
        "bob": bob,
        "through": request.through,
        "deterministic_bits": problem.deterministic_bits,
        "wall_reason": structure.reason or None,
        "seed": request.seed if engine == "sample" and not is_partial(protocol) else None,
        "version": __version__,
    }
    inner = protocol.protocol if isinstance(protocol, Mapped) else protocol
    if isinstance(inner, CutMachine):
        spec = inner.spec
        widths = {f.bits for f in spec.fields if f.kind == "real"}
        row |= {
            "model": spec.model,
            "protocol": None,
            "init": spec.init,
            "weights_hash": spec.weights_hash,
            "config": dict(spec.config),
            "fields": [vars(f) for f in spec.fields],
            "state_numbers": inner.numbers,
            "growing": dict(spec.growing),
            "bits_per_number": widths.pop() if len(widths) == 1 else None,
            "regime": spec.regime,
            "quantiser": spec.quantiser,
            "rounding": spec.rounding,
            "dtype": spec.dtype,
            "encoding": spec.encoding,
            "machine_seed": spec.machine_seed,
            "spec": spec.digest,
        }
    else:
        facts = inner.describe()
        nothing = (
            "model",
            "init",
            "weights_hash",
            "config",
            "state_numbers",
            "growing",
            "bits_per_number",
            "regime",
            "quantiser",
            "rounding",
            "dtype",
            "encoding",
            "machine_seed",
            "spec",
        )
        row |= dict.fromkeys(nothing)
        row["protocol"] = facts.get("protocol", request.protocol)
        message = {"name": "message", "kind": "bits", "numbers": protocol.state_bits, "bits": 1}
        row["fields"] = [message] if protocol.state_bits else []
    return row


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


def _small_automaton(protocol: Protocol) -> bool:
    """Whether `auto` lets the automaton engine run: by the most that it could cost."""
    if not isinstance(protocol, StreamingProtocol) or not protocol.is_automaton:
        return False
    M, n = protocol.state_bits, protocol.problem.length
    return automaton.fits(protocol.problem) and M <= 16 and n * n << M <= AUTOMATON_WORK


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


def _walls(protocol: Protocol, step: bool) -> dict[str, Any]:
    limits = report.limits(protocol.problem, protocol.state_bits)
    status = {name: limits["status"][name] for name in ("ball", "rate_distortion", "streaming")}
    if not step:
        status["streaming"] = None
    return {
        "best_known": None if limits["optimum_low"] is None else float(limits["optimum_low"]),
        "wall_ball": limits["ball"],
        "wall_rate_distortion": limits["rate_distortion"],
        "wall_streaming": limits["streaming"] if step else None,
        "wall_status": status,
    }


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
