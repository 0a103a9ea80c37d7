"""The leaderboard: measured anew, ranked, every seed shown, and a page that names real files."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from statebound import measure
from statebound.errors import UsageError
from statebound.experiments import leaderboard as work
from statebound.experiments.figures import leaderboard as figures
from statebound.reductions import zoo
from statebound.reductions.checkpoint import Checkpoint

from .checkpoints import made, ship

PAGE = Path(__file__).parents[2] / "docs" / "leaderboard.md"
ROW = re.compile(r"^\| `([^`]+)` \|", re.MULTILINE)


def with_restarts(checkpoint: Checkpoint, *values: float, success: float = 0.5) -> Checkpoint:
    restarts = [{"seed": s, "held": v, "success": v} for s, v in enumerate(values)]
    measured = {"success": success, "engine": "enumerate", "kept": 0, "restarts": restarts}
    return replace(checkpoint, about=replace(checkpoint.about, measured=measured))


@pytest.fixture(scope="module")
def held() -> dict[str, Checkpoint]:
    return {
        "a": with_restarts(made(n=6, model="gru", numbers=3, bits=1), 0.61, 0.62, 0.63),
        "b": made(n=6, model="rnn", numbers=3, bits=1),
        "c": made(n=6, model="gru", numbers=3, bits=1, regime="step"),
        "d": made(n=6, model="rnn", numbers=4, bits=1, encoding="pairs"),
        "e": made(n=5, model="rnn", numbers=2, bits=1),
        "f": made(problem="istree", n=9, bits=1),
    }


@pytest.fixture
def folder(held, tmp_path, monkeypatch) -> Path:
    made = ship(tmp_path / "zoo", **held)
    monkeypatch.setattr(zoo, "FOLDER", made)
    return made


def test_every_machine_is_measured_and_ranked(folder):
    rows = work.leaderboard((5, 6))["rows"]
    assert sorted(row["file"] for row in rows) == ["a", "b", "c", "d", "e"]
    assert [(row["n"], row["state_bits"]) for row in rows] == [(5, 2)] + [(6, 3)] * 3 + [(6, 4)]
    ranks = [(row["efficiency"], row["success"]) for row in rows[1:4]]
    assert ranks == sorted(ranks, reverse=True)
    assert {row["regime"] for row in rows if row["file"] == "c"} == {"step"}
    for row in rows:
        again = measure("index", row["n"], weights=str(folder / f"{row['file']}.safetensors"))
        assert row["success"] == again["success"] == row["success_low"]
        assert row["own_success"] == again["own_success"] <= row["success"] <= row["wall_ball"]
        assert row["efficiency"] == again["needed_bits"] / row["state_bits"]
        assert row["agrees"] is False  # these files say 1/2
        assert not row["violates_wall"]
    assert [row["truncation"] for row in rows] == pytest.approx([0.7, 0.75, 0.75, 0.75, 5 / 6])


def test_a_file_that_tells_its_success_agrees(held, tmp_path):
    found = work.leaderboard((5,), folder=ship(tmp_path / "first", e=held["e"]))["rows"][0]
    told = with_restarts(held["e"], found["success"], success=found["success"])
    again = work.leaderboard((5,), folder=ship(tmp_path / "second", e=told))["rows"][0]
    assert again["agrees"] is True
    assert again["recorded"] == again["success"] == again["restarts"][0]["success"]


def test_above_the_exact_sizes_its_own_bob_answers_on_a_sample(folder, monkeypatch):
    monkeypatch.setattr(work, "EXACT_N", 4)
    monkeypatch.setattr(work, "TRIALS", 256)
    (row,) = work.leaderboard((5,))["rows"]
    assert (row["engine"], row["bob"], row["trials"]) == ("sample", "model", 256)
    assert row["success_low"] < row["success"] == row["own_success"] < row["success_high"]
    assert row["agrees"] is None
    assert f"[{row['success_low']:.4f}, " in work.page({"sizes": [5], "rows": [row]}, "x", "y.png")


def test_sizes_without_machines_are_refused(folder, tmp_path):
    with pytest.raises(UsageError, match="choose from 5, 6"):
        work.leaderboard((7,))
    with pytest.raises(UsageError, match="pass another --folder"):
        work.leaderboard((7,), folder=tmp_path)


def test_the_page_has_a_line_a_machine_and_all_seeds(folder):
    record = work.leaderboard((5, 6))
    text = work.page(record, "statebound leaderboard --n 5,6", "images/leaderboard.png")
    assert ROW.findall(text) == [row["file"] for row in record["rows"]]
    assert "`statebound leaderboard --n 5,6`" in text
    assert "**0.6100** 0.6200 0.6300" in text
    assert text.count("**M = ") == 3
    assert "| gru, step |" in text


def test_the_figure_shows_every_seed(folder):
    rows = work.leaderboard((5, 6))["rows"]
    figure = figures.make(rows)
    assert [axes.get_title(loc="left")[-5:] for axes in figure.axes] == ["n = 5", "n = 6"]
    drawn = [
        float(y) for axes in figure.axes for line in axes.lines
        if line.get_marker() not in ("None", "", None) for y in line.get_ydata()
    ]  # fmt: skip
    wanted = [row["success"] for row in rows] + [0.62, 0.63]
    assert sorted(drawn) == pytest.approx(sorted(wanted))
    many = [rows[0] | {"model": f"m{i}"} for i in range(9)]
    with pytest.raises(UsageError, match="more than the 8 families"):
        figures.make(many)


def test_the_command(cli, folder, tmp_path):
    out = tmp_path / "docs" / "board.md"
    out.parent.mkdir()
    code, said, talk, _ = cli("leaderboard", "--n", "5", "--json", "--out", str(out))
    record: dict[str, Any] = json.loads(said)
    assert (code, [row["file"] for row in record["rows"]]) == (0, ["e"])
    assert "e: measured" in talk
    assert ROW.findall(out.read_text(encoding="utf-8")) == ["e"]
    assert (out.parent / "images" / "leaderboard.png").is_file()
    for wrong in (["--n", "9"], ["--out", str(tmp_path / "x.txt")], ["--folder", str(out)]):
        code, _, talk, _ = cli("leaderboard", *wrong)
        assert (code, talk.count("\n"), talk[:6]) == (2, 1, "error:")


def test_the_page_in_the_documentation_names_shipped_files():
    text = PAGE.read_text(encoding="utf-8") if PAGE.is_file() else ""
    shipped = {each.file.name.removesuffix(zoo.ENDING) for each in zoo.shipped()}
    assert set(ROW.findall(text)) <= shipped
