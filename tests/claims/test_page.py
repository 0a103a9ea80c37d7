"""The page of claims: every test that it names is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAMED = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")


def rows() -> list[list[str]]:
    """Return the cells of the table."""
    text = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith("| ")][2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def functions(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def missing(cell: str) -> list[str]:
    """Return the tests in a cell that are not there."""
    return [
        f"{path}::{name}"
        for path, name in NAMED.findall(cell)
        if not (ROOT / path).exists() or (name and name not in functions(path))
    ]


def test_every_claim_has_its_four_cells_and_tests_that_exist():
    found = rows()
    assert len(found) >= 22
    for cells in found:
        assert len(cells) == 4
        assert all(cells)
        assert missing(cells[2]) == []
        assert cells[2].startswith("`tests/")
        assert cells[2].count("`") == 2 * len(NAMED.findall(cells[2]))


def test_every_test_of_claims_is_on_the_page():
    told = {name for cells in rows() for name in NAMED.findall(cells[2])}
    here = [path for path in Path(__file__).parent.glob("test_*.py") if path != Path(__file__)]
    assert {path.name for path in here} == {
        Path(path).name for path, _ in told if path.startswith("tests/claims/")
    }


def test_a_missing_test_is_named():
    assert missing("`tests/claims/test_page.py::test_of_nothing`, `tests/none.py`") == [
        "tests/claims/test_page.py::test_of_nothing",
        "tests/none.py::",
    ]
    assert missing("`tests/claims/test_page.py::rows`") == []
