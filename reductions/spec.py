"""What identifies a cut machine: one frozen record, from which everything else derives."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statebound.reductions.quantiser import FieldBits


@dataclass(frozen=True)
class MachineSpec:
    """All that defines a cut machine; packing, M, header and identity derive from it.

    `weights_hash` and `quantiser_hash` are SHA-256 of the parameters and of the
    calibrated quantisers, so two processes whose arithmetic differs notice. The machine's
    seed is that of its parameters and of its coins; None where nothing is drawn from it.
    `fields` says all that crosses, in order: numbers, and whatever is sent beside them.
    `bob_hash` is that of a network of its own that answers, which is public as well.
    """

    problem: str
    problem_options: tuple[tuple[str, int | str], ...]
    model: str
    config: tuple[tuple[str, int | str], ...]
    init: str
    machine_seed: int | None
    weights_hash: str
    dtype: str
    encoding: str
    regime: str
    quantiser: str
    quantiser_hash: str
    rounding: str
    calibration_seed: int
    fields: tuple[FieldBits, ...]
    growing: tuple[tuple[str, int], ...] = ()  # fields without a fixed size: numbers a token
    bob_hash: str | None = None

    @property
    def state_bits(self) -> int:
        """M, the sum over all fields."""
        return sum(f.numbers * f.bits for f in self.fields)

    def as_dict(self) -> dict[str, Any]:
        """Return the specification as JSON-able data."""
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        plain["problem_options"] = dict(self.problem_options)
        plain["config"] = dict(self.config)
        plain["fields"] = [vars(f) for f in self.fields]
        plain["growing"] = dict(self.growing)
        if not self.growing:
            del plain["growing"]
        if self.bob_hash is None:
            del plain["bob_hash"]
        return plain

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical, key-sorted JSON of the specification."""
        text = json.dumps(self.as_dict(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def hash_arrays(arrays: Mapping[str, NDArray[Any]]) -> str:
    """Return SHA-256 over the names, shapes and float64 bytes of arrays, names sorted."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name], "<f8")
        digest.update(f"{name}{array.shape}".encode() + array.tobytes())
    return digest.hexdigest()
