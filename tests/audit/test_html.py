"""The page: whole, escaped, and without anything from outside."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from statebound.errors import StateboundError
from statebound.experiments.audit import page
from statebound.experiments.audit.examine import audit
from statebound.experiments.audit.subject import adapt
from statebound.experiments.audit.survive import survive

from . import subjects, toys

HERE = Path(__file__).parent
VOID = {"meta", "br"}


class Reader(HTMLParser):
    """Collects elements and attributes, and checks that elements are closed."""

    def __init__(self):
        super().__init__()
        self.elements, self.attributes, self.open, self.ids = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.elements.append(tag)
        self.attributes += [(tag, *pair) for pair in attrs]
        self.ids += [value for key, value in attrs if key == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def read(text):
    reader = Reader()
    reader.feed(text)
    assert reader.open == []
    return reader


@pytest.fixture(scope="module")
def hostile():
    subject = adapt(toys.HostileName(), "<b onload=x>&\ud800")
    found = audit(subject)
    left = survive(subject, found, bits=(2, 8), prompts=4, tasks=False)
    return page.page(replace(found, survival=left), ["statebound", "audit", "</pre><script>"])


def test_hostile_names_are_escaped(hostile):
    reader = read(hostile)
    assert "script" not in reader.elements
    assert "img" not in reader.elements
    assert "b" not in reader.elements
    assert "&lt;script&gt;alert(&#x27;x&#x27;)" in hostile
    assert "&lt;b onload=x&gt;&amp;" in hostile


def test_nothing_comes_from_outside(hostile):
    reader = read(hostile)
    for tag, key, value in reader.attributes:
        assert key not in ("src", "srcset", "action", "data", "poster", "xlink:href"), (tag, key)
        assert not key.startswith("on")
        if key == "href":
            assert value.startswith("#")
            assert value[1:] in reader.ids
        assert "://" not in (value or ""), (tag, key)
        assert all(part.startswith("#") for part in re.findall(r"url\(([^)]*)", value or ""))
    assert not {"link", "script", "iframe", "object", "embed", "image"} & set(reader.elements)
    assert "@import" not in hostile
    assert len(reader.ids) == len(set(reader.ids))


def test_sections_and_figures(hostile):
    headings = re.findall(r"<h2>(.*?)</h2>", hostile)
    assert headings == [
        "Verdict",
        "Where the state lives",
        "Growth",
        "Splits against the unsplit run",
        "What survives rounding",
        "Retrieval against the wall",
        "How to reproduce",
    ]
    assert read(hostile).elements.count("svg") == 2


def test_a_subject_that_cannot_be_split_has_a_page():
    found = audit(adapt(subjects.StateIgnored(), "toy"))
    text = page.page(found, ["statebound"])
    read(text)
    assert "cannot be split (state-not-consumed)" in text
    assert "What survives" not in text


def test_a_page_that_cannot_be_written(tmp_path):
    found = audit(adapt(subjects.Honest(), "toy"))
    with pytest.raises(StateboundError, match="cannot be written"):
        page.write(found, tmp_path, ["statebound"])


def test_the_command(tmp_path):
    for name in ("subjects.py", "toys.py"):
        shutil.copy(HERE / name, tmp_path)
    options = ["--html", "a.html", "--quantiser", "uniform", "--bits", "6"]
    done = subprocess.run(
        [sys.executable, "-m", "statebound", "audit", "toys:Induction", *options],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "what survives rounding" in done.stdout
    assert "index, n = 16: see below" in done.stdout
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "--quantiser uniform --bits 6</pre>" in text
    assert read(text).elements.count("svg") == 3
