"""The laws of Bob's query that users can name."""

from __future__ import annotations

import re
from fractions import Fraction

from statebound.errors import UsageError

MOST_LAW_BITS = 1 << 13


def query_weights(law: str, queries: int) -> tuple[Fraction, ...]:
    """Return the query law `law` over `queries` queries as exact fractions.

    ``uniform``; ``recency:r`` gives query k weight proportional to r^(queries - k),
    so that recent symbols are asked more often; ``zipf`` gives the j-th most recent
    weight proportional to 1/j.

    Examples
    --------
    >>> [str(w) for w in query_weights("recency:0.5", 3)]
    ['1/7', '2/7', '4/7']
    """
    kind, _, rate = law.partition(":")
    if kind == "uniform" and not rate:
        return (Fraction(1, queries),) * queries
    if kind == "zipf" and not rate:
        _refuse_long_fractions(law, queries, 1.5)
        raw = [Fraction(1, queries - k) for k in range(queries)]
    elif kind == "recency":
        plain = re.fullmatch(r"\d{1,9}(\.\d{1,12})?|\d{1,12}/\d{1,12}", rate, re.ASCII)
        r = Fraction(rate) if plain and not rate.endswith("/0") else Fraction(0)
        if not 0 < r <= 1:
            raise UsageError(
                "query_law", law, "the rate must be a number in (0, 1]", "write recency:0.9"
            )
        _refuse_long_fractions(law, queries, r.denominator.bit_length())
        raw = [r ** (queries - 1 - k) for k in range(queries)]
    else:
        raise UsageError(
            "query_law", law, "is not a known law", "choose uniform, zipf or recency:RATE"
        )
    total = sum(raw)
    return tuple(w / total for w in raw)


def _refuse_long_fractions(law: str, queries: int, bits: float) -> None:
    """Refuse a law whose exact weights would take too long; `bits` is what a query adds."""
    if queries * bits > MOST_LAW_BITS:
        raise UsageError(
            "query_law",
            law,
            f"makes fractions of more than {MOST_LAW_BITS} bits with {queries} queries",
            "take fewer queries, a simpler rate, or the uniform law",
        )
