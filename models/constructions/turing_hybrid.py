"""A hybrid model that runs any Turing machine in its chain of thought.

One rule: *every token is a write*. A token is (state, symbol, move): it writes the symbol
where the head is, moves the head, and goes into the state. An input symbol is the token
(in, symbol, +1). So the prompt has the same form as the chain of thought, and the symbol
under the head is what was last written there: a Match head whose keys are addresses.

* The recurrence holds the address of the head, in a code that a move changes linearly
  (`MOVERS`), and a counter of tokens, which breaks ties for the last write.
* Attention: key of token t is the address before it moved, its value the symbol; the query
  is the address now. Where nothing was written the sink answers blank. See `memory`.
* Readout, two layers of ReLU, exact: hidden unit (q, s) for every rule is
  relu(2 [state is q] + 2 p_s - 3), p the attention's output; positive iff the state is q and
  p_s > 1/2. Linear maps of it choose the next token by arg-max; where all are zero no rule
  applies, and the run ends.

After the input the head must go to cell 0. With *reset* the start token sets the address
anew, an input-dependent A_t. With *rewind* the start token enters one more state that walks
left to the first blank; with the code `bin` A is then constant, A = 1.

The scale K and the codes are fixed beforehand by the budget of steps. A machine of B states
and G symbols takes T steps in T tokens, O(log T) bits of recurrent state and, the codes
apart, at most B G (2 B + 2 G + 4) parameters. In the spirit of the hybrid theorem of Wen,
Dang and Lyu (arXiv:2402.18510), whose own encoding is not known to us.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from statebound.errors import UsageError
from statebound.models.constructions.ledger import Ledger, bits_for, stored
from statebound.models.constructions.memory import Memory
from statebound.models.constructions.movers import MOVERS, Mover
from statebound.models.constructions.rounding import Arithmetic, Array
from statebound.models.constructions.tape import check_budget
from statebound.models.constructions.turing import Machine
from statebound.models.constructions.turing_run import Run, Token, beside_theorem, follow

STARTS = ("reset", "rewind")


class TuringHybrid:
    """The hybrid for one machine.

    Parameters
    ----------
    machine
        The machine.
    code
        How the recurrence holds the address: bin, quad, rns or rot.
    start
        reset or rewind.
    arithmetic
        Precision; float32 by default.
    """

    def __init__(
        self,
        machine: Machine,
        code: str = "bin",
        start: str = "reset",
        arithmetic: Arithmetic | None = None,
    ) -> None:
        for argument, value, known in (("code", code, tuple(MOVERS)), ("start", start, STARTS)):
            if value not in known:
                raise UsageError(argument, value, "is not known", f"choose from {', '.join(known)}")
        self.machine, self.code, self.start = machine, code, start
        self.arithmetic = arithmetic or Arithmetic(24)
        self.states = len(machine.states) + 1 + (start == "rewind")
        self.inner, self.outer = self._readout()

    @property
    def reading(self) -> int:
        """The state of input tokens."""
        return len(self.machine.states)

    @property
    def rewinding(self) -> int:
        """The state that walks left."""
        return len(self.machine.states) + 1

    def _rules(self) -> Iterator[tuple[int, int, Token]]:
        for (state, symbol), rule in self.machine.rules.items():
            yield state, symbol, (rule.state, rule.symbol, rule.move)
        if self.start == "rewind":
            blank = self.machine.blank
            for symbol in range(len(self.machine.symbols)):
                stays = symbol != blank
                after = (self.rewinding, symbol, -1) if stays else (self.machine.start, blank, 1)
                yield self.rewinding, symbol, after

    def _readout(self) -> tuple[Array, Array]:
        """Return the weights (B + G + 1, H), the last row a bias, and (H, B + G + 3)."""
        B, G = self.states, len(self.machine.symbols)
        rules = list(self._rules())
        inner, outer = np.zeros((B + G + 1, len(rules))), np.zeros((len(rules), B + G + 3))
        for h, (state, symbol, (after, put, move)) in enumerate(rules):
            inner[[state, B + symbol, -1], h] = 2, 2, -3
            outer[h, [after, B + put, B + G + 1 + move]] = 1
        return inner, outer

    def next(self, state: int, attended: Array) -> Token | None:
        """Return the next token after `state` when attention returned (G,), None to halt."""
        t, B, G = self.arithmetic, self.states, len(self.machine.symbols)
        fed = np.concatenate([np.arange(B) == state, attended, [1.0]]).astype(t.dtype)
        hidden = np.maximum(t.apply(fed, self.inner), 0)
        logits = t.apply(hidden, self.outer)
        if not logits.any():
            return None
        parts = np.split(logits, [B, B + G])
        after, put, move = (int(np.argmax(part)) for part in parts)
        return after, put, move - 1

    def prompt(self, text: str) -> list[Token]:
        """Return the tokens of an input and the start token."""
        blank = self.machine.blank
        begin = (self.machine.start, blank, 0)
        if self.start == "rewind":
            begin = (self.rewinding, blank, -1)
        return [*((self.reading, s, 1) for s in self.machine.read(text)), begin]

    def generate(self, text: str, budget: int) -> Iterator[Token]:
        """Yield the steps of the chain of thought, a rewind left out, until it halts.

        At most one more than the budget: what lies beyond it is not built for.
        """
        check_budget(budget)
        prompt = self.prompt(text)
        session = _Session(self, len(prompt) - 1, budget)
        for given in prompt[:-1]:
            session.read(given)
        token = prompt[-1]
        reset = self.start == "reset"
        skipped = 0 if reset else len(text) + 1
        for number in range(skipped + budget + 1):
            session.read(token, reset=reset)
            reset = False
            found = self.next(token[0], session.scanned())
            if found is None:
                return
            token = found
            if number >= skipped:
                yield token

    def run(self, text: str, budget: int) -> Run:
        """Run on an input for at most `budget` steps of the machine."""
        check_budget(budget)
        made, end = follow(self.machine, text, self.generate(text, budget), budget)
        ledger = self.ledger(len(text), budget, len(made))
        return Run(made, end, ledger, beside_theorem(ledger, self.states, budget))

    def ledger(self, n: int, budget: int, steps: int) -> Ledger:
        """Return the cost of so many steps on n symbols."""
        written = steps + (n + 1 if self.start == "rewind" else 0)
        t, N = self.arithmetic, positions(n, budget, self.start)
        mover = self._mover(n, budget)
        B, G = self.states, len(self.machine.symbols)
        maps = 2 * (mover.code_width + 2) + mover.parameters + G
        dense = self.inner.size + self.outer.size
        sparse = np.count_nonzero(self.inner) + np.count_nonzero(self.outer)
        address = mover.bits if mover.bits is not None else mover.width * stored(t.bits)
        return Ledger(
            construction=f"hybrid with chain of thought, {self.code}, {self.start}",
            tokens_read=n + 1,
            tokens_written=written,
            recurrent_fields={
                "address": address,
                "counter": bits_for(N + 1),
                "state": bits_for(B),
            },
            cache_bits=(n + 1 + written) * (mover.code_width + 2 + G) * stored(t.bits),
            parameters=dense + maps,
            nonzero=int(sparse) + maps,
            significand_bits=t.bits,
        )

    def _mover(self, n: int, budget: int) -> Mover:
        return MOVERS[self.code](budget + 1, max(n, budget))


def positions(n: int, budget: int, start: str) -> int:
    """Return N, the most tokens that the model is built for."""
    return n + 1 + budget + (n + 1 if start == "rewind" else 0)


class _Session:
    """One run of the recurrence and of the attention layer, token by token."""

    def __init__(self, model: TuringHybrid, n: int, budget: int) -> None:
        t = self._t = model.arithmetic
        mover = self._mover = model._mover(n, budget)
        self._values = np.eye(len(model.machine.symbols))
        self._memory = Memory(
            *(1, mover.code_width, mover.top, mover.gap),
            *(positions(n, budget, model.start), self._values[model.machine.blank], t),
        )
        self._h = self._fresh = t(mover.start)
        self._counter = t(np.array(0.0))

    def read(self, token: Token, *, reset: bool = False) -> None:
        """Take a token in: store its key and value, then move the address."""
        t, (_, symbol, move) = self._t, token
        self._counter = t.add(self._counter, t(np.array(1.0)))
        key = self._mover.key(self._h)[None]
        self._memory.write(key, self._values[symbol][None], self._counter)
        self._h = self._fresh if reset else self._mover.move(self._h, move, t)

    def scanned(self) -> Array:
        """Return what attention reads at the head's address (G,)."""
        found: Array = self._memory.read(self._mover.query(self._h)[None])[0]
        return found
