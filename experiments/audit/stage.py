"""Many inputs cut at one length: Alice's messages, and Bobs who get them rounded.

Bob's own state is that of a template, which read other tokens. Over it come the parts that
depend on the tokens and do something; whatever else the state holds does not cross.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from statebound.errors import StateboundError
from statebound.experiments.audit import walk
from statebound.experiments.audit.coder import Coder, Piece, Scheme, kind_of, shifts
from statebound.experiments.audit.cut import Cut, Message, Run, name
from statebound.experiments.audit.record import Audit
from statebound.experiments.audit.subject import Outputs, Subject, Tokens

PIECEMEAL = "steps from the start"


class Stage:
    """A subject, Alice's inputs, and public ones.

    Parameters
    ----------
    cut
        The subject, with what it holds found.
    found
        The audit, for what is dead and how to go on.
    inputs, public
        (S, h) Alice's tokens; (C, h + 1) others, for calibration, the first for Bob's template.
    seed
        Of coins.

    Raises
    ------
    StateboundError
        When messages of different inputs have other parts.
    """

    def __init__(self, cut: Cut, found: Audit, inputs: Tokens, public: Tokens, seed: int) -> None:
        self.cut, self.found, self.inputs = cut, found, inputs
        self.handoff = int(inputs.shape[1])
        self._sizes: list[int] | None = [] if found.continue_with == PIECEMEAL else None
        calibrating = [cut.template(x[:-1], self._sizes) for x in public]
        self.template = calibrating[0]
        self.own = cut.message(self.template)
        self.public = [self.own, *(cut.message(run) for run in calibrating[1:])]
        self.messages = [cut.message(cut.template(x, self._sizes)) for x in inputs]
        later = []
        for run, x in zip(calibrating[:4], public, strict=False):
            going = cut.fork(run)
            cut.step(going, x[-1:])
            later.append(cut.message(going))
        self.alias = cut.aliases(self.template)
        for message in [*self.public, *self.messages]:
            require_alike(self.own, message)
        self.pieces, self.exact = self._pieces(later)
        self.coder = Coder(self.pieces, self.public, seed)

    def on(self, inputs: Tokens) -> Stage:
        """Return the same stage, calibration included, with other inputs of this length."""
        made = copy.copy(self)
        made.inputs = inputs
        made.messages = [self.cut.message(self.cut.template(x, self._sizes)) for x in inputs]
        for message in made.messages:
            require_alike(self.own, message)
        return made

    def _pieces(self, later: Sequence[Message]) -> tuple[tuple[Piece, ...], tuple[walk.Path, ...]]:
        """Return what is rounded, and what else depends on the tokens."""
        known = {part.path: part for part in self.found.parts}
        pieces: list[Piece] = []
        exact = []
        for path, value in self.own.items():
            part = known.get(name(path))
            if path in self.alias or (part is not None and part.live is False):
                continue
            if part is not None and part.kind != "state":
                continue
            if part is None and len({walk.digest(m[path]) for m in self.public}) == 1:
                continue
            if not walk.is_real(value) or not walk.count(value):
                exact.append(path)
                continue
            grows = bool(part and part.grows)
            before = [m[path] for m in self.public[: len(later)]]
            after = [m.get(path) for m in later]
            plain = not np.iscomplexobj(walk.array(value)) and not any(a is None for a in after)
            axis = shifts(before, after) if plain else None
            native = walk.bits(value) if part is None else part.bits
            numbers = walk.count(value) if part is None else part.numbers
            pieces.append(
                Piece(
                    number=len(pieces),
                    path=path,
                    kind=kind_of(name(path), grows),
                    axis=axis,
                    dead=part.dead if part is not None and _same_axes(part.shape, value) else (),
                    native=native // max(1, numbers),
                    stored=walk.dtype_name(value) if part is None else part.dtype,
                )
            )
        return tuple(pieces), tuple(exact)

    @property
    def other_bits(self) -> int:
        """Bits of what is never rounded: integers, flags, and a position where it is needed."""
        held = [_widest([m[path] for m in self.messages]) for path in self.exact]
        counted = self.found.sizes is not None and self.found.sizes.counter_bits
        return sum(held) + (self.handoff.bit_length() if counted else 0)

    def state_bits(self, scheme: Scheme) -> int:
        """Return the bits of the whole message."""
        own = sum(self.coder.bits(scheme, p, self.own[p.path]) for p in self.pieces)
        return own + self.other_bits

    def everywhere(self, quantiser: str, bits: int, rounding: str = "nearest") -> Scheme:
        """Return the scheme that rounds all pieces alike."""
        return Scheme(quantiser, {p.name: bits for p in self.pieces}, rounding)

    def bobs(self, scheme: Scheme | None) -> Iterator[Run]:
        """Yield a Bob for every input; without a scheme he gets all numbers as they are."""
        made = self.coder.rounded(
            Scheme("", {}) if scheme is None else scheme, self.messages, self.handoff
        )
        for at, mine in enumerate(self.messages):
            message = {path: mine[path] for path in self.exact}
            for piece in self.pieces:
                message[piece.path] = keep_dead(piece, made[piece.path][at], self.own[piece.path])
            same = {p: message[first] for p, first in self.alias.items() if first in message}
            bob = self.cut.fork(self.template)
            self.cut.write(bob, message | same)
            yield bob

    def idle(self) -> Iterator[Run]:
        """Yield Bobs to whom nothing was sent."""
        for _ in self.messages:
            yield self.cut.fork(self.template)

    def read(self, bob: Run, tokens: Tokens) -> Outputs:
        """Let Bob go on in the way that is right for this subject."""
        sizes = [len(tokens)] if self.found.continue_with == "chunks" else []
        return self.cut.read(bob, tokens, sizes)


def keep_dead(piece: Piece, value: Any, own: Any) -> Any:
    """Return a value with Bob's own numbers in the slices that do nothing."""
    if not piece.dead:
        return value
    made = np.array(walk.array(value))
    kept = walk.array(own)
    for axis, index in piece.dead:
        where = (slice(None),) * axis + (index,)
        made[where] = kept[where]
    return walk.like(value, made)


def require_alike(own: Message, other: Message) -> None:
    """Refuse messages with other parts, or parts of other shapes or types.

    Raises
    ------
    StateboundError
        When they differ.
    """
    for path in [*own, *other]:
        both = path in own and path in other
        if not both or _form(own[path]) != _form(other[path]):
            raise StateboundError(
                f"which parts the state has depends on what was read ({name(path)})"
            )


def _form(value: Any) -> tuple[list[int], str]:
    return walk.shape(value), walk.dtype_name(value)


def opened(subject: Subject, found: Audit, tokens: Tokens) -> Cut:
    """Return a subject ready to be cut, in the precision in which it was audited."""
    held = subject.widened() if found.checked_in == "float32" and _half(subject) else subject
    cut = Cut(held, positions=found.needs_positions)
    cut.find_held(tokens)
    return cut


def _widest(values: Sequence[Any]) -> int:
    """Return the bits that each of some leaves of one type fits into.

    Examples
    --------
    >>> _widest([7, 1]), _widest([7, -1])
    (3, 4)
    """
    signed = any(isinstance(value, int) and value < 0 for value in values)
    return max(walk.bits(-abs(value) if signed else value) for value in values)


def _half(subject: Subject) -> bool:
    return subject.precision()[1] > float(np.finfo(np.float32).eps)


def _same_axes(shape: list[int], value: Any) -> bool:
    """Whether dead slices found at one length are slices of a leaf of another length."""
    return shape == walk.shape(value)
