"""Every wall of a problem in one record: what ``statebound limits`` prints.

Each entry of ``status`` is "proved" or None; ``notes`` says what a proved entry rests
on, or why an entry is null. Walls consume a problem's `Structure` and nothing else.
"""

from __future__ import annotations

from fractions import Fraction
from operator import index
from typing import Any

from statebound.errors import UsageError
from statebound.protocols.limits import all_correct as whole
from statebound.protocols.limits import rate_distortion as rate
from statebound.protocols.limits import truncation as stored
from statebound.protocols.limits.ball import ball, needed_bits, needed_messages
from statebound.protocols.limits.optimum import Interval, optimum
from statebound.protocols.limits.patterns import EXACT_BITS, Profile, profile
from statebound.protocols.limits.random_coding import random_coding
from statebound.protocols.limits.streaming import streaming_wall
from statebound.protocols.problem import Problem, Structure

MAX_STATE_BITS = 1 << 40
_LONGEST = 13_000  # bits of a denominator, 4,000 digits; longer ones are not printed

WALLS = (
    "ball",
    "rate_distortion",
    "random_coding",
    "truncation",
    "streaming",
    "optimum_low",
    "optimum_high",
    "all_correct",
)
_INDEPENDENT = "answers independent and uniform, query independent of x"
_DEPENDENT = "the answers are not known to be independent and uniform given the query"
_FLOOR = "claimed only where answers are independent of all that Bob knows"
_LONG = f"more than {EXACT_BITS} bits of answers: exact counts are not attempted"
_MANY = "too many different query weights at this n to count patterns by cost"
_ROUNDED = "costs could only be rounded down, which would promise too much here"
_REST = {
    "ball": "at most 2^M different messages",
    "rate_distortion": "at most M bits of information in the message",
    "random_coding": "some protocol reaches it; for one message at the end",
    "truncation": "reached by sending the heaviest symbols as they are",
    "streaming": "Index's own stream, each symbol read once, at most 2^M states after each",
    "optimum_low": "some protocol reaches it; for one message at the end",
    "optimum_high": "at most 2^M different messages",
    "all_correct": "at most 2^M different messages",
}


def wall(problem: Problem, messages: int) -> Fraction | None:
    """Return the ball bound of `problem` for `messages` possible messages.

    Parameters
    ----------
    problem
        The problem at its size.
    messages
        N >= 1: 2^M, or any smaller number known to be all that occur.

    Returns
    -------
    Fraction or None
        None where the bound does not apply, or where patterns cannot be counted by
        cost; a bound by costs that were rounded down is a bound too (see `patterns`).

    Raises
    ------
    UsageError
        When `messages` is below 1.

    Examples
    --------
    >>> from statebound.protocols.problems.index import Index
    >>> print(wall(Index(7), 16))
    7/8
    """
    messages = index(messages)  # a numpy integer would overflow below
    if messages < 1:
        raise UsageError("messages", messages, "must be at least 1", "pass 1 for no message")
    costs = _costs(problem.structure)
    return None if costs is None else ball(costs, messages)


