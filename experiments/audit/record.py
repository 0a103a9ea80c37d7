"""The record of an audit: plain data that becomes JSON as it is."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from statebound.experiments.audit.survival import Survival

FATAL, WRONG, NOTE = "fatal", "wrong", "note"


@dataclass(frozen=True)
class Finding:
    """One thing that was found out.

    Attributes
    ----------
    code
        What it is, in one word; docs/audit.md has the list.
    severity
        ``fatal`` (the model cannot be split), ``wrong`` (one way of going on gives other
        outputs, or would without care), ``note``.
    text
        A sentence that names the part at fault.
    """

    code: str
    severity: str
    text: str


@dataclass(frozen=True)
class Split:
    """One way of going on after a handoff, against the unsplit run.

    Attributes
    ----------
    way
        ``steps`` (Alice in one call, Bob token by token), ``chunks`` (Bob in chunks),
        ``after chunks`` (three single tokens after them), ``steps from the start`` (Alice too
        token by token), ``steps against steps`` (the unsplit run token by token as well),
        ``state alone`` (as ``steps``, the attributes of the model left out).
    positions
        Whether the number of tokens read was passed.
    handoffs
        The prefix lengths tried.
    error
        Largest difference of outputs, as a part of the largest output; None if it is not a
        number.
    worst
        The handoff with that error.
    right
        Whether the error is within the tolerance.
    """

    way: str
    positions: bool
    handoffs: tuple[int, ...]
    error: float | None
    worst: int | None
    right: bool


@dataclass(frozen=True)
class Part:
    """One leaf of the state.

    Attributes
    ----------
    path
        Where: ``state...`` is returned by the model, ``model...`` an attribute of it.
    dtype, shape, numbers, bits
        As stored, at the length of `Audit.handoff`.
    kind
        ``state`` (depends on the tokens), ``public`` (on their number alone), ``constant``.
    counter
        Whether it is an integer that counts tokens.
    live
        Whether changing it changes outputs; None for constants, and where it was not tried.
    dead
        Slices that change nothing, as (axis, index).
    live_numbers, live_bits
        What is left without dead parts.
    grows
        Numbers that a token adds at the longest lengths tried.
    """

    path: str
    dtype: str
    shape: list[int]
    numbers: int
    bits: int
    kind: str
    counter: bool
    live: bool | None
    dead: tuple[tuple[int, int], ...]
    live_numbers: int
    live_bits: int
    grows: float


@dataclass(frozen=True)
class Growth:
    """How the state grows with n.

    Attributes
    ----------
    lengths, numbers, bits
        The n tried, and what is stored at each, constants left out.
    fixed
        Whether nothing but counters grew between the longest two.
    full_from
        The least n tried from which on the size is that of the longest; None where it grows.
    numbers_a_token, bits_a_token
        The slope between the longest two.
    growing
        Numbers a token, by path, for what grows.
    """

    lengths: tuple[int, ...]
    numbers: tuple[int, ...]
    bits: tuple[int, ...]
    fixed: bool
    full_from: int | None
    numbers_a_token: float
    bits_a_token: float
    growing: dict[str, float]


@dataclass(frozen=True)
class Sizes:
    """Totals at the handoff: stored and live, of what depends on the tokens."""

    stored_numbers: int
    stored_bits: int
    live_numbers: int
    live_bits: int
    public_numbers: int
    public_bits: int
    counter_bits: int
    by_dtype: dict[str, int]


@dataclass(frozen=True)
class Audit:
    """What an audit found; `ok` is False where the model cannot be split."""

    version: str
    subject: str
    kind: str
    facts: dict[str, Any]
    seed: int
    vocabulary: int
    tokens: int
    handoff: int
    checked_in: str
    tolerance: float
    calls: int
    ok: bool
    continue_with: str | None
    step_ok: bool
    chunk_ok: bool
    needs_positions: bool
    state_consumed: bool
    hidden: tuple[str, ...]
    outside: tuple[str, ...]
    mutates_in_place: bool
    splits: tuple[Split, ...]
    parts: tuple[Part, ...]
    growth: Growth | None
    sizes: Sizes | None
    findings: tuple[Finding, ...]
    survival: Survival | None = None

    def record(self) -> dict[str, Any]:
        """Return everything as JSON-able data."""
        return asdict(self)

    def codes(self) -> set[str]:
        """Return the codes of all findings."""
        return {found.code for found in self.findings}
