"""Docstrings exist, their examples run, and versions agree."""

from __future__ import annotations

import ast
import doctest
import importlib
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import statebound

from .checkout import ROOT, modules, tree


def undocumented(node: ast.AST, name: str) -> Iterator[str]:
    """Yield the public modules, classes, functions and methods without a docstring."""
    assert isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    if ast.get_docstring(node) is None:
        yield name
    if isinstance(node, ast.Module | ast.ClassDef):
        for child in node.body:
            named = isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            if named and not child.name.startswith("_"):
                yield from undocumented(child, f"{name}.{child.name}")


@pytest.mark.parametrize("module", sorted(modules()))
def test_all_that_is_public_has_a_docstring(module):
    assert list(undocumented(tree(modules()[module]), module)) == []


def test_a_missing_docstring_is_named():
    source = '"""M."""\nclass A:\n    """A."""\n    def f(self): ...\n    def _g(self): ...\n'
    assert list(undocumented(ast.parse(source), "m")) == ["m.A.f"]


def with_examples() -> list[str]:
    """Return the modules whose source holds a docstring example."""
    return sorted(m for m, path in modules().items() if ">>> " in path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("module", with_examples())
def test_docstring_examples(module):
    loaded = importlib.import_module(module)
    found = [t for t in doctest.DocTestFinder().find(loaded, module) if t.examples]
    written = modules()[module].read_text(encoding="utf-8").count(">>> ")
    assert sum(len(t.examples) for t in found) == written, "an example is where none is looked for"
    for test in found:
        said: list[str] = []
        result = doctest.DocTestRunner().run(test, out=said.append)
        assert result.failed == 0, "".join(said)


def test_versions_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8").splitlines()
    assert project["version"] == statebound.__version__
    assert f"version: {statebound.__version__}" in citation
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"version = {{{statebound.__version__}}}" in readme
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\n## {statebound.__version__}\n" in changes


def test_a_row_is_documented_field_by_field():
    row = statebound.measure("index", 4, protocol="send_nothing")
    text = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    table = text.partition("## A results folder")[0]
    first = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    documented = [name.strip(" `") for cell in first for name in cell.split(",")]
    assert sorted(documented) == sorted(row)


def linked(page: Path) -> list[str]:
    """Return the local targets of a page's links."""
    parts = page.read_text(encoding="utf-8").split("](")[1:]
    targets = [part.partition(")")[0].partition("#")[0] for part in parts]
    return [target for target in targets if not target.startswith("https://")]


def test_links_lead_somewhere():
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for target in linked(page):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_readme_leads_to_every_page():
    found, ahead = set(), [ROOT / "README.md"]
    while ahead:
        page = ahead.pop()
        if page.suffix == ".md" and page not in found:
            found.add(page)
            ahead += [(page.parent / target).resolve() for target in linked(page)]
    assert set((ROOT / "docs").glob("*.md")) - found == set()
