"""The one door to numba.

Every compiled function of the project is made by `kernel`. Three reasons:

* numba's disk cache watches only the file of the outer function, so an edit in a
  called file would be missed. Here the cache folder is named after a hash of all
  sources that hold kernels, so any edit starts a new cache.
* numba is slow to import; it is imported when the first module with kernels is,
  which happens only when a scan is about to run.
* one set of flags: ``nogil`` (tiles are shared over threads by the caller),
  ``error_model="numpy"`` (the division check stops vectorisation), no ``fastmath``
  (bits are results), no ``parallel`` (its layers break under threads and forks).
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba import types
from numba.extending import intrinsic, overload

F = TypeVar("F", bound=Callable[..., Any])

_ROOMS = ("protocols", "models", "reductions", "experiments")


def _sources() -> list[Path]:
    """Return all Python files of the package, in a fixed order."""
    import importlib.util

    folders = {Path(__file__).parent}
    for room in _ROOMS:
        spec = importlib.util.find_spec(f"statebound.{room}")
        if spec is not None and spec.submodule_search_locations:
            folders.update(Path(p) for p in spec.submodule_search_locations)
    return sorted(p for folder in folders for p in folder.rglob("*.py"))


@cache
def cache_folder() -> str:
    """Return the folder of compiled kernels that belongs to these sources."""
    root = os.environ.get("NUMBA_CACHE_DIR")
    if root is None:
        if sys.platform == "win32":
            base = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
        else:
            base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
        root = str(Path(base) / "statebound")
    digest = hashlib.sha256(numba.__version__.encode())
    for path in _sources():
        text = path.read_bytes()
        if b"kernel" in text:
            digest.update(path.name.encode() + b"\0" + text)
    return str(Path(root) / digest.hexdigest()[:16])


def kernel(function: F) -> F:
    """Compile `function` with numba on its first call, with the project's flags.

    The signature is kept for type checkers. Where no cache folder can be written
    the function is compiled afresh in every process.
    """
    config: Any = numba.core.config
    before = config.CACHE_DIR
    config.CACHE_DIR = cache_folder()
    flags: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
    try:
        compiled = numba.njit(cache=True, **flags)(function)
    except RuntimeError:
        compiled = numba.njit(**flags)(function)
    finally:
        config.CACHE_DIR = before
    return cast("F", compiled)


def _fma_code(typing: Any, a: Any, b: Any, c: Any) -> Any:
    """LLVM's fused multiply-add: a b + c, rounded once."""
    if not (isinstance(a, types.Float) and a == b == c):
        return None

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    return a(a, b, c), build


_fma: Any = intrinsic(_fma_code)


def fma(a: Any, b: Any, c: Any) -> Any:
    """Return a b + c rounded once (in kernels; a plain expression outside them).

    All three must have the same floating type.
    """
    return a * b + c


@overload(fma, inline="always")
def _fma_overload(a: Any, b: Any, c: Any) -> Any:
    def implementation(a: Any, b: Any, c: Any) -> Any:
        return _fma(a, b, c)

    return implementation


def by_dtype(function: F, single: Callable[..., Any], double: Callable[..., Any]) -> F:
    """Let kernels call `single` for float32 and `double` for float64 under one name.

    Outside kernels `function` itself runs. The three take one number.
    """

    @overload(function)
    def _choose(x: Any) -> Any:
        chosen = single if x == types.float32 else double

        def implementation(x: Any) -> Any:
            return chosen(x)

        return implementation

    return function
