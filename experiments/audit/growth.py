"""How large a state is as n grows, and which of its parts are counters or constants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from statebound.experiments.audit import walk
from statebound.experiments.audit.cut import Cut, Message, name
from statebound.experiments.audit.record import Growth
from statebound.experiments.audit.subject import Tokens

PACKED = 4
"""An integer that gains a bit in fewer tokens than this holds more than a count of them."""


@dataclass(frozen=True)
class History:
    """The messages of one input at several lengths, by length."""

    messages: dict[int, Message]

    def values(self, path: walk.Path) -> dict[int, Any]:
        """Return a leaf at the lengths at which it is there."""
        return {n: held[path] for n, held in self.messages.items() if path in held}

    def constant(self, path: walk.Path) -> bool:
        """Whether a leaf is there, and the same, at every length."""
        seen = self.values(path)
        return len(seen) == len(self.messages) and len({walk.digest(v) for v in seen.values()}) == 1

    def counter(self, path: walk.Path) -> bool:
        """Whether a leaf is one integer, n itself or n and a constant."""
        seen = self.values(path)
        if len(seen) < 2 or not all(_is_integer(v) for v in seen.values()):
            return False
        return len({int(walk.array(v).reshape(-1)[0]) - n for n, v in seen.items()}) == 1


def _is_integer(value: Any) -> bool:
    if isinstance(value, bool) or not walk.is_numeric(value) or walk.is_real(value):
        return False
    return walk.count(value) == 1 and walk.dtype_name(value) != "bool"


def history(cut: Cut, tokens: Tokens, lengths: tuple[int, ...]) -> History:
    """Read prefixes of these lengths, each in one call, and keep what would be sent."""
    return History({n: cut.message(cut.template(tokens[:n])) for n in lengths})


def growth(held: History) -> Growth:
    """Return sizes by length, and what grows between the longest two lengths.

    A counter is not growth: its digits are counted apart, or n is public.
    """
    lengths = tuple(sorted(held.messages))
    paths = dict.fromkeys(p for message in held.messages.values() for p in message)
    counted = [p for p in paths if not held.constant(p) and not held.counter(p)]

    def total(n: int, measure: Any) -> int:
        message = held.messages[n]
        return sum(measure(message[p]) for p in counted if p in message)

    numbers = tuple(total(n, walk.count) for n in lengths)
    bits = tuple(total(n, walk.bits) for n in lengths)
    last, before = lengths[-1], lengths[-2]
    apart = last - before
    growing: dict[str, float] = {}
    for path in counted:
        seen = held.values(path)
        more = walk.count(seen.get(last)) - walk.count(seen.get(before))
        more_bits = walk.bits(seen.get(last)) - walk.bits(seen.get(before))
        if more or more_bits * PACKED > apart:
            growing[name(path)] = more / apart
    fixed = not growing
    full = next(n for n, held_bits in zip(lengths, bits, strict=True) if held_bits == bits[-1])
    return Growth(
        lengths=lengths,
        numbers=numbers,
        bits=bits,
        fixed=fixed,
        full_from=full if fixed else None,
        numbers_a_token=(numbers[-1] - numbers[-2]) / apart,
        bits_a_token=(bits[-1] - bits[-2]) / apart,
        growing=growing,
    )
