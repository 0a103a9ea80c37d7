"""Every registered cell, initialisation, quantiser, precision and regime, cut in two."""

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
from statebound.reductions.machine import REGIMES, CutMachine, cut

N = 6
PRECISIONS = (1, 2, 3, 8, 12, 16, 24, 32)


@dataclass(frozen=True)
class Kind:
    """The arguments of one machine for Index on `N` bits with 4 positions or units."""

    model: str
    init: str
    settings: tuple[tuple[str, int], ...]
    quantiser: str
    bits: int
    regime: str
    dtype: str = "float32"

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
            "machine_seed": 5,
        }
        return cut(Index(N), self.model, **(arguments | changes))

    def machine(self) -> CutMachine:
        """Return the machine, built once."""
        return _made(self)

    def __str__(self) -> str:
        changed = ",".join(f"{key}={value}" for key, value in self.settings)
        parts = [self.model, self.init, changed, self.quantiser, f"{self.bits}bit", self.regime]
        return "-".join(filter(None, parts))


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


def models() -> list[tuple[str, str, tuple[tuple[str, int], ...]]]:
    """Return every cell with every init, and caches of keys as well as values."""
    found = []
    for name in registry.names("statebound.models"):
        cell = family(name)
        found += [(name, init, ()) for init in cell.inits]
        if "window" in cell.Config.__dataclass_fields__:
            found.append((name, "random", (("d_key", 1), ("d_value", 2), ("window", 4))))
    return found


def quantisations() -> list[tuple[str, int]]:
    """Return every quantiser at every precision that it allows."""
    found = []
    for name in registry.names("statebound.reductions.quantisers"):
        module = registry.load("statebound.reductions.quantisers", name, "quantiser")
        low, high = module.QUANTISER.least_bits, module.QUANTISER.most_bits
        found += [(name, bits) for bits in PRECISIONS if low <= bits <= high]
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
    return lambda model, quantisation, regime, dtype="float32": Kind(
        *model, *quantisation, regime, dtype
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "kind" in metafunc.fixturenames:
        kinds = [
            Kind(*model, *quantisation, regime)
            for model in models()
            for quantisation in quantisations()
            for regime in REGIMES
        ]
        metafunc.parametrize("kind", kinds, ids=str)
    if "quantisation" in metafunc.fixturenames:
        metafunc.parametrize(
            "quantisation", quantisations(), ids=[f"{name}-{p}bit" for name, p in quantisations()]
        )
    if "model" in metafunc.fixturenames:
        metafunc.parametrize("model", models(), ids=["-".join(map(str, m)) for m in models()])


assert {q.name for q in [quantisers.family(n, p) for n, p in quantisations()]} == set(
    registry.names("statebound.reductions.quantisers")
), "a quantiser is registered that allows none of the precisions tried here"
