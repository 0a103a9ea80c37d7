"""A table of (x, message) pairs as a protocol: anybody's compressor can be measured."""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from statebound.errors import UsageError
from statebound.protocols.message import Bytes
from statebound.protocols.problem import Problem, Symbols
from statebound.protocols.protocol import Protocol

ORDER_SEED = 20240517
_DEVIATIONS = 6.0  # standard deviations; each symbol and position by chance 2e-9


def _refuse_biased(x: Symbols, symbols: int) -> None:
    """Refuse rows whose symbols are not drawn evenly at some position."""
    share = 1 / symbols
    spread = (len(x) * share * (1 - share)) ** 0.5
    for v in range(symbols):
        away = np.abs((x == v).sum(axis=0) - len(x) * share) / spread
        if away.max() > _DEVIATIONS:
            raise UsageError(
                "table",
                "x",
                f"is not drawn uniformly: symbol {v} at position {int(away.argmax()) + 1} is "
                f"{away.max():.0f} standard deviations off, so no wall applies",
                "store all inputs, or independent uniform draws",
            )


class Table(Protocol):
    """Alice looks her message up; Bob is whoever reads it best.

    Parameters
    ----------
    problem
        What is asked.
    x
        (rows, length) inputs, each at most once; all of them for an exact result, else
        independent uniform draws.
    message
        (rows, ceil(M/8)) bytes, padding bits zero.
    state_bits
        M; eight bits a byte by default.
    name, digest
        What the table is called, and a hash of it, for the record.
    """

    def __init__(
        self,
        problem: Problem,
        x: NDArray[Any],
        message: NDArray[Any],
        state_bits: int | None = None,
        name: str = "table",
        digest: str = "",
    ) -> None:
        self.problem, self.name, self.digest = problem, name, digest
        if x.ndim != 2 or x.shape[1] != problem.length or len(x) == 0:
            raise UsageError(
                "table",
                f"x of shape {x.shape}",
                f"must be (rows, {problem.length}) for {problem.name} with n = {problem.n}",
                "store one input a row",
            )
        x = x.astype(np.uint8) if x.dtype == np.bool_ else x
        if not np.issubdtype(x.dtype, np.integer) or (x < 0).any() or (x >= problem.symbols).any():
            raise UsageError(
                "table", "x", f"must hold integers in 0..{problem.symbols - 1}", "store symbols"
            )
        if message.dtype != np.uint8 or message.ndim != 2 or len(message) != len(x):
            raise UsageError(
                "table",
                f"message of {message.dtype} {message.shape}",
                f"must be uint8 of shape ({len(x)}, bytes)",
                "store the packed bytes, a row an input",
            )
        most = 8 * message.shape[1]
        least = max(0, most - 7)
        self.state_bits = most if state_bits is None else state_bits
        if not least <= self.state_bits <= most:
            raise UsageError(
                "state_bits",
                self.state_bits,
                f"does not fit messages of {message.shape[1]} bytes",
                f"pass {least} to {most}" if most else "pass 0",
            )
        bits = np.unpackbits(message, axis=1, bitorder="little").any(axis=0)
        used = int(np.flatnonzero(bits).max(initial=-1)) + 1
        if used > self.state_bits:
            raise UsageError(
                "state_bits",
                self.state_bits,
                f"the messages use bit {used}, counted from 1",
                f"pass {used} or more, or clear the bits beyond M",
            )
        # Judged in an order that has nothing to do with x, whatever order they came in.
        order = np.random.Generator(np.random.PCG64(ORDER_SEED)).permutation(len(x))
        self.x = np.ascontiguousarray(x[order], np.uint8)
        message = message[order]
        if not problem.contains(self.x).all():
            raise UsageError(
                "table", "x", f"holds what is no input of {problem.name}", problem.remedy
            )
        if not self.complete and problem.product:
            _refuse_biased(self.x, problem.symbols)
        keys = self._keys(self.x)
        self._order = np.argsort(keys, kind="stable")
        self._sorted = keys[self._order]
        if (self._sorted[1:] == self._sorted[:-1]).any():
            raise UsageError(
                "table",
                "x",
                "holds an input more than once",
                "give every input one message, each input one row",
            )
        self._message = message

    @staticmethod
    def _keys(x: Symbols) -> NDArray[Any]:
        rows = np.ascontiguousarray(x, np.uint8)
        return rows.view(np.dtype((np.void, rows.shape[1]))).reshape(-1)

    @property
    def complete(self) -> bool:
        """Whether every possible input is in the table."""
        return len(self.x) == self.problem.inputs

    def encode(self, x: Symbols) -> Bytes:
        """Look the messages up; inputs that are not in the table are an error."""
        keys = self._keys(x)
        at = np.minimum(np.searchsorted(self._sorted, keys), len(self._sorted) - 1)
        if (self._sorted[at] != keys).any():
            raise UsageError(
                "table",
                self.name,
                "has no message for an input that was asked for",
                "store more rows, or all inputs for an exact result",
            )
        found: Bytes = self._message[self._order[at]]
        return found

    def describe(self) -> dict[str, Any]:
        """Return the name and the hash of the table."""
        return {"protocol": self.name, "rows": len(self.x), "digest": self.digest}


def is_partial(protocol: Protocol) -> TypeGuard[Table]:
    """Whether a protocol is a table that does not hold every input."""
    return isinstance(protocol, Table) and not protocol.complete
