"""GRU and LSTM scans and prefix trees against torch.nn and a vectorised numpy loop.

    python benchmarks/recurrent.py [--cell gru] [--units 8,16,32,64] [--batch 16384] [--json]

The same weights, the same batch of bit tokens, float32, two threads each: here two
halves of the batch on a thread pool that calls kernels without the interpreter's lock.
Torch runs in a process of its own with a passive thread pool, since two spinning pools
slow each other many times over; it gets its input as ready one-hot rows, and the better
of its two layouts counts. Runs are interleaved and the least time of each is kept.
Printed are ratios of times, the final states' greatest differences, what share of the
machine's sgemm rate the recurrent products alone reach, and the prefix tree's leaves
against the scan's steps.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statebound.models import Cell, Vocabulary
from statebound.models._build import build, family
from statebound.models._lanes import LANES, to_lanes, to_rows

THREADS = 2
LAYOUTS = ("batch_first", "time_major")
GATES = {"gru": 3, "lstm": 4}
TILE_LEVELS = 7  # one tile holds the prefixes of log2(LANES) bits
CHUNK_LEVELS = 6  # levels that a thread grows by itself below one tile
Floats = NDArray[np.float32]


def seconds(work: Callable[[], Any]) -> float:
    """Return the wall time of one call."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def draw(
    cell: str, units: int, batch: int, steps: int
) -> tuple[dict[str, Floats], NDArray[np.int32]]:
    """Return torch-named parameters within 1/sqrt(units) and tokens (batch, steps)."""
    generator = np.random.Generator(np.random.PCG64(units))
    rows = GATES[cell] * units
    shapes = {
        "weight_ih_l0": (rows, 2),
        "weight_hh_l0": (rows, units),
        "bias_ih_l0": (rows,),
        "bias_hh_l0": (rows,),
    }
    bound = units**-0.5
    weights = {
        name: generator.uniform(-bound, bound, shape).astype(np.float32)
        for name, shape in shapes.items()
    }
    return weights, generator.integers(0, 2, (batch, steps), dtype=np.int32)


def numpy_loop(cell: str, weights: dict[str, Floats], tokens: NDArray[np.int32]) -> Floats:
    """Run the recurrence with one matrix product and vectorised gates a step."""
    return (gru_loop if cell == "gru" else lstm_loop)(weights, tokens)


def lstm_loop(weights: dict[str, Floats], tokens: NDArray[np.int32]) -> Floats:
    """Return the last h (batch, H) of an LSTM."""
    H = weights["weight_hh_l0"].shape[1]
    both = weights["bias_ih_l0"] + weights["bias_hh_l0"]
    inputs = (weights["weight_ih_l0"] + both[:, None]).T.copy()
    U = weights["weight_hh_l0"].T.copy()
    h = np.zeros((len(tokens), H), np.float32)
    c = np.zeros_like(h)
    one = np.float32(1)
    for t in range(tokens.shape[1]):
        a = inputs[tokens[:, t]] + h @ U
        i, f, o = (one / (one + np.exp(-a[:, j * H : (j + 1) * H])) for j in (0, 1, 3))
        c = f * c + i * np.tanh(a[:, 2 * H : 3 * H])
        h = o * np.tanh(c)
    return h


def gru_loop(weights: dict[str, Floats], tokens: NDArray[np.int32]) -> Floats:
    """Return the last h (batch, H) of a GRU."""
    H = weights["weight_hh_l0"].shape[1]
    inputs = (weights["weight_ih_l0"] + weights["bias_ih_l0"][:, None]).T.copy()
    U, b = weights["weight_hh_l0"].T.copy(), weights["bias_hh_l0"]
    h = np.zeros((len(tokens), H), np.float32)
    one = np.float32(1)
    for t in range(tokens.shape[1]):
        x = inputs[tokens[:, t]]
        a = h @ U
        a += b
        gates = one / (one + np.exp(-(x[:, : 2 * H] + a[:, : 2 * H])))
        new = np.tanh(x[:, 2 * H :] + gates[:, :H] * a[:, 2 * H :])
        h = new + gates[:, H:] * (h - new)
    return h