def limits(problem: Problem, state_bits: int) -> dict[str, Any]:
    """Return what any protocol with `state_bits` message bits can and cannot do.

    Parameters
    ----------
    problem
        The problem at its size.
    state_bits
        M, 0 to `MAX_STATE_BITS`.

    Returns
    -------
    dict
        JSON-able: sizes, one float (or None) for each of `WALLS`, the exact ones also
        as "p/q" under ``<name>_fraction``, where the ends of the optimum come from,
        ``status`` and ``notes`` by wall.

    Raises
    ------
    UsageError
        When `state_bits` is out of range.

    Examples
    --------
    >>> from statebound.protocols.problems.index import Index
    >>> record = limits(Index(23), 12)
    >>> record["ball_fraction"], record["optimum_low_source"]
    ('897/1024', 'Golay [23,12]')
    """
    state_bits = index(state_bits)  # a numpy integer would overflow below
    if not 0 <= state_bits <= MAX_STATE_BITS:
        raise UsageError(
            "state_bits",
            state_bits,
            f"must be in 0..{MAX_STATE_BITS}",
            "pass the number of message bits",
        )
    structure = problem.structure
    record: dict[str, Any] = {**_sizes(problem), "state_bits": state_bits}
    reason = _inapplicable(structure)
    if reason is not None:
        record |= _values(dict.fromkeys(WALLS))
        record |= dict.fromkeys(("streaming_source", "optimum_low_source", "optimum_high_source"))
        record["status"] = dict.fromkeys(WALLS)
        record["notes"] = {name: [reason] for name in WALLS}
        return record

    n, q, weights = structure.effective_n, structure.alphabet, structure.weights
    # Beyond q^n messages nothing changes; 64 bits more take random codes to 1 as well.
    bits = min(state_bits, n * (q - 1).bit_length() + 64)
    costs = _costs(structure)
    found = optimum(weights, q, bits, costs)
    curve = rate.rate_distortion(weights, q, state_bits)
    stream = streaming_wall(structure, state_bits)
    exact = costs if costs is not None and costs.exact else None
    plain = structure.independent  # else only upper walls are claimed
    top = found.high if plain or costs is None else ball(costs, 1 << bits)
    values: dict[str, Fraction | float | None] = {
        "ball": None if costs is None else ball(costs, 1 << bits),
        "rate_distortion": curve,
        "random_coding": random_coding(exact, 1 << bits) if exact and plain else None,
        "truncation": stored.truncation(weights, q, 1 << bits) if plain else None,
        "streaming": None if stream is None else stream.value,
        "optimum_low": (found.low if found.low_exact else float(found.low)) if plain else None,
        "optimum_high": curve if top is None else top,
        "all_correct": whole.all_correct(n, q, 1 << bits),
    }
    record |= _values(values)
    record["streaming_source"] = None if stream is None else f"{stream.source}, {stream.status}"
    record["optimum_low_source"] = found.low_source if plain else None
    record["optimum_high_source"] = (
        (found.high_source if plain else "ball") if top is not None else "rate_distortion"
    )
    record["status"] = {name: None if value is None else "proved" for name, value in values.items()}
    record["notes"] = _notes(values, structure, costs, found)
    return record


def bits_needed(problem: Problem, success: Fraction | float | str) -> dict[str, Any]:
    """Return the fewest message bits that each wall leaves for a success.

    Parameters
    ----------
    problem
        The problem at its size.
    success
        In (0, 1]. A float counts as the decimal that it prints as.

    Returns
    -------
    dict
        JSON-able: sizes, the success, and ``bits_needed``: ``ball`` is log2 of the
        least number of messages and ``ball_whole`` that in whole bits,
        ``rate_distortion`` the least information, ``truncation`` what storing symbols
        takes, ``all_correct`` log2 of the messages for having all answers right with
        this probability, and in whole bits.

    Raises
    ------
    UsageError
        When `success` is no number in (0, 1].

    Examples
    --------
    >>> from statebound.protocols.problems.index import Index
    >>> bits_needed(Index(7), "7/8")["bits_needed"]["ball"]
    4.0
    """
    goal = _success(success)
    structure = problem.structure
    names = (
        "ball",
        "ball_whole",
        "rate_distortion",
        "truncation",
        "all_correct",
        "all_correct_whole",
    )
    needed: dict[str, float | int | None] = dict.fromkeys(names)
    reason = _inapplicable(structure)
    notes = {name: [reason] for name in names if reason is not None}
    if reason is None:
        n, q, weights = structure.effective_n, structure.alphabet, structure.weights
        costs = _costs(structure)
        if costs is None:
            notes |= {name: [_uncounted(structure)] for name in ("ball", "ball_whole")}
        else:
            least = needed_messages(costs, goal)
            needed["ball"], needed["ball_whole"] = needed_bits(least), (least - 1).bit_length()
            if not costs.exact:
                notes |= {name: [_rounded(costs)] for name in ("ball", "ball_whole")}
        needed["rate_distortion"] = rate.needed_bits(weights, q, goal)
        if structure.independent:
            needed["truncation"] = (stored.needed_messages(weights, q, goal) - 1).bit_length()
        else:
            notes["truncation"] = [_FLOOR]
        vectors = whole.needed_messages(n, q, goal)
        needed["all_correct"] = needed_bits(vectors)
        needed["all_correct_whole"] = (vectors - 1).bit_length()
    return {
        **_sizes(problem),
        "success": float(goal),
        "success_fraction": _text(goal),
        "bits_needed": needed,
        "status": {name: None if value is None else "proved" for name, value in needed.items()},
        "notes": notes,
    }


