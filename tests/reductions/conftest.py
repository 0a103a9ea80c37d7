"""Cells, quantisers, precisions, roundings and regimes, cut in two.

Every cell is tried with one codebook and one grid of bins; every quantiser and every
rounding with a few cells that stand for all kinds of state: a bounded vector, a matrix, a
cache, a recurrence beside a convolution's cache, and a window of values alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

from statebound import registry
from statebound.errors import UsageError
from statebound.models._build import family
from statebound.protocols.problems.index import Index
from statebound.reductions import quantiser as quantisers
from statebound.reductions import rounding as roundings
from statebound.reductions.machine import REGIMES, CutMachine, cut

N = 6
PRECISIONS = (1, 2, 3, 8, 12, 16, 24, 32)
CORE = (("quantile", 3), ("uniform", 12))
CELLS = (
    ("gru", "random", ()),
    ("linear_attention", "random", (("d_key", 3), ("d_value", 2))),
    ("kv_fifo", "random", (("d_key", 2), ("positions", 3))),
    ("mamba", "random", (("d_conv", 3), ("d_inner", 2), ("d_state", 2))),
    ("sliding_window", "constructed", ()),
)
Settings = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Kind:
    """The arguments of one machine for Index on `N` bits with 4 numbers or given sizes."""

    model: str
    init: str
    settings: Settings
    quantiser: str
    bits: int
    regime: str
    dtype: str = "float32"
    rounding: str = "nearest"

    def fresh(self, **changes) -> CutMachine:
        """Build the machine anew."""
        arguments = {
            "numbers": None if self.settings else smallest(self.model),
            "settings": dict(self.settings),
            "init": self.init,
            "quantiser": self.quantiser,
            "bits": self.bits,
            "regime": self.regime,
            "dtype": self.dtype,
            "rounding": self.rounding,
            "machine_seed": 5,
        }
        problem = changes.pop("problem", Index(N))
        return cut(problem, self.model, **(arguments | changes))

    def machine(self) -> CutMachine:
        """Return the machine, built once."""
        return _made(self)

    def __str__(self) -> str:
        changed = ",".join(f"{key}={value}" for key, value in self.settings)
        parts = [self.model, self.init, changed, self.quantiser, f"{self.bits}bit", self.regime]
        return "-".join(filter(None, [*parts, self.rounding.removeprefix("nearest")]))


@cache
def smallest(model: str) -> int:
    """Return the least total of numbers, from 4 on, that the model's state can have."""
    config = family(model).Config
    for numbers in range(4, 64):
        try:
            return config.of(numbers, {}).numbers
        except UsageError:
            continue
    raise AssertionError(model)


@cache
def _made(kind: Kind) -> CutMachine:
    return kind.fresh()


def models() -> list[tuple[str, str, Settings]]:
    """Return every cell with every init, and caches of keys as well as values."""
    found = []
    for name in registry.names("statebound.models"):
        cell = family(name)
        found += [(name, init, ()) for init in cell.inits]
        if "window" in cell.Config.__dataclass_fields__:
            found.append((name, "random", (("d_key", 1), ("d_value", 2), ("window", 4))))
        if "d_conv" in cell.Config.names():  # longer than the first splits leave to either side
            found.append((name, "random", (("d_conv", 4),)))
    return found


def fitted_quantisers() -> list[str]:
    """Return the quantisers that are fitted, not given with trained parameters."""
    names = registry.names(quantisers.PACKAGE)
    return [name for name in names if not quantisers.load(name).given]


def quantisations() -> list[tuple[str, int]]:
    """Return every quantiser at every precision that it allows."""
    found = []
    for name in fitted_quantisers():
        kind = quantisers.load(name)
        found += [(name, p) for p in PRECISIONS if kind.least_bits <= p <= kind.most_bits]
        if kind.least_bits == kind.most_bits not in PRECISIONS:
            found.append((name, kind.least_bits))
    return found


def coarse_and_fine() -> list[tuple[str, int]]:
    """Return every quantiser at its lowest and its highest precision."""
    every = quantisations()
    return [
        (name, p)
        for name, p in every
        if p in (min(b for n, b in every if n == name), max(b for n, b in every if n == name))
    ]


def kinds() -> list[Kind]:
    """Return machines that round to nearest: all cells, and few cells with all quantisers."""
    pairs = [(model, q) for model in models() for q in CORE]
    pairs += [(model, q) for model in CELLS for q in coarse_and_fine()]
    return [Kind(*model, *q, regime) for model, q in dict.fromkeys(pairs) for regime in REGIMES]


def rounded() -> list[Kind]:
    """Return few cells with all quantisers under every other rounding.

    Each quantiser meets each rounding in both regimes, if not in each cell.
    """
    found = []
    for rounding in registry.names(roundings.PACKAGE):
        if rounding == "nearest":
            continue
        for q, name in enumerate(fitted_quantisers()):
            kind = quantisers.load(name)
            bits = max(min(3, kind.most_bits), kind.least_bits)
            for c, model in enumerate(CELLS):
                step = roundings.family(rounding).keeps_residual or (q + c) % 2
                regime = "step" if step else "handoff"
                found.append(Kind(*model, name, bits, regime, rounding=rounding))
    return found


def all_inputs(length: int) -> np.ndarray:
    """Return all bit strings, first bit the least digit."""
    return (np.arange(2**length)[:, None] >> np.arange(length) & 1).astype(np.uint8)


@pytest.fixture
def inputs() -> np.ndarray:
    """130 rows: two tiles, the second all but empty; all 64 inputs occur."""
    return np.concatenate([all_inputs(N), all_inputs(N)[::-1], all_inputs(N)[[5, 40]]])


@pytest.fixture
def size_of():
    """Return what gives a model's smallest size that is tried."""
    return smallest


@pytest.fixture
def kind_of():
    """Return what makes a kind of a model, a (quantiser, bits) pair and a regime."""
    return lambda model, quantisation, regime, dtype="float32", rounding="nearest": Kind(
        *model, *quantisation, regime, dtype, rounding
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "kind" in metafunc.fixturenames:
        metafunc.parametrize("kind", kinds(), ids=str)
    if "rounded" in metafunc.fixturenames:
        metafunc.parametrize("rounded", rounded(), ids=str)
    if "quantisation" in metafunc.fixturenames:
        metafunc.parametrize(
            "quantisation", quantisations(), ids=[f"{name}-{p}bit" for name, p in quantisations()]
        )
    if "model" in metafunc.fixturenames:
        metafunc.parametrize("model", models(), ids=["-".join(map(str, m)) for m in models()])


assert {q.name for q in [quantisers.family(n, p) for n, p in quantisations()]} == set(
    fitted_quantisers()
), "a quantiser is registered that allows none of the precisions tried here"
