"""Matrix-state scans against a vectorised torch loop over time.

    python benchmarks/matrix_states.py [--sizes 8,16] [--batch 16384] [--steps 32] [--repeats 5]

The same keys, values and gates, looked up by the same bit tokens, float32, two threads
each: here two halves of the batch on a thread pool that calls kernels without the
interpreter's lock; torch updates its state in place, one batched operation a term, and the
better of three batch chunks counts. Torch runs in a process of its own with a passive
thread pool, since two spinning pools slow each other many times over. The state is updated
every step and read at the end. Runs are interleaved and the least time of each is kept.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

THREADS = 2
CHUNKS = (512, 2048, 16384)
KINDS = ("decay", "delta")
Floats = NDArray[np.float32]


def draw(size: int, batch: int, steps: int) -> tuple[dict[str, Floats], NDArray[np.int32]]:
    """Return tables of two columns and tokens (batch, steps)."""
    generator = np.random.Generator(np.random.PCG64(size))
    k, v, q = generator.standard_normal((3, size, 2))
    tables = {
        "k": k / np.sqrt((k**2).sum(0)),
        "v": v,
        "q": q,
        "a": generator.uniform(0.8, 1.0, (size, 2)),
        "b": generator.uniform(0.2, 0.8, (1, 2)),
    }
    tokens = generator.integers(0, 2, (batch, steps), dtype=np.int32)
    return {name: table.astype(np.float32) for name, table in tables.items()}, tokens


def seconds(work: Callable[[], Any]) -> float:
    """Return the wall time of one call."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def ours(kind: str, size: int, batch: int, steps: int) -> Callable[[], Floats]:
    """Return what scans and reads, (batch, V)."""
    from statebound.models._lanes import LANES, to_lanes, to_rows
    from statebound.models._matrix_state import decay_scan, delta_scan, read

    tables, tokens = draw(size, batch, steps)
    k, v, q, a, b = (tables[name] for name in "kvqab")
    lanes = to_lanes(tokens)
    halves = np.array_split(lanes, THREADS)

    def half(which: NDArray[np.int32]) -> Floats:
        S = np.zeros((len(which), size * size, LANES), np.float32)
        if kind == "decay":
            decay_scan(S, 1, k, v, a, which, which)
        else:
            delta_scan(S, 1, k, v, np.ascontiguousarray(a[:1]), b, which, which)
        return read(S, 1, size, q, which[:, -1:])

    pool = ThreadPoolExecutor(THREADS)
    return lambda: to_rows(np.concatenate(list(pool.map(half, halves))), batch)


def torch_loop(kind: str, size: int, batch: int, steps: int, chunk: int) -> Callable[[], Any]:
    """Return what loops over time on batched states."""
    import torch

    tables, tokens = draw(size, batch, steps)
    k, v, q, a, b = (torch.from_numpy(tables[name].T.copy()) for name in "kvqab")
    read = torch.from_numpy(tokens.T.copy()).long()

    def run() -> Any:
        outputs = []
        for first in range(0, batch, chunk):
            at = read[:, first : first + chunk]
            S = torch.zeros(at.shape[1], size, size)
            for t in range(steps):
                key, value, gate = k[at[t]], v[at[t]], a[at[t]]
                if kind == "decay":
                    S.mul_(gate[:, :, None]).addcmul_(key[:, :, None], value[:, None])
                else:
                    S.mul_(gate[:, :1, None])
                    held = torch.bmm(key[:, None], S)[:, 0]
                    S.addcmul_(key[:, :, None], ((value - held) * b[at[t]])[:, None])
            outputs.append(torch.bmm(q[at[-1]][:, None], S)[:, 0])
        return torch.cat(outputs)

    return run


def serve(arguments: argparse.Namespace) -> None:
    """Time torch on request: a line in, a line of seconds out."""
    import torch

    torch.set_num_threads(THREADS)
    size = int(arguments.sizes)
    with torch.no_grad():
        for line in sys.stdin:
            kind, chunk = line.split()
            run = torch_loop(kind, size, arguments.batch, arguments.steps, int(chunk))
            result = run()
            sum_ = [float(x) for x in result[:64].double().sum(0)]
            print(json.dumps([min(seconds(run) for _ in range(2)), sum_]), flush=True)


def compare(size: int, arguments: argparse.Namespace) -> None:
    """Print the ratio of times of both kinds at one size."""
    command = [sys.executable, __file__, "--serve", "--sizes", str(size)]
    command += ["--batch", str(arguments.batch), "--steps", str(arguments.steps)]
    passive = os.environ | {"OMP_WAIT_POLICY": "passive"}
    with subprocess.Popen(
        command, env=passive, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        for kind in KINDS:
            run = ours(kind, size, arguments.batch, arguments.steps)
            found = run()[:64].astype(float).sum(0)
            least, theirs = float("inf"), float("inf")
            for _ in range(arguments.repeats):
                for chunk in CHUNKS:
                    other.stdin.write(f"{kind} {chunk}\n")
                    other.stdin.flush()
                    took, sums = json.loads(other.stdout.readline())
                    theirs = min(theirs, took)
                    np.testing.assert_allclose(found, sums, rtol=1e-3, atol=1e-3)
                    least = min(least, seconds(run), seconds(run))
            rate = arguments.batch * arguments.steps / least / 1e6
            print(
                f"{kind} {size}x{size}: {least * 1e3:.1f} ms ({rate:.0f} M steps/s), "
                f"torch {theirs * 1e3:.1f} ms, ratio {theirs / least:.1f}"
            )
        other.stdin.close()


def main() -> None:
    """Parse the arguments and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sizes", default="8,16")
    parser.add_argument("--batch", type=int, default=16384)
    parser.add_argument("--steps", type=int, default=32)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        serve(arguments)
    else:
        for size in arguments.sizes.split(","):
            compare(int(size), arguments)


if __name__ == "__main__":
    main()