def _success(value: Fraction | float | str) -> Fraction:
    try:
        text = str(value)
        _, _, exponent = text.lower().partition("e")
        if len(text) > 5000 or abs(int(exponent or 0)) > 300:
            raise ValueError(text)
        goal = Fraction(text)
    except (ValueError, ZeroDivisionError):
        goal = Fraction(0)
    if not 0 < goal <= 1:
        raise UsageError(
            "success", value, "must be a number in (0, 1]", "pass a probability such as 0.9 or 7/8"
        )
    return goal


def _sizes(problem: Problem) -> dict[str, Any]:
    structure = problem.structure
    return {
        "n": problem.n,
        "effective_n": structure.effective_n or None,
        "alphabet": structure.alphabet,
        "query_law": problem.law,
        "options": {k: v for k, v in problem.options().items() if k != "n"},
        "chance": 1 / structure.alphabet if structure.walled else None,
        "deterministic_bits": problem.deterministic_bits,
        "reason": structure.reason or None,
    }


def _inapplicable(structure: Structure) -> str | None:
    """Return why no wall applies to this problem, or None where they do."""
    if not structure.walled:
        return structure.reason or _DEPENDENT
    if len(structure.weights) != structure.effective_n:
        return "there are other queries than one for each independent answer"
    return None


def _costs(structure: Structure) -> Profile | None:
    if _inapplicable(structure) is not None:
        return None
    return profile(structure.weights, structure.alphabet)


def _values(values: dict[str, Any]) -> dict[str, float | str | None]:
    """Return every wall as a float, and as "p/q" where it is a fraction."""
    shown: dict[str, float | str | None] = {}
    for name, value in values.items():
        shown[name] = None if value is None else float(value)
        if name not in ("rate_distortion", "random_coding"):
            shown[f"{name}_fraction"] = _text(value) if isinstance(value, Fraction) else None
    return shown


def _text(value: Fraction) -> str | None:
    """Return "p/q", or None where that is too long to be of use."""
    if value.denominator.bit_length() > _LONGEST:
        return None
    return f"{value.numerator}/{value.denominator}"


def _uncounted(structure: Structure) -> str:
    """Return why there is no cost profile."""
    bits = structure.effective_n * (structure.alphabet - 1).bit_length()
    return _LONG if bits > EXACT_BITS else _MANY


def _rounded(costs: Profile) -> str:
    return (
        f"costs rounded down to multiples of 1/{costs.unit}: at most {float(costs.slack):.2g} "
        "looser than the exact ball"
    )


def _no_ball(structure: Structure, costs: Profile | None) -> dict[str, list[str]]:
    return {"ball": [_uncounted(structure)]} if costs is None else {}


def _notes(
    values: dict[str, Fraction | float | None],
    structure: Structure,
    costs: Profile | None,
    found: Interval,
) -> dict[str, list[str]]:
    """Return what each proved value rests on, and why each null is null."""
    basis = structure.basis or _INDEPENDENT
    notes = {name: [basis, _REST[name]] for name, value in values.items() if value is not None}
    if not structure.independent:
        floors = ("random_coding", "truncation", "streaming", "optimum_low")
        return notes | {name: [_FLOOR] for name in floors} | _no_ball(structure, costs)
    if costs is None:
        notes["ball"] = notes["random_coding"] = [_uncounted(structure)]
    elif not costs.exact:
        notes["random_coding"] = [_ROUNDED]
        notes["ball"].append(_rounded(costs))
        notes["optimum_high"].append(_rounded(costs))
    if not found.low_exact:
        notes["optimum_low"].append("a float rounded down, not the value of a named code")
    if values["streaming"] is None:
        plain = structure.index_stream and structure.alphabet == 2 and structure.uniform
        notes["streaming"] = [
            "no proof beyond the ball is known at this n and M"
            if plain
            else "known only for Index itself, in bits and with equally likely queries"
        ]
    return notes
