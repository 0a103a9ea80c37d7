"""Hybrids that retrieve without chain of thought: a linear recurrence, then one attention layer.

The recurrence is h_t = A h_{t-1} + E x_t with constant A and E, and attention sees x_t
beside h_{t-1}. Its blocks:

* *register* of s tokens: A shifts by one token's width, so A^s = 0 (nilpotent);
* *counter*: A = 1, every token adds 1;
* *rotation*: a frequency code of the position, turned by one step a token.

None of them can retrieve: they hold O(log n), for the rotation O(log^2 n) bits. What grows
with n is the cache of the attention layer. A counter is turned into binary digits by the
output map, which is not linear; the rotation needs no such map.
"""

from __future__ import annotations

import numpy as np

from statebound.errors import UsageError
from statebound.models.constructions.codes import binary, frequencies
from statebound.models.constructions.ledger import Ledger, bits_for, stored
from statebound.models.constructions.rounding import Arithmetic, Array
from statebound.models.constructions.streams import Slots, rotation, run_layers
from statebound.models.constructions.tasks import Task
from statebound.models.constructions.transformers import _ledger, _padded, final_head

PLACES = ("rotation", "counter")


class Hybrid:
    """The hybrid for one task.

    Parameters
    ----------
    task
        Task and size.
    arithmetic
        Precision; float32 by default.
    places
        What tells Index its position: rotation or counter.
    scale
        K of the Match head, instead of the least that is proved.
    """

    def __init__(
        self,
        task: Task,
        arithmetic: Arithmetic | None = None,
        places: str = "rotation",
        scale: int | None = None,
    ) -> None:
        if places not in PLACES:
            raise UsageError(
                "places", places, "is not a position code", f"choose from {', '.join(PLACES)}"
            )
        self.task, self.arithmetic, self.places = task, arithmetic or Arithmetic(24), places
        tokens = task.parts()
        width = task.code.width
        self.registers = {"index": 0, "gram": task.gram - 1, "count": 1, "count_one": 0}[task.name]
        state = {f"prev{r}": width for r in range(1, self.registers + 1)} | {"counter": 1}
        mapped = {"age": 1}
        if task.name == "index":
            self._wave = frequencies(task.length + 1)
            code = self._wave if places == "rotation" else binary(task.length + 1)
            if places == "rotation":
                state["wave"] = code.width
            else:
                mapped["pos"] = code.width
            tokens["ask"] = np.zeros((task.vocabulary, code.width))
            tokens["ask"][-task.n :] = code.query(np.arange(1, task.n + 1))
        result = {"result": 1 if task.name.startswith("count") else width}
        self.state = Slots(state)
        self.slots = Slots({k: v.shape[1] for k, v in tokens.items()} | state | mapped | result)
        self._input = Slots({k: v.shape[1] for k, v in tokens.items()})
        self._tokens = _padded(tokens, self._input)
        self.A, self.E = self._recurrence()
        key = "wave" if places == "rotation" else "pos"
        self.head = final_head(self.slots, task, scale, key)

    def _recurrence(self) -> tuple[Array, Array]:
        """Return A (s, s) and E (d, s), for rows of states: h A + x E."""
        at, width = self.state.at, self.task.code.width
        A = np.zeros((self.state.width, self.state.width))
        E = np.zeros((self._input.width, self.state.width))
        for r in range(2, self.registers + 1):
            A[at[f"prev{r - 1}"], at[f"prev{r}"]] = np.eye(width)
        if self.registers:
            E[self._input.at["sym"], at["prev1"]] = np.eye(width)
        A[at["counter"], at["counter"]] = 1
        E[self._input.at["one"], at["counter"]] = 1
        if "wave" in at:
            A[at["wave"], at["wave"]] = rotation(self._wave.top, 1)
            E[self._input.at["start"], at["wave"]] = self._wave.key(np.array(1))
        return A, E

    def states(self, inputs: Array) -> Array:
        """Return h_{t-1} (B, T, s) for inputs (B, T, d)."""
        t = self.arithmetic
        B, T, _ = inputs.shape
        before = np.zeros((B, T, self.state.width), t.dtype)
        for step in range(T - 1):
            fed = t.apply(inputs[:, step], self.E)
            before[:, step + 1] = t.add(t.apply(before[:, step], self.A), fed)
        return before

    def stream(self, tokens: Array) -> Array:
        """Return what the attention layer sees (B, T, d) of token strings (B, T)."""
        t = self.arithmetic
        inputs = t(self._tokens)[tokens]
        states = self.states(inputs)
        stream = np.zeros((*tokens.shape, self.slots.width), t.dtype)
        for name in self._input.at:
            stream[..., self.slots.at[name]] = inputs[..., self._input.at[name]]
        for name in self.state.at:
            stream[..., self.slots.at[name]] = states[..., self.state.at[name]]
        counter = states[..., self.state.at["counter"]]
        stream[..., self.slots.at["age"]] = t.add(counter, t(np.array(-self.task.length)))
        if "pos" in self.slots.at:
            digits = binary(self.task.length + 1).key(counter[..., 0].astype(np.int64))
            stream[..., self.slots.at["pos"]] = digits * (counter > 0)  # the sink has no code
        return stream

    def __call__(self, context: Array, query: Array) -> Array:
        """Answer queries on contexts (B, n): (B,), -1 for none; see `Task.tokens`."""
        stream = self.stream(self.task.tokens(context, query))
        last = run_layers([[self.head]], stream, self.arithmetic)
        return self.task.answers(last[:, self.slots.at["result"]])

    def ledger(self) -> Ledger:
        """Return the cost at this size; the cache is that of context and separator."""
        task, t = self.task, self.arithmetic
        fields = {"counter": bits_for(task.length + 2)}
        if self.registers:
            fields["register"] = self.registers * bits_for(task.symbols + 1)
        if "wave" in self.state.at:
            fields["rotation"] = self.state.size("wave") * stored(t.bits)
        name = f"hybrid, {task.name}"
        return _ledger(name, task, [self.head], [self.A, self.E], fields, t)
