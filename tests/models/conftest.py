"""Every registered cell, every way to initialise it, and every neighbouring size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from statebound import registry
from statebound.errors import UsageError
from statebound.models import Cell, Vocabulary
from statebound.models._build import build, family
from statebound.models._lanes import to_lanes


@dataclass(frozen=True)
class Kind:
    """A cell to make: a family, an initialisation, overrides and an alphabet."""

    name: str
    init: str
    settings: tuple[tuple[str, int | str], ...]
    symbols: int

    def make(self, dtype: str = "float32", seed: int = 1) -> Cell:
        length = 9
        parities = tuple((k,) for k in range(length)) if self.symbols == 2 else ()
        positional = family(self.name).encoding != "bits"
        vocabulary = Vocabulary(length, self.symbols, positional, length, self.symbols, parities)
        cell, origin = build(
            family(self.name),
            vocabulary,
            settings=dict(self.settings),
            init=self.init,
            seed=seed,
            dtype=dtype,
        )
        assert origin == self.init
        return cell

    def tokens(self, cell: Cell, rows: int, steps: int, seed: int = 0) -> np.ndarray:
        """Draw (rows, steps) tokens from all that the cell reads."""
        generator = np.random.Generator(np.random.PCG64(seed))
        return generator.integers(0, cell.vocabulary.size, (rows, steps), dtype=np.int32)

    def state(self, cell: Cell, rows: int) -> tuple[np.ndarray, ...]:
        """Return a state in the middle of a stream, different in every row."""
        return cell.scan(
            cell.start(-(-rows // 128)), to_lanes(self.tokens(cell, rows, 11, seed=77))
        )

    def __str__(self) -> str:
        changed = ",".join(f"{key}={value}" for key, value in self.settings)
        return "-".join(filter(None, [self.name, self.init, changed, f"{self.symbols}symbols"]))


def kinds() -> list[Kind]:
    """Return all that can be made: sizes one up in every config field, and 3 symbols."""
    found = []
    for name in registry.names("statebound.models"):
        for init in family(name).inits:
            plain = Kind(name, init, (), 2)
            larger = [
                ((key, value + 1),)
                for key, value in plain.make().settings().items()
                if isinstance(value, int) and "." not in key  # of a stack's layers: test_stack.py
            ]
            for kind in [plain, Kind(name, init, (), 3), *(Kind(name, init, s, 2) for s in larger)]:
                try:
                    kind.make()
                except UsageError:
                    continue
                found.append(kind)
    return found


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "kind" in metafunc.fixturenames:
        metafunc.parametrize("kind", kinds(), ids=str)
