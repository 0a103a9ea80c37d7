"""A fixed-state model that runs any Turing machine by searching its own transcript.

The prompt lists the input as writes, ``@ADDRESS=SYMBOL;``. For each step the model writes a
call, gets one character, and writes what it does::

    <.*@ADDRESS=(.);>RESULT@ADDRESS=SYMBOL;STATE MOVE newline

The greedy ``.*`` finds the last write to the address under the head; ``~`` says that there
was none, which means blank. Addresses are binary numbers of w digits, so a step takes
2 w + 18 characters.

The control is a finite automaton that emits one character at a time. It holds the address of
the head, where it is within the step, the state, the symbol and the move (`Registers`), and
nothing of the tape: only the address grows, as log T. What would otherwise be memory is the
text that calls can search.

The search reads the whole transcript, the calls too. A call could therefore find a call;
here none can, since a call has ``(.)`` where a write has ``SYMBOL;``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple, dataclass

from statebound.errors import UsageError
from statebound.models.constructions import patterns
from statebound.models.constructions.ledger import Ledger, bits_for
from statebound.models.constructions.tape import check_budget
from statebound.models.constructions.turing import Machine
from statebound.models.constructions.turing_run import Run, Token, beside_theorem, follow

FAILED = "~"
BEFORE, AFTER = "<.*@", "=(.);>"
STATES = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
MOVE = "LSR"


@dataclass(frozen=True)
class Registers:
    """All that the control holds between two characters.

    Attributes
    ----------
    head
        Address of the head, shifted so that it is never negative.
    place
        Characters of this step so far.
    state, symbol, move
        Of the machine; the last two are set while a write is written.
    """

    head: int
    place: int
    state: int
    symbol: int
    move: int


class Control:
    """The finite automaton: registers to a character, and to the next registers."""

    def __init__(self, machine: Machine, digits: int) -> None:
        self._machine, self._w = machine, digits
        self.call = len(BEFORE) + digits + len(AFTER)
        self.length = 2 * digits + 18

    def emits(self, r: Registers) -> str:
        """Return the character at this place; not asked at the place of a result."""
        w, at = self._w, r.place
        if at < self.call:
            inside = at - len(BEFORE)
            if 0 <= inside < w:
                return self._digit(r.head, inside)
            return BEFORE[at] if inside < 0 else AFTER[inside - w]
        at -= self.call + 2
        if at < 0:
            return "@"
        if at < w:
            return self._digit(r.head, at)
        symbol = self._machine.symbols[r.symbol]
        return ("=", symbol, ";", STATES[r.state], MOVE[r.move + 1], "\n")[at - w]

    def _digit(self, head: int, place: int) -> str:
        return str(head >> (self._w - 1 - place) & 1)

    def goes_on(self, r: Registers) -> Registers:
        """Return the registers after a character of its own."""
        if r.place + 1 < self.length:
            return Registers(r.head, r.place + 1, r.state, r.symbol, r.move)
        return Registers(r.head + r.move, 0, r.state, 0, 0)

    def receives(self, r: Registers, result: str) -> Registers | None:
        """Return the registers after the result of a call, None where the machine halts."""
        machine = self._machine
        read = machine.blank if result == FAILED else machine.symbols.index(result)
        rule = machine.rules.get((r.state, read))
        if rule is None:
            return None
        return Registers(r.head, r.place + 1, rule.state, rule.symbol, rule.move)


class TuringRegex:
    """The model for one machine.

    Parameters
    ----------
    machine
        At most 62 states, and no symbol ``~``.
    engine
        re, or re2 where google-re2 is installed.
    """

    def __init__(self, machine: Machine, engine: str = "re") -> None:
        patterns.check_engine(engine)
        if FAILED in machine.symbols:
            raise UsageError(
                "machine", machine.name, f"writes {FAILED}, which says not found", "rename it"
            )
        if len(machine.states) > len(STATES):
            raise UsageError(
                "machine", machine.name, f"has more than {len(STATES)} states", "merge some"
            )
        self.machine, self.engine = machine, engine

    def digits(self, n: int, budget: int) -> int:
        """Return w, the digits of an address."""
        return bits_for(budget + max(n, budget) + 2)

    def prompt(self, text: str, budget: int) -> str:
        """Return an input as writes."""
        w = self.digits(len(text), budget)
        cells = (f"@{budget + 1 + cell:0{w}b}={s};" for cell, s in enumerate(text))
        self.machine.read(text)
        return "".join(cells) + "\n"

    def generate(self, text: str, budget: int, transcript: list[str]) -> Iterator[Token]:
        """Yield the steps until it halts; the characters go into `transcript`.

        At most one more than the budget.
        """
        check_budget(budget)
        control = Control(self.machine, self.digits(len(text), budget))
        transcript.append(self.prompt(text, budget))
        r = Registers(budget + 1, 0, self.machine.start, 0, 0)
        for _ in range(budget + 1):
            while r.place < control.call:
                transcript.append(control.emits(r))
                r = control.goes_on(r)
            result = answer("".join(transcript), self.engine)
            transcript[:] = ["".join(transcript), result]
            after = control.receives(r, result)
            if after is None:
                return
            r = after
            yield r.state, r.symbol, r.move
            while r.place:
                transcript.append(control.emits(r))
                r = control.goes_on(r)

    def run(self, text: str, budget: int) -> Run:
        """Run on an input for at most `budget` steps of the machine."""
        transcript: list[str] = []
        made, end = follow(self.machine, text, self.generate(text, budget, transcript), budget)
        whole = "".join(transcript)
        ledger = self.ledger(len(text), budget, len(whole) - len(self.prompt(text, budget)))
        theorem = beside_theorem(ledger, len(self.machine.states), budget)
        return Run(made, end, ledger, theorem, whole)

    def ledger(self, n: int, budget: int, written: int) -> Ledger:
        """Return the cost on n symbols with so many characters written.

        The parameters are the entries of the rule table; the cache is the text, 8 bits a
        character.
        """
        w, machine = self.digits(n, budget), self.machine
        read = n * (w + 4) + 1
        table = len(machine.states) * len(machine.symbols) * len(astuple(Registers(0, 0, 0, 0, 0)))
        return Ledger(
            construction=f"fixed-state model with search ({self.engine})",
            tokens_read=read,
            tokens_written=written,
            recurrent_fields={
                "address": w,
                "place": bits_for(2 * w + 18),
                "state": bits_for(len(machine.states)),
                "symbol": bits_for(len(machine.symbols)),
                "move": 2,
            },
            cache_bits=8 * (read + written),
            parameters=table,
            nonzero=3 * len(machine.rules),
            significand_bits=None,
        )


def answer(transcript: str, engine: str = "re") -> str:
    """Return the result of the call that a transcript ends with."""
    begin = transcript.rindex("<")
    found = patterns.search(transcript[begin + 1 : -1], transcript, engine)
    return FAILED if found is None else found
