"""What all codes share: Alice's word in, Bob's reconstruction of it out.

A code compresses the word of answers a = (f(x, k))_k, which for Index is x itself. Bob
rebuilds a whole word from the message and reads off the place that is asked. How often
place k is wrong is the distortion of the code there, so success is one less the mean
distortion, and the best code is the best fixed-rate quantiser of fair bits.
"""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from statebound.errors import UsageError
from statebound.protocols.message import Bytes, bit_matrix, check, from_bits
from statebound.protocols.problem import Problem, Symbols
from statebound.protocols.protocol import Protocol, Queries


class WordCode(Protocol):
    """A protocol whose Bob rebuilds the word of all answers.

    Parameters
    ----------
    problem
        What is asked; its answers are the word that is coded.
    state_bits
        M, at least 0.

    Raises
    ------
    UsageError
        When the answers are not bits (unless the code takes any alphabet).
    """

    name: ClassVar[str]
    binary: ClassVar[bool] = True

    def __init__(self, problem: Problem, state_bits: int) -> None:
        if self.binary and problem.alphabet != 2:
            raise UsageError(
                "alphabet",
                problem.alphabet,
                f"{self.name} codes bits",
                "use a problem with two answers, or the code truncation",
            )
        if problem.alphabet > 256:
            raise UsageError(
                "alphabet", problem.alphabet, "is too large for a code", "ask for smaller answers"
            )
        problem.refuse_unlisted()
        self.problem = problem
        self.state_bits = state_bits
        self.length = problem.queries
        self._read: tuple[Bytes, Symbols] | None = None

    @abstractmethod
    def compress(self, word: Symbols) -> Symbols:
        """Return the message bits (B, M) of words (B, queries)."""

    @abstractmethod
    def expand(self, bits: Symbols) -> Symbols:
        """Return Bob's words (B, queries) for message bits (B, M)."""

    def encode(self, x: Symbols) -> Bytes:
        """Alice: (B, length) inputs to (B, message_bytes) messages."""
        word = np.ascontiguousarray(self.problem.answers(x), np.uint8)
        return from_bits(self.compress(word)).reshape(len(x), self.message_bytes)

    def decode(self, message: Bytes) -> Symbols:
        """Return the word that Bob rebuilds: (B, message_bytes) to (B, queries).

        Raises
        ------
        MessageError
            When the bytes are not messages of M bits.
        """
        check(message, self.state_bits)
        return self.expand(bit_matrix(message, self.state_bits))

    def answer(self, message: Bytes, query: Queries) -> Symbols:
        """Bob: place `query` of the word he rebuilds (once for the messages he just had)."""
        if self._read is None or not np.array_equal(self._read[0], message):
            self._read = message.copy(), self.decode(message)
        return self._read[1][np.arange(len(query)), query]

    def success(self) -> Fraction | None:
        """Return the exact average success where it is known, else None.

        Known only where the answers are independent fair symbols.
        """
        wrong = self.errors() if self.problem.structure.independent else None
        if wrong is None:
            return None
        return 1 - sum(
            (w * e for w, e in zip(self.problem.weights, wrong, strict=True)), Fraction(0)
        )

    def errors(self) -> list[Fraction] | None:
        """Return how often each place is wrong for fair answers, None if unknown."""
        return None

    def describe(self) -> dict[str, Any]:
        """Return the name, the sizes and the options of the code."""
        return {
            "protocol": self.name,
            "state_bits": self.state_bits,
            "length": self.length,
            **self.facts(),
        }

    def facts(self) -> dict[str, Any]:
        """Return what identifies this code beside its sizes."""
        return {}


def lightest_first(problem: Problem) -> NDArray[np.int64]:
    """Return the queries by rising weight; of equal weights the later comes last.

    What a code must leave out is taken from the front, so that under a uniform law it
    keeps the end of the stream, as a window does.
    """
    weights = problem.weights
    return np.array(sorted(range(len(weights)), key=weights.__getitem__), np.int64)


def no_such_size(
    name: str, length: int, state_bits: int, rule: str, sizes: list[int]
) -> UsageError:
    """Return the error for an M that code `name` cannot have, with the nearest it can."""
    if not sizes:
        remedy = "choose another code or another number of queries"
    else:
        near = sorted(sizes, key=lambda m: (abs(m - state_bits), m))[:2]
        remedy = f"pass state_bits {' or '.join(str(m) for m in sorted(near))}"
    return UsageError("state_bits", state_bits, f"{name} on {length} answers {rule}", remedy)


def near_power_of_two(value: int) -> list[int]:
    """Return the powers of two around `value`, the nearest first.

    Examples
    --------
    >>> near_power_of_two(1000)
    [1024, 512]
    """
    low = 1 << (max(value, 1).bit_length() - 1)
    return sorted({low, 2 * low}, key=lambda p: abs(p - value))


def whole_option(argument: str, value: int, low: int, high: int) -> int:
    """Check that an option lies in low..high and return it."""
    if not low <= value <= high:
        raise UsageError(
            argument,
            value,
            f"must be in {low}..{high}",
            f"pass {argument} {low if value < low else high}",
        )
    return value


def check_workspace(argument: str, value: int, size: int) -> None:
    """Refuse a search that would hold more than 512 MiB of survivors.

    Raises
    ------
    UsageError
        Naming the option to lower.
    """
    if size > 1 << 29:
        raise UsageError(
            argument,
            value,
            f"the search would hold {size >> 20} MiB",
            f"pass a smaller {argument} or fewer answers",
        )


def symbol_bits(alphabet: int) -> int:
    """Return the bits that hold one symbol.

    Examples
    --------
    >>> symbol_bits(2), symbol_bits(3), symbol_bits(36)
    (1, 2, 6)
    """
    return (alphabet - 1).bit_length()
