"""Public coins that make a protocol equally good on every input and query.

Before anything is sent, Alice and Bob agree on a mask r of n symbols and on an order s of
the n places, both drawn uniformly and independently of x. Alice runs the protocol on z with

    z_s(k) = x_k + r_s(k)  (mod q),

Bob asks it for s(k) and takes r_s(k) off the answer. Whatever x and k are, z is uniform,
s(k) is uniform, and the two are independent: so over the coins each (x, k) is answered
rightly with the probability that the protocol has on average over uniform z and place. The
worst case is the average, at the price of public coins; for one mask nothing is gained. No
bit more is sent.

All orders are more than needed: any set of them that takes each place to every other equally
often will do, such as the n cyclic shifts.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statebound.errors import UsageError
from statebound.protocols.message import Bytes
from statebound.protocols.problem import Answers, Problem, Symbols
from statebound.protocols.protocol import Protocol, Queries


class Masked(Protocol):
    """A protocol for Index behind one mask.

    Parameters
    ----------
    protocol
        For a problem whose query k asks symbol k of any x.
    mask
        r, (n,) symbols.
    order
        s, (n,): place k goes to s(k).

    Raises
    ------
    UsageError
        When the problem is another, or the coins do not fit it.

    Examples
    --------
    >>> from statebound.protocols.codes.truncation import Truncation
    >>> from statebound.protocols.problems.index import Index
    >>> masked = Masked.drawn(Truncation(Index(8), 4), seed=1)
    >>> masked.state_bits
    4
    """

    def __init__(
        self, protocol: Protocol, mask: NDArray[np.integer[Any]], order: NDArray[np.integer[Any]]
    ) -> None:
        problem = maskable(protocol.problem)
        n, q = problem.length, problem.symbols
        if np.shape(mask) != (n,) or ((mask < 0) | (mask >= q)).any():
            raise UsageError(
                "mask", np.shape(mask), f"must be {n} symbols in 0..{q - 1}", "draw it"
            )
        if sorted(order) != list(range(n)):
            raise UsageError("order", list(order), f"must order the places 0..{n - 1}", "draw it")
        self.protocol, self.problem, self.state_bits = protocol, problem, protocol.state_bits
        self.mask, self.order = np.asarray(mask, np.int64), np.asarray(order, np.int64)

    @classmethod
    def drawn(cls, protocol: Protocol, seed: int) -> Masked:
        """Return the protocol behind the coins of a public seed."""
        generator = np.random.Generator(np.random.PCG64(seed))
        problem = maskable(protocol.problem)
        mask = generator.integers(0, problem.symbols, problem.length)
        return cls(protocol, mask, generator.permutation(problem.length))

    @classmethod
    def every(cls, protocol: Protocol) -> Iterator[Masked]:
        """Yield the protocol behind each of the q^n n! outcomes of the coins."""
        problem = maskable(protocol.problem)
        masks = product(range(problem.symbols), repeat=problem.length)
        for mask, order in product(masks, permutations(range(problem.length))):
            yield cls(protocol, np.array(mask), np.array(order))

    def encode(self, x: Symbols) -> Bytes:
        """Move and mask the symbols, then let the protocol send."""
        z = np.empty_like(x)
        z[:, self.order] = x
        return self.protocol.encode(((z + self.mask) % self.problem.symbols).astype(np.uint8))

    @property
    def has_bob(self) -> bool:
        """Whether the protocol has one."""
        return self.protocol.has_bob

    def answer(self, message: Bytes, query: Queries) -> Answers:
        """Ask for the place where the symbol went, and unmask it."""
        place = self.order[query]
        said = self.protocol.answer(message, place).astype(np.int64)
        answers: Answers = (said - self.mask[place]) % self.problem.symbols
        return answers.astype(self.problem.answer_type)

    def features(self, message: Bytes) -> NDArray[np.float64]:
        """Return what a readout of the protocol sees."""
        return self.protocol.features(message)

    def describe(self) -> dict[str, Any]:
        """Return the coins and what they mask."""
        return {
            "protocol": "masked",
            "of": self.protocol.describe(),
            "mask": self.mask.tolist(),
            "order": self.order.tolist(),
        }


def maskable(problem: Problem) -> Problem:
    """Return a problem that can be masked: query k asks symbol k of an x that may be any.

    Raises
    ------
    UsageError
        When it is not of that kind.
    """
    if not problem.structure.index_stream or problem.queries != problem.length:
        raise UsageError(
            "problem", problem.name, "has no symmetry to mask with", "use index without marks"
        )
    return problem
