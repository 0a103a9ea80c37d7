"""Small weight files in the layouts of the real ones."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from statebound.experiments.subjects import g2p, textgen

G2P_SIZES = {"H": 8, "E": 5, "D": 6}
TEXTGEN_SIZES = {"V": 32, "E": 6, "H": 8, "C": 22}


def shape_of(sides: Any, sizes: dict[str, int]) -> tuple[int, ...]:
    return tuple(
        side if isinstance(side, int) else int(side[:-1] or 1) * sizes[side[-1]] for side in sides
    )


def drawn(layout: Any, sizes: dict[str, int], seed: int = 3) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(seed)
    return {
        name: generator.normal(0, 0.6, shape_of(sides, sizes)).astype(np.float32)
        for name, sides in layout.items()
    }


def npz_bytes(arrays: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


@pytest.fixture(scope="session")
def g2p_arrays() -> dict[str, np.ndarray]:
    return drawn(g2p.LAYOUT, G2P_SIZES)


@pytest.fixture
def g2p_wheel(tmp_path: Path, g2p_arrays: dict[str, np.ndarray]) -> Path:
    """A wheel that holds the weights, and code that must not run."""
    path = tmp_path / "g2p_en-2.1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("g2p_en/__init__.py", "raise SystemExit('imported')")
        archive.writestr(g2p.FILE.path, npz_bytes(g2p_arrays))
    return path


@pytest.fixture
def words_file(tmp_path: Path) -> Path:
    """1,200 words of four letters, a few pronounced in two ways."""
    path = tmp_path / "words.dict"
    alphabet = "abcdefghij"
    lines = ["# a comment", "it's IH1 T S", "aaaa(2) AH0 B # again"]
    for i in range(1200):
        word = "".join(alphabet[int(d)] for d in f"{i:04d}")
        lines.append(f"{word} {'AA1 K' if i % 2 else 'B IY0 T'}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def textgen_arrays() -> dict[str, np.ndarray]:
    return drawn(textgen.LAYOUT, TEXTGEN_SIZES)


@pytest.fixture
def textgen_folder(tmp_path: Path, textgen_arrays: dict[str, np.ndarray]) -> Path:
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / textgen.FILE.name, "w") as file:
        for name, array in textgen_arrays.items():
            file[name] = array
    symbols = {c: i for i, c in enumerate("abcdefghijklmnopqrstuvwxyz .,;", 1)} | {"<s>": 31}
    (tmp_path / textgen.SYMBOLS.name).write_text(json.dumps(symbols), encoding="utf-8")
    return tmp_path
