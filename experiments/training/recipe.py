"""Recipes: every number that a training depends on.

Two runs of one recipe on one machine with one version of torch give the same checkpoint. The
defaults are what worked best for Index at 7 to 32 bits.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any

from statebound.errors import UsageError
from statebound.experiments.results import digest

SCHEMA = 1
LOSSES = ("mix", "ce", "hinge")
MOST_BITS = 8
MOST_RESTARTS = 64
MOST_SEED = (1 << 63) - 1  # of torch


@dataclass(frozen=True)
class Recipe:
    """All that defines a trained machine.

    Attributes
    ----------
    problem, n, options
        What it is trained on; the options without n.
    model, numbers, settings, draws
        The cell: its state numbers (None: 8 or the nearest), overrides of its config, and
        parameters that start uniform in a range of their own: ``{"log_dt": [-2, 0]}``.
    bits, regime, encoding
        How it is cut; the encoding is the cell's own unless told.
    loss
        Over all queries at once: ``ce`` cross entropy, ``hinge``, or ``mix``, cross entropy
        for the first `share` of the steps and then hinge.
    share
        See `loss`.
    steps, batch, rate, warmup, clip
        Adam with a cosine schedule that ends at 0, a linear start over `warmup` steps, and the
        gradient of every restart clipped to this norm.
    dither, still
        Uniform noise before rounding, this many bins wide, that falls linearly to 0 at this
        share of the steps; handoff only.
    soften
        Share of the steps over which quantising between tokens fades in: what goes on is
        (1 - l) s + l Q(s), l rising linearly from 0 to 1; step only.
    decoder
        Hidden units of the Bob that trains along.
    bob, bob_steps
        Hidden units of the Bob that is kept, and the steps in which he is fitted to the
        frozen encoder.
    seeds, seed
        The restarts: seeds of their parameters; and the seed of everything drawn beside them.
    held
        How many fresh inputs decide which restart is kept.
    examples
        How many different inputs there are to train on; None: as many as steps ask for.
    """

    problem: str
    n: int
    options: dict[str, Any] = field(default_factory=dict)
    model: str = "gru"
    numbers: int | None = None
    settings: dict[str, int | str] = field(default_factory=dict)
    draws: dict[str, list[float]] = field(default_factory=dict)
    bits: int = 1
    regime: str = "handoff"
    encoding: str | None = None
    loss: str = "mix"
    share: float = 0.2
    steps: int = 800
    batch: int = 256
    rate: float = 0.01
    warmup: int = 100
    clip: float = 1.0
    dither: float = 1.0
    still: float = 0.7
    soften: float = 0.0
    decoder: int = 128
    bob: int = 64
    bob_steps: int = 600
    seeds: tuple[int, ...] = (0, 1, 2)
    seed: int = 0
    held: int = 8192
    examples: int | None = None

    def __post_init__(self) -> None:
        """Check what can be checked without the problem and the cell.

        Raises
        ------
        UsageError
            When a value has no meaning.
        """
        if self.loss not in LOSSES:
            raise UsageError(
                "loss", self.loss, "is not a known loss", f"choose from {', '.join(LOSSES)}"
            )
        if not 1 <= self.bits <= MOST_BITS:
            raise UsageError(
                "bits", self.bits, f"must be 1 to {MOST_BITS} bits a number", "pass 1 or 2"
            )
        for name in ("steps", "batch", "decoder", "bob", "bob_steps", "held"):
            if getattr(self, name) < 1:
                said = "bob-hidden" if name == "bob" else name
                raise UsageError(said, getattr(self, name), "must be at least 1", "pass 1 or more")
        if self.examples is not None and self.examples < 2:
            raise UsageError("examples", self.examples, "must be at least 2", "pass 2 or more")
        if not (self.rate > 0 and self.clip > 0):
            raise UsageError("rate", self.rate, "rate and clip must be positive", "pass 0.01")
        for name in ("share", "still", "soften"):
            if not 0 <= getattr(self, name) <= 1:
                raise UsageError(
                    name, getattr(self, name), "must be a share of the steps", "pass 0 to 1"
                )
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise UsageError("seeds", self.seeds, "must be different seeds", "pass 0..2")
        if len(self.seeds) > MOST_RESTARTS:
            raise UsageError(
                "seeds", self.seeds, f"must be at most {MOST_RESTARTS} seeds", "pass 0..2"
            )
        for name, each in [("seed", self.seed), *(("seeds", seed) for seed in self.seeds)]:
            if not 0 <= each <= MOST_SEED:
                raise UsageError(name, each, f"must be in 0..{MOST_SEED}", "pass 0")

    def plain(self) -> dict[str, Any]:
        """Return it as JSON-able data, with the schema."""
        return {"schema": SCHEMA} | asdict(self) | {"seeds": list(self.seeds)}

    @classmethod
    def of(cls, data: dict[str, Any]) -> Recipe:
        """Return the recipe in JSON-able data.

        Raises
        ------
        UsageError
            When a name is unknown or a value has no meaning.

        Examples
        --------
        >>> recipe = Recipe("index", 8, seeds=(0, 1))
        >>> Recipe.of(recipe.plain()) == recipe
        True
        """
        known = {f.name for f in fields(cls)}
        held = {name: value for name, value in data.items() if name != "schema"}
        unknown = sorted(set(held) - known) or sorted({"problem", "n"} - set(held))
        if unknown or data.get("schema", SCHEMA) != SCHEMA:
            raise UsageError(
                "recipe",
                ", ".join(unknown) or data.get("schema"),
                "is no part of a recipe of this version, or is missing",
                f"choose from {', '.join(sorted(known))}",
            )
        if "seeds" in held:
            held["seeds"] = tuple(held["seeds"])
        return cls(**held)

    @property
    def digest(self) -> str:
        """SHA-256 of the recipe."""
        return digest(self.plain())
