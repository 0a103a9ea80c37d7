"""The file itself: whole, closed to the outside, the same bytes for the same seed."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from statebound.experiments.page import grid
from statebound.experiments.page.write import MOST_BYTES, embedded, write

VOID = {"meta", "link", "input", "br", "hr", "img"}


class Reader(HTMLParser):
    """Collects elements, and complains about whatever is not closed as it was opened."""

    def __init__(self):
        super().__init__()
        self.open, self.faults, self.elements, self.inside = [], [], [], {}

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> at {self.getpos()}")

    def handle_data(self, data):
        if self.open and self.open[-1] in ("script", "style"):
            self.inside.setdefault(self.open[-1], []).append(data)


@pytest.fixture(scope="module")
def read(page):
    reader = Reader()
    reader.feed(page.text)
    reader.close()
    return reader


def test_it_is_well_formed(page, read):
    assert page.text.startswith("<!doctype html>")
    assert (read.faults, read.open) == ([], [])
    ids = [a["id"] for _, a in read.elements if "id" in a]
    assert len(ids) == len(set(ids))
    labels = {a["for"] for tag, a in read.elements if tag == "label" and "for" in a}
    assert labels <= set(ids)
    assert "@@" not in page.text


def test_nothing_is_loaded_from_elsewhere(page, read):
    for tag, attributes in read.elements:
        assert tag not in ("iframe", "object", "embed", "base", "img")
        for name in ("src", "srcset", "href", "action", "data", "poster", "style"):
            assert attributes.get(name, "data:,") == "data:,", (tag, attributes)
        assert not any(name.startswith("on") for name in attributes)
    for style in read.inside["style"]:
        assert "url(" not in style
        assert "@import" not in style
    known = {"http://www.w3.org/2000/svg"}  # the name of a language, never fetched
    assert set(re.findall(r"https?://[^\"'\s<>]*", page.text)) == known
    assert not re.search(
        r"\b(fetch|XMLHttpRequest|WebSocket|import|eval|innerHTML)\b *\(", page.text
    )


def test_its_policy_allows_its_own_script_and_style_alone(read):
    (policy,) = [
        a["content"] for _, a in read.elements if a.get("http-equiv") == "Content-Security-Policy"
    ]

    def hashed(text):
        return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

    (style,) = read.inside["style"]
    assert policy.startswith("default-src 'none';")
    assert f"script-src 'sha256-{hashed(read.inside['script'][-1])}'" in policy
    assert f"style-src 'sha256-{hashed(style)}'" in policy
    assert "unsafe" not in policy


def test_it_says_what_made_it(page):
    from statebound import __version__

    assert page.data["public"]["version"] == __version__
    assert page.data["public"]["command"] == "statebound demo --html page.html"
    assert f"statebound {__version__}; made by" in page.text


@given(st.lists(st.text(), max_size=3))
def test_data_cannot_leave_their_element(data):
    text = embedded(data)
    assert json.loads(text) == data
    assert not set("<>&") & set(text)
    assert text.isascii()


def test_the_same_seed_makes_the_same_bytes(tmp_path, monkeypatch, cli):
    monkeypatch.setattr(grid, "NUMBERS", {4: (2,)})
    pages = []
    for i, seed in enumerate((3, 3, 4)):
        (tmp_path / str(i)).mkdir()
        path = tmp_path / str(i) / "p.html"
        assert cli("demo", "--html", path, "--seed", seed, "--json").row == {"page": str(path)}
        pages.append(path.read_bytes())
    assert pages[0] == pages[1] != pages[2]
    assert b"--machine-seed 3" in pages[0]
    assert b"statebound demo --html p.html --seed 3" in pages[0]


def test_what_is_wrong_is_said(cli, tmp_path):
    for words, named in (
        (("--html", tmp_path / "none" / "p.html"), "html"),
        (("--html", tmp_path), "html"),
        (("--html", tmp_path / "p.html", "--seed", "-1"), "seed"),
        (("--html", tmp_path / "p.html", "turing", "counter"), "html"),
        (("--seed", "1"), "seed"),
    ):
        found = cli("demo", *words)
        assert found.code == 2
        assert named in found.err
    assert list(tmp_path.iterdir()) == []


def test_without_it_demos_are_listed(cli):
    assert "turing" in cli("demo").out


@pytest.mark.slow
def test_the_whole_page_is_small(tmp_path):
    path = write(tmp_path / "page.html")
    assert path.stat().st_size < MOST_BYTES
