r"""The streaming wall: success when the state is held to W values after every symbol.

Index with uniform queries, x uniform on {0,1}^n read once in order, tables free to
differ from step to step, M = log2 W bits. Write s*(n, W) for the best success and
A for n (2 s* - 1) (see `streaming_machine`).

**One bit, proved**: s*(n, 2) = 1/2 + (2 / (3n)) (1 - 4^(-ceil(n/2))). The excesses
v_k(s) = E[(-1)^{x_k} 1_s] of the two states are opposite, so A = 2 a with
a = sum_k |v_k(1)|. A step is one of 16 maps (s, x) -> s'. Constants and the two XORs
erase all v: a' = 0. s and not s keep a. x and not x start again with a' = 1/2. The
eight left (AND and OR, with negations) read x in one state only: from that state half
the mass leaves, the other state keeps all. Old excesses halve (the two states' are
opposite, so what half of one state brings to the other cancels half) and the new
symbol gains q/2, where q is the mass of the state in which x is read:
a' = a/2 + q/2. The masses become q/2 and 1 - q/2, so q' <= 1 - q/2 as q <= 1. Let
steps 0 .. n-1 have masses q_t with q_0 <= 1: a_n = sum_t q_t 2^-(n-t). Pair from the
end: q_t / 2 + q_{t-1} / 4 = (q_t + q_{t-1}/2) / 2 <= 1/2, the next pair at most a
quarter of that, and a single first term q_0 / 2^n at most 2^-n. For n = 2 j the sum is
at most (1/2)(1 + ... + 4^-(j-1)) = (2/3)(1 - 4^-j), for n = 2 j + 1 at most that plus
2^-n = (2/3)(1 - 4^-(j+1)). Other maps only shorten the sum, which grows with n.
Alternating AND and OR has q_t = 1 - q_{t-1}/2 with q_0 = 1 and meets it.

**No loss while n <= M + 1**, and for every W >= 2^(n-1): s* = 1 - (1 - N 2^-n)/n with
N = min(W, 2^n); that is 1 for n <= M and 1 - 1/(2n) for n = M + 1. The first n - 1
symbols fit into 2^(n-1) <= W states; the last table may then send each x to any of N
states, so every code of N words is at hand. Take the words of even weight and any
N - 2^(n-1) others: every other x has one wrong symbol. Upper side: a message stands
for one all-correct x at most, so at least 2^n - N inputs have an error.

**Ball**, a wall with any N = W messages and hence here: each message has, for any
answers, comb(n, t) inputs with t errors, so at least max(0, 1 - W V(n, t) / 2^n) of
all x have more than t errors, V(n, t) = comb(n, 0) + ... + comb(n, t). Sum over t:
s* <= 1 - (1/n) sum_{t<n} max(0, 1 - W V(n, t) 2^-n).

**s* does not rise with n.** From a machine for n + 1 symbols and a coordinate j, make
one for n: draw x_j as a coin and insert it (a step without reading is a step of the
next one's table, and the coin may be fixed at its best). Its success on the n others is
at least the old machine's average on them; averaged over j, all n + 1 coordinates
count equally often, so some j does at least as well as before. Hence an optimum or a
wall at n is a wall at every larger n.

**Three and four states**: optima proved by `streaming_game.solve` are kept in
`streaming_table.json` with a machine for each, and so are some values of
`width_ball.width_ball`. Beyond them the wall is the least of the ball at n, the last
optimum, and the last width-W ball not past n. A value that a search found without
proof is never a wall.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from statebound.errors import StateboundError, UsageError
from statebound.protocols.limits.ball import ball
from statebound.protocols.limits.patterns import uniform
from statebound.protocols.limits.streaming_machine import Machine, decode, success_of
from statebound.protocols.problem import Structure

TABLE = files("statebound.protocols.limits") / "streaming_table.json"


@dataclass(frozen=True)
class StreamingWall:
    """A proved wall on streaming success.

    Attributes
    ----------
    value
        No machine has a larger success.
    status
        ``"exact"`` where some machine reaches it, else ``"bound"``.
    source
        Where it comes from: ``formula``, ``table``, ``ball`` or ``width_ball``.
    """

    value: Fraction
    status: Literal["exact", "bound"]
    source: Literal["formula", "table", "ball", "width_ball"]


@dataclass(frozen=True)
class Optimum:
    """A proved optimum of the table: A 2^n and a machine that reaches it."""

    advantage: int
    machine: Machine

    @property
    def success(self) -> Fraction:
        """The optimal success."""
        return success_of(self.machine.n, self.advantage)


@dataclass(frozen=True)
class Table:
    """What `streaming_table.json` holds, by number of states and then by n.

    Attributes
    ----------
    optima
        Proved optima.
    balls
        Values of the width-W ball.
    """

    optima: dict[int, dict[int, Optimum]]
    balls: dict[int, dict[int, Fraction]]


def streaming_wall(structure: Structure, state_bits: int) -> StreamingWall | None:
    """Return the wall for a state of `state_bits` bits after every symbol.

    Parameters
    ----------
    structure
        What is known of the problem.
    state_bits
        M >= 0.

    Returns
    -------
    StreamingWall or None
        None where nothing is proved: another problem than Index with uniform binary
        answers read in order, or M >= 3 and n > M + 1 (the ball still holds there).

    Raises
    ------
    UsageError
        When `state_bits` is negative.

    Examples
    --------
    >>> from statebound.protocols.problem import query_weights
    >>> index = Structure(2, 8, query_weights("uniform", 8), True, True)
    >>> streaming_wall(index, 2)
    StreamingWall(value=Fraction(717, 1024), status='exact', source='table')
    """
    if state_bits < 0:
        raise UsageError("bits", state_bits, "must not be negative", "pass 0 or more")
    n = structure.effective_n
    if not (
        structure.index_stream
        and structure.independent
        and structure.alphabet == 2
        and structure.uniform
        and len(structure.weights) == n
    ):
        return None
    return streaming_wall_states(n, 2 ** min(state_bits, n))


def streaming_wall_states(n: int, states: int) -> StreamingWall | None:
    """Return the wall of Index with n uniform queries for a number of states.

    Parameters
    ----------
    n
        Length of the strings, at least 1.
    states
        W, how many states a machine may be in after a symbol, at least 1.

    Returns
    -------
    StreamingWall or None
        None for W >= 5 and 2^(n-1) > W, where nothing beyond the ball is proved.

    Raises
    ------
    UsageError
        When an argument is below 1.

    Examples
    --------
    >>> streaming_wall_states(3, 2)
    StreamingWall(value=Fraction(17, 24), status='exact', source='formula')
    """
    for name, value in (("n", n), ("states", states)):
        if value < 1:
            raise UsageError(name, value, "must be at least 1", "pass 1 or more")
    if states == 1:
        return StreamingWall(Fraction(1, 2), "exact", "formula")
    if states >= 2 ** (n - 1):
        return StreamingWall(lossless(n, states), "exact", "formula")
    if states == 2:
        return StreamingWall(one_bit(n), "exact", "formula")
    if states > 4:
        return None
    table = load_table()
    optima, balls = table.optima[states], table.balls[states]
    if n in optima:
        return StreamingWall(optima[n].success, "exact", "table")
    walls = [
        StreamingWall(ball(uniform(n), states), "bound", "ball"),
        *(StreamingWall(optima[m].success, "bound", "table") for m in optima if m <= n),
        *(StreamingWall(balls[m], "bound", "width_ball") for m in balls if m <= n),
    ]
    return min(walls, key=lambda wall: wall.value)


def one_bit(n: int) -> Fraction:
    """Return s*(n, 2), the optimum with two states."""
    return Fraction(1, 2) + Fraction(2, 3 * n) * (1 - Fraction(1, 4 ** ((n + 1) // 2)))


def lossless(n: int, states: int) -> Fraction:
    """Return s*(n, W) for W >= 2^(n-1), where streaming costs nothing."""
    return 1 - (1 - Fraction(min(states, 2**n), 2**n)) / n


@cache
def load_table() -> Table:
    """Read the table of the package and check its form.

    Raises
    ------
    StateboundError
        When the file is missing or damaged.
    """
    try:
        return parse_table(json.loads(TABLE.read_text(encoding="ascii")))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StateboundError(
            f"{TABLE.name} cannot be read ({error}); reinstall the package"
        ) from error


def parse_table(raw: Any) -> Table:
    """Build the table from decoded JSON; every machine must reach the value beside it.

    Raises
    ------
    ValueError, KeyError, TypeError
        When a field is missing, of the wrong type, or out of range.
    """
    optima: dict[int, dict[int, Optimum]] = {3: {}, 4: {}}
    balls: dict[int, dict[int, Fraction]] = {3: {}, 4: {}}
    for row in raw["optima"]:
        n, states, advantage = (_integer(row, key) for key in ("n", "states", "advantage"))
        machine = decode(states, _texts(row, "transitions"), _texts(row, "answers"))
        if machine.n != n or machine.advantage() != advantage:
            raise ValueError(f"the machine for n = {n}, {states} states is not the one stated")
        optima[states][n] = Optimum(advantage, machine)
    for row in raw["balls"]:
        n, states = _integer(row, "n"), _integer(row, "states")
        value = Fraction(_text(row["success"]))
        if not Fraction(1, 2) <= value <= 1:
            raise ValueError(f"the ball for n = {n}, {states} states is no success")
        balls[states][n] = value
    return Table(optima, balls)


def _integer(row: dict[str, Any], key: str) -> int:
    value = row[key]
    if type(value) is not int or value < 1:
        raise TypeError(f"{key} must be a positive integer, not {value!r}")
    return value


def _text(value: Any) -> str:
    if type(value) is not str:
        raise TypeError(f"expected text, not {value!r}")
    return value


def _texts(row: dict[str, Any], key: str) -> list[str]:
    value = row[key]
    if type(value) is not list:
        raise TypeError(f"{key} must be a list")
    return [_text(item) for item in value]
