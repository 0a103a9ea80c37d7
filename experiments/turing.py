"""turing: a Turing machine run by a model, step by step beside the machine itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from statebound.errors import StateboundError, UsageError
from statebound.models.constructions.rounding import Arithmetic
from statebound.models.constructions.tape import Tape, simulate
from statebound.models.constructions.turing import Machine, load, parse
from statebound.models.constructions.turing_hybrid import TuringHybrid
from statebound.models.constructions.turing_regex import TuringRegex
from statebound.models.constructions.turing_run import Run, verdict

BY = ("hybrid", "regex")
SHOWN = 40  # steps shown, half from either end
AROUND = 24  # cells shown left and right of the head


def read_machine(spec: str) -> Machine:
    """Return a machine by name, or from a file whose name ends in ``.tm``."""
    if not spec.endswith(".tm"):
        return load(spec)
    try:
        text = Path(spec).read_text(encoding="utf-8")
    except OSError as error:
        raise StateboundError(f"{spec}: {error.strerror or error}; name a readable file") from error
    except UnicodeDecodeError as error:
        raise UsageError("machine", spec, "is not UTF-8 text", "save it as UTF-8") from error
    return parse(text, Path(spec).name)


def execute(
    spec: str, text: str, by: str, budget: int, code: str | None, significand: int | None
) -> dict[str, Any]:
    """Run a machine by a model, compare every step, and return the record.

    Parameters
    ----------
    spec
        A machine's name, or a file.
    text
        The input.
    by
        hybrid or regex.
    budget
        The most steps.
    code, significand
        Address code and precision of the hybrid; None for bin and 24 bits, and with regex.

    Returns
    -------
    A JSON-able record; ``first_difference`` is the first step at which the model departs
    from the machine, null where it never does.
    """
    machine = read_machine(spec)
    if by == "hybrid":
        model: TuringHybrid | TuringRegex = TuringHybrid(
            machine,
            "bin" if code is None else code,
            arithmetic=Arithmetic(24 if significand is None else significand),
        )
    elif by == "regex":
        for argument, value in (("code", code), ("significand", significand)):
            if value is not None:
                raise UsageError(argument, value, "is for the hybrid", f"drop --{argument}")
        model = TuringRegex(machine)
    else:
        raise UsageError("by", by, "is not a model", f"choose from {', '.join(BY)}")
    run = model.run(text, budget)
    return {
        "machine": machine.name,
        "blank": machine.symbols[machine.blank],
        "by": by,
        "input": text,
        "budget": budget,
        "halted": run.outcome.halted,
        "steps": run.outcome.steps,
        "state": run.outcome.state,
        "accepted": run.outcome.accepted,
        "tape": run.outcome.tape,
        "first_difference": first_difference(machine, text, run, budget),
        "verdict": verdict(machine, run.outcome, budget),
        "ledger": run.ledger.record(),
        "theorem": run.theorem,
        "trace": trace(machine, text, run),
    }


def first_difference(machine: Machine, text: str, run: Run, budget: int) -> int | None:
    """Return the first step (from 1) at which a run departs from the machine, or None."""
    steps, end = simulate(machine, text, budget)
    wanted = [(s.rule.state, s.rule.symbol, s.rule.move) for s in steps]
    for number, (ours, theirs) in enumerate(zip(run.tokens, wanted, strict=False), start=1):
        if ours != theirs:
            return number
    if (len(run.tokens), run.outcome.halted) == (len(wanted), end.halted):
        return None
    return min(len(run.tokens), len(wanted)) + 1


def trace(machine: Machine, text: str, run: Run) -> list[dict[str, Any]]:
    """Return the tape before each step and at the end, the middle left out where it is long."""
    tape, state, head = Tape(machine, machine.read(text)), machine.start, 0
    last = len(run.tokens)
    rows = []
    for step in range(last + 1):
        if step < SHOWN // 2 or step > last - SHOWN // 2:
            rows.append(
                {
                    "step": step,
                    "state": machine.states[state],
                    "head": head,
                    "left": tape.window(head - AROUND, head - 1),
                    "under": machine.symbols[tape[head]],
                    "right": tape.window(head + 1, head + AROUND),
                }
            )
        if step < last:
            state, symbol, move = run.tokens[step]
            tape[head] = symbol
            head += move
    return rows
