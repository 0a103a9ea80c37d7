"""A cut machine that thinks aloud: it reads what it writes, with the same cell.

Bob restores the state, reads the tokens of his query, and then writes scratch tokens. A
public head reads the numbers z of the state, standardised by their public mean and spread,
and scores every scratch token and *done*:

    score = W z - (0, ..., 0, patience),    W (S + 1, C) normal with variance 1 / C.

The best is written, or, at temperature tau > 0, the best of score + tau g with g Gumbel
noise, which draws a token with probability proportional to exp(score / tau) (Gumbel 1954;
"the Gumbel-max trick"). A scratch token goes through the cell like any other token, in the
machine's own regime. After *done* the state stays.

W, mean and spread are public: the first from a seed, the others from the calibration's public
inputs. The noise is Bob's own, drawn from his seed by turn and query, and does not know x.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statebound.errors import UsageError
from statebound.models._cell import Weights
from statebound.models._lanes import LANES
from statebound.protocols.message import Bytes
from statebound.protocols.problem import Problem
from statebound.protocols.protocol import Queries
from statebound.protocols.thinker import Thinker, Written
from statebound.reductions.calibration import CALIBRATION_SEED
from statebound.reductions.machine import Cut, CutMachine, cut
from statebound.reductions.roundings._coins import coins

PATIENCE = 1.0
SCRATCH = 4
_PUBLIC_INPUTS = 256
_PUBLIC_TURNS = 8


class Thinking(Thinker[Cut]):
    """The thinking Bob of a machine that reads query and scratch tokens.

    Parameters
    ----------
    machine
        Made by `cut` with `scratch` tokens.
    seed
        Of the head, public.
    temperature
        0 writes the best token.
    coins
        Seed of Bob's noise, used at temperatures above 0.
    patience
        How much harder *done* is to write than another token.
    """

    def __init__(
        self,
        machine: CutMachine,
        *,
        seed: int = 0,
        temperature: float = 0.0,
        coins: int = 0,
        patience: float = PATIENCE,
    ) -> None:
        spoken, whole = machine.encoding.vocabulary, machine.cell.vocabulary
        self.done = whole.scratch - spoken.queries
        if not spoken.queries or whole.queries or self.done < 1:
            raise UsageError(
                "scratch",
                self.done,
                f"{machine.cell.name} has no tokens to ask and to think with",
                "cut the machine with scratch=4, for a problem whose queries have tokens",
            )
        if not 0 <= temperature < float("inf"):
            raise UsageError("temperature", temperature, "must be 0 or more", "pass 0 for greedy")
        self.protocol = self.machine = machine
        self.seed, self.temperature, self.coins, self.patience = seed, temperature, coins, patience
        self._first = spoken.stream_tokens + spoken.queries
        generator = np.random.Generator(np.random.PCG64(seed))
        shape = self.done + 1, machine.numbers
        self.head = generator.standard_normal(shape) / np.sqrt(machine.numbers)
        self._mean, self._spread = self._standard()

    def _standard(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return mean and spread of the numbers after random tokens on public inputs, (C,)."""
        generator = np.random.Generator(np.random.PCG64(CALIBRATION_SEED))
        problem, count = self.machine.problem, _PUBLIC_INPUTS
        x = problem.sample(generator, count)
        state = self.open(self.machine.encode(x), generator.integers(0, problem.queries, count))
        seen = [self.holds(state)]
        for _ in range(_PUBLIC_TURNS):
            token = generator.integers(0, self.done, (count, 1)) + self._first
            state = self.machine.extend(state, token.astype(np.int32))
            seen.append(self.holds(state))
        every = np.concatenate(seen)
        spread = every.std(axis=0)
        return every.mean(axis=0), np.where(spread > 1e-12, spread, 1.0)

    def open(self, message: Bytes, query: Queries) -> Cut:
        """Restore the states and read the queries."""
        machine = self.machine
        return machine.extend(machine.restored(message), machine.encoding.question(query))

    def write(self, state: Cut, query: Queries, turn: int) -> Written:
        """Return the token that scores best."""
        z = np.ascontiguousarray(((self.holds(state) - self._mean) / self._spread).T)
        scores = np.zeros((self.done + 1, z.shape[1]))
        scores[self.done] = -self.patience
        for c, row in enumerate(z):  # in this order for every batch: a Bob's bits are his own
            scores += self.head[:, c : c + 1] * row
        if self.temperature:
            scores += self.temperature * self._noise(turn)[:, query]
        best: Written = scores.argmax(axis=0).astype(np.int16)
        return best

    def _noise(self, turn: int) -> NDArray[np.float64]:
        """Return Gumbel noise for each token and query of a turn, (done + 1, queries)."""
        shape = self.done + 1, self.machine.problem.queries
        drawn = coins(self.coins, 0, np.array([turn]), shape[0] * shape[1])
        noise: NDArray[np.float64] = -np.log(-np.log(drawn.reshape(shape) + 2.0**-54))
        return noise

    def read(self, state: Cut, written: Written, live: NDArray[np.bool_]) -> Cut:
        """Read scratch tokens where Bobs are live."""
        token = np.where(live, written, 0)[:, None] + self._first
        after = self.machine.extend(state, token.astype(np.int32))
        if live.all():
            return after
        padded = np.zeros(len(after.values[0]) * LANES, np.bool_)
        padded[: len(live)] = live
        lanes = padded.reshape(-1, 1, LANES)
        values = tuple(
            np.where(lanes, new, old) for new, old in zip(after.values, state.values, strict=True)
        )
        codes = after.codes
        if codes is not None and state.codes is not None:
            codes = tuple(
                np.where(lanes, new, old) for new, old in zip(codes, state.codes, strict=True)
            )
        return replace(after, values=values, codes=codes)

    def holds(self, state: Cut) -> NDArray[np.float64]:
        """Return the numbers of the state."""
        return self.machine.read_off(state)

    def describe(self) -> dict[str, Any]:
        """Return what defines the head and the noise."""
        return {
            "thinker": "scratch tokens",
            "scratch": self.done,
            "seed": self.seed,
            "temperature": self.temperature,
            "coins": self.coins if self.temperature else None,
            "patience": self.patience,
        }


def thinking(
    problem: Problem,
    model: str,
    *,
    numbers: int | None = None,
    bits: int | None = None,
    regime: str = "handoff",
    machine_seed: int = 0,
    weights: Weights | None = None,
    settings: Mapping[str, int | str] | None = None,
    scratch: int = SCRATCH,
    seed: int = 0,
    temperature: float = 0.0,
    coins: int = 0,
) -> Thinking:
    """Cut a model with random or given parameters, and let its Bob think.

    Given parameters have columns for the stream's tokens, then the queries', then the scratch.

    Raises
    ------
    UsageError
        When an argument or a combination has no meaning.

    Examples
    --------
    >>> from statebound.protocols.problems.index import Index
    >>> bob = thinking(Index(6), "gru", numbers=4)
    >>> message = bob.protocol.encode(Index(6).parse("011010"))
    >>> thought = bob.think(bob.begin(message, np.array([2])), 8)
    >>> thought.transcript.shape
    (1, 8)
    """
    if scratch < 1:
        raise UsageError("scratch", scratch, "a Bob needs tokens to think with", "pass 4, say")
    machine = cut(
        problem,
        model,
        numbers=numbers,
        bits=bits,
        regime=regime,
        init="random" if weights is None else None,
        weights=weights,
        machine_seed=machine_seed,
        settings=settings,
        scratch=scratch,
    )
    return Thinking(machine, seed=seed, temperature=temperature, coins=coins)
