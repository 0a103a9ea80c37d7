"""The trained hybrid: a diagonal linear recurrence under one layer of softmax attention.

    h_t = a h_{t-1} + W x_t,   a_j = exp(-exp(d_j) + i w_j)       N complex numbers, W real
    z_t = (x_t, Re h_{t-1}, Im h_{t-1})
    o   = sum_t softmax_t(q . k_t / sqrt(K)) v_t,   q, k, v linear in z; q that of the query
    answer: the largest of the scores  H o + b

x is a learned embedding of the token, with `table` plus one of its position. The shape is that
of the constructed hybrid: a counter or a rotation is such a recurrence (decay 1, angle 0 or the
frequency), and so is a register of one token (decay 0). S restarts go side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from statebound.experiments.learn.examples import answers, queries
from statebound.experiments.training.loop import Flat, Schedule, generator
from statebound.models.constructions.ledger import Ledger, stored
from statebound.models.constructions.rounding import Array
from statebound.models.constructions.tasks import NONE, Task

if TYPE_CHECKING:
    from torch import Tensor

WIDTH, MODES, KEYS = 16, 8, 16
RATE, WARMUP, CLIP = 0.01, 50, 1.0
SIGNIFICAND = 24  # float32
CHUNK = 256  # contexts that are run at once

Parameters = dict[str, "Tensor"]


class Attending:
    """S hybrids on one task.

    Parameters
    ----------
    task
        Index or gram with c = 2.
    seeds
        Of the parameters; the contexts have a stream of their own.
    table
        Whether positions have an embedding.
    """

    def __init__(self, task: Task, seeds: Sequence[int], *, table: bool) -> None:
        self.task = task
        self.classes = task.symbols + (task.name == "gram")  # none is a class too
        made = [self._drawn(generator(seed, task.n, 8), table) for seed in seeds]
        self.flat = Flat({name: np.stack([each[name] for each in made]) for name in made[0]})

    def _drawn(self, draw: np.random.Generator, table: bool) -> dict[str, Array]:
        inner = WIDTH + 2 * MODES

        def matrix(rows: int, columns: int) -> Array:
            return np.array(draw.standard_normal((rows, columns)) / np.sqrt(columns))

        parts = {
            "embedding.weight": draw.standard_normal((self.task.vocabulary, WIDTH)),
            "log_decay": draw.uniform(np.log(1e-3), 0.0, MODES),
            "angle": draw.uniform(0.0, np.pi, MODES),
            "recurrence.weight": matrix(MODES, WIDTH),
            "q_proj.weight": matrix(KEYS, inner),
            "k_proj.weight": matrix(KEYS, inner),
            "v_proj.weight": matrix(KEYS, inner),
            "head.weight": matrix(self.classes, KEYS),
            "head.bias": np.zeros(self.classes),
        }
        if table:
            parts["position.weight"] = draw.standard_normal((self.task.n + 3, WIDTH))
        return parts

    def scores(self, w: Parameters, context: Array) -> Tensor:
        """Return the scores (S, B, queries, classes) of contexts (B, n)."""
        import torch

        task, Q = self.task, queries(self.task)
        edge = np.ones((len(context), 1), np.int64)
        tokens = np.concatenate([task.start * edge, context, task.separator * edge], 1)
        embedding = w["embedding.weight"]
        x = embedding[:, torch.from_numpy(tokens)]  # (S, B, T, D)
        first = task.symbols + 2 if task.name == "index" else 0
        asked = embedding[:, first : first + Q]  # (S, Q, D)
        T = tokens.shape[1]
        if "position.weight" in w:
            x = x + w["position.weight"][:, None, :T]
            asked = asked + w["position.weight"][:, T:]
        h = self._states(w, x)  # (S, B, T + 1, 2 N), of before each token
        z = torch.cat([x, h[:, :, :T]], 3)
        key, value = (z @ w[f"{name}_proj.weight"].transpose(1, 2)[:, None] for name in "kv")
        own = [self._asked(w[f"{name}_proj.weight"], asked, h[:, :, T]) for name in "qkv"]
        query, own_key, own_value = own  # (S, B, Q, K)
        size = KEYS**-0.5
        score = query @ key.transpose(2, 3) * size
        itself = (query * own_key).sum(3, keepdim=True) * size
        share = torch.cat([score, itself], 3).softmax(3)
        found = share[..., :T] @ value + share[..., T:] * own_value
        head = w["head.weight"].transpose(1, 2)[:, None]
        return found @ head + w["head.bias"][:, None, None]

    def _states(self, w: Parameters, x: Tensor) -> Tensor:
        """Return the states before each token and after the last, (S, B, T + 1, 2 N)."""
        import torch

        T = x.shape[2]
        age = torch.arange(T + 1)[:, None] - 1 - torch.arange(T)  # (T + 1, T), of what is in h
        past = age.clamp(min=0).to(x.dtype)
        decay = (-w["log_decay"].exp()[..., None, None] * past).exp() * (age >= 0)
        turned = w["angle"][..., None, None] * past  # (S, N, T + 1, T)
        fed = x @ w["recurrence.weight"].transpose(1, 2)[:, None]  # (S, B, T, N)
        fed = fed.permute(0, 3, 2, 1)  # (S, N, T, B)
        parts = [(decay * turned.cos()) @ fed, (decay * turned.sin()) @ fed]
        return torch.cat(parts, 1).permute(0, 3, 2, 1)

    @staticmethod
    def _asked(matrix: Tensor, asked: Tensor, state: Tensor) -> Tensor:
        """Return a projection of every query (S, Q, D) beside the state (S, B, 2 N)."""
        turned = matrix.transpose(1, 2)
        of_token, of_state = turned[:, :WIDTH], turned[:, WIDTH:]
        return (asked @ of_token)[:, None] + (state @ of_state)[:, :, None]

    def train(self, steps: int, batch: int, say: Callable[[int, int, str], None]) -> list[float]:
        """Learn from fresh contexts; return the mean loss of each restart in the last steps."""
        import torch

        draw = generator(0, self.task.n, 9)
        kept: list[list[float]] = []

        def loss(w: Parameters, done: float) -> Tensor:
            context = draw.integers(0, self.task.symbols, (batch, self.task.n))
            truth = torch.from_numpy(self._classes(answers(self.task, context)))
            said = self.scores(w, context).log_softmax(3)
            index = truth[None, ..., None].expand(*said.shape[:3], 1)
            each = -said.gather(3, index).mean((1, 2, 3))
            kept.append(each.tolist())
            return each

        Schedule(steps, RATE, WARMUP, CLIP).descend(self.flat, loss, say, "hybrids")
        return [float(v) for v in np.mean(kept[-20:], axis=0)]

    def _classes(self, found: Array) -> Array:
        return np.where(found == NONE, self.task.symbols, found)

    def answers(self, context: Array, query: Array) -> Array:
        """Return the answers (S, B) to one query each, -1 for none."""
        import torch

        said = []
        with torch.no_grad():
            w = self.flat.named()
            for first in range(0, len(context), CHUNK):
                some = slice(first, first + CHUNK)
                best = self.scores(w, context[some]).argmax(3).numpy()
                said.append(best[:, np.arange(best.shape[1]), query[some]])
        found = np.concatenate(said, 1)
        return np.where(found == self.task.symbols, NONE, found)

    def ledger(self) -> Ledger:
        """Return the cost of one of them; the cache is that of context and separator."""
        sizes = {
            name: part[0].numel()
            for name, part in self.flat.named().items()
            if not name.startswith(("embedding", "position"))
        }
        whole = sum(sizes.values())
        number = stored(SIGNIFICAND)
        return Ledger(
            construction=f"hybrid, {self.task.name}, trained",
            tokens_read=self.task.length + 1,
            tokens_written=0,
            recurrent_fields={"recurrence": 2 * MODES * number},
            cache_bits=(self.task.n + 2) * 2 * KEYS * number,
            parameters=whole,
            nonzero=whole,
            significand_bits=SIGNIFICAND,
        )
