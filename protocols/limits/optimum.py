"""The best success of any protocol, as an interval whose two ends are proved.

The upper end is the ball bound, or the exact value where a search has settled it (two
bits, `two_bit`). The lower end is the best of what is known to exist: stored symbols,
codes side by side (`blocks`), majority, and the mean of random codes, which some code
reaches. The ends meet where a known code is perfect, quasi-perfect or searched for.
The ball bound is often not reached at small M: it is never given as the optimum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from statebound.protocols.limits.ball import ball
from statebound.protocols.limits.blocks import best_blocks
from statebound.protocols.limits.patterns import Profile
from statebound.protocols.limits.random_coding import (
    ROUNDING,
    random_coding,
    random_coding_exact,
)
from statebound.protocols.limits.truncation import truncation
from statebound.protocols.limits.two_bit import PROVED_TO, two_bit

_EXACT_POWER = 1 << 12  # bits of (q^n)^N up to which random coding is a fraction


@dataclass(frozen=True)
class Interval:
    """What is known of an optimum.

    Attributes
    ----------
    low, high
        Proved bounds; `high` is None where no exact wall is at hand.
    low_source, high_source
        Which protocol reaches the one and which argument gives the other.
    low_exact
        Whether `low` is the value of a protocol, not a float rounded down.
    """

    low: Fraction
    high: Fraction | None
    low_source: str
    high_source: str | None
    low_exact: bool

    @property
    def closed(self) -> bool:
        """Whether the optimum is known."""
        return self.low == self.high


def optimum(
    weights: Sequence[Fraction], alphabet: int, bits: int, costs: Profile | None
) -> Interval:
    """Return the interval for M = `bits` message bits.

    Parameters
    ----------
    weights
        The law of the query, (n,).
    alphabet
        q.
    bits
        M >= 0, at most a little above n log2 q (2^M is written out).
    costs
        The cost profile of `weights`, from `patterns.profile`.

    Examples
    --------
    >>> from statebound.protocols.limits.patterns import uniform
    >>> found = optimum([Fraction(1, 7)] * 7, 2, 4, uniform(7))
    >>> print(found.low, found.high, found.low_source)
    7/8 7/8 Hamming [7,4]
    """
    messages = 1 << bits
    high = None if costs is None else ball(costs, messages)
    high_source = None if high is None else "ball"
    stored = truncation(weights, alphabet, messages)
    floors = [(stored, "the heaviest symbols stored", True)]
    binary = alphabet == 2
    n, equal = len(weights), all(w == weights[0] for w in weights)
    if binary and equal:
        floors.append((*best_blocks(n, min(bits, n)), True))
        if bits == 2 and n > 1:
            floors.append((two_bit(n), f"four words [{n},2]", True))
            if n <= PROVED_TO:
                high, high_source = two_bit(n), "all codes of four words searched"
    if binary and bits == 1 and high is not None and costs is not None and costs.exact:
        floors.append((high, "majority", True))
    if costs is not None and costs.exact:
        floors.append(_existence(costs, messages, equal))
    low, low_source, low_exact = max(floors, key=lambda floor: floor[0])
    return Interval(low, high, low_source, high_source, low_exact)


def _existence(costs: Profile, messages: int, few: bool) -> tuple[Fraction, str, bool]:
    """Return the random-coding floor: exact if small and of few layers, else rounded down."""
    if few and messages * costs.total.bit_length() <= _EXACT_POWER:
        return random_coding_exact(costs, messages), "a random code", True
    floor = Fraction(random_coding(costs, messages)) - ROUNDING
    return floor, "a random code", False
