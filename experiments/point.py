"""A request with all that is chosen for it, and what is known before anything is counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from statebound import __version__
from statebound.errors import UsageError
from statebound.experiments import readout
from statebound.experiments.engines import automaton
from statebound.experiments.engines import enumerate as enumeration
from statebound.experiments.replay import replay
from statebound.experiments.request import Request, subject
from statebound.protocols.limits import report
from statebound.protocols.protocol import Protocol, StreamingProtocol
from statebound.protocols.table import is_partial
from statebound.reductions.machine import CutMachine
from statebound.reductions.map import Mapped

ENGINES = ("auto", "enumerate", "automaton", "sample")
BOBS = ("optimal", "learned", "model")
EXACT_INPUTS = 1 << 20  # `auto` enumerates up to this many inputs
AUTOMATON_WORK = 1 << 33  # `auto` runs an automaton up to this many transitions
LEAST_ROWS = 32  # of a table that does not hold every input


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


def _small_automaton(protocol: Protocol) -> bool:
    """Whether `auto` lets the automaton engine run: by the most that it could cost."""
    if not isinstance(protocol, StreamingProtocol) or not protocol.is_automaton:
        return False
    M, n = protocol.state_bits, protocol.problem.length
    return automaton.fits(protocol.problem) and M <= 16 and n * n << M <= AUTOMATON_WORK


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


def facts(point: Point) -> dict[str, Any]:
    """Return the columns that are known before anything is counted.

    ``leak`` says whether equal messages were answered differently.
    """
    row = _identity(point.request, point.protocol, point.engine, point.bob)
    row |= _walls(point.protocol, row["regime"] == "step")
    row["leak"] = None if is_partial(point.protocol) else replay(point.protocol)
    return row


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
