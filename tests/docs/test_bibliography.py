"""Every source that a docstring cites is on the page of sources, with how it was checked."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("protocols", "models", "reductions", "experiments", "src")
NAME, YEAR = r"[A-ZÀ-Þ][\w'’-]+", r"(?:1[89]|20)\d\d"
CITED = re.compile(
    rf"({NAME})(?:(?:, {NAME})*,? and {NAME}|(?:, {NAME})* et al\.)[^.;]{{0,90}}?\b({YEAR})\b"
    rf"|({NAME}),? \(?({YEAR})\)?"
)
ARXIV = re.compile(r"arXiv:([\w-]+/\d+|\d{4}\.\d{4,5})")
STATUS = {"checked", "read", "abstract", "second hand", "memory"}


def cited(text: str) -> set[tuple[str, str]]:
    """Return the first author and the year of every citation in a text."""
    found = CITED.findall(" ".join(text.split()))
    return {(a or b, c or d) for a, c, b, d in found}


def docstrings(path: Path) -> str:
    documented = ast.Module | ast.ClassDef | ast.FunctionDef
    tree = ast.parse(path.read_text(encoding="utf-8"))
    held = [ast.get_docstring(node) for node in ast.walk(tree) if isinstance(node, documented)]
    return "\n\n".join(filter(None, held))


def modules() -> list[Path]:
    return sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))


def rows() -> list[list[str]]:
    """Return the cells of the page's tables: source, used for, status, what is checked."""
    text = (ROOT / "docs" / "bibliography.md").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return [c for c in cells if len(c) == 4 and c[0] not in ("source", "---")]


def listed() -> set[tuple[str, str]]:
    return {pair for cells in rows() for pair in cited(cells[0])}


@pytest.mark.parametrize("path", modules(), ids=lambda p: p.relative_to(ROOT).as_posix())
def test_what_is_cited_is_listed(path):
    text = docstrings(path)
    assert cited(text) - listed() == set()
    page = (ROOT / "docs" / "bibliography.md").read_text(encoding="utf-8")
    assert set(ARXIV.findall(text)) - set(ARXIV.findall(page)) == set()


def test_what_is_listed_is_cited():
    texts = [docstrings(path) for path in modules()]
    used = {pair for text in texts for pair in cited(text)}
    numbers = {number for text in texts for number in ARXIV.findall(text)}
    for cells in rows():
        assert cited(cells[0]) <= used or set(ARXIV.findall(cells[0])) & numbers, cells[0]


def test_every_entry_says_how_it_was_checked():
    assert len(rows()) > 50
    for source, used, status, checked in rows():
        assert cited(source), source
        assert used
        assert {part.strip() for part in status.split(",")} <= STATUS, source
        assert ("checked" in status) == ("`tests/" in checked), source
        for path in re.findall(r"`(tests/[\w/.]+)`", checked):
            assert (ROOT / path).exists(), path


def test_citations_are_found_in_prose():
    text = """See Kremer, Nisan and Ron (1999); Nayak 1999. Beck et al., "xLSTM", 2024, and
    Filler, Judas and Fridrich (IEEE TIFS 6(3), 2011), Golay, 1949: beyond 1024 bits."""
    assert cited(text) == {
        ("Kremer", "1999"),
        ("Nayak", "1999"),
        ("Beck", "2024"),
        ("Filler", "2011"),
        ("Golay", "1949"),
    }
