"""The page at a few sizes, made once for all tests of this folder."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from statebound.experiments.page import grid
from statebound.experiments.page.write import write

FEW = {4: (1, 2, 4), 7: (2, 4, 7)}  # at 7 with trained machines that are shipped


class Page(NamedTuple):
    path: Path
    text: str
    data: dict[str, Any]


def blocks(text: str) -> dict[str, Any]:
    """Return the data that a page embeds, by name."""
    found = re.findall(r'<script type="application/json" id="data-(\w+)">(.*?)</script>', text)
    return {name: json.loads(content) for name, content in found}


@pytest.fixture(scope="session")
def page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grid, "NUMBERS", FEW)
        path = write(tmp_path_factory.mktemp("page") / "page.html")
    text = path.read_text("utf-8")
    return Page(path, text, blocks(text))
