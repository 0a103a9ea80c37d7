"""The layout of batches: tiles of lanes.

A kernel works on whole tiles of `LANES` independent sequences, lanes innermost and of
constant number, so that its arithmetic on a lane cannot depend on the batch size, the
lane's position or its neighbours: splitting, batching and padding never change a bit.
Arrays are (tiles, numbers, LANES); the last tile is padded.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

LANES = 128
T = TypeVar("T", bound=np.generic)


def tile_count(batch: int) -> int:
    """Return how many tiles hold `batch` lanes, at least one."""
    return max(1, -(-batch // LANES))


def to_lanes(rows: NDArray[T]) -> NDArray[T]:
    """Lay rows (B, C) out as (tiles, C, LANES), padding with zeros."""
    batch, count = rows.shape
    tiles = tile_count(batch)
    padded = np.zeros((tiles * LANES, count), rows.dtype)
    padded[:batch] = rows
    return np.ascontiguousarray(padded.reshape(tiles, LANES, count).transpose(0, 2, 1))


def to_rows(lanes: NDArray[T], batch: int) -> NDArray[T]:
    """Invert `to_lanes`: (tiles, C, LANES) to (B, C)."""
    tiles, count, width = lanes.shape
    rows: NDArray[T] = lanes.transpose(0, 2, 1).reshape(tiles * width, count)[:batch]
    return rows


def take_lanes(lanes: NDArray[Any], which: NDArray[np.int64]) -> NDArray[Any]:
    """Gather lanes by their numbers into new tiles."""
    tiles = tile_count(len(which))
    padded = np.zeros(tiles * LANES, np.int64)
    padded[: len(which)] = which
    tile, lane = np.divmod(padded.reshape(tiles, LANES), LANES)
    gathered: NDArray[Any] = lanes[tile, :, lane]  # (tiles, LANES, C)
    return np.ascontiguousarray(gathered.transpose(0, 2, 1))
