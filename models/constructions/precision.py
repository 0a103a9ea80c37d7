"""How many significand bits the heads need: errors counted, none predicted.

Match is tried on its worst payload: all keys equal the query, the newest value is +1 and
every older one -1, so that the sign is wrong as soon as older positions together weigh as
much as the newest. The rest are first precisions from which a head is exact.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from statebound.models.constructions.codes import make_code
from statebound.models.constructions.heads import BASE, Count, Match, weigh
from statebound.models.constructions.rounding import LEAST, MOST, Arithmetic, Array

RUNS = 64  # query rows at a time


def match_errors(n: int, bits: int, positions: Array | None = None) -> int:
    """Count the positions 1..n at which the newest of all matches is not the one read.

    Parameters
    ----------
    n
        Length the head is built for.
    bits
        Significand bits.
    positions
        Positions to try, all by default.
    """
    arithmetic = Arithmetic(bits)
    code = make_code("binary", n)
    head = Match.of(code, n)
    same = code.key(np.zeros(n, np.int64))
    age = np.arange(1, n + 1)
    keys = np.concatenate([head.sink, head.keys(same, age)])
    (scores,) = arithmetic.dot(
        arithmetic(head.queries(same[:1])).T[:, :, None], arithmetic(keys).T[:, None, :]
    )
    wrong = 0
    tried = age if positions is None else np.asarray(positions)
    for first in range(0, len(tried), RUNS):
        rows = tried[first : first + RUNS, None]
        seen = np.where(np.arange(n + 1) <= rows, scores, -np.inf)
        values = np.where(np.arange(n + 1) < rows, -1.0, 1.0)
        values[:, 0] = 0
        read = weigh(seen[:, None], values[..., None], arithmetic)[:, 0, 0]
        wrong += int(np.count_nonzero(read <= 0))
    return wrong


def index_errors(code_name: str, n: int, bits: int) -> int:
    """Count the wrong answers to all n queries of one-head Index with unique keys.

    No ages: the logits are beta (q . k), beta the least power of two with
    gap beta >= log_4(4 n), and every other position holds the opposite value.
    """
    arithmetic = Arithmetic(bits)
    code = make_code(code_name, n)
    beta = 2 ** np.ceil(np.log2(np.log(4 * n) / np.log(BASE) / code.gap))
    every = np.arange(n)
    keys = arithmetic(code.key(every)).T
    wrong = 0
    for first in range(0, n, RUNS):
        asked = every[first : first + RUNS]
        queries = arithmetic(beta * code.query(asked)).T
        scores = arithmetic.dot(queries[:, :, None], keys[:, None, :])
        values = np.where(every == asked[:, None], 1.0, -1.0)
        read = weigh(scores[:, None], values[..., None], arithmetic)[:, 0, 0]
        wrong += int(np.count_nonzero(read <= 0))
    return wrong


def threshold_errors(n: int, bits: int) -> int:
    """Count wrong answers of the strict threshold head, c matches, thresholds c and c - 1."""
    arithmetic = Arithmetic(bits)
    code = make_code("binary", 2)
    head = Count.of(code, n)
    query, wrong = code.query(np.array(1)), 0
    for c in range(1, n + 1):
        keys = code.key(np.arange(n) < c)
        wrong += head.above(query, keys, c, arithmetic)
        wrong += not head.above(query, keys, c - 1, arithmetic)
    return wrong


def number_errors(n: int, bits: int) -> int:
    """Count wrong integer readouts, c = 0..n matches among n keys."""
    arithmetic = Arithmetic(bits)
    code = make_code("binary", 2)
    head, query = Count.of(code, n), code.query(np.array(1))
    return sum(
        head.number(query, code.key(np.arange(n) < c), arithmetic) != c for c in range(n + 1)
    )


def first_exact(errors: Callable[[int], int]) -> int | None:
    """Return the least t from which on no precision up to 24 bits makes an error.

    None where 24 bits still err.
    """
    first = None
    for bits in range(MOST, LEAST - 1, -1):
        if errors(bits):
            break
        first = bits
    return first
