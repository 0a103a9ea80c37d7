"""The Bobs that are kept: small, and fitted to encoders that no longer change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from statebound.experiments.training import decoder
from statebound.experiments.training.examples import Batch
from statebound.experiments.training.loop import Encoders, Flat, Say, Schedule, generator

if TYPE_CHECKING:
    from torch import Tensor

BOB_INPUTS = 1 << 15
CHUNK = 1 << 12
RATE = 0.01
WARMUP = 20


def fit(encoders: Encoders, frozen: dict[str, Tensor], say: Say) -> dict[str, Tensor]:
    """Fit a small Bob to every restart's frozen encoder, by cross entropy.

    He is fitted on z = atanh y, which is (level - shift) / spread of the dequantised numbers.
    """
    import torch

    recipe, problem = encoders.recipe, encoders.examples.problem
    sizes = decoder.shapes(encoders.numbers, recipe.bob, problem.queries, problem.alphabet)
    made = [decoder.drawn(sizes, generator(recipe.seed, seed, 4)) for seed in recipe.seeds]
    flat = Flat({name: np.stack([each[name] for each in made]) for name in sizes})
    draws = generator(recipe.seed, 0, 5)
    source = draws if recipe.examples is None else generator(*encoders.source)
    stream = encoders.examples.stream(CHUNK, source, recipe.examples)
    chunks = [next(stream) for _ in range(BOB_INPUTS // CHUNK)]
    with torch.no_grad():
        z = torch.cat([encoders.encode(frozen, each).atanh() for each in chunks], 1)
    truth = torch.cat([each.truth for each in chunks])
    law = chunks[0].law
    if law.ndim == 2:
        law = torch.cat([each.law for each in chunks])

    def loss(w: dict[str, Tensor], done: float) -> Tensor:
        some = torch.from_numpy(draws.integers(0, len(truth), recipe.batch))
        batch = Batch(chunks[0].picks, truth[some], law if law.ndim == 1 else law[some])
        return decoder.losses(decoder.scores(w, z[:, some]), batch, hinge=False)

    Schedule(recipe.bob_steps, RATE, WARMUP, recipe.clip).descend(flat, loss, say, "bobs")
    with torch.no_grad():
        return {name: part.clone() for name, part in flat.named().items()}


def held(encoders: Encoders, frozen: dict[str, Tensor], bobs: dict[str, Tensor]) -> list[float]:
    """Return each restart's success with its Bob on fresh inputs."""
    import torch

    recipe = encoders.recipe
    x = encoders.examples.problem.sample(generator(recipe.seed, 0, 6), recipe.held)
    batch = encoders.examples.batch(x)
    with torch.no_grad():
        said = decoder.scores(bobs, encoders.encode(frozen, batch).atanh())
        found: list[float] = decoder.successes(said, batch).tolist()
    return found
