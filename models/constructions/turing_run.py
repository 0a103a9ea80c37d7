"""What the models that run Turing machines share: the run, and its check step by step."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from statebound.models.constructions.ledger import Ledger
from statebound.models.constructions.tape import Outcome, Tape, outcome, walk
from statebound.models.constructions.turing import Machine

Token = tuple[int, int, int]  # state, symbol, move


@dataclass(frozen=True)
class Run:
    """A machine run by a model.

    Attributes
    ----------
    tokens
        What the model decided at each step: next state, symbol written, move.
    outcome
        Where those writes lead.
    ledger, theorem
        Its cost, and the cost beside the theorem's.
    transcript
        Prompt and chain of thought where they are text, else empty.
    """

    tokens: list[Token]
    outcome: Outcome
    ledger: Ledger
    theorem: list[dict[str, Any]]
    transcript: str = ""


def follow(
    machine: Machine, text: str, tokens: Iterator[Token], budget: int
) -> tuple[list[Token], Outcome]:
    """Take at most `budget` steps and apply them to the tape; ended tokens mean it halted."""
    made: list[Token] = []
    halted = True
    for token in tokens:
        if len(made) == budget:
            halted = False
            break
        made.append(token)
    tape, head = Tape(machine, machine.read(text)), 0
    for _, symbol, move in made:
        tape[head] = symbol
        head += move
    state = made[-1][0] if made else machine.start
    return made, outcome(machine, tape, state, len(made), halted)


def difference(machine: Machine, text: str, tokens: Iterator[Token], budget: int) -> int | None:
    """Return the first step (from 1) at which tokens depart from the machine, or None.

    Halting is compared too, as long as the budget lasts.
    """
    steps = walk(machine, machine.read(text))
    for number in range(1, budget + 2):
        step, token = next(steps, None), next(tokens, None)
        wanted = None if step is None else (step.rule.state, step.rule.symbol, step.rule.move)
        if number <= budget and token != wanted:
            return number
        if (token is None) != (wanted is None):
            return number
        if step is None:
            break
    return None


def verdict(machine: Machine, end: Outcome, budget: int) -> str:
    """Return in one sentence how a run ended."""
    if not end.halted:
        return (
            f"{machine.name}: stopped after its budget of {budget} steps, in state {end.state}; "
            "raise the budget, unless the machine runs for ever"
        )
    said = {True: "accepts", False: "rejects", None: f"leaves {end.tape or 'a blank tape'}"}
    return f"{machine.name}: {said[end.accepted]} after {end.steps} steps, in state {end.state}"


def beside_theorem(ledger: Ledger, states: int, budget: int) -> list[dict[str, Any]]:
    """Return what was measured beside the theorem's orders, for a time bound n^A = `budget`.

    Orders, not bounds: the theorem's constants are hidden, so only the growth of a ratio
    means anything.
    """
    log_time = math.log2(max(budget, 2))
    assert ledger.parameters is not None
    rows = (
        ("recurrent bits", ledger.recurrent_bits, "A log n", log_time),
        ("parameters", ledger.parameters, "A B^2 log n", states**2 * log_time),
        ("tokens written", ledger.tokens_written, "n^A", float(max(budget, 1))),
    )
    return [
        {"what": what, "measured": measured, "order": order, "value": value}
        | {"ratio": measured / value}
        for what, measured, order, value in rows
    ]
