"""Storing whole symbols: the plainest protocol, and a floor under the optimum.

Alice sends m symbols as they are, which takes q^m messages; Bob answers those without
error and guesses the others. With the m heaviest queries stored, of total weight W::

    s = W + (1 - W) / q

For equal weights and bits this is 1/2 + M/2n, what a window of the last M bits reaches.
When q is no power of two, the message left over after floor(M / log2 q) whole symbols
is not used.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil

from statebound.protocols.limits.patterns import grouped


def whole_symbols(alphabet: int, messages: int, most: int) -> int:
    """Return the greatest m <= `most` with q^m <= N.

    Examples
    --------
    >>> whole_symbols(3, 2**8, 100)
    5
    """
    if alphabet & (alphabet - 1) == 0:
        return min(most, (messages.bit_length() - 1) // (alphabet.bit_length() - 1))
    m, power = 0, alphabet
    while m < most and power <= messages:
        m, power = m + 1, power * alphabet
    return m


def truncation(weights: Sequence[Fraction], alphabet: int, messages: int) -> Fraction:
    """Return the success of storing the heaviest symbols with N messages.

    Examples
    --------
    >>> print(truncation([Fraction(1, 16)] * 16, 2, 2**4))
    5/8
    """
    room = whole_symbols(alphabet, messages, len(weights))
    kept = Fraction(0)
    for w, many in grouped(weights):
        kept += w * min(many, room)
        room -= min(many, room)
        if not room:
            break
    return kept + (1 - kept) / alphabet


def needed_messages(weights: Sequence[Fraction], alphabet: int, success: Fraction) -> int:
    """Return q^m for the least m that reaches `success`, at most 1."""
    lacking = (success - Fraction(1, alphabet)) / (1 - Fraction(1, alphabet))
    m = 0
    for w, many in grouped(weights):
        if lacking <= 0:
            break
        more = min(many, ceil(lacking / w))
        lacking, m = lacking - w * more, m + more
    return int(alphabet**m)
