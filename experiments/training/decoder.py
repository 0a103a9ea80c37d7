"""Bobs in torch: one hidden layer, all queries at once, S of them side by side; and losses.

Where answers are bits there is one score a query, positive for 1; else one an answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from statebound.experiments.training.examples import Batch

if TYPE_CHECKING:
    from torch import Tensor

Shapes = dict[str, tuple[int, ...]]
NAMES = ("bob.0.weight", "bob.0.bias", "bob.1.weight", "bob.1.bias")


def shapes(numbers: int, hidden: int, queries: int, alphabet: int) -> Shapes:
    """Return the shapes of a decoder."""
    scores = queries * (1 if alphabet == 2 else alphabet)
    return dict(
        zip(NAMES, ((hidden, numbers), (hidden,), (scores, hidden), (scores,)), strict=True)
    )


def drawn(sizes: Shapes, generator: np.random.Generator) -> dict[str, np.ndarray]:
    """Draw them as torch's layers are: uniform within 1/sqrt(inputs)."""
    fans = {name.partition("weight")[0]: s[1] for name, s in sizes.items() if len(s) == 2}
    made = {}
    for name, shape in sizes.items():
        bound = fans[name.removesuffix("bias").removesuffix("weight")] ** -0.5
        made[name] = generator.uniform(-bound, bound, shape)
    return made


def scores(w: dict[str, Tensor], z: Tensor) -> Tensor:
    """Return the scores of features z (S, B, numbers): (S, B, queries or queries * alphabet)."""
    weights = [w[name] for name in NAMES]
    hidden = weights[1][:, None].baddbmm(z, weights[0].transpose(1, 2)).relu()
    return weights[3][:, None].baddbmm(hidden, weights[2].transpose(1, 2))


def losses(said: Tensor, batch: Batch, *, hinge: bool) -> Tensor:
    """Return the loss of each restart: the mean over inputs, weighted over queries, (S,).

    With margin m of the true answer over the best other, hinge is max(0, 1 - m).
    """
    import torch

    truth = batch.truth
    if said.shape[2] == truth.shape[1]:
        margin = said * (2 * truth - 1)
        each = (1 - margin).relu() if hinge else torch.nn.functional.softplus(-margin)
    else:
        logits = said.unflatten(2, (truth.shape[1], -1))
        right = torch.nn.functional.one_hot(truth, logits.shape[3]).bool().expand_as(logits)
        true = logits[right].view(logits.shape[:3])
        if hinge:
            other = logits.masked_fill(right, -torch.inf).amax(3)
            each = (1 + other - true).relu()
        else:
            each = logits.logsumexp(3) - true
    return (each * batch.law).sum(2).mean(1)


def successes(said: Tensor, batch: Batch) -> Tensor:
    """Return how often each restart is right, (S,)."""
    truth = batch.truth
    if said.shape[2] == truth.shape[1]:
        answers = (said > 0).long()
    else:
        answers = said.unflatten(2, (truth.shape[1], -1)).argmax(3)
    return ((answers == truth).to(said.dtype) * batch.law).sum(2).mean(1)
