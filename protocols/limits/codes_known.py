"""Binary codes whose average distance to a random input is known exactly.

Used as a one-way protocol, a code of 2^M words of n bits names the nearest word. What
counts is how far a uniform input lies from it: `leaders[j]` is the number of inputs at
distance j, per word (for a linear code the number of coset leaders of weight j), so

    success = 1 - sum_j j leaders[j] / (n 2^(n-M)).

If the leaders are C(n, 0), C(n, 1), ... until the last, which takes what is left, the
code is perfect or quasi-perfect and meets the ball bound: it is optimal.

* Hamming: 2^r - 1 bits, radius 1, perfect. Extended by a parity bit: one more bit moves
  every second input one away from the code, radius 2.
* Golay: 23 bits, radius 3, perfect; extended, radius 4.
* BCH codes that correct two errors, n = 2^m - 1, M = n - 2m: quasi-perfect (Gorenstein,
  Peterson and Zierler, 1960). Zetterberg codes, n = 2^m + 1, M = n - 2m, m even: the
  same; m = 4 is the quadratic residue code of 17 bits. Listed for the m that the tests
  rebuild.
* Nordstrom-Robinson, 256 words of 16 bits, not linear, not optimal here; of 15 bits when
  punctured, and then it is.
* First-order Reed-Muller of 16 bits, simplex of 15 and BCH [15, 5, 7]: far from the ball,
  kept as examples of good distance that is no good compression.
* `SMALL`: parity checks found by a search over linear codes of at most 16 bits, for the
  sizes where no sum of the others does as well.

Every entry is rebuilt from its definition and counted again by the tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import comb

from statebound.protocols.limits.codes_small import SMALL

BCH_DEGREES = (4, 5, 6, 7, 8)
ZETTERBERG_DEGREES = (4, 6, 8)


@dataclass(frozen=True)
class Code:
    """A code as a protocol.

    Attributes
    ----------
    name
        As one says it.
    n, bits
        The length and M = log2 of the number of words.
    leaders
        Inputs at distance 0, 1, ... per word.
    """

    name: str
    n: int
    bits: int
    leaders: tuple[int, ...]

    @property
    def distance(self) -> Fraction:
        """The mean distance of a uniform input from the code."""
        return Fraction(sum(j * a for j, a in enumerate(self.leaders)), 2 ** (self.n - self.bits))

    @property
    def success(self) -> Fraction:
        """The average success of the code on Index."""
        return 1 - self.distance / self.n


def _tight(name: str, n: int, bits: int) -> Code:
    """Return a code that meets the ball: its leaders are those of the filled ball."""
    left, leaders, j = 1 << (n - bits), [], 0
    while left:
        leaders.append(min(left, comb(n, j)))
        left -= leaders[-1]
        j += 1
    return Code(f"{name} [{n},{bits}]", n, bits, tuple(leaders))


def hamming(r: int) -> Code:
    """Return the Hamming code of 2^r - 1 bits, r >= 2."""
    return _tight("Hamming", 2**r - 1, 2**r - 1 - r)


def extended_hamming(r: int) -> Code:
    """Return the Hamming code with a parity bit, 2^r bits, r >= 2."""
    return _tight("extended Hamming", 2**r, 2**r - 1 - r)


def two_error_bch(m: int) -> Code:
    """Return the primitive BCH code of 2^m - 1 bits that corrects two errors, m >= 4."""
    return _tight("BCH", 2**m - 1, 2**m - 1 - 2 * m)


def zetterberg(m: int) -> Code:
    """Return the Zetterberg code of 2^m + 1 bits, m even, m >= 4."""
    return _tight("Zetterberg", 2**m + 1, 2**m + 1 - 2 * m)


SINGLE = (
    _tight("Golay", 23, 12),
    _tight("extended Golay", 24, 12),
    _tight("punctured Nordstrom-Robinson", 15, 8),
    Code("Nordstrom-Robinson [16,8]", 16, 8, (1, 16, 120, 112, 7)),
    Code("Reed-Muller [16,5]", 16, 5, (1, 16, 120, 560, 875, 448, 28)),
    Code("simplex [15,4]", 15, 4, (1, 15, 105, 455, 875, 553, 43, 1)),
    Code("BCH [15,5]", 15, 5, (1, 15, 105, 455, 420, 28)),
)


def known_codes(longest: int) -> list[Code]:
    """Return every listed code of at most `longest` bits.

    Examples
    --------
    >>> [code.name for code in known_codes(6)]
    ['Hamming [3,1]', 'extended Hamming [4,1]', 'linear [6,3]']
    """
    found = [code for code in SINGLE if code.n <= longest]
    for r in range(2, longest.bit_length() + 1):
        found += [code for code in (hamming(r), extended_hamming(r)) if code.n <= longest]
    found += [two_error_bch(m) for m in BCH_DEGREES if 2**m - 1 <= longest]
    found += [zetterberg(m) for m in ZETTERBERG_DEGREES if 2**m + 1 <= longest]
    found += [
        Code(f"linear [{n},{bits}]", n, bits, leaders)
        for (n, bits), (leaders, _) in SMALL.items()
        if n <= longest
    ]
    return sorted(found, key=lambda code: (code.n, code.bits))
