"""What a construction costs, in one record for all of them.

`recurrent_bits` is what a fixed-state machine carries from token to token: every number of
its state, each in the bits that its range takes. `cache_bits` is what retrieval keeps beside
it: the keys and values that attention has stored, or the characters that a search can read.
The lower bound speaks of what crosses a handoff, so both are given at the token before
which the query is not known.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Ledger:
    """The cost of one run, or of one model at one size.

    Attributes
    ----------
    construction
        What was run.
    tokens_read, tokens_written
        Tokens of the input with its query; tokens of the chain of thought.
    recurrent_bits
        Bits of the recurrent state.
    recurrent_fields
        The same by part of the state; they sum to `recurrent_bits`.
    cache_bits
        Bits of the stored keys and values, or of the text that a search reads.
    parameters
        Entries of the weight matrices outside embeddings, zeros too; `nonzero` without them.
        None where a part of the machine is not spelled out as weights.
    significand_bits
        Precision of the arithmetic; None where only integers occur.
    """

    construction: str
    tokens_read: int
    tokens_written: int
    recurrent_fields: dict[str, int]
    cache_bits: int
    parameters: int | None
    nonzero: int | None
    significand_bits: int | None

    @property
    def recurrent_bits(self) -> int:
        """The sum over the parts of the state."""
        return sum(self.recurrent_fields.values())

    def record(self) -> dict[str, Any]:
        """Return the ledger as a JSON-able object."""
        return asdict(self) | {"recurrent_bits": self.recurrent_bits}


def bits_for(values: int) -> int:
    """Return the bits that a field with this many values takes.

    Examples
    --------
    >>> [bits_for(v) for v in (1, 2, 5, 8)]
    [0, 1, 3, 3]
    """
    return max(values - 1, 0).bit_length()


def stored(significand: int) -> int:
    """Return the bits of one stored number: sign, 8 of exponent, the significand's but one.

    That is 16 for bfloat16 and 32 for float32.
    """
    return significand + 8
