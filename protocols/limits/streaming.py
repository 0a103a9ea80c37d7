"""The streaming wall: Alice keeps at most 2^M states after every symbol.

In the step regime Alice is an ordered read-once branching program of width 2^M: the
message limit is then not reachable in general. Index, equally likely queries, bits,
each read once in order; transitions may depend on time.

**M = 0**: one state, success 1/2. **M >= n**: the state holds x, success 1.
**n = M + 1**: 1 - 1/(2n), by keeping the first M bits; no protocol with M bits does
better, in a stream or not (ball bound).

**M = 1**, for all n::

    s* = 1/2 + (2 / (3n)) (1 - 4^(-ceil(n/2)))

With chi_k = (-1)^(x_k), put a = sum_k |E[chi_k 1_(S=1)]| for the final state S. Summed
over both states the vectors E[chi_k 1_S] vanish, so the two are opposite and s = 1/2 +
2a / (2n). Follow a over one more symbol x and the 16 maps (S, x) -> S'. Constants, XOR
and its complement give a' = 0; S and its complement leave a; x and its complement give
a' = 1/2. The eight others read x only in one of the two states, of probability p, say:
then a' = (a + p) / 2, since the old vectors are halved and chi_n gains p/2, and the next
states have probabilities p/2 and 1 - p/2, so that the next p' is at most 1 - p/2.
Without skips and restarts a_n = sum_{t<n} p_t 2^-(n-t) with p_0 = 1 (the public start
state). Pair terms from the end: p_t / 2 + p_(t-1) / 4 = (p_t + p_(t-1) / 2) / 2 <= 1/2,
so the sum is at most (1/2) (1 + 1/4 + ...) over floor(n/2) pairs, for odd n plus p_0 /
2^n, which is (2/3) (1 - 4^(-n/2)) for even n and exactly (2/3) (1 - 4^(-(n+1)/2)) for
odd n. Skips and restarts only shorten the sum, which grows with n, and coins average over
such machines. Alternating AND and OR makes every step an equality.
"""

from __future__ import annotations

from fractions import Fraction

from statebound.protocols.problem import Structure


def one_bit_stream(n: int) -> Fraction:
    """Return the best success of a stream of n bits through one bit of state.

    Examples
    --------
    >>> [str(one_bit_stream(n)) for n in range(1, 7)]
    ['1', '3/4', '17/24', '21/32', '101/160', '39/64']
    """
    return Fraction(1, 2) + Fraction(2, 3 * n) * (1 - Fraction(1, 4 ** ((n + 1) // 2)))


def streaming_wall(structure: Structure, state_bits: int) -> Fraction | None:
    """Return the streaming optimum where it is proved, else None.

    Parameters
    ----------
    structure
        What is known of the problem; the wall needs Index's own stream, equally likely
        queries and answers in bits.
    state_bits
        M >= 0.
    """
    known = structure.independent and structure.index_stream and structure.alphabet == 2
    if not (known and structure.uniform):
        return None
    n = structure.effective_n
    if state_bits == 0:
        return Fraction(1, 2)
    if state_bits >= n:
        return Fraction(1)
    if n == state_bits + 1:
        return 1 - Fraction(1, 2 * n)
    return one_bit_stream(n) if state_bits == 1 else None
