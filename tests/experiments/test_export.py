"""export: what pandas and polars read is what statebound.load returns."""

from __future__ import annotations

import json
import sys

import pytest

import statebound
from statebound.experiments import export, parquet, results
from statebound.experiments.columns import ORDER

BIG = 2**53 + 1  # no float64 holds it


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with exact and sampled rows, of models and codes, and columns of its own."""
    place = tmp_path_factory.mktemp("results")
    points = [
        {"model": "gru", "numbers": 3},
        {"model": "lstm", "precision": {"h": 2, "c": 3}, "machine_seed": BIG},
        {"model": "gru", "through": "istree"},
        {"protocol": "hamming", "state_bits": 3},
        {"model": "gru", "engine": "sample", "trials": 64, "seed": 5},
        {"protocol": "leaky"},
    ]
    with results.Writer(place, {"verb": "test"}, []) as writer:
        for i, point in enumerate(points):
            row = statebound.measure("index", 6, **point)
            own = {"x_label": None if i else 'say "a, b"\n|&', "x_odd": [1, "b", 0.5, None][i % 4]}
            writer.append(results.task_id(point), row | own)
    return place


def same(value, held):
    """Whether a cell holds a value: lists and dicts as JSON text."""
    if isinstance(value, list | dict):
        return json.loads(held) == value
    return held == value and isinstance(held, str) == isinstance(value, str)


def check(rows, folder, mixed):
    """Compare rows that were read, null as None, with what `load` returns."""
    expected = results.read(folder)
    assert {row["task"] for row in rows} == set(expected)
    for row in rows:
        want = expected[row["task"]]
        assert list(row)[1 : 1 + len(ORDER)] == list(ORDER)
        assert row.keys() - {"task"} == want.keys()
        for name, value in want.items():
            text = name == mixed and value is not None
            assert same(str(value) if text else value, row[name]), name


def without_na(frame):
    import pandas

    return [
        {k: None if pandas.isna(v) else v for k, v in row.items()}
        for row in frame.to_dict("records")
    ]


@pytest.mark.parity
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_pandas_reads_the_rows(cli, folder, tmp_path, form):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    file = tmp_path / f"t.{form}"
    assert cli("export", folder, "--out", file).code == 0
    if form == "csv":
        frame = pandas.read_csv(file, dtype_backend="numpy_nullable")
    else:
        frame = pandas.read_parquet(file)
    for name in ("n", "state_bits", "machine_seed", "bits_per_number", "seed"):
        assert str(frame[name].dtype) == "Int64", name
    assert str(frame["violates_wall"].dtype) == "boolean"
    check(without_na(frame), folder, "x_odd")


@pytest.mark.parity
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_polars_reads_the_rows(cli, folder, tmp_path, form):
    polars = pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    file = tmp_path / f"t.{form}"
    assert cli("export", folder, "--format", form, "--out", file).code == 0
    if form == "csv":
        frame = polars.read_csv(file, infer_schema_length=None)
    else:
        frame = polars.read_parquet(file)
    assert frame["machine_seed"].dtype == polars.Int64
    assert frame["violates_wall"].dtype == polars.Boolean
    check(frame.rows(named=True), folder, "x_odd")


@pytest.mark.parity
def test_loaded_rows_make_frames(folder):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    rows = statebound.load(folder)
    kept = [{k: v for k, v in row.items() if k != "x_odd"} for row in rows]
    assert list(pandas.DataFrame(rows)["success"]) == [row["success"] for row in rows]
    frame = polars.DataFrame(kept, infer_schema_length=None)
    assert frame["success_by_query"].to_list() == [row["success_by_query"] for row in rows]


def test_json_is_the_rows_themselves(cli, folder):
    pretty, line = cli("export", folder, "--format", "json"), cli("export", folder, "--json")
    assert pretty.row == line.row
    assert line.out.count("\n") == 1
    held = results.read(folder)
    assert {row.pop("task"): row for row in line.row} == held
    assert [row["model"] or "" for row in pretty.row] == sorted(
        row["model"] or "" for row in pretty.row
    )


def test_columns_and_formats(cli, folder, tmp_path):
    out = cli("export", folder, "--columns", "state_bits,model")
    assert out.out.splitlines()[:3] == ["state_bits,model", "3,", "0,"]
    whole = cli("export", folder)
    assert whole.out.splitlines()[0].split(",") == ["task", *ORDER, "x_label", "x_odd"]
    paper = cli("export", folder, "--format", "latex").out
    assert "sampled" not in paper
    assert "problem" not in paper  # all rows share it
    assert r"gru & - & handoff & 0 & 3 & 0." in paper
    short = cli("export", folder, "--format", "markdown", "--columns", "n,x_label,success").out
    assert short.splitlines()[0] == "| n | x_label | success |"
    done = cli("export", folder, "--out", tmp_path / "t.md", "--json")
    assert done.row["format"] == "markdown"
    assert done.row["rows"] == 6
    assert [p.name for p in tmp_path.iterdir()] == ["t.md"]


def test_a_sampled_row_has_no_false_digits(folder):
    rows = export.rows_of(folder)
    (row,) = [r for r in rows if r["engine"] == "sample"]
    names = ["success", "success_low", "success_high", "wall_ball"]
    line = export.export([row], "markdown", names, 4).splitlines()[-1]
    success, low, high, wall = (cell.strip() for cell in line.strip("|").split("|"))
    assert len(success) == len(low) == len(high) == 5  # 0.xxx: half the width is near 0.04
    assert float(low) <= row["success_low"] <= row["success_high"] <= float(high)
    assert len(wall) == 6


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["--format", "xlsx"], 2, "format = xlsx"),
        (["--format", "parquet"], 2, "format = parquet"),
        (["--columns", "n,nope"], 2, "columns = nope"),
        (["--columns", "n,n"], 2, "columns = n,n"),
        (["--digits", "0"], 2, "digits = 0"),
        (["--out", "nowhere/t.csv"], 2, "out = nowhere/t.csv"),
        (["--json", "--format", "csv"], 2, "json = True"),
    ],
)
def test_what_has_no_meaning_is_refused(cli, folder, words, code, told):
    outcome = cli("export", folder, *words)
    assert (outcome.code, outcome.out) == (code, "")
    assert outcome.err.startswith(f"error: {told}: ")
    assert outcome.err.count("\n") == 1


def test_no_rows_and_no_folder(cli, tmp_path):
    assert cli("export", tmp_path / "none").code == 1
    outcome = cli("export", tmp_path)
    assert outcome.code == 1
    assert "holds no rows yet" in outcome.err


def test_samples_that_go_on_are_told(cli, folder, monkeypatch):
    assert "unfinished" not in cli("export", folder).err
    whole = results.load
    monkeypatch.setattr(results, "load", lambda place: [*whole(place), {}])
    outcome = cli("export", folder)
    assert outcome.out.count("\n") >= 7
    assert outcome.err == "note: 1 unfinished samples are left out\n"


def test_without_pyarrow_the_remedy_is_named(cli, folder, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    outcome = cli("export", folder, "--out", tmp_path / "t.parquet")
    assert outcome.code == 1
    assert "pip install 'statebound[parquet]'" in outcome.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parity
def test_a_number_that_does_not_fit_is_named():
    pytest.importorskip("pyarrow")
    with pytest.raises(results.StateboundError, match="column seed: does not fit int64"):
        parquet.parquet([{"seed": 2**70}], ["seed"])


def test_every_declared_column_is_one():
    assert set(parquet.DECLARED) <= set(ORDER)
