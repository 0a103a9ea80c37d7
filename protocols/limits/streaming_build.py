"""Make `streaming_table.json` afresh: some minutes of one core."""

from __future__ import annotations

import json
from fractions import Fraction

from statebound.protocols.limits.streaming_game import solve
from statebound.protocols.limits.width_ball import width_ball

OPTIMA = {3: 20, 4: 16}
"""By number of states, the last n solved: the most that 64-bit integers hold."""

BALLS = {4: {22: Fraction(1, 50), 24: Fraction(1, 20), 26: Fraction(1, 20)}}
"""By number of states and n, the slack of J: only where the last optimum does not win."""


def table_text() -> str:
    """Solve every entry and return the table's text, sorted by states and n, always the same."""
    optima = []
    for states, last in OPTIMA.items():
        for n in range(1, last + 1):
            solution = solve(n, states)
            steps, answers = solution.machine.encode()
            optima.append(
                {
                    "n": n,
                    "states": states,
                    "advantage": solution.advantage,
                    "transitions": steps,
                    "answers": answers,
                }
            )
    balls = [
        {"n": n, "states": states, "success": str(width_ball(n, states, slack).success)}
        for states, slacks in BALLS.items()
        for n, slack in slacks.items()
    ]
    rows = ",\n".join(f"  {json.dumps(row)}" for row in optima)
    more = ",\n".join(f"  {json.dumps(row)}" for row in balls)
    return f'{{"optima": [\n{rows}\n], "balls": [\n{more}\n]}}\n'
