"""The experiments that come along: each can be read, is told of, and draws what it promises."""

from __future__ import annotations

from pathlib import Path

import pytest

from statebound.experiments.sweeping.sweep import read, ready
from statebound.experiments.sweeping.task import Stop

DOCS = Path(__file__).parents[2] / "docs"
READY = {each.name: each for each in ready()}


@pytest.mark.parametrize("name", READY)
def test_a_smaller_size_is_smaller(name):
    full, quick = READY[name], read(name, quick=True)
    assert 0 < len(quick.expanded[0]) < len(full.expanded[0]) or quick.kind != "measure"
    assert {task.id for task in quick.expanded[0]} != {task.id for task in full.expanded[0]}
    assert quick.figures == full.figures != ()
    assert isinstance(quick.stop, Stop)
    assert quick.folder != full.folder


@pytest.mark.parametrize("name", READY)
def test_a_page_shows_its_figures_and_says_what_they_settle(name):
    page = (DOCS / "experiments" / f"{name}.md").read_text()
    assert page.startswith(f"# {READY[name].title}\n\n*{READY[name].question}*\n")
    assert f"statebound sweep {name}\n" in page
    assert page.count("\n- ") >= 2
    for figure in READY[name].figures:
        image = DOCS / "images" / f"sweep-{name}-{figure.name}.png"
        assert f"(../images/{image.name})" in page
        assert f"statebound sweep {name}".encode() in image.read_bytes()
    assert f"[{name}]({name}.md)" in (DOCS / "experiments" / "index.md").read_text()


def test_no_page_is_left_over():
    pages = {path.stem for path in (DOCS / "experiments").glob("*.md")}
    assert pages == {*READY, "index"}


@pytest.mark.parametrize("name", ["bits_to_succeed", "cot_length", "duality", "phase"])
@pytest.mark.slow
def test_they_run_and_draw(cli, tmp_path, name):
    outcome = cli("sweep", name, "--quick", "--jobs", 1, "--out", tmp_path / "r", "--json")
    assert (outcome.code, outcome.row["failures"], outcome.row["broken"]) == (0, {}, [])
    assert outcome.row["finished"] == outcome.row["tasks"] > 0
    stems = [figure.name for figure in READY[name].figures]
    drawn = [f"{stem}.{ending}" for stem in stems for ending in ("png", "svg")]
    assert [Path(path).name for path in outcome.row["figures"]] == drawn
