"""What all checks share: two inputs, the unsplit run, and how different outputs may be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from statebound.errors import StateboundError
from statebound.experiments.audit.cut import Cut, Run, StructureError
from statebound.experiments.audit.subject import Outputs, Subject, Tokens

ROUNDINGS = 100
"""Allowed error in units of the precision: right models reach about 10, wrong ones 200 and more."""

REACHED = 256
"""The longest window that is filled; growth is then looked at up to four times its length."""


@dataclass(frozen=True)
class Plan:
    """How much is tried.

    Attributes
    ----------
    tokens
        Length of the unsplit run.
    handoffs
        Prefix lengths for splits.
    middle
        The handoff at which parts are probed, with windows full.
    steps
        How many tokens Bob reads one by one.
    lengths
        The n at which sizes are taken.
    probes
        Calls that the search for dead parts may take.
    """

    tokens: int
    handoffs: tuple[int, ...]
    middle: int
    steps: int = 4
    lengths: tuple[int, ...] = (4, 8, 16, 32, 64)
    probes: int = 400


def plan(
    landmarks: tuple[int, ...],
    windows: tuple[int, ...] = (),
    *,
    tokens: int = 24,
    probes: int = 400,
) -> Plan:
    """Return a plan with handoffs around each landmark that is short enough.

    Examples
    --------
    >>> plan((8,)).handoffs
    (1, 2, 3, 5, 7, 8, 9, 12)
    """
    near = [n for n in landmarks if 1 < n <= 48]
    total = max([tokens, *(2 * n + 8 for n in near)])
    wanted = {1, 2, 3, 5, 8, total // 2} | {n + d for n in near for d in (-1, 0, 1)}
    longest = max([64, *(4 * n for n in windows if n <= REACHED)])
    lengths = tuple(sorted({4, 8, 16, 32, longest // 2, longest}))
    middle = max([total // 2, *(n + 1 for n in near)])
    kept = tuple(sorted(h for h in wanted | {middle} if 0 < h <= total - 6))
    return Plan(total, kept, middle, lengths=lengths, probes=probes)


class Bench:
    """A subject with its two inputs and reference outputs.

    Attributes
    ----------
    x, other
        Alice's tokens, and as many others; they differ in every place.
    whole
        Outputs (T, K) of one call on x.
    scale, tolerance
        The largest output, and the error that counts as none.
    noise
        Difference of two equal runs.
    refused
        The error of each way of going on that raised one.
    """

    def __init__(self, subject: Subject, plan: Plan, seed: int, *, precision: float) -> None:
        self.subject, self.plan = subject, plan
        self.cut = Cut(subject)
        self.generator = np.random.Generator(np.random.PCG64(seed))
        longest = max(plan.tokens, *plan.lengths)
        self.x: Tokens = self.generator.integers(0, subject.vocabulary, longest)
        shift = self.generator.integers(1, subject.vocabulary, longest)
        self.other: Tokens = (self.x + shift) % subject.vocabulary
        self.varies = ""
        self.refused: dict[str, str] = {}
        self.cut.find_held(self.x)
        self.whole = self.run(self.x[: plan.tokens])
        finite = np.abs(self.whole[np.isfinite(self.whole)])
        if not finite.size:
            raise StateboundError(f"{subject.name}: no output is a finite number")
        self.scale = float(finite.max())
        self.precision = precision
        self.tolerance = ROUNDINGS * precision * max(self.scale, 1e-30)
        self.noise = distance(self.run(self.x[: plan.tokens]), self.whole)

    def run(self, tokens: Tokens) -> Outputs:
        """Read tokens in one call with a fresh model."""
        return self.cut.step(self.cut.begin(), tokens)

    def bob(self, alice: Run, template: Run) -> Run:
        """Return Bob: the template with Alice's message, or a deep copy where parts differ."""
        try:
            return self.cut.restore(template, self.cut.message(alice))
        except StructureError as error:
            self.varies = str(error)
            return self.cut.fork(alice)

    def changed(self, outputs: Outputs, reference: Outputs) -> bool:
        """Whether outputs differ by more than two equal runs do."""
        return not distance(outputs, reference) <= 4 * self.noise


def distance(left: Outputs, right: Outputs) -> float:
    """Return the largest difference; inf where one is not a number and the other is."""
    if left.shape != right.shape:
        return float("inf")
    one, two = np.isnan(left), np.isnan(right)
    if (one != two).any():
        return float("inf")
    with np.errstate(invalid="ignore"):
        apart = np.abs(left - right)
    apart[one | (left == right)] = 0.0
    found = float(apart.max(initial=0.0))
    return found if found == found else float("inf")
