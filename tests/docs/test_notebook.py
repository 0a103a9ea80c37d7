"""The lecture runs from its first cell to its last, and is kept without outputs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LECTURE = ROOT / "notebooks" / "lecture.ipynb"


def test_it_is_kept_without_outputs():
    held = json.loads(LECTURE.read_text(encoding="utf-8"))
    code = [cell for cell in held["cells"] if cell["cell_type"] == "code"]
    assert len(code) > 10
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)


@pytest.mark.slow
@pytest.mark.parity
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_it_runs():
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    nbformat = pytest.importorskip("nbformat")
    book = nbformat.read(LECTURE, as_version=4)
    nbclient.NotebookClient(book, timeout=300, kernel_name="python3").execute()
    outputs = [out for cell in book.cells for out in cell.get("outputs", [])]
    shown = [out["data"] for out in outputs if "data" in out]
    assert sum("image/png" in data for data in shown) == 3
    plain = [data.get("text/plain", "") for data in shown]
    assert "('7/8', '7/8')" in plain
    assert any(text.endswith(", 0)") for text in plain)  # rows, and how many are above the limit
    (told,) = (data["text/markdown"] for data in shown if "text/markdown" in data)
    assert "derived values agree with the row" in told
    assert not [out for out in outputs if out.get("name") == "stderr"]
