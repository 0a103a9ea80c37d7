"""Collision search by trails that end in distinguished points.

Messages to inputs by a public seeded mixing, inputs to messages by the protocol: the
composed map F sends words to messages, which are words again, and trails m, F(m), F(F(m)),
... of a random map merge. A trail runs until its message is *distinguished* (some bits of a
hash of it are zero), and only start, end and length are kept. Two trails with one end have
merged; walked again from aligned places they show the two words a != b with F(a) = F(b), whose
inputs collide (van Oorschot and Wiener, "Parallel collision search with cryptanalytic
applications", J. Cryptology 12, 1999). About 1.25 * 2^(M/2) steps are expected, in all lanes
together.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from statebound.experiments.tally import message_keys
from statebound.protocols.problem import Problem, Symbols
from statebound.protocols.protocol import Protocol

Words = NDArray[np.uint64]
Mask = NDArray[np.bool_]
Trail = tuple[int, int]
"""Start and length."""

LANES = 1 << 14
_PAIRS = 256
_PATIENCE = 20
_ODD = 0x9E3779B97F4A7C15


def mix(words: Words) -> Words:
    """Return a fixed bijection of 64-bit words that looks random (splitmix64's finaliser).

    Two xor-shift-multiply rounds and a last shift; Steele, Lea and Flood, OOPSLA 2014.
    """
    z = words + np.uint64(_ODD)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    result: Words = z ^ (z >> np.uint64(31))
    return result


def inputs_of(problem: Problem, words: Words, salt: int) -> Symbols:
    """Map words to inputs by a public seeded function: (B,) to (B, length).

    Bits come from a keyed counter stream, one bit a symbol; a larger alphabet takes 16 bits
    a symbol, scaled down (its slight bias does no harm to a search). Where x is no product,
    by number; there must be fewer than 2^64.
    """
    if not problem.product:
        return problem.strings(mix(words ^ np.uint64(salt)) % np.uint64(problem.inputs))
    bits = 1 if problem.symbols == 2 else 16
    count = -(-problem.length * bits // 64)
    keyed = mix(words ^ np.uint64(salt))
    steps = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(_ODD)
    stream = mix(keyed[:, None] + steps).astype("<u8")
    if bits == 1:
        return np.unpackbits(stream.view(np.uint8), axis=1, count=problem.length, bitorder="little")
    shorts = stream.view("<u2")[:, : problem.length].astype(np.uint32)
    return ((shorts * np.uint32(problem.symbols)) >> np.uint32(16)).astype(np.uint8)


class _Walk:
    """The map F of one salt, and the count of its steps."""

    def __init__(self, protocol: Protocol, salt: int, lanes: int) -> None:
        self.protocol, self.salt = protocol, salt
        bits = protocol.state_bits
        rare = max(0, (bits + 1) // 2 - (lanes - 1).bit_length() - 4)
        self.rare = np.uint64((1 << rare) - 1)
        self.longest = _PATIENCE << rare
        self.steps = 0
        self.begun = 0

    def step(self, words: Words) -> Words:
        """Return F of these messages."""
        self.steps += len(words)
        x = inputs_of(self.protocol.problem, words, self.salt)
        return message_keys(self.protocol.encode(x))

    def is_end(self, words: Words) -> Mask:
        """Whether messages are distinguished: a hash, so that dull messages do not matter."""
        result: Mask = (mix(words + np.uint64(self.salt)) & self.rare) == 0
        return result

    def fresh(self, count: int) -> Words:
        """Return starts that were not used before: 64 bits each, so that they never run out."""
        number = np.arange(self.begun, self.begun + count, dtype=np.uint64)
        self.begun += count
        return mix(number ^ np.uint64(~self.salt & ((1 << 64) - 1)))

    def locate(self, first: list[Trail], second: list[Trail]) -> tuple[Words, Words]:
        """Walk pairs of trails with one end again; return a != b with F(a) = F(b)."""
        a, b = (np.array([t[0] for t in side], np.uint64) for side in (first, second))
        ahead = np.array([p[1] - q[1] for p, q in zip(first, second, strict=True)])
        a, b = np.where(ahead >= 0, a, b), np.where(ahead >= 0, b, a)
        ahead = np.abs(ahead)
        while (late := np.flatnonzero(ahead)).size:
            a[late] = self.step(a[late])
            ahead[late] -= 1
        apart = a != b  # else one trail began on the other
        a, b = a[apart], b[apart]
        left = np.arange(len(a))
        for _ in range(self.longest):
            both = self.step(np.concatenate([a[left], b[left]]))
            next_a, next_b = both[: left.size], both[left.size :]
            going = next_a != next_b
            left = left[going]
            a[left], b[left] = next_a[going], next_b[going]
            if not left.size:
                break
        met = np.ones(len(a), np.bool_)
        met[left] = False  # only an Alice who is not deterministic leaves any
        return a[met], b[met]


def walk(
    protocol: Protocol, salt: int, budget: int, lanes: int = LANES
) -> Iterator[tuple[Words, Words, int, int]]:
    """Yield colliding words of the composed map until the budget is spent.

    One map has a fixed set of collisions, and the caller may have no use for them, so
    after 16 times the expected effort another salt is taken.

    Parameters
    ----------
    protocol
        Messages of at most 64 bits.
    salt
        64 public bits.
    budget
        Largest number of encodings, checked once a round of all lanes.
    lanes
        How many trails run at once.

    Yields
    ------
    (a, b, salt, encodings so far): ``inputs_of(problem, a, salt)`` and the same of b are
    inputs with equal messages, equal inputs among them where the mixing itself collides.
    At the end of each map an empty pair tells the count.
    """
    spent = 0
    patience = 16 * (1 << (protocol.state_bits + 1) // 2) + 4 * lanes
    while spent < budget:
        run = _Walk(protocol, salt, lanes)
        ends: dict[int, Trail] = {}
        start = run.fresh(lanes)
        here = start.copy()
        length = np.zeros(lanes, np.int64)
        while run.steps < patience and spent + run.steps < budget:
            here = run.step(here)
            length += 1
            ended = run.is_end(here)
            which = np.flatnonzero(ended)
            first: list[Trail] = []
            second: list[Trail] = []
            for end, begin, steps in zip(
                here[which].tolist(), start[which].tolist(), length[which].tolist(), strict=True
            ):
                known = ends.setdefault(end, (begin, steps))
                if known[0] != begin and len(first) < _PAIRS:
                    first.append(known)
                    second.append((begin, steps))
            if first:
                a, b = run.locate(first, second)
                if len(a):
                    yield a, b, salt, spent + run.steps
            # a trail that runs too long is caught in a cycle without an end
            again = np.flatnonzero(ended | (length >= run.longest))
            start[again] = here[again] = run.fresh(len(again))
            length[again] = 0
        spent += run.steps
        yield here[:0], here[:0], salt, spent
        salt = int(mix(np.array([salt], np.uint64))[0])
