"""Transformers that retrieve and count: one layer of attention, or two.

========== ==================== ========================= ======
task       query                key                       layers
========== ==================== ========================= ======
index      code of i            code of the position      1
gram       last c - 1 tokens    the c - 1 tokens before   2
count      the token before     the token                 2
count_one  (in the token)       the token                 1
========== ==================== ========================= ======

Where a head needs earlier tokens, a first layer of offset heads fetches them, one each.
Width and precision are O(log n); the weights do not depend on the context.
"""

from __future__ import annotations

import numpy as np

from statebound.models.constructions.codes import binary, frequencies
from statebound.models.constructions.ledger import Ledger
from statebound.models.constructions.rounding import Arithmetic, Array
from statebound.models.constructions.streams import (
    Head,
    Layers,
    Slots,
    count_head,
    match_head,
    offset_head,
    run_layers,
)
from statebound.models.constructions.tasks import Task


class Transformer:
    """The Transformer for one task.

    Parameters
    ----------
    task
        Task and size.
    arithmetic
        Precision; float32 by default.
    scale
        K of the last Match head, instead of the least that is proved.
    """

    def __init__(
        self, task: Task, arithmetic: Arithmetic | None = None, scale: int | None = None
    ) -> None:
        self.task, self.arithmetic = task, arithmetic or Arithmetic(24)
        before = {"index": 0, "gram": task.gram - 1, "count": 1, "count_one": 0}[task.name]
        tokens, places = task.parts(), self._places(before)
        if task.name == "index":
            asked = np.zeros((task.vocabulary, places["pos"].shape[1]))
            asked[-task.n :] = binary(task.n).query(np.arange(task.n))
            tokens["ask"] = asked
        blank = {f"prev{r}": task.code.width for r in range(1, before + 1)}
        blank["result"] = 1 if task.name.startswith("count") else task.code.width
        self.slots = Slots({k: v.shape[1] for k, v in (tokens | places).items()} | blank)
        self._tokens = _padded(tokens, self.slots)
        self._places_table = _padded(places, self.slots)
        offsets = [
            offset_head(self.slots, self._wave, r, "sym", f"prev{r}") for r in range(1, before + 1)
        ]
        last = final_head(self.slots, task, scale)
        self.layers: Layers = [offsets, [last]] if offsets else [[last]]

    def _places(self, before: int) -> dict[str, Array]:
        """Return the position embedding, part by part: (1 + N, width) each."""
        task = self.task
        position = np.arange(task.length + 1)
        places = {"age": 1.0 * (position - task.length)[:, None]}
        if task.name == "index":
            pos = binary(task.n)
            places["pos"] = np.zeros((len(position), pos.width))
            places["pos"][1 : task.n + 1] = pos.key(np.arange(task.n))
        if before:
            self._wave = frequencies(task.length + 1 + before)
            places["wave"] = self._wave.key(position)
            places["wave"][0] = 0
            places["real"] = 1.0 * (position > 0)[:, None]
        return places

    def stream(self, tokens: Array) -> Array:
        """Return the embedding (B, T, d) of token strings (B, T)."""
        t = self.arithmetic
        return t.add(t(self._tokens)[tokens], t(self._places_table)[: tokens.shape[1]])

    def __call__(self, context: Array, query: Array) -> Array:
        """Answer queries on contexts (B, n): (B,), -1 for none; see `Task.tokens`."""
        stream = self.stream(self.task.tokens(context, query))
        last = run_layers(self.layers, stream, self.arithmetic)
        return self.task.answers(last[:, self.slots.at["result"]])

    def ledger(self) -> Ledger:
        """Return the cost at this size; the cache is that of context and separator."""
        heads = [head for layer in self.layers for head in layer]
        return _ledger(f"transformer, {self.task.name}", self.task, heads, [], {}, self.arithmetic)


def final_head(slots: Slots, task: Task, scale: int | None = None, key: str = "pos") -> Head:
    """Return the head that answers a task, on a stream with the parts that it names.

    `key` is the part that holds a position's code.
    """
    N, width = task.length, task.code.width
    if task.name == "count":
        return count_head(slots, "prev1", "sym", N, top=width)
    if task.name == "count_one":
        return count_head(slots, "ask", "sym", N, top=width)
    if task.name == "index":
        top = slots.size(key) // (2 if key == "wave" else 1)
        return match_head(slots, [("ask", key)], "sym", N, top=top, scale=scale)
    asked = ["sym", *(f"prev{r}" for r in range(1, task.gram - 1))]
    pairs = [(q, f"prev{r}") for r, q in enumerate(asked, start=1)]
    return match_head(slots, pairs, "sym", N, top=width * len(pairs), scale=scale)


def _padded(parts: dict[str, Array], slots: Slots) -> Array:
    """Return an embedding table (rows, d) of parts, zero elsewhere."""
    table = np.zeros((len(next(iter(parts.values()))), slots.width))
    for name, part in parts.items():
        table[:, slots.at[name]] = part
    return table


def _ledger(
    name: str,
    task: Task,
    heads: list[Head],
    others: list[Array],
    fields: dict[str, int],
    arithmetic: Arithmetic,
) -> Ledger:
    weights = [matrix for head in heads for matrix in head.matrices] + others
    return Ledger(
        construction=name,
        tokens_read=task.length + 1,
        tokens_written=0,
        recurrent_fields=fields,
        cache_bits=sum(h.cache_bits(task.n + 2, arithmetic.bits) for h in heads),
        parameters=sum(w.size for w in weights),
        nonzero=sum(int(np.count_nonzero(w)) for w in weights),
        significand_bits=arithmetic.bits,
    )
