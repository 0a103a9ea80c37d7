"""One bit, M = 1, answers in bits: the optimum, exactly.

Two messages give Bob two words. Where the words agree he is right half of the time
whatever the message, so with D the positions where they differ and independent signs
r_k the success is 1/2 + E|sum_{k in D} w_k r_k| / 2. Averaging over one more sign can
only raise the mean of an absolute value (Jensen), so D is everything: complementary
words, the weighted majority. For equal weights the mean absolute value of n signs gives

    s* = 1/2 + C(n-1, floor((n-1)/2)) / 2^n   ~  1/2 + 1 / sqrt(2 pi n),

the value of Ambainis, Leung, Mancinska and Ozols (2008). For every law the ball bound
at N = 2 is the same number: patterns e and not-e cost c and 1 - c, and the cheaper half
of all patterns, each used twice, costs E min(c, 1-c).
"""

from __future__ import annotations

from fractions import Fraction
from math import comb


def one_bit(n: int) -> Fraction:
    """Return the best success of one message bit on n equally likely fair bits.

    Examples
    --------
    >>> [str(one_bit(n)) for n in (1, 2, 3, 8)]
    ['1', '3/4', '3/4', '163/256']
    """
    return Fraction(1, 2) + Fraction(comb(n - 1, (n - 1) // 2), 2**n)
