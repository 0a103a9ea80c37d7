"""A real model's keys and values, of which so many entries are kept: the rest are dropped.

A layer's cache has E entries in each of its G key-value heads. A token at place n attends to
the entries that are kept and to itself, and is then written; when the cache is full, over an
entry that is dropped for good. So E tokens and one are seen at most. Which one is dropped:

``fifo``   the oldest.
``sinks``  the oldest but the first S; positions are indices inside the cache, so that a token
           at place n is at min(n, E), the first S at 0 .. S - 1, and distances to them stop
           growing (Xiao et al. 2024, "Efficient streaming language models with attention
           sinks").
``heavy``  the last R tokens stay. Of the older ones H = E - R are kept, in each head by
           itself, for what attention they have drawn: the sum over all queries so far, of all
           query heads that share the key, of its softmax weight, a token's own included. A
           token that leaves the last R takes the next free of the H places, or that of the
           least sum if it is not above its own, or is dropped; among equal sums the lowest
           place goes (Zhang et al. 2023, "H2O: heavy-hitter oracle"; the rule of
           `statebound.models.kv_h2o`). Survivors keep their positions.
``full``   none: the contrast that grows.

**Positions.** Rotary scores depend on the difference of positions alone, so a key is rotated
once, to its place n in the stream, and never again. Counting inside the cache moves all recent
keys and the query by one number, which changes nothing; what is left is the distance to the
sinks, for which the query is rotated to min(n, E). In ``heavy`` the key itself so holds where
its token was, and no list of places is part of the state. n is public.

**Places in the tensors.** Tokens fill 0 .. E - 1 in order, in all policies. Then token n of
``fifo`` goes to n mod E, of ``sinks`` to S + (n - S) mod (E - S), of ``heavy`` to n mod R,
what was there going among places R .. E - 1. So which places are written and which are recent
follows from n.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from statebound.errors import UsageError

POLICIES = ("full", "fifo", "sinks", "heavy")
SINKS = 4
Tensor = Any  # torch is optional


@dataclass(frozen=True)
class Policy:
    """A rule of eviction with its budget.

    Attributes
    ----------
    name
        One of `POLICIES`.
    entries
        E, in each key-value head of each layer; of ``full`` how many there is room for.
    kept
        S or H, those that are not there for being recent.
    """

    name: str
    entries: int
    kept: int = 0

    @property
    def grows(self) -> bool:
        """Whether every token adds an entry."""
        return self.name == "full"

    @property
    def recent(self) -> int:
        """How many of the entries are those of the last tokens."""
        return self.entries - self.kept

    def held(self, read: int) -> int:
        """Return how many entries a state has after so many tokens, written or not."""
        return read if self.grows else self.entries

    def place(self, n: int) -> int:
        """Return where token n is written."""
        if n < self.entries:
            return n % self.recent if self.name == "heavy" else n
        if self.name == "sinks":
            return self.kept + (n - self.kept) % self.recent
        return n % self.recent

    def order(self, read: int) -> list[int]:
        """Return the places of `held` entries: unwritten, kept for good, recent by age."""
        filled = min(read, self.entries)
        recent = [self.place(n) for n in range(max(0, read - self.recent), read)]
        others = sorted(set(range(filled)) - set(recent))
        return [*range(filled, self.held(read)), *others, *recent]


def policy(name: str, entries: int) -> Policy:
    """Return a policy with half of the entries for heavy hitters, or `SINKS` of them for sinks.

    Raises
    ------
    UsageError
        When it is unknown, or there are too few entries.
    """
    least = {"full": 1, "fifo": 1, "sinks": SINKS + 1, "heavy": 2}
    if name not in least:
        raise UsageError(
            "policy", name, "is not a known policy", f"choose from {', '.join(POLICIES)}"
        )
    if entries < least[name]:
        raise UsageError(
            "entries",
            entries,
            f"{name} needs at least {least[name]}",
            f"pass {least[name]} or more",
        )
    return Policy(name, entries, {"sinks": SINKS, "heavy": entries // 2}.get(name, 0))


@dataclass
class Layer:
    """The cache of one layer.

    Attributes
    ----------
    keys, values
        (B, G, E, D) tensors; keys are rotated.
    scores
        (B, G, E), ``heavy`` alone; None in all others.
    """

    keys: Tensor
    values: Tensor
    scores: Tensor | None

    def rows(self, which: slice) -> Layer:
        """Return a copy of some sequences of the batch."""
        scores = None if self.scores is None else self.scores[which].clone()
        return Layer(self.keys[which].clone(), self.values[which].clone(), scores)


@dataclass
class Cache:
    """All that a model knows of what it has read.

    Attributes
    ----------
    policy, layers
        The rule, and a cache a layer.
    read
        n, how many tokens; public.
    """

    policy: Policy
    layers: list[Layer]
    read: int = 0

    def copy(self) -> Cache:
        """Return a copy, so that reading on does not change this one."""
        return self.rows(slice(None))

    def rows(self, which: slice) -> Cache:
        """Return a copy of some sequences of the batch."""
        return replace(self, layers=[layer.rows(which) for layer in self.layers])


def empty(policy: Policy, layers: int, batch: int, heads: int, width: int) -> Cache:
    """Return a cache that has read nothing."""
    import torch

    shape = (batch, heads, policy.entries)

    def layer() -> Layer:
        scores = torch.zeros(shape) if policy.name == "heavy" else None
        return Layer(torch.zeros(*shape, width), torch.zeros(*shape, width), scores)

    return Cache(policy, [layer() for _ in range(layers)])


def attend(
    policy: Policy, layer: Layer, read: int, q: Tensor, sunk: Tensor, k: Tensor, v: Tensor
) -> Tensor:
    """Read T tokens, each in turn, and return what attention makes of them.

    A layer reads all its tokens before the next one does, which changes nothing: it needs of
    the others only what the layer below says of the same and earlier tokens.

    Parameters
    ----------
    policy, layer, read
        The rule; what is written to; how many tokens came before.
    q, sunk
        (B, G, Q, T, D) queries, Q heads sharing a key: rotated to their places n, and to
        min(n, E); scaled by 1 / sqrt(D).
    k, v
        (B, G, T, D) keys, rotated, and values.

    Returns
    -------
    (B, G, Q, T, D).
    """
    import torch

    made = torch.empty_like(q)
    for t in range(k.shape[2]):
        n = read + t
        filled = min(n, policy.entries)
        query, key, value = q[:, :, :, t], k[:, :, t, None], v[:, :, t, None]
        keys = layer.keys[:, :, :filled].transpose(-1, -2)
        logits = [query @ keys, query @ key.transpose(-1, -2)]
        if policy.name == "sinks":
            few = policy.kept
            logits = [sunk[:, :, :, t] @ keys[..., :few], query @ keys[..., few:], logits[1]]
        weights = torch.softmax(torch.cat(logits, dim=-1), dim=-1)  # (B, G, Q, filled + 1)
        made[:, :, :, t] = (
            weights[..., :filled] @ layer.values[:, :, :filled] + weights[..., filled:] * value
        )
        own = None
        if layer.scores is not None:
            drawn = weights.sum(dim=2)
            layer.scores[:, :, :filled] += drawn[..., :filled]
            own = drawn[..., filled]
            _retire(policy, layer, n)
        at = policy.place(n)
        layer.keys[:, :, at], layer.values[:, :, at] = k[:, :, t], v[:, :, t]
        if layer.scores is not None:
            layer.scores[:, :, at] = own
    return made


def _retire(policy: Policy, layer: Layer, n: int) -> None:
    """Let the token that leaves the recent ones take a place among the heavy hitters, or none."""
    assert layer.scores is not None
    at, first = policy.place(n), policy.recent
    if n < first:
        return
    parts = (layer.keys, layer.values, layer.scores)
    if n < policy.entries:
        for part in parts:
            part[:, :, n] = part[:, :, at]
        return
    least, worst = layer.scores[:, :, first:].min(dim=-1)  # the lowest of several
    batch, head = np.nonzero((least <= layer.scores[:, :, at]).numpy())
    slot = first + worst[batch, head]
    for part in parts:
        part[batch, head, slot] = part[batch, head, at]
