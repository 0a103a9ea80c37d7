"""Error patterns sorted by what they cost: what the ball bound and random codes share.

Bob's answers to all n queries form a word y in [q]^n, and Alice's input has an answer
vector z in [q]^n. The *pattern* e in {0, 1}^n marks where they differ. It costs
c(e) = sum_k w_k e_k, the probability that a query drawn from w is answered wrongly,
and exactly (q-1)^|e| vectors z differ from a given y in exactly the pattern e. All
limits on the average success are functions of the *cost profile*: how many z lie at
each cost from a word. Queries of weight zero multiply every
count by the same q and are left out.

Three ways to hold a profile, in exact integers:

* equal weights: cost j/n has C(n, j) (q-1)^j vectors, made one after the other;
* few patterns: weights that are equal are grouped, and the sums over the groups are
  merged, up to `GROUPED` different choices of counts (18 different weights, or any
  number of queries that share few weights);
* beyond: weights are rounded *down* to multiples of 1/D, and the generating
  polynomial prod_k (1 + (q-1) z^(D w_k)) is multiplied out inside one long integer.
  Every cost is then at most the true one, so the cheapest way to place all vectors
  costs at most the true cheapest, and the bound stays a bound; it exceeds the exact
  one by at most the weight lost (`slack`), and a profile that would lose more than
  `MAX_SLACK` is not made. If D times every weight is whole, nothing is lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import comb, lcm, prod

GROUPED = 1 << 18
MAX_SLACK = Fraction(1, 100)
EXACT_BITS = 1 << 15
_GRID = 1 << 17
_WORK = 1 << 33

Layer = tuple[int, int]


@dataclass(frozen=True)
class Profile:
    """How many answer vectors lie at each cost from one word.

    Attributes
    ----------
    alphabet
        q.
    total
        q^n, n being the number of queries that are ever asked.
    unit
        Costs are in multiples of 1/unit.
    slack
        By how much the sum of the weights was rounded down; 0 where the costs are
        exact.
    layers
        Returns the (cost, count) pairs from the cheapest on; the counts sum to `total`.
    """

    alphabet: int
    total: int
    unit: int
    slack: Fraction
    layers: Callable[[], Iterable[Layer]]

    @property
    def exact(self) -> bool:
        """Whether no cost was rounded."""
        return self.slack == 0

    @property
    def chance(self) -> Fraction:
        """The success of guessing, 1/q."""
        return Fraction(1, self.alphabet)


def grouped(weights: Sequence[Fraction]) -> list[tuple[Fraction, int]]:
    """Return the different weights, greatest first, each with its multiplicity."""
    if all(w == weights[0] for w in weights):
        return [(weights[0], len(weights))]
    counted = Counter(weights)
    unit = lcm(*(w.denominator for w in counted))
    return sorted(
        counted.items(), key=lambda g: g[0].numerator * (unit // g[0].denominator), reverse=True
    )


def uniform(n: int, alphabet: int = 2) -> Profile:
    """Return the profile of n equally likely queries.

    Examples
    --------
    >>> list(uniform(3).layers())
    [(0, 1), (1, 3), (2, 3), (3, 1)]
    """

    def layers() -> Iterator[Layer]:
        count = 1
        for j in range(n + 1):
            yield j, count
            count = count * (n - j) * (alphabet - 1) // (j + 1)

    return Profile(alphabet, alphabet**n, n, Fraction(0), layers)


def profile(weights: Sequence[Fraction], alphabet: int = 2) -> Profile | None:
    """Return the cost profile of the query law `weights`, or None.

    Parameters
    ----------
    weights
        The law of the query, (n,), fractions that sum to 1; zeros are allowed.
    alphabet
        q, the number of answers.

    Returns
    -------
    Profile or None
        None where q^n has more than `EXACT_BITS` bits, or where so many different
        weights can only be kept by rounding away more than `MAX_SLACK`.
    """
    groups = [(w, m) for w, m in grouped(weights) if w]
    if sum(m for _, m in groups) * (alphabet - 1).bit_length() > EXACT_BITS:
        return None
    if len(groups) == 1:
        return uniform(groups[0][1], alphabet)
    return _weighted(tuple(groups), alphabet)


@lru_cache(maxsize=32)
def _weighted(groups: tuple[tuple[Fraction, int], ...], alphabet: int) -> Profile | None:
    n = sum(m for _, m in groups)
    unit = lcm(*(w.denominator for w, _ in groups))
    if prod(m + 1 for _, m in groups) <= GROUPED:
        merged = _merge([(int(w * unit), m) for w, m in groups], alphabet)
        return Profile(alphabet, alphabet**n, unit, Fraction(0), merged.__iter__)
    for step in (unit, *(_GRID >> i for i in range(6))):
        if step > _GRID:
            continue
        floors = [(w.numerator * step // w.denominator, m) for w, m in groups]
        floors = [(v, m) for v, m in floors if v]
        live = sum(m for _, m in floors)
        if live * step * (alphabet**live).bit_length() > _WORK:
            continue
        slack = 1 - Fraction(sum(v * m for v, m in floors), step)
        if slack > MAX_SLACK:
            return None
        spread = _polynomial(floors, alphabet)
        return Profile(alphabet, alphabet**live, step, slack, spread.__iter__)
    return None


def _merge(groups: list[tuple[int, int]], alphabet: int) -> tuple[Layer, ...]:
    """Return the layers by summing over how many of each group are wrong."""
    counts = {0: 1}
    for cost, m in groups:
        choices = [(j * cost, comb(m, j) * (alphabet - 1) ** j) for j in range(m + 1)]
        grown: dict[int, int] = {}
        for old, ways in counts.items():
            for extra, more in choices:
                grown[old + extra] = grown.get(old + extra, 0) + ways * more
        counts = grown
    return tuple(sorted(counts.items()))


def _polynomial(groups: list[tuple[int, int]], alphabet: int) -> tuple[Layer, ...]:
    """Return the layers as coefficients of prod (1 + (q-1) z^cost)^m.

    z is 2^(8 B) with B bytes enough for any coefficient, so that a product with
    1 + (q-1) z^cost is one shift and one addition of long integers.
    """
    size = ((alphabet ** sum(m for _, m in groups)).bit_length() + 7) // 8
    packed = 1
    for cost, m in groups:
        for _ in range(m):
            packed += (packed << (8 * size * cost)) * (alphabet - 1)
    raw = packed.to_bytes((sum(cost * m for cost, m in groups) + 1) * size, "little")
    found = (
        (cost, int.from_bytes(raw[cost * size : (cost + 1) * size], "little"))
        for cost in range(len(raw) // size)
    )
    return tuple(layer for layer in found if layer[1])
