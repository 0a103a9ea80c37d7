"""Whole layers against the slow paths that a user would otherwise run on a CPU.

    python benchmarks/layers.py [--families mamba,gla] [--batch 512] [--steps 32] [--json]

The same parameters and the same real inputs (B, T, D), float32, from the zero state, to
the outputs (B, T, D); two threads each: here two halves of the batch on a thread pool.
Slow paths are those of transformers, and for the linear-attention family the reference
recurrences of flash-linear-attention between torch's own projections, gates and norms.
They run in a process of their own with a passive thread pool. Runs are interleaved and
the least time of each is kept. The outputs must agree to 1e-4 of the largest. Beside the
ratio stands what share of the machine's sgemm rate the layer's multiplications reach,
counting those of its dense maps alone.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

THREADS = 2
Floats = NDArray[np.float32]
SIZES: dict[str, dict[str, int]] = {
    "mamba": {"d_inner": 32, "d_state": 16, "d_conv": 4, "d_model": 16, "dt_rank": 1},
    "mamba2": {"heads": 4, "head_dim": 8, "d_state": 16, "d_conv": 4, "width": 16},
    "rglru": {"lru_width": 32, "heads": 2, "d_conv": 4, "width": 32},
    "rwkv4": {"width": 32, "hidden": 64},
    "mlstm": {"heads": 2, "d_key": 16, "d_value": 32, "width": 64, "exp_forget": 0},
    "gla": {"heads": 2, "d_key": 16, "d_value": 16, "width": 32, "rank": 16},
    "deltanet": {"heads": 2, "d_key": 16, "d_value": 16, "width": 32},
    "gated_deltanet": {"heads": 2, "d_key": 16, "d_value": 16, "width": 32},
}


def seconds(work: Callable[[], Any]) -> float:
    """Return the wall time of one call."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def drawn(family: str, batch: int, steps: int) -> tuple[Any, dict[str, Any], Floats]:
    """Return the layer's class with its config, its parameters, and inputs (B, T, D)."""
    from statebound.models._build import family as cell_family

    layer: Any = cell_family(family).layer  # type: ignore[attr-defined]
    settings = SIZES[family]
    config = layer.Config.of(1, settings) if family == "rwkv4" else _config(layer, settings)
    generator = np.random.Generator(np.random.PCG64(5))
    weights = layer.random(config, generator)
    x = generator.standard_normal((batch, steps, config.width)).astype(np.float32)
    return (layer, config), weights, x


def _config(layer: Any, settings: dict[str, int]) -> Any:
    from statebound.errors import UsageError

    for total in range(1, 1 << 14):
        try:
            found = layer.Config.of(total, settings)
        except UsageError:
            continue
        if found.numbers == total:
            return found
    raise SystemExit(f"no total of numbers fits {settings}")


def ours(family: str, batch: int, steps: int) -> tuple[Callable[[], Floats], int]:
    """Return what runs the layer, and the multiplications of its dense maps."""
    from statebound.models._lanes import LANES

    (layer_class, config), weights, x = drawn(family, batch, steps)
    layer = layer_class(config, weights, np.dtype("float32"))
    tiles = batch // LANES
    lanes = x.reshape(tiles, LANES, steps, -1).transpose(0, 2, 3, 1)
    halves = [np.ascontiguousarray(part) for part in np.array_split(lanes, THREADS)]
    pool = ThreadPoolExecutor(THREADS)
    dtype = np.dtype("float32")

    def run() -> Floats:
        done = list(pool.map(lambda p: layer.run(layer.start(len(p), dtype), p)[1], halves))
        every = np.concatenate(done).transpose(0, 3, 1, 2)
        return np.ascontiguousarray(every).reshape(x.shape)

    dense = sum(a.size for name, a in weights.items() if a.ndim == 2 and name.endswith("weight"))
    return run, dense * batch * steps


