"""All queries right at once: a cliff where the average success fades.

With N messages Bob has N whole answer vectors. The true one is uniform over q^n, so it
is among them with probability at most N / q^n. Storing whole vectors reaches it: Alice
names hers if it is on a public list of N.
"""

from __future__ import annotations

from fractions import Fraction


def all_correct(n: int, alphabet: int, messages: int) -> Fraction:
    """Return min(1, N / q^n), n being the number of independent answers.

    Examples
    --------
    >>> print(all_correct(16, 2, 2**12))
    1/16
    """
    total = alphabet**n
    if messages >= total:
        return Fraction(1)
    # Common factors of two go first: what is left has a cheap greatest common divisor.
    twos = ((messages | total) & -(messages | total)).bit_length() - 1
    return Fraction(messages >> twos, total >> twos)


def needed_messages(n: int, alphabet: int, success: Fraction) -> int:
    """Return the least N at which all answers can be right with probability `success`."""
    vectors = int(alphabet**n)
    return max(1, -(-success.numerator * vectors // success.denominator))
