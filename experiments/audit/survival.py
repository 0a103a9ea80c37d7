"""The record of what survives when a state is sent in few bits."""

from __future__ import annotations

from dataclasses import dataclass

from statebound.experiments.estimates import Interval

STEPPED = 16
"""Inputs that are rounded after every token."""


@dataclass(frozen=True)
class Level:
    """One way to round a state, and what it does.

    Attributes
    ----------
    which
        ``all``, a kind of part, or one part: what is rounded; the rest crosses as it is.
    quantiser, bits, rounding, regime
        ``handoff`` rounds once, ``step`` after every token.
    state_bits
        The whole message: codes, scales, residuals, and what is not rounded.
    error
        Root mean square of what changes in the outputs, over that of the outputs; None
        where an output is no number.
    agreement
        How often the largest output is that of the unquantised state.
    """

    which: str
    quantiser: str
    bits: int
    rounding: str
    regime: str
    state_bits: int
    error: float | None
    agreement: Interval


@dataclass(frozen=True)
class Mixed:
    """The smallest mixed precision that a search found for a quality.

    Attributes
    ----------
    quality
        The least agreement on the sample.
    quantiser, bits
        Bits a number by part; numbers of layers are open, ``layers[*]``.
    state_bits
        The message.
    agreement
        On the sample of the search.
    fresh
        On other inputs, with an interval that the search cannot have spoilt.
    uniform_bits, uniform_state_bits
        The fewest bits for all parts alike with this quality, None where none has it.
    evaluations
        Precisions tried.
    complete
        False where the budget ended the search.
    """

    quality: float
    quantiser: str
    bits: dict[str, int]
    state_bits: int
    agreement: float
    fresh: Interval
    uniform_bits: int | None
    uniform_state_bits: int | None
    evaluations: int
    complete: bool


@dataclass(frozen=True)
class Recalled:
    """Success at one precision; `bits` None is the state as it is.

    Attributes
    ----------
    wall, wall_name
        The least proved upper bound for `state_bits` message bits, and which it is; None
        where none is proved.
    efficiency
        Bits that the lower end of the success needs, by the ball, over those sent.
    violates_wall
        Whether success is above the wall at a false-alarm rate of one in a million.
    """

    bits: int | None
    state_bits: int
    success: Interval
    wall: float | None
    wall_name: str | None
    efficiency: float | None
    violates_wall: bool


@dataclass(frozen=True)
class Recall:
    """Retrieval from a prompt.

    Attributes
    ----------
    task, options, n
        The problem.
    prompt
        How it is written in tokens.
    chance
        Success of a guess.
    trials
        Prompts, one query each.
    does
        Whether success with the state as it is is above chance, and, for each precision,
        what is left; `rows` holds only the first where it is not.
    reason
        Why it does not, or why it was not tried.
    """

    task: str
    options: dict[str, int | str | bool]
    n: int
    prompt: str
    chance: float
    trials: int
    does: bool
    reason: str
    quantiser: str
    rows: tuple[Recalled, ...]


@dataclass(frozen=True)
class Survival:
    """What survives.

    Attributes
    ----------
    reason
        Why nothing was measured; "" where it was.
    handoff, ahead, prompts, public
        Tokens before the handoff and after it, inputs measured, inputs for calibration.
    level
        Coverage of intervals.
    exact_bits, other_bits
        The unquantised message, and the part of it that is never rounded: integers, flags,
        a position.
    floor
        Agreement where nothing is sent: Bob keeps the state of other tokens.
    kinds
        Kind by part; caches are rounded entry by entry.
    caches
        The parts that are caches.
    """

    reason: str
    seed: int = 0
    handoff: int = 0
    ahead: int = 0
    prompts: int = 0
    public: int = 0
    level: float = 0.95
    exact_bits: int = 0
    other_bits: int = 0
    floor: Interval | None = None
    kinds: dict[str, str] | None = None
    caches: tuple[str, ...] = ()
    levels: tuple[Level, ...] = ()
    no_steps: str = ""
    mixed: Mixed | None = None
    recall: tuple[Recall, ...] = ()
