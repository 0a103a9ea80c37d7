"""A small sweep of exact points and samples, and what a results folder says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from statebound.experiments.sweeping.combine import NAME, combine

SMALL = """
title = "Small"
question = "Does it come to the same?"

[stop]
trials = 2500

[[grid]]
problem = "index"
n = [5, 6]
model = ["sliding_window", "gru"]
rate = [0.25, 0.5]

[[grid]]
problem = "index"
n = [30, 40]
protocol = "majority"
state_bits = [4, 8]
engine = "sample"
bob = "model"
seed = [0, 1]

[quick]
n = 5

[quick.stop]
trials = 1500
"""
TASKS, SAMPLES = 16, 8


def written(folder: Path, text: str = SMALL, name: str = "small") -> Path:
    """Write a sweep's file."""
    path = folder / f"{name}.toml"
    path.write_text(text)
    return path


def lines(folder: Path) -> list[str]:
    """Return the whole lines of all row files, each once, sorted."""
    found: set[str] = set()
    for path in folder.glob("rows-*.jsonl"):
        *whole, _ = path.read_text().split("\n")
        found |= set(whole)
    return sorted(found)


def combined(folder: Path, *others: Path) -> bytes:
    """Return what `combine` makes of folders."""
    out = folder.with_name(f"{folder.name}-combined")
    for number in range(1000):
        if not out.exists():
            break
        out = folder.with_name(f"{folder.name}-combined-{number}")
    combine([folder, *others], out)
    return (out / NAME).read_bytes()


def parsed(text: list[str]) -> list[dict[str, Any]]:
    """Return lines as objects."""
    return [json.loads(line) for line in text]