class Scan:
    """The project's cell on a batch, two halves on two threads."""

    def __init__(
        self,
        cell: str,
        weights: dict[str, Floats],
        tokens: NDArray[np.int32],
        pool: ThreadPoolExecutor,
    ) -> None:
        vocabulary = Vocabulary(tokens.shape[1], 2, False, 0, 2)
        given: dict[str, Any] = dict(weights)
        self.cell: Cell = build(family(cell), vocabulary, weights=given)[0]
        self.pool, self.batch = pool, len(tokens)
        lanes = to_lanes(tokens)
        cuts = np.linspace(0, len(lanes), THREADS + 1).astype(int)
        pairs = pairwise(cuts)
        self.parts = [lanes[a:b] for a, b in pairs if b > a]

    def run(self) -> Floats:
        """Scan every part from the start state: (tiles, H, LANES)."""
        done = self.pool.map(lambda p: self.cell.scan(self.cell.start(len(p)), p)[0], self.parts)
        return np.concatenate(list(done))

    def rows(self) -> Floats:
        """Return the final states, (batch, H)."""
        return to_rows(self.run(), self.batch)

    def leaves(self, depth: int) -> float:
        """Grow the tree of all strings of `depth` bits; return a sum that needs each leaf."""
        prefixes = np.arange(LANES)[:, None] >> np.arange(TILE_LEVELS) & 1
        state = self.cell.scan(self.cell.start(1), to_lanes(prefixes.astype(np.int32)))
        both = np.arange(2, dtype=np.int32)
        for _ in range(depth - TILE_LEVELS - CHUNK_LEVELS):
            state = self.cell.branch(state, both)

        def below(tile: int) -> float:
            part = tuple(numbers[tile : tile + 1] for numbers in state)
            for _ in range(CHUNK_LEVELS):
                part = self.cell.branch(part, both)
            return float(part[0][:, 0].sum())

        return sum(self.pool.map(below, range(len(state[0])), chunksize=4))


class Torch:
    """torch.nn in a process of its own, timed on request."""

    def __init__(
        self, cell: str, weights: dict[str, Floats], tokens: NDArray[np.int32], folder: Path
    ) -> None:
        inputs, self.outputs = folder / "inputs.npz", folder / "outputs.npz"
        arrays: dict[str, Any] = {"tokens": tokens, **weights}
        np.savez(inputs, **arrays)
        environment = os.environ | {
            "OMP_WAIT_POLICY": "passive",
            "OMP_NUM_THREADS": str(THREADS),
            "NUMBA_THREADING_LAYER": "workqueue",
        }
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--torch-worker", cell, str(inputs), str(self.outputs)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        self.ready = self._line() == "ready"

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def seconds(self, layout: str) -> float:
        """Return the time of one run in this layout."""
        assert self.process.stdin is not None
        self.process.stdin.write(layout + "\n")
        self.process.stdin.flush()
        return float(self._line())

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def torch_worker(cell: str, inputs: Path, outputs: Path) -> None:
    """Answer every layout named on stdin with the seconds of one run."""
    try:
        import torch
    except ImportError:
        print("missing", flush=True)
        return
    torch.set_num_threads(THREADS)
    with np.load(inputs) as held:
        arrays = {name: torch.from_numpy(held[name]) for name in held.files}
    x = torch.nn.functional.one_hot(arrays.pop("tokens").long(), 2).float()
    H = arrays["weight_hh_l0"].shape[1]
    given = {"batch_first": x, "time_major": x.transpose(0, 1).contiguous()}
    nets = {}
    with torch.inference_mode():
        for layout in LAYOUTS:
            kind = torch.nn.GRU if cell == "gru" else torch.nn.LSTM
            nets[layout] = kind(2, H, batch_first=layout == "batch_first")
            nets[layout].load_state_dict(arrays)
        last = {layout: net(given[layout])[1] for layout, net in nets.items()}
        h = {k: v[0] if cell == "gru" else v[0][0] for k, v in last.items()}
        np.savez(outputs, **{layout: each.numpy() for layout, each in h.items()})
        print("ready", flush=True)
        for line in sys.stdin:
            layout = line.strip()
            print(seconds(lambda: nets[layout](given[layout])), flush=True)  # noqa: B023


def sgemm_rate(repeats: int) -> float:
    """Return the machine's float32 matrix product rate in GF/s, at 2048 cubed."""
    generator = np.random.Generator(np.random.PCG64(0))
    a, b = generator.random((2, 2048, 2048), dtype=np.float32)
    a @ b
    return 2 * 2048**3 / min(seconds(lambda: a @ b) for _ in range(repeats)) / 1e9


