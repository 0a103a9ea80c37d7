"""The site builds without a warning, is whole, and loads nothing from elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from statebound import registry

ROOT = Path(__file__).parents[2]
LOADS = {"script": "src", "img": "src", "iframe": "src", "link": "href", "source": "src"}
KEPT = {"canonical", "prev", "next"}  # links that a browser does not follow by itself

pytestmark = [pytest.mark.slow, pytest.mark.parity]


class Loads(HTMLParser):
    """What a page loads by itself, and where its links lead."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        wanted = LOADS.get(tag)
        if wanted and given.get(wanted) and given.get("rel") not in KEPT:
            self.loads.append(given[wanted])
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])


def parsed(page: Path) -> Loads:
    found = Loads()
    found.feed(page.read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("mkdocs")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", str(folder)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def pages(site: Path) -> list[Path]:
    return sorted(site.rglob("*.html"))


def test_every_page_is_there(site):
    names = {page.relative_to(site).as_posix() for page in pages(site)}
    written = (ROOT / "docs").glob("*.md")
    assert {f"{page.stem}.html" for page in written} <= names
    for name in registry.names("statebound.models"):
        assert f"reference/model-{name}.html" in names
    assert "reference/command-line.html" in names


def test_nothing_is_loaded_from_elsewhere(site):
    seen = 0
    for page in pages(site):
        for target in parsed(page).loads:
            assert not urlsplit(target).netloc, f"{page.name} loads {target}"
            assert page.name == "404.html" or (page.parent / unquote(target)).resolve().exists()
            seen += 1
    assert seen > 100
    for sheet in site.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        assert "@import" not in text
        assert "url(http" not in text
        assert "url(//" not in text


def test_a_load_from_elsewhere_is_noticed(tmp_path):
    page = tmp_path / "p.html"
    page.write_text('<a href="https://a.b"></a><script src="https://c.d/e.js"></script>')
    assert parsed(page).loads == ["https://c.d/e.js"]


def test_links_and_their_anchors_lead_somewhere(site):
    for page in pages(site):
        if page.name == "404.html":
            continue
        for link in parsed(page).links:
            parts = urlsplit(link)
            if not parts.netloc and parts.path:
                assert (page.parent / unquote(parts.path)).resolve().exists(), f"{page}: {link}"
