"""What one machine does on all inputs: Alice's states and messages, and Bob's table.

Alice's part is a prefix tree: for every beginning of every input the state after it and the
message that would be sent then. Bob's part is a table from (message, query) to an answer and
nothing else: the optimal Bob, who gives the answer that most of the inputs with this
message have, and 0 where there are as many of each.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statebound.errors import StateboundError
from statebound.experiments.collision import find_collision, verify
from statebound.experiments.measure import measure
from statebound.experiments.page.grid import built, command
from statebound.experiments.request import Request
from statebound.experiments.tally import share
from statebound.protocols.message import Bytes
from statebound.protocols.problem import Problem
from statebound.reductions.machine import CutMachine

SHADES = 255  # a number is shown as one of 0 ... SHADES, from its least to its greatest value
_SHOWN = (
    "problem", "model", "n", "effective_n", "init", "state_numbers", "bits_per_number",
    "state_bits", "message_bytes", "quantiser", "encoding", "success", "success_fraction",
    "success_by_query", "distinct_messages", "needed_bits", "wall_ball",
)  # fmt: skip

Table = dict[str, str]


def tree(machine: CutMachine) -> tuple[NDArray[np.float64], Bytes]:
    """Return the states and messages of all beginnings of all inputs.

    Returns
    -------
    values, messages
        (2^(L+1) - 2, C) numbers and (2^(L+1) - 2, message_bytes) bytes, L the symbols that
        Alice reads: first the beginnings of one symbol, then those of two, and so on; within
        a length, x_1 x_2 ... is number x_1 + 2 x_2 + 4 x_3 + ...
    """
    state = machine.start()
    values, messages = [], []
    for position in range(machine.problem.length):
        state = machine.branch(state, position)
        values.append(machine.read_off(state))
        messages.append(machine.message(state))
    return np.concatenate(values), np.concatenate(messages)


def bob_table(problem: Problem, messages: Bytes) -> tuple[Table, Fraction]:
    """Return the optimal Bob and his success.

    Parameters
    ----------
    problem
        With answers 0 and 1.
    messages
        (inputs, bytes): what Alice sends, in the order of `Problem.enumerate`.

    Returns
    -------
    table, success
        From a message in hex to one digit for each query; and the share of right answers,
        weighted by the law of the query.
    """
    answers = problem.answers(problem.enumerate(0, problem.inputs)).astype(np.int64)
    kinds, which = np.unique(messages, axis=0, return_inverse=True)
    ones = np.zeros((len(kinds), problem.queries), np.int64)
    np.add.at(ones, which.reshape(-1), answers)
    sent = np.bincount(which.reshape(-1), minlength=len(kinds))[:, None]
    best = (2 * ones > sent).astype(int)
    right = np.maximum(ones, sent - ones).sum(axis=0)
    table = {
        kind.tobytes().hex(): "".join(map(str, row.tolist()))
        for kind, row in zip(kinds, best, strict=True)
    }
    totals = (problem.inputs,) * problem.queries
    return table, share(problem.weights, tuple(int(r) for r in right), totals)


def shades(values: NDArray[np.float64]) -> tuple[NDArray[np.uint8], list[list[float]]]:
    """Return numbers (P, C) as shades between the least and the greatest of each, and those."""
    low, high = values.min(axis=0), values.max(axis=0)
    span = np.where(high > low, high - low, 1.0)
    shade = np.rint((values - low) / span * SHADES).astype(np.uint8)
    return shade, np.stack([low, high], axis=1).tolist()


def trace(request: Request, seed: int) -> dict[str, Any]:
    """Return everything that the page shows of one machine.

    Returns
    -------
    dict
        ``row`` (what `measure` found, and the command), ``values`` and ``messages`` (arrays
        of bytes), ``range``, ``bob`` (his table), ``collision`` (None where no two
        inputs force Bob to err).

    Raises
    ------
    StateboundError
        When the table does not reach exactly the success that was measured, or a
        certificate does not hold.
    """
    asked, machine = built(request, seed)
    found = measure(asked)
    if found.broken is not None:
        raise StateboundError(f"{command(asked)}: {found.broken}")
    problem = machine.problem
    if set(machine.widths.tolist()) != {asked.bits}:
        raise StateboundError(f"{command(asked)}: more crosses than one code a number")
    numbers, messages = tree(machine)
    table, success = bob_table(problem, messages[-problem.inputs :])
    if f"{success.numerator}/{success.denominator}" != found.row["success_fraction"]:
        raise StateboundError(
            f"{command(asked)}: the table of answers reaches {success}, "
            f"measured were {found.row['success_fraction']}"
        )
    values, extent = shades(numbers)
    row = {name: found.row[name] for name in _SHOWN}
    return {
        "row": row | {"command": command(asked)},
        "values": values,
        "messages": messages,
        "range": extent,
        "bob": table,
        "collision": _collision(machine),
    }


def _collision(machine: CutMachine) -> dict[str, Any] | None:
    certificate = find_collision(machine, "exhaustive").certificate
    if certificate is None:
        return None
    if faults := verify(certificate, machine):
        raise StateboundError(f"{machine.cell.name}: a collision does not hold: {faults[0]}")
    return {name: certificate[name] for name in ("x1", "x2", "message", "query", "answers")}
