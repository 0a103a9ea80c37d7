"""The direct simulation of a Turing machine, which models are compared with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from statebound.errors import UsageError
from statebound.models.constructions.turing import Machine, Rule


@dataclass(frozen=True)
class Step:
    """One step: the state and symbol it began with, the rule, where the head was and went."""

    state: int
    read: int
    rule: Rule
    cell: int
    head: int


class Tape:
    """A tape, blank but for what was written."""

    def __init__(self, machine: Machine, symbols: list[int]) -> None:
        self._machine = machine
        self._cells = dict(enumerate(symbols))

    def __getitem__(self, cell: int) -> int:
        """Return the symbol in a cell."""
        return self._cells.get(cell, self._machine.blank)

    def __setitem__(self, cell: int, symbol: int) -> None:
        self._cells[cell] = symbol

    def text(self) -> str:
        """Return what is on the tape, from the first to the last cell that is not blank."""
        used = [c for c, symbol in self._cells.items() if symbol != self._machine.blank]
        if not used:
            return ""
        return "".join(self._machine.symbols[self[c]] for c in range(min(used), max(used) + 1))

    def window(self, low: int, high: int) -> str:
        """Return the cells low..high as text."""
        return "".join(self._machine.symbols[self[c]] for c in range(low, high + 1))


@dataclass(frozen=True)
class Outcome:
    """How a run ended.

    Attributes
    ----------
    steps
        Steps made.
    halted
        Whether it halted within its budget.
    state, tape
        Its last state, and the tape as text.
    accepted
        Whether it accepted; None where it does not decide or did not halt.
    """

    steps: int
    halted: bool
    state: str
    tape: str
    accepted: bool | None


def outcome(machine: Machine, tape: Tape, state: int, steps: int, halted: bool) -> Outcome:
    """Return how a run ended."""
    decides = machine.accept is not None and halted
    return Outcome(
        steps,
        halted,
        machine.states[state],
        tape.text(),
        state in machine.accept if decides and machine.accept is not None else None,
    )


def walk(machine: Machine, symbols: list[int]) -> Iterator[Step]:
    """Yield the steps of a machine on an input until it halts, if it does."""
    tape, state, head = Tape(machine, symbols), machine.start, 0
    while (rule := machine.rules.get((state, tape[head]))) is not None:
        step = Step(state, tape[head], rule, head, head + rule.move)
        tape[head] = rule.symbol
        state, head = rule.state, step.head
        yield step


def check_budget(budget: int) -> None:
    """Refuse a budget without a meaning."""
    if not 0 <= budget <= 10**6:
        raise UsageError("budget", budget, "must be 0..1000000", "pass a number of steps")


def simulate(machine: Machine, text: str, budget: int) -> tuple[list[Step], Outcome]:
    """Run a machine on an input for at most `budget` steps.

    Examples
    --------
    >>> from statebound.models.constructions.turing import load
    >>> steps, end = simulate(load("increment"), "1011", 100)
    >>> end.tape, end.halted
    ('1100', True)
    """
    check_budget(budget)
    symbols = machine.read(text)
    steps: list[Step] = []
    halted = True
    for step in walk(machine, symbols):
        if len(steps) == budget:
            halted = False
            break
        steps.append(step)
    tape = Tape(machine, symbols)
    for step in steps:
        tape[step.cell] = step.rule.symbol
    state = steps[-1].rule.state if steps else machine.start
    return steps, outcome(machine, tape, state, len(steps), halted)
