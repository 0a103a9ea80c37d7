r"""The exact streaming optimum at two, three and four states, by the midpoint game.

**The question.** x is uniform on {0,1}^n and read once, a bit a step; one of W states
is held after every step; tables may differ from step to step; Bob sees the last state
and a uniform query k. Which A (see `streaming_machine`) is the largest? Coins cannot
help, since A is linear in the machine.

**The game.** Let h_g in {-1, 1}^n be Bob's answers in final state g. For a machine that
still has the first symbols to read, let state g stand for the point

    (h_g, psi_g):  h_{g,k}  = E[Bob's answer to k | now in g],            k not yet read,
                   psi_g    = sum over k already read of E[(-1)^{x_k} h_{S,k} | now in g].

"Already read" is seen from the end: the symbols after the present step. At the end
psi = 0. One step earlier, reading symbol k in state g leads to some a on 0 and b on 1:

    h'_g = (h_a + h_b) / 2,   psi'_g = (psi_a + psi_b) / 2 + (h_{a,k} - h_{b,k}) / 2,

because the two values of x_k are equally likely and independent of the rest; the best
order of a and b makes the last term |h_{a,k} - h_{b,k}| / 2. So one step backwards
replaces W points by W midpoints of pairs (a = b allowed, each with its gain), and A is
the psi of the start state: A* is the largest psi that n steps can reach. Symbol k
matters only through its column (h_{g,k})_g, a sign pattern on the final states. The
pattern and its negative are exchanged by swapping a and b; the constant pattern gains
nothing and any other does no worse. So every symbol has one of C = 2^(W-1) - 1
*classes*, a set S of final states (not holding the last one, by complement). With
P_g(S) the chance that g ends in S, h = 2 P_g(S) - 1. After d steps 2^d P and
2^d psi are integers N and Psi, and the step adds: N' = N_a + N_b,
Psi' = Psi_a + Psi_b + 2 |N_a(S) - N_b(S)|. The start state has Psi = A 2^n.

**Bound.** With m symbols left, of given classes, the value is E_x[psi_{g(x)} +
<h_{g(x)}, x>] over x in {-1, 1}^m, g(x) being the state reached after those m symbols;
so it is at most U = E_x max_g [psi_g + <h_g, x>]. If 2^(m-1) <= W the first m - 1
symbols can all be remembered and the last table can map each x to its best g: U is
reached, the search ends there. U depends on the classes as a multiset only.

**No loss in these reductions.** (1) For fixed pairs and classes the final psi is a
convex function of all points together and does not fall when a psi rises: N' is linear,
Psi' convex, and such functions compose. So if a candidate midpoint is an average of two
others, one of the two does as well in its place: a pair a != b without gain is the
average of (a, a) and (b, b) and is dropped. A repeated candidate is never needed, as
more points never hurt. (2) Renumbering the present states, or the final states (which
permutes the classes), changes nothing: positions are kept in a canonical form. (3) A
position is dropped only when U is not above a value already reached. (4) Dropping the
candidates outside a set of W lowers U by at least the sum of what dropping each of them
alone costs (where a dropped candidate was the best, the value falls at least to the
second best), so most sets fail before U is computed.

The class multiset is fixed at the root, a layer of the search is a step. A search
truncated to the best positions of each layer (a beam) finds a good machine; one without
truncation, pruned by that value, proves it. All numbers are 64-bit integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, permutations, product
from math import comb, prod
from typing import NamedTuple

import numpy as np

from statebound.errors import UsageError
from statebound.protocols.limits.streaming_kernels import Ints, grow
from statebound.protocols.limits.streaming_machine import Machine, success_of

_FIELD = 5  # bits that hold the number of unread symbols of a class
_CHUNK = 256
_MERGE = 100_000  # positions gathered before equal ones are sought
_EVER = 1 << 62


class _Layer(NamedTuple):
    """Positions after as many steps: packed points (B, W); unread, U, parent, move (B, 4)."""

    keys: Ints
    rest: Ints


class _Found(NamedTuple):
    """A value reached: from which position of which layer."""

    value: int
    path: tuple[tuple[tuple[int, ...], int], ...]


@dataclass(frozen=True)
class Solution:
    """A proved optimum.

    Attributes
    ----------
    n, states
        The length of the strings and W.
    advantage
        The integer A* 2^n.
    machine
        A machine that reaches it.
    """

    n: int
    states: int
    advantage: int
    machine: Machine

    @property
    def success(self) -> Fraction:
        """The optimal success, exactly."""
        return success_of(self.n, self.advantage)


class _Game:
    """The constants of the game at one n and W, and its searches."""

    def __init__(self, n: int, states: int) -> None:
        self.n, self.W = n, states
        self.C = 2 ** (states - 1) - 1
        self.leaf = states.bit_length()  # the most m with 2^(m-1) <= W
        self.bits = n - self.leaf + 1
        self.orders = np.array(list(permutations(range(states))), np.int64)
        self.classes = np.array([self._moved(order) for order in self.orders.tolist()], np.int64)
        pairs = states * (states + 1) // 2
        self.masks = np.array(
            sorted(sum(1 << i for i in pick) for pick in combinations(range(pairs), states)),
            np.int64,
        )
        self.binom = np.array([[comb(r, j) for j in range(32)] for r in range(32)], np.int64)
        roots = set()
        for pick in combinations_with_replacement(range(self.C), n):
            held = [pick.count(c) for c in range(self.C)]
            roots.add(max(self._pack(held, order) for order in self.classes.tolist()))
        self.roots = sorted(roots)
        self.room = max(prod(r + 1 for r in self.held(root)) for root in self.roots)
        rows = _CHUNK * self.C * len(self.masks)
        self._keys, self._rest = np.empty((rows, states), np.int64), np.empty((rows, 4), np.int64)

    def _moved(self, order: list[int]) -> list[int]:
        """Return for each class where its set of final states goes under a renumbering."""
        moved = []
        for e in range(self.C):
            members = sum(1 << order[i] for i in range(self.W) if (e + 1) >> i & 1)
            if members >> (self.W - 1):
                members = 2**self.W - 1 - members
            moved.append(members - 1)
        return moved

    @staticmethod
    def _pack(held: list[int], order: list[int]) -> int:
        return sum(held[order[e]] << (_FIELD * e) for e in range(len(held)))

    def held(self, unread: int) -> list[int]:
        """Unpack how many symbols of each class are unread."""
        return [unread >> (_FIELD * e) & 31 for e in range(self.C)]

    def start(self) -> _Layer:
        """Return the final states as points, once for each multiset of classes."""
        keys = [[1 << (self.bits * i) for i in range(self.W - 1)] + [0]] * len(self.roots)
        rest = np.zeros((len(self.roots), 4), np.int64)
        rest[:, 0], rest[:, 1] = self.roots, _EVER
        return _Layer(np.array(keys, np.int64), rest)

    def grow(self, layer: _Layer, d: int, reached: int) -> tuple[_Layer, int, int, int]:
        """Expand one chunk; see `streaming_kernels.grow`. Equal children are kept once."""
        count, reached, parent, move = grow(
            layer.keys,
            layer.rest[:, 0].copy(),
            layer.rest[:, 1].copy(),
            self.n,
            d,
            self.leaf,
            reached,
            self.room,
            self.orders,
            self.classes,
            self.masks,
            self.binom,
            self._keys,
            self._rest,
        )
        found = _Layer(self._keys[:count].copy(), self._rest[:count].copy())
        return _distinct(found), reached, parent, move

    def search(self, reached: int, width: int | None, limit: int) -> tuple[_Found | None, bool]:
        """Search for a value above `reached`, layer by layer.

        Returns the best found, and whether the search was whole: with `width` a layer
        keeps its best positions only; without, a layer past `limit` ends it.
        """
        layers = [self.start()]
        found: _Found | None = None
        whole = True
        for d in range(self.n - self.leaf):
            kept, size = [], 0
            for at in range(0, len(layers[d].keys), _CHUNK):
                chunk = _Layer(*(a[at : at + _CHUNK] for a in layers[d]))
                part, reached, parent, move = self.grow(chunk, d, reached)
                if move >= 0:
                    found = _Found(reached, _path(layers, at + parent))
                part.rest[:, 2] += at
                kept.append(part)
                size += len(part.keys)
                if size > 2 * len(kept[0].keys) + _MERGE or at + _CHUNK >= len(layers[d].keys):
                    merged = _joined(kept)
                    size = len(merged.keys)
                    if width is not None and size > width:
                        whole = False
                        order = np.argsort(-merged.rest[:, 1], kind="stable")[:width]
                        merged = _Layer(merged.keys[order], merged.rest[order])
                    elif size > limit:
                        return found, False
                    kept, size = [merged], len(merged.keys)
            if not size:
                break
            layers.append(kept[0])
        return found, whole

    def machine(self, found: _Found) -> Machine:
        """Replay a path in one fixed numbering of the final states."""
        (_, unread), *further = found.path
        held = self.held(unread)
        rows = [[int(i == g) for i in range(self.W)] for g in range(self.W)]
        psi = [0] * self.W
        tables: list[list[tuple[int, int]]] = []
        read: list[int] = []
        for d in range(len(found.path)):
            keys = [
                psi[g] << (self.bits * (self.W - 1))
                | sum(rows[g][i] << (self.bits * i) for i in range(self.W - 1))
                for g in range(self.W)
            ]
            unread = self._pack(held, list(range(self.C)))
            here = _Layer(np.array([keys], np.int64), np.array([[unread, _EVER, 0, 0]], np.int64))
            children, _, _, move = self.grow(here, d, found.value - 1)
            if further:
                target = further.pop(0)
                move = next(
                    int(rest[3])
                    for key, rest in zip(children.keys, children.rest, strict=True)
                    if (tuple(key.tolist()), int(rest[0])) == target
                )
            c = move >> (4 * self.W)
            inside = [sum(row[i] for i in range(self.W) if (c + 1) >> i & 1) for row in rows]
            pairs = []
            for g in reversed(range(self.W)):
                a, b = move >> (4 * g + 2) & 3, move >> (4 * g) & 3
                pairs.append((a, b) if inside[a] >= inside[b] else (b, a))
            psi = [psi[a] + psi[b] + 2 * (inside[a] - inside[b]) for a, b in pairs]
            rows = [[u + v for u, v in zip(rows[a], rows[b], strict=True)] for a, b in pairs]
            held[c] -= 1
            tables.append(pairs)
            read.append(c)
        _, first = self.finish(rows, psi, held)
        classes = [c for c in range(self.C) for _ in range(held[c])] + read[::-1]
        answers = tuple(tuple(0 if (c + 1) >> g & 1 else 1 for c in classes) for g in range(self.W))
        steps = first + tables[::-1]
        return Machine(self.W, tuple(tuple(step) for step in steps), answers)

    def finish(
        self, rows: list[list[int]], psi: list[int], held: list[int]
    ) -> tuple[int, list[list[tuple[int, int]]]]:
        """Return U where all but the last unread symbol can be remembered, and the tables."""
        classes = [c for c in range(self.C) for _ in range(held[c])]
        m, scale = len(classes), sum(rows[0])
        value, targets = 0, []
        for x in product((0, 1), repeat=m):
            score = [
                psi[g]
                + sum(
                    (1 - 2 * bit)
                    * (2 * sum(rows[g][i] for i in range(self.W) if (c + 1) >> i & 1) - scale)
                    for bit, c in zip(x, classes, strict=True)
                )
                for g in range(self.W)
            ]
            value += max(score)
            targets.append(score.index(max(score)))
        tables = []
        for k in range(m):
            step = [(2 * s, 2 * s + 1) for s in range(2**k)]
            if k == m - 1:
                step = [(targets[a], targets[b]) for a, b in step]
            tables.append(step + [(0, 0)] * (self.W - len(step)))
        return value, tables


def _distinct(layer: _Layer) -> _Layer:
    """Drop positions that equal another in full; a hash only brings them together."""
    keys, rest = layer
    mixed = rest[:, 0].astype(np.uint64)
    for g in range(keys.shape[1]):
        mixed = (mixed ^ keys[:, g].astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    order = np.argsort(mixed, kind="stable")
    keys, rest = keys[order], rest[order]
    fresh = np.ones(len(keys), bool)
    fresh[1:] = (keys[1:] != keys[:-1]).any(axis=1) | (rest[1:, 0] != rest[:-1, 0])
    return _Layer(keys[fresh], rest[fresh])


def _joined(parts: list[_Layer]) -> _Layer:
    if len(parts) == 1:
        return parts[0]
    return _distinct(
        _Layer(np.concatenate([p.keys for p in parts]), np.concatenate([p.rest for p in parts]))
    )


def _path(layers: list[_Layer], at: int) -> tuple[tuple[tuple[int, ...], int], ...]:
    """Return the positions from the root to position `at` of the last layer."""
    path = []
    for layer in reversed(layers):
        path.append((tuple(layer.keys[at].tolist()), int(layer.rest[at, 0])))
        at = int(layer.rest[at, 2])
    return tuple(reversed(path))


def longest(states: int) -> int:
    """Return the largest n whose positions fit 64-bit integers (2 to 4 states)."""
    leaf = states.bit_length()
    n = leaf
    # a point: W - 1 counts below 2^bits, and Psi <= n 2^(n - leaf)
    while (states - 1) * (n - leaf + 2) + (n + 1 - leaf) + (n + 1).bit_length() <= 63 and n < 30:
        n += 1
    return n


def solve(n: int, states: int) -> Solution:
    """Return the exact streaming optimum with a machine that reaches it.

    Parameters
    ----------
    n
        Length of the strings; at most 16 for four states, 20 for three, 30 for two
        (the limit of 64-bit integers). Seconds up to n = 14 and n = 18; about a minute
        at the last ones.
    states
        W, 2, 3 or 4.

    Raises
    ------
    UsageError
        When `n` or `states` is out of range.

    Examples
    --------
    >>> solve(4, 4).success
    Fraction(13, 16)
    """
    if states not in (2, 3, 4):
        raise UsageError("states", states, "must be 2, 3 or 4", "pass one of them")
    if not 1 <= n <= longest(states):
        raise UsageError(
            "n", n, f"must be in 1..{longest(states)} for {states} states", "pass a smaller n"
        )
    game = _Game(n, states)
    if n <= game.leaf:
        rows = [[int(i == g) for i in range(states)] for g in range(states)]
        ends = [
            (*game.finish(rows, [0] * states, game.held(root)), game.held(root))
            for root in game.roots
        ]
        value, steps, held = max(ends, key=lambda end: end[0])
        classes = [c for c in range(game.C) for _ in range(held[c])]
        answers = tuple(tuple(0 if (c + 1) >> g & 1 else 1 for c in classes) for g in range(states))
        return Solution(
            n, states, value, Machine(states, tuple(tuple(step) for step in steps), answers)
        )
    best: _Found | None = None
    width = 200
    whole = False
    while not whole:
        for beam in (width, None):
            reached = best.value if best is not None else 0
            found, whole = game.search(reached, beam, 100 * width)
            best = found or best
            if whole:
                break
        width *= 4
    assert best is not None
    return Solution(n, states, best.value, game.machine(best))
