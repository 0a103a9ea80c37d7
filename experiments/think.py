"""Chain of thought, exactly: what Bobs who think reach, and what they know, over all inputs.

For every number t of tokens, over all x and queries k:

* `success`: Bob's own, an answer that a code's Bob reads off his scratchpad, or else a readout
  of what he holds after t tokens, fitted anew for each t and query on public inputs;
* `reader_success`: of the best reader of what he holds after t tokens;
* `optimal_success`: of the best reader of the message, the same for every t;
* `information`: I(x; message, transcript) in bits for a query, averaged over the query's law;
  `transcript_information` is I(x; transcript). Both are for fixed coins, so that what is
  written is a function of x, and are then the entropies of what occurs.

Bob is run on the messages of all x, not once for each message, so that one who knows
something else of x is found out: a transcript, or what he holds, that differs between inputs
with one message is a leak, and so is any success above the optimal one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statebound import __version__, registry
from statebound.errors import UsageError
from statebound.experiments import readout
from statebound.experiments.engines import enumerate as enumeration
from statebound.experiments.entropies import plug_in
from statebound.experiments.tally import Tally, share
from statebound.models._build import family
from statebound.protocols.limits import report
from statebound.protocols.problem import Answers, Problem, Symbols
from statebound.protocols.protocol import Protocol, sent
from statebound.protocols.scratchpad import Scratchpad
from statebound.protocols.thinker import Thinker, Thought
from statebound.reductions.thinking import Thinking, thinking

MODELS = ("linear_attention", "sliding_window", "rglru", "gru")
CODES = ("linear",)
TOKENS = (0, 1, 2, 3, 4, 6, 8, 16, 32, 64)
FIT_INPUTS = 1024
MOST_WORK = 1 << 24
"""Inputs times queries times tokens, beyond which nothing is begun."""

Row = dict[str, Any]
Names = NDArray[np.int64]


@dataclass(frozen=True)
class Point:
    """One thinking Bob after so many tokens, over all inputs.

    Attributes
    ----------
    tokens
        t.
    right, reader
        For each query on how many inputs Bob, and the best reader of what he holds, is right.
    information, transcript_information
        For each query I(x; message, transcript) and I(x; transcript), in bits.
    transcripts
        How many different transcripts occur, over all queries.
    written, ended
        Tokens written on average, and the share of Bobs who said that they were done.
    leak
        What shows that Bob knew of x what the message does not say; None if nothing does.
    """

    tokens: int
    right: tuple[int, ...]
    reader: tuple[int, ...]
    information: tuple[float, ...]
    transcript_information: tuple[float, ...]
    transcripts: int
    written: float
    ended: float
    leak: str | None


def trace(thinker: Thinker[Any], tokens: Sequence[int], tally: Tally) -> list[Point]:
    """Return one point for each number of tokens, in rising order.

    `tally` is what the optimal Bob works from, of the thinker's protocol.
    """
    problem = thinker.protocol.problem
    steps = sorted(set(tokens))
    fits: list[list[Any]] = []
    if not thinker.answers_himself:
        public = readout.public_inputs(problem)[:FIT_INPUTS]
        truth = problem.answers(public)
        for thought in _thoughts(thinker, public, steps):
            held = thinker.holds(thought.state).reshape(problem.queries, len(public), -1)
            fits.append(
                [readout.regress(problem, h, truth[:, k : k + 1]) for k, h in enumerate(held)]
            )
    every = problem.enumerate(0, problem.inputs)
    truth = problem.answers(every).T  # (queries, X)
    message = sent(thinker.protocol, thinker.protocol.encode(every), len(every))
    names = _names(message)
    points = []
    for at, thought in enumerate(_thoughts(thinker, every, steps)):
        held = thinker.holds(thought.state).reshape(problem.queries, len(every), -1)
        if thinker.answers_himself:
            said = thinker.answer(thought.state, thought.query).reshape(truth.shape)
        else:
            pairs = zip(fits[at], held, strict=True)
            said = np.stack([readout.decide(problem, fit, h)[:, 0] for fit, h in pairs])
        points.append(_point(steps[at], thought, held, said, truth, names, problem, tally))
    return points


def _thoughts(thinker: Thinker[Any], x: Symbols, steps: Sequence[int]) -> Iterator[Thought[Any]]:
    """Yield the thoughts on all inputs, query after query, after so many tokens each."""
    queries = thinker.protocol.problem.queries
    message = thinker.protocol.encode(x)
    asked = np.repeat(np.arange(queries), len(x))
    thought = thinker.begin(np.tile(message, (queries, 1)), asked)
    for more in np.diff([0, *steps]):
        thought = thinker.think(thought, int(more))
        yield thought


def _names(rows: NDArray[Any]) -> Names:
    """Number different rows (B, any) from 0, (B,)."""
    if rows.shape[1] == 0:
        return np.zeros(len(rows), np.int64)
    held = np.ascontiguousarray(rows)
    keys = held.view(np.dtype((np.void, held.dtype.itemsize * held.shape[1]))).reshape(-1)
    which: Names = np.unique(keys, return_inverse=True)[1].reshape(-1)
    return which


def _counts(*names: Names) -> NDArray[np.int64]:
    """Return how often each combination of names occurs."""
    joint = names[0]
    for more in names[1:]:
        joint = joint * (more.max() + 1) + more
    counts: NDArray[np.int64] = np.unique(joint, return_counts=True)[1]
    return counts


def _point(
    tokens: int,
    thought: Thought[Any],
    held: NDArray[np.float64],
    said: Answers,
    truth: Answers,
    message: Names,
    problem: Problem,
    tally: Tally,
) -> Point:
    """Sum up thoughts: held (Q, X, C), said and truth (Q, X), names of messages (X,)."""
    shape = truth.shape
    transcript = _names(thought.transcript).reshape(shape)
    state = _names(held.reshape(-1, held.shape[2])).reshape(shape)
    right = tuple(int(r) for r in (said == truth).sum(axis=1))
    size = problem.alphabet * (int(state.max()) + 1)
    cells = [np.bincount(c, minlength=size) for c in problem.alphabet * state + truth]
    reader = tuple(int(c.reshape(-1, problem.alphabet).max(axis=1).sum()) for c in cells)
    both = [_counts(message, t) for t in transcript]
    leak = _leak(problem, right, reader, tally)
    if leak is None:
        for k, counts in enumerate(both):
            about = f"asked for query {problem.query_text(k)}, after {tokens} tokens"
            if len(counts) > tally.distinct:
                leak = f"{len(counts)} pairs of message and transcript, {about}"
            elif len(_counts(message, state[k])) > tally.distinct:
                leak = f"what Bob holds is not a function of the message, {about}"
            if leak is not None:
                leak += f": more than the {tally.distinct} messages can tell"
                break
    return Point(
        tokens=tokens,
        right=right,
        reader=reader,
        information=tuple(plug_in(counts) for counts in both),
        transcript_information=tuple(plug_in(_counts(t)) for t in transcript),
        transcripts=int(transcript.max()) + 1,
        written=float(thought.written.mean()),
        ended=float(thought.ended.mean()),
        leak=leak,
    )


def _leak(
    problem: Problem, right: Sequence[int], reader: Sequence[int], tally: Tally
) -> str | None:
    """Return which success is above that of the best reader of the message, if one is."""
    optimal = tally.success(problem.weights)
    for who, count in (("a thinking Bob", right), ("the best reader of his state", reader)):
        found = share(problem.weights, count, tally.totals)
        if found > optimal:
            return (
                f"{who} reaches {float(found):.6f}, above the {float(optimal):.6f} that the "
                "messages allow"
            )
    return None


def think(
    problem: Problem,
    *,
    models: Sequence[str] = MODELS,
    codes: Sequence[str] | None = None,
    numbers: int | None = 6,
    bits: int | None = None,
    state_bits: int | None = None,
    regime: str = "handoff",
    tokens: Sequence[int] = TOKENS,
    machine_seeds: Sequence[int] = (0, 1, 2),
    temperature: float = 0.0,
    coins: int = 1,
    seed: int = 0,
) -> list[Row]:
    """Measure thinking models and codes; every argument is checked here.

    Parameters
    ----------
    problem
        What is asked; all its inputs are enumerated.
    models, numbers, bits, regime, machine_seeds
        Models with random parameters, and how they are cut.
    codes, state_bits
        Linear codes, whose Bobs have a scratchpad, and their message bits: those of the
        first model unless given, at most one an answer. None for `CODES`, where answers are
        independent bits.
    tokens
        Numbers of tokens at which to look.
    temperature, coins
        Above 0 tokens are drawn, by as many Bobs with coins of their own, seeds 0, 1, ...;
        a row holds their average.
    seed
        Public seed of the heads that choose tokens.

    Returns
    -------
    One row for each machine and number of tokens.

    Raises
    ------
    UsageError
        When an argument has no meaning here, or the work is too much.
    """
    structure = problem.structure
    if codes is None:
        codes = CODES if structure.independent and structure.alphabet == 2 else ()
    _check(problem, tokens, machine_seeds, temperature, coins, seed)
    _check_names(models, codes)
    noise = range(coins) if temperature else range(1)
    rows: list[Row] = []
    for model in models:
        for machine_seed in machine_seeds:
            bob = thinking(
                problem,
                model,
                numbers=numbers,
                bits=bits,
                regime=regime,
                machine_seed=machine_seed,
                seed=seed,
                temperature=temperature,
            )
            others = [
                Thinking(bob.machine, seed=seed, temperature=temperature, coins=c)
                for c in noise[1:]
            ]
            rows += _rows([bob, *others], tokens)
            if state_bits is None:
                state_bits = min(bob.machine.state_bits, structure.effective_n)
    for code in codes:
        rows += _rows([Scratchpad(_code(problem, code, state_bits))], tokens)
    if not rows:
        raise UsageError("models", "none", "nobody is left to think", "name a model or a code")
    return rows


def _check_names(models: Sequence[str], codes: Sequence[str]) -> None:
    """Refuse a name that is not known before anything runs."""
    for model in models:
        family(model)
    for code in codes:
        registry.load("statebound.protocols.codes", code, "codes")


def _code(problem: Problem, code: str, state_bits: int | None) -> Protocol:
    made = registry.load("statebound.protocols.codes", code, "codes").PROTOCOL
    if state_bits is None:
        raise UsageError(
            "state_bits", None, "a code needs the size of its message", "pass --state-bits M"
        )
    protocol: Protocol = made(problem, state_bits)
    return protocol


def _check(
    problem: Problem,
    tokens: Sequence[int],
    machine_seeds: Sequence[int],
    temperature: float,
    coins: int,
    seed: int,
) -> None:
    problem.refuse_unlisted()
    if problem.joint or problem.credits is not None:
        raise UsageError(
            "problem",
            problem.name,
            "asks what depends on the input, or counts near misses",
            "choose a problem like index or istree",
        )
    if min(tokens) < 0:
        raise UsageError("tokens", min(tokens), "must not be negative", "pass 0,1,2,4")
    work = problem.inputs * problem.queries * max(*tokens, 1) * max(coins, 1)
    if work > MOST_WORK:
        raise UsageError(
            "n",
            problem.n,
            f"all inputs, queries, tokens and coins are {work} turns, the cap is {MOST_WORK}",
            "take a smaller n, or fewer tokens or coins",
        )
    for name, value in (("machine_seeds", min(machine_seeds)), ("seed", seed)):
        if value < 0:
            raise UsageError(name, value, "must not be negative", "pass 0")
    if not 0 <= temperature < float("inf"):
        raise UsageError("temperature", temperature, "must be 0 or more", "pass 0 for greedy")
    if coins < 1:
        raise UsageError("coins", coins, "must be at least 1", "pass 4, say")
    if coins > 1 and not temperature:
        raise UsageError(
            "coins", coins, "are not used at temperature 0", "pass --temperature 1, or drop --coins"
        )


def _rows(bobs: Sequence[Thinker[Any]], tokens: Sequence[int]) -> list[Row]:
    """Return the rows of one protocol: the average over Bobs who differ in their coins."""
    protocol = bobs[0].protocol
    problem = protocol.problem
    enumeration.refuse_if_too_large(protocol)
    tally = enumeration.count_optimal(protocol)
    optimal = tally.success(problem.weights)
    wall = report.wall(problem, 2**protocol.state_bits)
    identity = _identity(bobs)
    weights = [float(w) for w in problem.weights]
    rows = []
    for points in zip(*(trace(bob, tokens, tally) for bob in bobs), strict=True):
        own, reader = (
            sum((share(problem.weights, right, tally.totals) for right in every), Fraction(0))
            / len(points)
            for every in ([p.right for p in points], [p.reader for p in points])
        )
        information, alone = (
            float(np.mean([np.dot(weights, each) for each in every]))
            for every in (
                [p.information for p in points],
                [p.transcript_information for p in points],
            )
        )
        rows.append(
            identity
            | {
                "tokens": points[0].tokens,
                "written": float(np.mean([p.written for p in points])),
                "ended": float(np.mean([p.ended for p in points])),
                "success": float(own),
                "success_fraction": f"{own.numerator}/{own.denominator}",
                "interval_level": None,
                "reader_success": float(reader),
                "optimal_success": float(optimal),
                "optimal_fraction": f"{optimal.numerator}/{optimal.denominator}",
                "wall_ball": None if wall is None else float(wall),
                "information": information,
                "transcript_information": alone,
                "message_entropy": tally.message_entropy,
                "distinct_messages": tally.distinct,
                "distinct_transcripts": max(p.transcripts for p in points),
                "leak": next((p.leak for p in points if p.leak is not None), None),
                "version": __version__,
            }
        )
    return rows


def _identity(bobs: Sequence[Thinker[Any]]) -> Row:
    """Return what tells one line of a figure from another."""
    bob, protocol = bobs[0], bobs[0].protocol
    problem = protocol.problem
    row: Row = {
        "problem": problem.name,
        "n": problem.n,
        "problem_options": {k: v for k, v in problem.options().items() if k != "n"},
        "effective_n": problem.structure.effective_n or None,
        "alphabet": problem.alphabet,
        "query_law": problem.law,
        "chance": 1 / problem.alphabet if problem.structure.walled else None,
        "model": None,
        "protocol": None,
        "state_bits": protocol.state_bits,
        "regime": None,
        "machine_seed": None,
        "spec": None,
        "thinker": bob.describe(),
        "coin_seeds": None,
    }
    if isinstance(bob, Thinking):
        spec = bob.machine.spec
        row |= {
            "model": spec.model,
            "regime": spec.regime,
            "machine_seed": spec.machine_seed,
            "spec": spec.digest,
        }
        if bob.temperature:
            row["coin_seeds"] = [b.coins for b in bobs if isinstance(b, Thinking)]
            row["thinker"] = bob.describe() | {"coins": None}
    else:
        row["protocol"] = protocol.describe().get("protocol", type(protocol).__name__)
    return row


def means(rows: Sequence[Row]) -> list[Row]:
    """Return the averages over machine seeds, a row for each Bob and number of tokens."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        who = row["model"] or row["protocol"]
        groups.setdefault((who, row["state_bits"], row["tokens"]), []).append(row)
    values = (
        "written",
        "success",
        "reader_success",
        "optimal_success",
        "information",
        "transcript_information",
    )
    return [
        {"who": who, "state_bits": M, "tokens": t, "wall_ball": held[0]["wall_ball"]}
        | {name: float(np.mean([row[name] for row in held])) for name in values}
        for (who, M, t), held in groups.items()
    ]


def leaks(rows: Sequence[Row]) -> list[str]:
    """Return what rows found wrong."""
    return [f"{row['model'] or row['protocol']}: {row['leak']}" for row in rows if row["leak"]]


def draw(rows: list[Row], stem: Path, style: str = "paper") -> list[Path]:
    """Draw the figure of rows to ``stem.png`` and ``stem.svg``."""
    from statebound.experiments import results
    from statebound.experiments.figures import thinking as figure_of
    from statebound.experiments.figures._save import save

    figure = figure_of.make(rows, style)
    return save(figure, stem, results.command_line(), results.digest(rows))
