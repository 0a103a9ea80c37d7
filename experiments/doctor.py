"""doctor: small end-to-end checks of an installation, each with a known result."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from statebound import __version__


def examine() -> dict[str, Any]:
    """Return facts of this machine and the results of the checks."""
    import matplotlib
    import numba
    import numpy
    import scipy

    import statebound

    facts = {
        "statebound": __version__,
        "installed at": str(Path(statebound.__file__).parent),
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "numba": numba.__version__,
        "scipy": scipy.__version__,
        "matplotlib": matplotlib.__version__,
        "cpus": os.cpu_count(),
    }
    checks = [
        _check("kernels compile", _kernels),
        _check("exact success of a window", _window),
        _check("split equals no split", _split),
        _check("a smuggled bit is caught", _leak),
        _check("a results folder can be written", _folder),
    ]
    return {"facts": facts, "checks": checks, "ok": all(c["ok"] for c in checks)}


def _check(name: str, work: Callable[[], str]) -> dict[str, Any]:
    start = time.perf_counter()
    try:
        detail, ok = work(), True
    except Exception as error:  # noqa: BLE001  a doctor reports whatever goes wrong
        detail, ok = f"{type(error).__name__}: {error}", False
    return {"name": name, "ok": ok, "detail": detail, "seconds": time.perf_counter() - start}


def _expect(found: object, wanted: object) -> str:
    if found != wanted:
        raise ValueError(f"found {found}, expected {wanted}")
    return f"{found}"


def _kernels() -> str:
    from statebound import jit
    from statebound.experiments.measure import measure
    from statebound.experiments.request import Request

    success = measure(Request("index", 8, model="gru")).row["success"]
    return f"cache in {jit.cache_folder()}, gru success {success:.4f}"


def _window() -> str:
    from statebound.experiments.measure import measure
    from statebound.experiments.request import Request

    row = measure(Request("index", 10, model="sliding_window", numbers=6)).row
    return _expect(Fraction(row["success_fraction"]), Fraction(1, 2) + Fraction(6, 20))


def _split() -> str:
    import numpy as np

    from statebound.protocols.problem import make
    from statebound.reductions.machine import cut

    machine = cut(make("index", 12), "gru", regime="step", bits=4)
    tokens = machine.encoding.tokens(machine.problem.enumerate(0, 256))
    whole = machine.message(machine.extend(machine.starts(256), tokens))
    half = machine.message(machine.extend(machine.starts(256), tokens[:, :5]))
    resumed = machine.extend(machine.resume(half, 5), tokens[:, 5:])
    return _expect(bool(np.array_equal(machine.message(resumed), whole)), True)


def _leak() -> str:
    from statebound.experiments.measure import measure
    from statebound.experiments.request import Request

    return _expect(measure(Request("index", 8, protocol="leaky")).row["violates_wall"], True)


def _folder() -> str:
    from statebound.experiments import results

    with TemporaryDirectory() as folder:
        with results.Writer(Path(folder), {"verb": "doctor"}, []) as writer:
            writer.append("a", {"value": 1})
        return _expect(len(results.load(folder)), 1)