def reference(name: str) -> Any:
    """Load a reference file of flash-linear-attention: importing its package needs triton."""
    found = importlib.util.find_spec("fla")
    if found is None or not found.submodule_search_locations:
        raise SystemExit("flash-linear-attention is not installed")
    path = Path(found.submodule_search_locations[0]) / "ops" / name / "naive.py"
    spec = importlib.util.spec_from_file_location(f"reference_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def theirs(family: str, w: dict[str, Any], x: Any) -> Callable[[], Any]:
    """Return the slow path of a layer with parameters w on x (B, T, D)."""
    import torch

    functional = torch.nn.functional

    sizes = SIZES[family]
    if family in ("gla", "deltanet", "gated_deltanet"):
        return linear(family, w, x, torch, functional)
    import transformers

    if family == "mamba":
        from transformers.models.mamba.modeling_mamba import MambaMixer

        block: Any = MambaMixer(
            transformers.MambaConfig(
                hidden_size=sizes["d_model"],
                state_size=sizes["d_state"],
                conv_kernel=sizes["d_conv"],
                expand=2,
                time_step_rank=sizes["dt_rank"],
                num_hidden_layers=1,
                vocab_size=4,
            ),
            layer_idx=0,
        )
    elif family == "mamba2":
        from transformers.models.mamba2.modeling_mamba2 import Mamba2Mixer

        block = Mamba2Mixer(
            transformers.Mamba2Config(
                num_heads=sizes["heads"],
                head_dim=sizes["head_dim"],
                state_size=sizes["d_state"],
                hidden_size=sizes["width"],
                expand=2,
                n_groups=1,
                conv_kernel=sizes["d_conv"],
                chunk_size=x.shape[1],
                num_hidden_layers=1,
                use_bias=False,
                vocab_size=8,
            ),
            layer_idx=0,
        )
    elif family == "rwkv4":
        from transformers.models.rwkv.modeling_rwkv import RwkvBlock

        D = sizes["width"]
        settings = transformers.RwkvConfig(
            hidden_size=D,
            attention_hidden_size=D,
            intermediate_size=sizes["hidden"],
            num_hidden_layers=2,
        )
        block = RwkvBlock(settings, layer_id=1)
    elif family == "mlstm":
        from transformers.models.xlstm.modeling_xlstm import xLSTMLayer

        block = xLSTMLayer(
            transformers.xLSTMConfig(
                hidden_size=sizes["width"],
                num_heads=sizes["heads"],
                qk_dim_factor=0.5,
                v_dim_factor=1.0,
                num_hidden_layers=1,
                eps=0.0,
            )
        )
    else:
        from transformers.models.recurrent_gemma.modeling_recurrent_gemma import (
            RecurrentGemmaRecurrentBlock,
        )

        settings = transformers.RecurrentGemmaConfig(
            hidden_size=sizes["width"],
            lru_width=sizes["lru_width"],
            num_attention_heads=sizes["heads"],
            conv1d_width=sizes["d_conv"],
            num_hidden_layers=1,
            intermediate_size=8,
            vocab_size=8,
        )
        block = RecurrentGemmaRecurrentBlock(settings, layer_idx=0)
    block = block.float().eval()
    block.load_state_dict(w)
    if family == "rglru":
        at = torch.arange(1, x.shape[1] + 1).expand(x.shape[:2])  # position 0 has its own rule

        def afresh() -> Any:
            block.rg_lru.recurrent_states, block.conv1d_state = None, None
            return block(x, at, None)

        return afresh
    if family in ("rwkv4", "mlstm"):
        return lambda: block(x)[0]
    return lambda: block(x)


def linear(family: str, w: dict[str, Any], x: Any, torch: Any, F: Any) -> Callable[[], Any]:
    """Return a layer of the linear-attention family around its reference recurrence."""
    H, K = SIZES[family]["heads"], SIZES[family]["d_key"]

    def heads(name: str) -> Any:
        return F.linear(x, w[f"{name}_proj.weight"]).unflatten(-1, (H, -1))

    def norm(o: Any, weight: Any) -> Any:
        return o * torch.rsqrt(o.pow(2).mean(-1, keepdim=True) + 1e-5) * weight

    if family == "gla":
        naive = reference("gla").naive_recurrent_gla

        def run() -> Any:
            low = F.linear(x, w["gk_proj.0.weight"])
            gate = F.linear(low, w["gk_proj.1.weight"], w["gk_proj.1.bias"])
            g = F.logsigmoid(gate).unflatten(-1, (H, K)) / 16
            o, _ = naive(heads("q"), heads("k"), heads("v"), g, None, False)
            y = norm(o, w["g_norm_swish_gate.weight"]).flatten(-2)
            return F.linear(y * F.silu(F.linear(x, w["g_proj.weight"])), w["o_proj.weight"])

        return run

    def unit(a: Any) -> Any:
        return a * torch.rsqrt(a.pow(2).sum(-1, keepdim=True) + 1e-6)

    if family == "deltanet":
        rule = reference("delta_rule").delta_rule_recurrence
    else:
        rule = reference("gated_delta_rule").naive_recurrent_gated_delta_rule

    def delta() -> Any:
        q, k = (unit(F.silu(heads(name))) for name in "qk")
        v, b = F.silu(heads("v")), torch.sigmoid(F.linear(x, w["b_proj.weight"]))
        if family == "deltanet":
            turned = [a.transpose(1, 2) for a in (q, k, v, b)]
            o = rule(*turned, None, False)[0].transpose(1, 2)
        else:
            step = F.softplus(F.linear(x, w["a_proj.weight"]) + w["dt_bias"])
            g = -torch.exp(w["A_log"]) * step
            o = rule(q, k, v, b, g, K**-0.5, None, False)[0]
        y = norm(o, w["o_norm.weight"]).flatten(-2)
        if "g_proj.weight" in w:
            y = y * F.silu(F.linear(x, w["g_proj.weight"]))
        return F.linear(y, w["o_proj.weight"])

    return delta


def serve(arguments: argparse.Namespace) -> None:
    """Time the slow path on request: a family in, a line of seconds out."""
    import warnings

    import torch

    warnings.simplefilter("ignore")
    torch.set_num_threads(THREADS)
    runs: dict[str, Callable[[], Any]] = {}
    with torch.no_grad():
        for line in sys.stdin:
            family = line.strip()
            if family not in runs:
                _, weights, x = drawn(family, arguments.batch, arguments.steps)
                w = {n: torch.tensor(a, dtype=torch.float32) for n, a in weights.items()}
                runs[family] = theirs(family, w, torch.from_numpy(x))
                found = runs[family]()
                found = found[0] if isinstance(found, tuple) else found
                np.save(Path(arguments.serve) / f"{family}.npy", found.numpy())
            print(seconds(runs[family]), flush=True)


def sgemm_rate(repeats: int) -> float:
    """Return the machine's float32 matrix product rate in GF/s, at 2048 cubed."""
    generator = np.random.Generator(np.random.PCG64(0))
    a, b = generator.random((2, 2048, 2048), dtype=np.float32)
    a @ b
    return 2 * 2048**3 / min(seconds(lambda: a @ b) for _ in range(repeats)) / 1e9


def compare(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Return one row a family."""
    rate, rows = sgemm_rate(arguments.repeats), []
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--serve", folder]
        command += ["--batch", str(arguments.batch), "--steps", str(arguments.steps)]
        passive = os.environ | {"OMP_WAIT_POLICY": "passive", "TRANSFORMERS_VERBOSITY": "error"}
        with subprocess.Popen(
            command, env=passive, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as other:
            assert other.stdin is not None
            assert other.stdout is not None
            for family in arguments.families.split(","):
                run, products = ours(family, arguments.batch, arguments.steps)
                found, mine, slow = run(), [], []
                for _ in range(arguments.repeats):
                    mine.append(seconds(run))
                    other.stdin.write(family + "\n")
                    other.stdin.flush()
                    slow.append(float(other.stdout.readline()))
                wanted = np.load(Path(folder) / f"{family}.npy")
                error = float(np.abs(found - wanted).max() / np.abs(wanted).max())
                rows.append(
                    {
                        "family": family,
                        "seconds": min(mine),
                        "slow_path_seconds": min(slow),
                        "ratio": min(slow) / min(mine),
                        "steps_per_second": arguments.batch * arguments.steps / min(mine),
                        "sgemm_fraction": 2 * products / min(mine) / 1e9 / rate,
                        "difference": error,
                    }
                )
            other.stdin.close()
    return rows


def main() -> None:
    """Parse the arguments, compare, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--families", default=",".join(SIZES))
    parser.add_argument("--batch", type=int, default=512, help="a multiple of 256")
    parser.add_argument("--steps", type=int, default=32)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        serve(arguments)
        return
    rows = compare(arguments)
    if arguments.json:
        print(json.dumps({"threads": THREADS, "rows": rows}))
        return
    print("layer             seconds  slow path   ratio  Msteps/s  of sgemm  difference")
    for row in rows:
        print(
            f"{row['family']:<16}{row['seconds']:9.4f}{row['slow_path_seconds']:11.4f}"
            f"{row['ratio']:7.1f}x{row['steps_per_second'] / 1e6:10.2f}"
            f"{row['sgemm_fraction']:10.1%}{row['difference']:12.1e}"
        )


if __name__ == "__main__":
    main()
