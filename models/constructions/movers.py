"""Addresses of a head that moves, held by a linear recurrence.

h' = h A(d) + b(d) for a move d of -1, 0 or +1. Keys and queries are maps of h:

* *bin*: h is the address itself, A = 1 and b = d; the map to +-1 digits is not linear.
* *quad*: h = (m^2, m, 1), A(d) unipotent; key (m, -m^2, 1), query (2 m, 1, -m^2), linear.
* *rns*: one-hot residues modulo 3, 5, 7, ...; A(d) permutes. Exact at any precision.
* *rot*: cos and sin of periods 2, 4, ...; A(d) rotates. It drifts by rounding.

The addresses are -below..above; each code tells all of them apart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from statebound.models.constructions.codes import binary, frequencies, moduli, quadratic, residues
from statebound.models.constructions.ledger import bits_for
from statebound.models.constructions.rounding import Arithmetic, Array
from statebound.models.constructions.streams import rotation

Map = Callable[[Array], Array]


@dataclass(frozen=True)
class Mover:
    """A code of addresses with its recurrence.

    Attributes
    ----------
    width, code_width
        Numbers of h, and of a key.
    bits
        Of the state h; None where it holds real numbers.
    top, gap
        Of the code.
    start
        h at address 0.
    turn, shift
        A(d) and b(d), by d + 1.
    key, query
        Maps of h.
    """

    width: int
    code_width: int
    bits: int | None
    top: int
    gap: int
    start: Array
    turn: tuple[Array, Array, Array]
    shift: tuple[Array, Array, Array]
    key: Map
    query: Map

    def move(self, h: Array, d: int, arithmetic: Arithmetic) -> Array:
        """Return h A(d) + b(d)."""
        moved = arithmetic.apply(h, self.turn[d + 1])
        return arithmetic.add(moved, arithmetic(self.shift[d + 1]))

    @property
    def parameters(self) -> int:
        """The entries that are not zero in all A(d) and b(d)."""
        return sum(int(np.count_nonzero(part)) for part in (*self.turn, *self.shift))


def _three(make: Callable[[int], Array]) -> tuple[Array, Array, Array]:
    return make(-1), make(0), make(1)


def _bin(below: int, above: int) -> Mover:
    size = below + above + 1
    code = binary(size)

    def digits(h: Array) -> Array:
        return code.key((h[..., 0].astype(np.int64) + below) % 2**code.width)

    one = np.ones((1, 1))
    return Mover(
        *(1, code.width, bits_for(size), code.top, code.gap, np.zeros(1)),
        *(_three(lambda d: one), _three(lambda d: np.array([float(d)]))),
        *(digits, digits),
    )


def _quad(below: int, above: int) -> Mover:
    size = below + above + 1
    code = quadratic(size)

    def turn(d: int) -> Array:
        return np.array([[1.0, 2 * d, d * d], [0, 1, d], [0, 0, 1]]).T

    def key(h: Array) -> Array:
        return np.stack([h[..., 1], -h[..., 0], h[..., 2]], axis=-1)

    def query(h: Array) -> Array:
        return np.stack([2 * h[..., 1], h[..., 2], -h[..., 0]], axis=-1)

    bits = bits_for(size) + bits_for(max(below, above) ** 2 + 1)
    return Mover(
        *(3, 3, bits, code.top, code.gap, np.array([0.0, 0.0, 1.0])),
        *(_three(turn), _three(lambda d: np.zeros(3))),
        *(key, query),
    )


def _rns(below: int, above: int) -> Mover:
    size = below + above + 1
    code, primes = residues(size), moduli(size)

    def turn(d: int) -> Array:
        matrix, at = np.zeros((code.width, code.width)), 0
        for p in primes:
            matrix[at + np.arange(p), at + (np.arange(p) + d) % p] = 1
            at += p
        return matrix

    def same(h: Array) -> Array:
        return h

    return Mover(
        *(code.width, code.width, sum(bits_for(p) for p in primes), code.top, code.gap),
        code.key(np.array(0)),
        *(_three(turn), _three(lambda d: np.zeros(code.width))),
        *(same, same),
    )


def _rot(below: int, above: int) -> Mover:
    code = frequencies(below + above + 1)

    def same(h: Array) -> Array:
        return h

    return Mover(
        *(code.width, code.width, None, code.top, code.gap, code.key(np.array(0))),
        *(_three(lambda d: rotation(code.top, d)), _three(lambda d: np.zeros(code.width))),
        *(same, same),
    )


MOVERS: dict[str, Callable[[int, int], Mover]] = {
    "bin": _bin,
    "quad": _quad,
    "rns": _rns,
    "rot": _rot,
}