def measure(units: int, arguments: argparse.Namespace, rate: float) -> dict[str, Any]:
    """Return one row of the table."""
    batch, steps, depth = arguments.batch, arguments.steps, arguments.depth
    cell = arguments.cell
    weights, tokens = draw(cell, units, batch, steps)
    with ThreadPoolExecutor(THREADS) as pool, tempfile.TemporaryDirectory() as folder:
        scan = Scan(cell, weights, tokens, pool)
        torch = Torch(cell, weights, tokens, Path(folder))
        ours = scan.rows()
        scan.leaves(TILE_LEVELS + CHUNK_LEVELS + 1)
        differences = {"numpy": float(np.abs(ours - numpy_loop(cell, weights, tokens)).max())}
        if torch.ready:
            with np.load(torch.outputs) as held:
                for layout in LAYOUTS:
                    differences[layout] = float(np.abs(ours - held[layout]).max())
        kinds: dict[str, Callable[[], float]] = {
            "scan": lambda: seconds(scan.run),
            "numpy": lambda: seconds(lambda: numpy_loop(cell, weights, tokens)),
            "tree": lambda: seconds(lambda: scan.leaves(depth)),
        }
        if torch.ready:
            kinds["batch_first"] = lambda: torch.seconds("batch_first")
            kinds["time_major"] = lambda: torch.seconds("time_major")
        times: dict[str, list[float]] = {name: [] for name in kinds}
        for _ in range(arguments.repeats):
            for name, run in kinds.items():
                times[name].append(run())
        torch.close()
    least = {name: min(values) for name, values in times.items()}
    work = batch * steps
    best = min((least[k] for k in LAYOUTS if k in least), default=None)
    products = 2 * GATES[cell] * units * units * work / least["scan"] / 1e9
    return {
        "units": units,
        "seconds": least,
        "steps_per_second": work / least["scan"],
        "torch_ratio": None if best is None else best / least["scan"],
        "numpy_ratio": least["numpy"] / least["scan"],
        "products_gflops": products,
        "sgemm_fraction": products / rate,
        "leaves_per_second": 2**depth / least["tree"],
        "leaves_per_step": 2**depth / least["tree"] * least["scan"] / work,
        "difference": differences,
    }


def show(rows: list[dict[str, Any]], rate: float) -> None:
    """Print the rows as a table."""
    print(f"sgemm 2048^3: {rate:.1f} GF/s")
    print(
        "units   scan s  Msteps/s  torch s  torch/scan  numpy s  numpy/scan  of sgemm"
        "  Mleaves/s  leaves/step  max difference"
    )
    for row in rows:
        spent = row["seconds"]
        torch = [spent[k] for k in LAYOUTS if k in spent]
        both = f"{min(torch):9.4f}{row['torch_ratio']:11.2f}x" if torch else f"{'-':>9}{'-':>12}"
        print(
            f"{row['units']:5d}{spent['scan']:9.4f}{row['steps_per_second'] / 1e6:10.1f}{both}"
            f"{spent['numpy']:9.4f}{row['numpy_ratio']:11.2f}x{row['sgemm_fraction']:10.1%}"
            f"{row['leaves_per_second'] / 1e6:11.1f}{row['leaves_per_step']:13.2f}"
            f"{max(row['difference'].values()):16.1e}"
        )


def main() -> None:
    """Parse the arguments, measure, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cell", choices=sorted(GATES), default="gru")
    parser.add_argument("--units", default="8,16,32,64", help="numbers of units, by commas")
    parser.add_argument("--batch", type=int, default=16384)
    parser.add_argument("--steps", type=int, default=32)
    parser.add_argument("--depth", type=int, default=18, help="bits of the prefix tree, >= 14")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--torch-worker", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.torch_worker:
        cell, *paths = arguments.torch_worker
        torch_worker(cell, *map(Path, paths))
        return
    if arguments.depth < TILE_LEVELS + CHUNK_LEVELS + 1:
        parser.error(f"--depth must be at least {TILE_LEVELS + CHUNK_LEVELS + 1}")
    rate = sgemm_rate(arguments.repeats)
    rows = [measure(int(units), arguments, rate) for units in arguments.units.split(",")]
    if arguments.json:
        print(json.dumps({"sgemm_gflops": rate, "threads": THREADS, "rows": rows}))
    else:
        show(rows, rate)


if __name__ == "__main__":
    main()
