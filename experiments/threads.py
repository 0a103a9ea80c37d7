"""How many threads this process may use: one, in a worker among several.

Results do not depend on it: tiles are shared over threads in a fixed order, and linear
algebra, whose sums would be split otherwise, always has one thread.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

MOST = 8

_LIBRARIES = ("OMP", "OPENBLAS", "MKL", "NUMBA")
_pinned = False


def available() -> int:
    """Return how many threads the engines share their work over."""
    return 1 if _pinned else max(1, min(MOST, os.cpu_count() or 1))


def pin() -> None:
    """Let this process, a worker among several, use one thread from now on."""
    global _pinned  # noqa: PLW0603  (a property of the process)
    _pinned = True
    for name in _LIBRARIES:  # for what is not loaded yet
        os.environ[f"{name}_NUM_THREADS"] = "1"


@contextmanager
def serial_algebra() -> Iterator[None]:
    """Run linear algebra in one thread, so that its sums are the same on every machine."""
    with _libraries().limit(limits=1):
        yield


@cache
def _libraries() -> Any:
    import numpy  # noqa: F401  (what is to be found must be loaded)
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
