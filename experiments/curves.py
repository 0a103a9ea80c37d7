"""What figures draw beside rows: the walls of a problem over state bits, and its codes."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import log2, pi, sin
from typing import Any

from statebound import registry
from statebound.errors import UsageError
from statebound.experiments import estimates
from statebound.experiments.engines import enumerate as enumeration
from statebound.experiments.engines import sample
from statebound.protocols.codes._word import WordCode
from statebound.protocols.limits import report
from statebound.protocols.limits.rate_distortion import rate_distortion
from statebound.protocols.problem import Problem

Curves = dict[str, list[tuple[int, float]]]

WALLS = ("ball", "rate_distortion", "truncation")
POINTS = 256  # a printed line shows no more
LIMITS_POINTS = 128
_LIMIT_POINTS = 96
_LIMITS_WORK = 1 << 17  # values of M times n, but at least 32 values

CODES = "statebound.protocols.codes"
EXACT_ANSWERS = 16  # codes on so many answers are enumerated
SAMPLED_ANSWERS = 1 << 12  # codes on more are shown only where a formula knows them
LEVEL = 0.95
_SIXTEENTHS: dict[str, tuple[int, ...]] = {  # rates M / n
    "linear": (3, 7, 11, 15),
    "majority": (2, 4, 6),
    "polar": (3, 5, 7, 9, 11, 13),
    "truncation": (4, 8, 12),
}
_SAMPLED_SYMBOLS = 1 << 19  # words times answers of a sample of one code


def collapse_curves(problem: Problem, max_bits: int) -> Curves:
    """Return each wall over state bits, and chance.

    M goes from 0 to `max_bits`, and at least to where all answers fit into the state.

    Parameters
    ----------
    problem
        The problem at its size.
    max_bits
        The largest M of interest, in bits; beyond `POINTS` values of M they are thinned
        evenly.

    Returns
    -------
    dict
        ``ball``, ``rate_distortion``, ``truncation`` and ``chance``: lists of
        (bits, success) in order of bits. A wall that is not known is an empty list.

    Raises
    ------
    UsageError
        When `max_bits` is negative.

    Examples
    --------
    >>> from statebound.protocols.problems.index import Index
    >>> curves = collapse_curves(Index(7), 0)
    >>> curves["ball"][4], curves["truncation"][7], curves["chance"][0]
    ((4, 0.875), (7, 1.0), (0, 0.5))
    """
    if max_bits < 0:
        raise UsageError("max_bits", max_bits, "must not be negative", "pass the largest state")
    last = max(max_bits, _all_answers(problem))
    return _walk(problem, WALLS, _even(last, POINTS))


def cliff_curves(problem: Problem, max_bits: int) -> Curves:
    """Return the limits of the average and of all answers at once, and chance, over state bits.

    Parameters and sizes are those of `collapse_curves`.

    Examples
    --------
    >>> from statebound.protocols.problems.index import Index
    >>> curves = cliff_curves(Index(7), 7)
    >>> curves["ball"][4], curves["all_correct"][4]
    ((4, 0.875), (4, 0.125))
    """
    if max_bits < 0:
        raise UsageError("max_bits", max_bits, "must not be negative", "pass the largest state")
    last = max(max_bits, _all_answers(problem))
    return _walk(problem, ("ball", "all_correct"), _even(last, POINTS))


def rate_limit(alphabet: int) -> list[tuple[float, float]]:
    """Return the rate-distortion wall of uniform queries over M / n, the same for every n.

    All walls of every n are at or below it.

    Examples
    --------
    >>> limit = rate_limit(2)
    >>> limit[0], limit[-1]
    ((0.0, 0.5), (1.0, 1.0))
    """
    whole = log2(alphabet)
    # Denser towards both ends, where it is steep.
    rates = [whole * sin(pi / 2 * j / _LIMIT_POINTS) ** 2 for j in range(_LIMIT_POINTS + 1)]
    return [(rate, rate_distortion((Fraction(1),), alphabet, rate)) for rate in rates]


def contours(problems: Iterable[Problem], levels: Iterable[float]) -> Curves:
    """Return for each success, as text, the bits below which the ball wall forbids it, by n.

    Parameters
    ----------
    problems
        One problem at several sizes.
    levels
        Successes in (0, 1].

    Returns
    -------
    dict
        Level -> (n, bits) in order of n, bits being log2 of the least number of messages;
        sizes where no wall is known are left out.

    Examples
    --------
    >>> from statebound.protocols.problems.index import Index
    >>> contours([Index(7), Index(3)], [0.875, 1.0])
    {'0.875': [(3, 2.321928094887362), (7, 4.0)], '1': [(3, 3.0), (7, 7.0)]}
    """
    found: Curves = {f"{level:g}": [] for level in levels}
    for problem in sorted(problems, key=lambda problem: problem.n):
        for level, points in found.items():
            bits = report.bits_needed(problem, level)["bits_needed"]["ball"]
            if bits is not None:
                points.append((problem.n, bits))
    return found


def limits_curves(problem: Problem, points: int = LIMITS_POINTS) -> Curves:
    """Return every wall of `report.WALLS` over state bits, and chance.

    M goes from 0 to where all answers fit into the state.

    Parameters
    ----------
    problem
        The problem at its size.
    points
        About how many values of M at most; they are thinned evenly, but M = 1 and the
        last but one stay. Beyond 1024 answers there are fewer, down to 32.

    Returns
    -------
    dict
        Lists of (bits, value) in order of bits; where a wall is not known at some M it has
        no point there.

    Raises
    ------
    UsageError
        When `points` is below 2.

    Examples
    --------
    >>> from statebound.protocols.problems.index import Index
    >>> curves = limits_curves(Index(7))
    >>> curves["optimum_low"][4], curves["all_correct"][6]
    ((4, 0.875), (6, 0.5))
    """
    if points < 2:
        raise UsageError("points", points, "must be at least 2", "pass 128, say")
    last = _all_answers(problem)
    fewer = max(32, _LIMITS_WORK // max(1, problem.structure.effective_n))
    sizes = {*_even(last, min(points, fewer) - 1), min(1, last), max(0, last - 1)}
    return _walk(problem, report.WALLS, sorted(sizes))


def _all_answers(problem: Problem) -> int:
    structure = problem.structure
    return structure.effective_n * (structure.alphabet - 1).bit_length()


def _even(last: int, steps: int) -> list[int]:
    steps = min(last, steps)
    return [last * j // steps for j in range(steps + 1)] if steps else [0]


def _walk(problem: Problem, walls: Iterable[str], sizes: Iterable[int]) -> Curves:
    """Return the known values of these walls, and chance, at these M."""
    curves: Curves = {name: [] for name in (*walls, "chance")}
    for bits in sizes:
        record = report.limits(problem, bits)
        for name, points in curves.items():
            if record[name] is not None:
                points.append((bits, record[name]))
    return curves


def code_points(problem: Problem) -> list[dict[str, Any]]:
    """Return what the registered codes reach on a problem, at a few sizes each.

    A code is left out at sizes that it cannot have, and as a whole where it fits none or
    would have to be sampled on more than `SAMPLED_ANSWERS` answers.

    Parameters
    ----------
    problem
        The problem at its size.

    Returns
    -------
    list of dict
        By code and M: ``protocol``, ``state_bits``, ``effective_n``, ``success``,
        ``success_low``, ``success_high``, ``success_fraction``, ``interval_level``,
        ``trials``, ``seed``, ``wall_ball``, with the names that rows have; ``bob``,
        ``model`` for the code's own, and ``engine``: ``formula`` where the code knows its
        success exactly; ``enumerate`` on up to `EXACT_ANSWERS` answers, with the optimal
        Bob, as rows of ``measure`` have it; else ``sample`` with seed 0 and a betting
        interval at `LEVEL`.

    Examples
    --------
    >>> from statebound.protocols.problems.index import Index
    >>> [p["success_fraction"] for p in code_points(Index(7)) if p["protocol"] == "hamming"]
    ['11/14', '7/8']
    """
    points = []
    for name in registry.names(CODES):
        made = registry.load(CODES, name, "protocol").PROTOCOL
        for bits in _sizes(name, problem):
            try:
                code = made(problem, bits)
            except UsageError:  # it has no such size
                continue
            found = _reached(code)
            if found is not None:
                limit = report.wall(problem, 1 << bits)
                points.append(
                    {
                        "protocol": name,
                        "state_bits": bits,
                        "effective_n": problem.structure.effective_n,
                        **found,
                        "wall_ball": None if limit is None else float(limit),
                    }
                )
    return points


def _sizes(name: str, problem: Problem) -> list[int]:
    """Return the M at which a code is shown, whether or not it has them all.

    Codes that have any M stay clear of the sizes of those that have few, for the eye's
    sake; block codes where blocks fill all places but what is sent raw: each block saves
    as many bits as it has checks. At half its answers majority is truncation.
    """
    n, width = problem.queries, (problem.alphabet - 1).bit_length()
    if name == "golay":
        found = {n - 11 * (n // 23)} if n >= 23 else set()
    elif name == "hamming":
        found = {n - r * (n // ((1 << r) - 1)) for r in range(2, 7) if n >= (1 << r) - 1}
    else:
        rates = _SIXTEENTHS.get(name, (2, 4, 8, 12, 14))
        if name == "polar" and n <= EXACT_ANSWERS:
            rates = rates[::2]  # enumerating takes seconds each
        found = {round(n * j / 16) * width for j in rates}
        if name == "majority":
            found.add(1)
    return sorted(found - {0, n * width})


def _reached(code: WordCode) -> dict[str, Any] | None:
    """Return a code's success and how it was found, or None where that would take long."""
    problem = code.problem
    exact: Fraction | None = code.success()
    trials: int | None = None
    engine, bob = "formula", "model"
    if exact is None and problem.queries <= EXACT_ANSWERS and problem.inputs <= 1 << 20:
        engine, bob = "enumerate", "optimal"
        tally = enumeration.count_optimal(code)
        exact, trials = tally.success(problem.weights), tally.inputs
    if exact is not None:
        return {
            "success": float(exact),
            "success_low": float(exact),
            "success_high": float(exact),
            "success_fraction": f"{exact.numerator}/{exact.denominator}",
            "interval_level": None,
            "engine": engine,
            "bob": bob,
            "trials": trials,
            "seed": None,
        }
    if problem.queries > SAMPLED_ANSWERS:
        return None
    words = min(2048, max(256, _SAMPLED_SYMBOLS // problem.queries))
    values = sample.count(code, code.answer, words, seed=0).values
    interval = estimates.betting_interval(values, LEVEL)
    return {
        "success": interval.best,
        "success_low": interval.low,
        "success_high": interval.high,
        "success_fraction": None,
        "interval_level": LEVEL,
        "engine": "sample",
        "bob": bob,
        "trials": words,
        "seed": 0,
    }
