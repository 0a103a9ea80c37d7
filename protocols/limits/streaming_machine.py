"""Machines that read a string once with few states: the certificates of a streaming optimum.

A machine reads x_1 .. x_n, a bit a step, holds one of W states after every step, and
may use another transition table at every step (a free clock). After the last step Bob
sees the state and the query k and answers. With uniform x and k

    success = 1/2 + A / (2 n),   A = sum_k sum_s h_{s,k} E[(-1)^{x_k} 1_s],

where h_{s,k} = 1 if Bob answers 0 in state s and -1 if he answers 1: answering query k
is right with probability 1/2 + E[(-1)^{x_k} h_{S,k}] / 2. `advantage` returns the
integer A 2^n from integer counts alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from statebound.errors import UsageError


@dataclass(frozen=True)
class Machine:
    """A machine with `states` states for strings of n bits; it starts in state 0.

    Attributes
    ----------
    states
        W.
    transitions
        ``transitions[k][s]`` is the pair of next states on x_k = 0 and x_k = 1: n x W x 2.
    answers
        ``answers[s][k]`` is Bob's bit for query k in final state s: W x n.
    """

    states: int
    transitions: tuple[tuple[tuple[int, int], ...], ...]
    answers: tuple[tuple[int, ...], ...]

    @property
    def n(self) -> int:
        """The length of the strings."""
        return len(self.transitions)

    def advantage(self) -> int:
        """Return A 2^n exactly, by integers, in O(n^2 W) steps.

        Carried along are the number of prefixes that reach each state and, for every
        symbol read, how many more of them have a 0 there than a 1.
        """
        count = [1] + [0] * (self.states - 1)
        excess: list[list[int]] = []
        for table in self.transitions:
            rows = [[0] * self.states for _ in range(len(excess) + 1)]
            after = [0] * self.states
            for s, pair in enumerate(table):
                for x, target in enumerate(pair):
                    after[target] += count[s]
                    rows[-1][target] += -count[s] if x else count[s]
                    for row, old in zip(rows, excess, strict=False):
                        row[target] += old[s]
            count, excess = after, rows
        return sum(
            -row[s] if self.answers[s][k] else row[s]
            for k, row in enumerate(excess)
            for s in range(self.states)
        )

    def success(self) -> Fraction:
        """Return the exact success over uniform x and k."""
        return success_of(self.n, self.advantage())

    def encode(self) -> tuple[list[str], list[str]]:
        """Return the tables as digit strings: one a step (2 W digits), one a state (n bits)."""
        steps = ["".join(f"{a}{b}" for a, b in table) for table in self.transitions]
        return steps, ["".join(map(str, row)) for row in self.answers]


def success_of(n: int, advantage: int) -> Fraction:
    """Return 1/2 + A/(2n) for the integer A 2^n."""
    return Fraction(1, 2) + Fraction(advantage, 2 * n * 2**n)


def decode(states: int, steps: list[str], answers: list[str]) -> Machine:
    """Read a machine back from the strings of `Machine.encode`.

    Raises
    ------
    UsageError
        When a table has the wrong size or a digit out of range.
    """
    n = len(steps)
    legal = "".join(map(str, range(states)))
    for step in steps:
        if len(step) != 2 * states or any(c not in legal for c in step):
            raise UsageError(
                "transitions",
                step,
                f"must be {2 * states} digits below {states}",
                "restore the table from the package",
            )
    for row in answers:
        if len(row) != n or any(c not in "01" for c in row):
            raise UsageError(
                "answers", row, f"must be {n} binary digits", "restore the table from the package"
            )
    if n == 0 or len(answers) != states:
        raise UsageError(
            "answers",
            len(answers),
            f"must hold a row for each of {states} states",
            "restore the table from the package",
        )
    return Machine(
        states,
        tuple(tuple((int(s[2 * i]), int(s[2 * i + 1])) for i in range(states)) for s in steps),
        tuple(tuple(map(int, row)) for row in answers),
    )
