"""The walls of a problem as curves over state bits: what figures draw beside the rows."""

from __future__ import annotations

from statebound.errors import UsageError
from statebound.protocols.limits.report import limits
from statebound.protocols.problem import Problem

Curves = dict[str, list[tuple[int, float]]]

WALLS = ("ball", "rate_distortion", "truncation")
POINTS = 256  # a printed line shows no more


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
    structure = problem.structure
    last = max(max_bits, structure.effective_n * (structure.alphabet - 1).bit_length())
    steps = min(last, POINTS)
    curves: Curves = {name: [] for name in (*WALLS, "chance")}
    for j in range(steps + 1):
        bits = last * j // steps
        record = limits(problem, bits)
        for name, points in curves.items():
            if record[name] is not None:
                points.append((bits, record[name]))
    return curves
