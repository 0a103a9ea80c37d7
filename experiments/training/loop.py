"""The training loop: S restarts side by side, each an encoder and the Bob that it trains with.

All parameters of all restarts are one matrix (S, P), so one step of Adam is a few operations;
no restart's numbers reach another's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from statebound.errors import StateboundError
from statebound.experiments.training import decoder
from statebound.experiments.training.examples import Batch, Examples
from statebound.experiments.training.quantise import Cut, Scale
from statebound.experiments.training.recipe import Recipe
from statebound.experiments.training.twins import State, rows_of, twin_of

if TYPE_CHECKING:
    from torch import Tensor

    from statebound.models import Cell

Say = Callable[[int, int, str], None]
SCALES = "quantiser"
PUBLIC_INPUTS = 8192  # over which shifts and spreads are taken at the end
EVERY = 50


class Flat:
    """Named parameters of S restarts in one matrix.

    Attributes
    ----------
    matrix
        (S, P).
    """

    def __init__(self, arrays: dict[str, np.ndarray]) -> None:
        import torch

        self._shapes = {name: array.shape for name, array in arrays.items()}
        rows = [array.reshape(len(array), -1) for array in arrays.values()]
        self._sizes = [row.shape[1] for row in rows]
        matrix = torch.from_numpy(np.concatenate(rows, 1).astype(np.float32))
        self.matrix = matrix.requires_grad_()

    def named(self) -> dict[str, Tensor]:
        """Return every parameter, (S, ...), as a part of the matrix."""
        parts = self.matrix.split(self._sizes, 1)
        return {
            name: part.reshape(shape)
            for part, (name, shape) in zip(parts, self._shapes.items(), strict=True)
        }


class Adam:
    """Adam with the usual constants, and the gradient of every row clipped to a norm.

    Written out because torch.optim loads a compiler first, which takes longer than a small
    training.

    Kingma and Ba (2015), "Adam: a method for stochastic optimization".
    """

    def __init__(self, matrix: Tensor, decay: float = 0.9, slower: float = 0.999) -> None:
        self._matrix, self._decay, self._slower = matrix, decay, slower
        self._mean, self._square = matrix.detach() * 0, matrix.detach() * 0
        self._steps = 0

    def step(self, rate: float, clip: float) -> None:
        """Take a step against the gradient, and forget it."""
        import torch

        with torch.no_grad():
            gradient = self._matrix.grad.nan_to_num_(0.0, 0.0, 0.0)
            norm = gradient.norm(dim=1, keepdim=True)
            gradient.mul_((clip / (norm + 1e-12)).clamp(max=1.0))
            self._steps += 1
            self._mean.lerp_(gradient, 1 - self._decay)
            self._square.mul_(self._slower).addcmul_(gradient, gradient, value=1 - self._slower)
            unbiased = math.sqrt(1 - self._slower**self._steps)
            size = rate * unbiased / (1 - self._decay**self._steps)
            root = self._square.sqrt().add_(1e-8 * unbiased)
            self._matrix.addcdiv_(self._mean, root, value=-size)
            self._matrix.grad = None


@dataclass(frozen=True)
class Schedule:
    """How long and how fast Adam goes."""

    steps: int
    rate: float
    warmup: int
    clip: float

    def descend(
        self, flat: Flat, loss: Callable[[dict[str, Tensor], float], Tensor], say: Say, label: str
    ) -> None:
        """Minimise the sum of `loss` (parameters, share of the steps that are done) -> (S,).

        Raises
        ------
        StateboundError
            When a loss is no longer a finite number in any restart.
        """
        adam = Adam(flat.matrix)
        for step in range(self.steps):
            done = step / self.steps
            slow = min(1.0, (step + 1) / self.warmup) if self.warmup else 1.0
            rate = self.rate * slow * (1 + math.cos(math.pi * done)) / 2
            each = loss(flat.named(), done)
            each.sum().backward()
            adam.step(rate, self.clip)
            if (step + 1) % EVERY == 0 or step + 1 == self.steps:
                losses = [value for value in each.tolist() if math.isfinite(value)]
                if not losses:
                    raise StateboundError(
                        f"training diverged at step {step + 1}; pass a smaller --rate"
                    )
                say(step + 1, self.steps, f"{label} loss {min(losses):.3f}..{max(losses):.3f}")


class Encoders:
    """S restarts of one encoder with its quantiser.

    Parameters
    ----------
    recipe, examples
        How and on what they are trained.
    cells
        The Numba cells at their initial parameters, one a restart.
    """

    def __init__(self, recipe: Recipe, examples: Examples, cells: Sequence[Cell]) -> None:
        import torch

        self.recipe, self.examples = recipe, examples
        self.twin = twin_of(cells[0])
        self.cut = Cut(cells[0].fields, recipe.bits)
        self.numbers = sum(f.numbers for f in cells[0].fields)
        self.names = [f.name for f in cells[0].fields]
        self._noise = torch.Generator().manual_seed(recipe.seed)
        start = {name: np.stack([c.weights[name] for c in cells]) for name in cells[0].weights}
        self.cell_names = list(start)
        problem = examples.problem
        sizes = decoder.shapes(self.numbers, recipe.decoder, problem.queries, problem.alphabet)
        made = [decoder.drawn(sizes, generator(recipe.seed, seed, 1)) for seed in recipe.seeds]
        start |= {name: np.stack([each[name] for each in made]) for name in sizes}
        start[SCALES] = np.zeros((len(cells), 2, sum(self.cut.widths)))
        self.flat = Flat(start)
        self.scales: list[Scale] | None = None  # fixed once training is over
        self.source = source_of(recipe)

    def _passing(self, w: dict[str, Tensor], batch: Batch) -> Iterator[State]:
        """Yield the state of the start, or in ``step`` without quantiser after every token."""
        choices = self.twin.table(w)[:, self.examples.choices]
        if self.recipe.regime == "handoff":
            yield self.twin.whole(w, choices, batch.picks)
            return
        state = self.twin.start(len(choices), batch.picks.shape[1], choices)
        for row in rows_of(choices, batch.picks).split(1, 1):
            state = self.twin.scan(state, w, row)
            yield state

    def begin(self, batch: Batch) -> None:
        """Start the learned scales at the statistics of unquantised states."""
        import torch

        with torch.no_grad():
            w = self.flat.named()
            seen = [self.cut.newest(state) for state in self._passing(w, batch)]
            pooled = tuple(torch.cat(parts, 1) for parts in zip(*seen, strict=True))
            found = self.cut.statistics(pooled)
            shift = torch.cat([m for m, _ in found], 2)
            spread = torch.cat([d for _, d in found], 2)
            w[SCALES].copy_(torch.cat([shift, spread.log()], 1))

    def encode(
        self, w: dict[str, Tensor], batch: Batch, dither: float = 0.0, hard: float = 1.0
    ) -> Tensor:
        """Return rounded y of the messages, (S, B, numbers).

        Dither, in bins, is added to what is handed over; `hard` tells how far a state is moved
        to its quantised one between tokens.
        """
        import torch

        choices = self.twin.table(w)[:, self.examples.choices]
        B = batch.picks.shape[1]
        if self.recipe.regime == "handoff":
            state = self.twin.whole(w, choices, batch.picks)
            noise = None
            if dither > 0:
                shape = len(choices), B, self.numbers
                noise = (torch.rand(shape, generator=self._noise) - 0.5) * dither
            return self.cut.rounded(state, self.scales or self.cut.statistics(state), noise)[0]
        scales = self.scales or self.cut.parameters(w[SCALES])
        state = self.twin.start(len(choices), B, choices)
        y = choices.new_zeros(())
        for row in rows_of(choices, batch.picks).split(1, 1):
            new = self.twin.scan(state, w, row)
            y, _ = self.cut.rounded(new, scales)
            state = self.cut.settled(new, y, scales)
            if hard < 1:
                state = tuple(a.lerp(b, hard) for a, b in zip(new, state, strict=True))
        return y

    def train(self, stream: Iterator[Batch], say: Say) -> None:
        """Train."""
        recipe = self.recipe
        self.begin(next(stream))

        def loss(w: dict[str, Tensor], done: float) -> Tensor:
            batch = next(stream)
            fade = max(0.0, 1 - done / recipe.still) if recipe.still else 0.0
            hard = min(1.0, done / recipe.soften) if recipe.soften else 1.0
            y = self.encode(w, batch, recipe.dither * fade, hard)
            hinge = recipe.loss == "hinge" or (recipe.loss == "mix" and done >= recipe.share)
            return decoder.losses(decoder.scores(w, 2 * y), batch, hinge=hinge)

        schedule = Schedule(recipe.steps, recipe.rate, recipe.warmup, recipe.clip)
        schedule.descend(self.flat, loss, say, "encoders")

    def freeze(self) -> dict[str, Tensor]:
        """Return the parameters that are kept, and fix the scales that belong to them."""
        import torch

        recipe = self.recipe
        few = recipe.examples is not None  # then there are no others
        public = generator(*self.source) if few else generator(recipe.seed, 0, 2)
        count = recipe.examples or PUBLIC_INPUTS
        batch = self.examples.batch(self.examples.problem.sample(public, count))
        with torch.no_grad():
            kept = {name: part.detach().clone() for name, part in self.flat.named().items()}
            if recipe.regime == "step":
                self.scales = self.cut.parameters(kept[SCALES])
            else:
                (state,) = self._passing(kept, batch)
                self.scales = self.cut.statistics(state)
        return kept


def source_of(recipe: Recipe) -> tuple[int, int, int]:
    """Return the seeds of the inputs that are learned from.

    Zeros at the end seed nothing, so those of endless inputs begin as the engine ``sample``
    does with the same seed, which is lost among them. A few inputs would be judged on
    themselves: they have seeds of their own.
    """
    return recipe.seed, 0, 0 if recipe.examples is None else 7


def generator(*seeds: int) -> np.random.Generator:
    """Return a generator of its own for these numbers."""
    return np.random.Generator(np.random.PCG64(seeds))
