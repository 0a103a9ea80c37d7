"""Seconds per million source bits of every code, encoding and decoding, one core.

Run as ``python benchmarks/bench_codes.py``. Each figure is the least of three warm runs.
"""

from __future__ import annotations

import time
from importlib import import_module
from typing import Any

import numpy as np

from statebound.protocols.problems.index import Index

CASES: list[tuple[str, int, int, dict[str, int], int]] = [
    ("truncation", 1024, 512, {}, 1024),
    ("majority", 1024, 128, {}, 1024),
    ("hamming", 1022, 584, {"checks": 3}, 1024),
    ("golay", 1012, 528, {}, 1024),
    ("linear", 32, 16, {}, 8192),
    ("trellis", 1024, 512, {"memory": 10}, 256),
    ("trellis", 1024, 512, {"memory": 12}, 128),
    ("trellis", 1024, 128, {"memory": 10}, 256),
    ("syndrome_trellis", 1024, 768, {"height": 10}, 64),
    ("syndrome_trellis", 1024, 768, {"height": 12}, 32),
    ("polar", 1024, 512, {"list_size": 1}, 512),
    ("polar", 1024, 512, {"list_size": 32}, 64),
    ("polar", 4096, 2048, {"list_size": 128}, 4),
    ("polar", 65536, 32768, {"list_size": 1}, 4),
]


def seconds_per_megabit(
    name: str, n: int, state_bits: int, options: dict[str, int], count: int
) -> dict[str, Any]:
    """Time one code on `count` words of n bits.

    Returns
    -------
    A record with set-up seconds (information set, search, tables), and encode and decode
    seconds per 10^6 source bits.
    """
    kind = import_module(f"statebound.protocols.codes.{name}").PROTOCOL
    start = time.perf_counter()
    code = kind(Index(n), state_bits, **options)
    ready = time.perf_counter() - start
    x = code.problem.sample(np.random.default_rng(0), count)
    code.decode(code.encode(x[:1]))
    encode, decode = [], []
    for _ in range(3):
        start = time.perf_counter()
        message = code.encode(x)
        middle = time.perf_counter()
        code.decode(message)
        encode.append(middle - start)
        decode.append(time.perf_counter() - middle)
    million = x.size / 1e6
    return {
        "code": name,
        "n": n,
        "state_bits": state_bits,
        **options,
        "ready": ready,
        "encode": min(encode) / million,
        "decode": min(decode) / million,
    }


def main() -> None:
    """Print one line a code."""
    print(f"{'code':<18}{'n':>6}{'M':>7}  {'options':<16}{'set-up s':>9}{'encode':>9}{'decode':>9}")
    for name, n, m, options, count in CASES:
        row = seconds_per_megabit(name, n, m, options, count)
        shown = " ".join(f"{k}={v}" for k, v in options.items())
        print(
            f"{name:<18}{n:>6}{m:>7}  {shown:<16}{row['ready']:>9.3f}"
            f"{row['encode']:>9.4f}{row['decode']:>9.4f}"
        )


if __name__ == "__main__":
    main()
