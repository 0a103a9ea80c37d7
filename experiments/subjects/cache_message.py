"""A cache of keys and values as a message: declared, quantised, packed, restored.

A layer gives a field of keys, one of values and, of heavy hitters, one of attention sums, each
entry by entry: what is not written yet first (code 0), then what is kept for good, then the
recent tokens by age. A cache of bounded size takes as many bits after any number of tokens.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from statebound.experiments.subjects.evicting import Cache, Layer, Policy, Tensor
from statebound.experiments.subjects.transit import Transit, fit
from statebound.models import Field
from statebound.models._cell import State


def fields(cache: Cache) -> tuple[Field, ...]:
    """Return what the state holds after as many tokens as the cache has read."""
    held = cache.policy.held(cache.read)
    made = []
    for number, layer in enumerate(cache.layers):
        for name, part in _named(layer):
            width = part.shape[1] * (part.shape[3] if part.ndim == 4 else 1)
            low = 0.0 if name == "scores" else None
            made.append(Field(f"{name}.{number}", (held, width), low, cache=True))
    return tuple(made)


def parts(cache: Cache) -> State:
    """Return the numbers of every field, (1, entries * width, B), in the message's order."""
    order = cache.policy.order(cache.read)
    made = []
    for layer in cache.layers:
        for _, part in _named(layer):
            held = part[:, :, order].reshape(len(part), part.shape[1], len(order), -1)
            made.append(held.permute(2, 1, 3, 0).reshape(1, -1, len(part)).numpy())
    return tuple(np.ascontiguousarray(part) for part in made)


def restored(like: Cache, numbers: State) -> Cache:
    """Return a cache of the form of another one, with the numbers that `parts` tells."""
    import torch

    order = like.policy.order(like.read)
    every = iter(numbers)

    def tensor(part: Tensor) -> Tensor:
        held = torch.from_numpy(np.ascontiguousarray(next(every)))
        batch, heads = held.shape[2], part.shape[1]
        shape = (len(order), heads, *part.shape[3:], batch)
        made = torch.zeros(batch, *part.shape[1:])
        made[:, :, order] = held.reshape(shape).movedim(-1, 0).transpose(1, 2)
        return made

    layers = [
        Layer(**{"scores": None} | {name: tensor(part) for name, part in _named(layer)})
        for layer in like.layers
    ]
    return replace(like, layers=layers)


def transit(public: Cache, quantiser: str, bits: int) -> Transit:
    """Return how a cache crosses; ranges and codebooks are from one of public inputs."""
    declared = fields(public)
    written = min(public.read, public.policy.held(public.read))
    samples = [
        _entries(part, field)[:, -written:].reshape(field.shape[1], -1).astype(np.float64)
        for part, field in zip(parts(public), declared, strict=True)
    ]
    return Transit(declared, fit(declared, samples, quantiser, bits))


def cross(cache: Cache, way: Transit) -> tuple[Cache, int]:
    """Return what Bob has of a cache, and the bytes of each message."""
    batch = len(cache.layers[0].keys)
    message = way.pack(way.quantise(parts(cache), cache.read), batch)
    numbers, _ = way.unpack(message, cache.read, batch)
    return restored(cache, numbers), message.shape[1]


def bounded(policy: Policy, layers: int, heads: int, width: int) -> int | None:
    """Return how many numbers a state has after any number of tokens, None if it grows.

    Layers times heads times entries, a key, a value and, of heavy hitters, a sum each.

    Examples
    --------
    >>> bounded(Policy("fifo", 4), 30, 3, 64), bounded(Policy("heavy", 4, 2), 30, 3, 64)
    (46080, 46440)
    """
    each = 2 * width + (policy.name == "heavy")
    return None if policy.grows else layers * heads * policy.entries * each


def _entries(part: NDArray[np.float32], field: Field) -> NDArray[np.float32]:
    """Return (width, entries, B)."""
    return part.reshape(*field.shape, part.shape[2]).transpose(1, 0, 2)


def _named(layer: Layer) -> list[tuple[str, Tensor]]:
    every = (("keys", layer.keys), ("values", layer.values), ("scores", layer.scores))
    return [(name, part) for name, part in every if part is not None]
