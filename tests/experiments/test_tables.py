"""Tables: what a reader of each format gets back is what was put in."""

from __future__ import annotations

import csv
import io
import json
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from statebound.experiments import tables

NAMES = {"a": "first", "b": "second"}
TEXT = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), max_size=30)
MARKUP = st.text(st.sampled_from("\\`*_{}[]<>|~&$#%^'\"-!?,. aé1"), max_size=20)
FLOATS = st.floats(-1e6, 1e6)
CELLS = TEXT | MARKUP
LATEX = {mark: c for c, mark in tables._LATEX.items()} | {"{}": ""}


def normal(text):
    return " ".join(text.split())


def rows(pairs):
    return [{"a": a, "b": b} for a, b in pairs]


@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=4))
def test_markdown_shows_the_text(pairs):
    parsed = MarkdownIt("commonmark").enable("table").parse(tables.markdown(rows(pairs), NAMES))
    assert sum(token.type == "table_open" for token in parsed) == 1
    assert parsed[-1].type == "table_close"
    cells = [token for token in parsed if token.type == "inline"]
    kinds = {child.type for cell in cells for child in cell.children}
    assert kinds <= {"text", "text_special"}
    shown = ["".join(child.content for child in cell.children) for cell in cells]
    assert shown == ["first", "second"] + [normal(cell) for pair in pairs for cell in pair]


def from_latex(cell):
    """Return the text that TeX would print, by the longest mark at each place."""
    marks = sorted(LATEX, key=len, reverse=True)
    pattern = "|".join(map(re.escape, marks)) + "|(.)"
    out = []
    for found in re.finditer(pattern, cell):
        plain = found.group(1)
        assert plain is None or plain not in "\\{}$&#%_~^[*"
        out.append(LATEX[found.group(0)] if plain is None else plain)
    return "".join(out)


@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=4))
def test_latex_shows_the_text(pairs):
    lines = tables.latex(rows(pairs), NAMES).splitlines()
    assert lines[1] == r"\begin{tabular}{ll}"
    assert lines[-1] == r"\end{tabular}"
    assert [lines[at] for at in (2, 4, -2)] == [r"\toprule", r"\midrule", r"\bottomrule"]
    body = lines[5:-2]
    assert len(body) == len(pairs)
    for line, pair in zip(body, pairs, strict=True):
        cells = re.split(r"(?<!\\) & | & (?!\S)", line.removesuffix(r" \\"))
        assert [from_latex(cell) for cell in cells] == [normal(cell) for cell in pair]
        assert not re.search(r"--|,,|<<|>>|\?`|!`|``|''", line)


@given(st.lists(st.tuples(CELLS | st.just("a\r\nb"), FLOATS | st.none()), max_size=4))
def test_csv_is_read_back(pairs):
    made = tables.csv(rows(pairs), NAMES)
    head, *body = csv.reader(io.StringIO(made, newline=""))
    assert head == ["a", "b"]
    assert [(a, float(b) if b else None) for a, b in body] == pairs


def test_csv_tells_null_from_nothing_and_holds_objects():
    made = tables.csv([{"a": None, "b": True}, {"a": "", "b": {"x": [1, None, "ü"]}}], NAMES)
    assert made == 'a,b\n,true\n"","{""x"":[1,null,""ü""]}"\n'
    assert tables.csv([{"a": None}], {"a": "a"}) == 'a\n""\n'
    assert json.loads(tables.flat({"x": [0.1, 2**70]})) == {"x": [0.1, 2**70]}


@given(FLOATS, st.integers(1, 8))
def test_a_number_is_near_and_whole_only_where_it_is(value, digits):
    shown = tables.number(value, digits)
    if shown[0] in "<>":
        edge, nearest = float(shown[1:]), round(value)
        low, high = sorted((edge, nearest))
        assert (edge > nearest) == (shown[0] == "<")
        assert low < value < high
        assert high - low <= 1.001 * 10**-digits + 1e-9
    else:
        assert len(shown.partition(".")[2]) == digits
        assert abs(float(shown) - value) <= 0.5001 * 10**-digits + 1e-9
        assert not float(shown).is_integer() or abs(value - round(value)) < 1e-12


@given(FLOATS, st.integers(1, 8))
def test_bounds_are_rounded_outwards(value, digits):
    low, high = (float(tables.bound(value, digits, upper=up)) for up in (False, True))
    assert low <= value <= high
    assert high - low <= 1.001 * 10**-digits + 1e-9


@given(st.floats(0, 1), st.floats(1e-6, 1))
def test_digits_follow_the_interval(low, width):
    half = (low + width - low) / 2  # as it is computed
    digits = tables.decimals(low, low + width, 12)
    assert 1 <= digits <= 12
    if digits > 1:
        assert 10**-digits * 9.99 <= half < 10**-digits * 100.1
    assert tables.decimals(low, low + width, 3) <= 3


def test_missing_and_odd_numbers():
    held = [{"a": None, "b": -0.25}, {"a": 3, "b": math.inf}]
    assert tables.text(held, NAMES) == (
        "first   second\n-----  -------\n    -  -0.2500\n    3      inf\n"
    )
    assert "-- & $-0.2500$ \\\\\n" in tables.latex(held, NAMES)
    assert "| - | -0.2500 |\n" in tables.markdown(held, NAMES)
    assert "$>0.9999$" in tables.latex([{"a": 1, "b": 0.99999}], NAMES)


@pytest.mark.parametrize("form", tables.FORMATS)
def test_every_format_renders(form):
    assert "a_b" in tables.render([{"a": "a_b", "b": 1}], NAMES, form).replace("\\", "")
