"""Limits for any 0/1 problem, read off its answer matrix.

The rows are Alice's inputs x, all equally likely, the columns Bob's queries y, all equally
likely, the entry is f(x, y). Nothing is assumed of the answers: they may depend on one
another, rows may repeat. Three upper bounds on the average success are proved in
`matrix_bounds`; each is weak somewhere, so the report gives all three and their minimum. None
stands for "not computed within the caps", never for a guess.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from statebound.errors import UsageError
from statebound.protocols.limits.matrix_bounds import (
    MOST_INPUTS,
    all_correct,
    ball,
    chance,
    distinct_rows,
    fano,
    index_ball,
    one_way_cost,
    row_entropy,
    spectral,
    two_way_randomised,
)
from statebound.protocols.limits.matrix_fooling import fooling_set
from statebound.protocols.limits.matrix_measures import (
    Matrix,
    rank_gf2,
    rank_rationals,
    spectral_norm,
    vc_dimension,
)
from statebound.protocols.problem import Problem


def answer_matrix(problem: Problem) -> Matrix:
    """Return f(x, k) for all inputs in the order of `Problem.enumerate`: (|X|, |Y|).

    Raises
    ------
    UsageError
        When there are more than 2^20 inputs or the answers are not 0/1.
    """
    if problem.alphabet != 2:
        raise UsageError(
            "alphabet", problem.alphabet, "matrix limits need 0/1 answers", "choose alphabet 2"
        )
    problem.refuse_unlisted()
    if problem.joint or len(set(problem.weights)) > 1:
        raise UsageError(
            "matrix",
            problem.law,
            "the matrix limits are for equally likely queries, whatever x is",
            "drop --matrix, or take the uniform law",
        )
    if problem.inputs > MOST_INPUTS:
        raise UsageError(
            "n", problem.n, f"has {problem.inputs} inputs, more than 2^20", "choose a smaller n"
        )
    step = 1 << 14
    parts = [
        problem.answers(problem.enumerate(a, min(a + step, problem.inputs)))
        for a in range(0, problem.inputs, step)
    ]
    return np.concatenate(parts)


def matrix_limits(matrix: Matrix, state_bits: int) -> dict[str, Any]:
    """Report what is proved of a 0/1 problem given by its answer matrix.

    Parameters
    ----------
    matrix
        (|X|, |Y|) zeros and ones; inputs and queries are uniform and independent.
    state_bits
        M: Alice's message has 2^M values.

    Returns
    -------
    Upper bounds on the average success (``fano``, ``ball``, ``ball_fraction``, ``spectral``,
    ``wall`` their minimum), the exact best ``all_correct`` and ``chance``, the exact
    deterministic one-way cost ``one_way_deterministic``, and what the structure of the matrix
    implies: ``vc_dimension`` with ``worst_case_success`` (an upper bound for the least
    favourable input and query, shared coins allowed), ranks, ``fooling_set``,
    ``discrepancy`` (an upper bound, uniform law), and lower bounds on *two-way* cost.
    ``*_exact`` tells a proved value from a lower bound. What is not known is None.
    """
    if not 0 <= state_bits <= 1 << 16:
        raise UsageError("state_bits", state_bits, "must be in 0..65536", "pass the message size")
    rows = distinct_rows(matrix)
    messages = 1 << state_bits
    found_ball = ball(rows, messages)
    norm = spectral_norm(rows.rows, rows.counts)
    found_spectral = None if norm is None else spectral(rows, messages, norm)
    found_fano = fano(rows, messages)
    bounds = [found_fano, found_spectral, None if found_ball is None else float(found_ball)]
    vc = vc_dimension(rows.rows)
    rank, gf2 = rank_rationals(rows.rows), rank_gf2(rows.rows)
    fooling = fooling_set(rows.rows)
    discrepancy = None
    if norm is not None:
        discrepancy = min(1.0, norm / math.sqrt(rows.inputs * rows.queries))
    leaves = max(2 * max(rank.value, gf2 or 0) - 1, fooling.size)
    return {
        "inputs": rows.inputs,
        "queries": rows.queries,
        "state_bits": state_bits,
        "distinct_rows": len(rows.rows),
        "one_way_deterministic": one_way_cost(rows),
        "row_entropy": row_entropy(rows),
        "chance": float(chance(rows)),
        "all_correct": float(all_correct(rows, messages)),
        "fano": found_fano,
        "ball": None if found_ball is None else float(found_ball),
        "ball_fraction": None if found_ball is None else str(found_ball),
        "spectral": found_spectral,
        "wall": min(b for b in bounds if b is not None),
        "vc_dimension": vc.value,
        "vc_exact": vc.exact,
        "vc_queries": [y + 1 for y in vc.columns],
        "worst_case_success": float(index_ball(vc.value, messages)),
        "rank_rationals": rank.value,
        "rank_exact": rank.exact,
        "rank_gf2": gf2,
        "fooling_set": fooling.size,
        "fooling_exact": fooling.exact,
        "discrepancy": discrepancy,
        "two_way_deterministic_low": max(leaves - 1, 0).bit_length(),
        "two_way_third_error_low": two_way_randomised(discrepancy, Fraction(1, 3)),
    }
