"""The file of a sweep: what it may say, what overrides it, and one line for every mistake."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from statebound.errors import UsageError
from statebound.experiments.sweeping import sweep as files

from .folders import SAMPLES, SMALL, TASKS, written

GRID = '[[grid]]\nproblem = "index"\nn = 5\nprotocol = "majority"\nstate_bits = 3\n'

FIGURE = '[[figure]]\nkind = "lines"\nx = "n"\ny = "success"\nwhere = {engine = "sample"}\n'

MISTAKES = {
    "not TOML": ("a = [", "is not TOML"),
    "not text": ("\0", "is not TOML"),
    "an unknown part": (GRID + "[stopp]\ntrials = 3", "stopp: is not a part"),
    "no grid": ('title = "x"', "grid = None: is missing"),
    "a grid that is no table": ("grid = 3", "must be tables"),
    "an empty grid": ("[[grid]]", "problem: is missing"),
    "no n": ('[[grid]]\nproblem = "index"', "n: is missing"),
    "an unknown key": (GRID + "colour = 1", "colour: is not a key"),
    "trials in a grid": (GRID + "trials = 5", "trials: is not a key"),
    "an empty list": (GRID.replace("n = 5", "n = []"), "n = []: is an empty list"),
    "a list in a list": (GRID.replace("n = 5", "n = [[5]]"), "must be a number or a text"),
    "a date": (GRID.replace("n = 5", "n = 2020-01-01"), "must be a number or a text"),
    "no finite number": (GRID.replace("state_bits = 3", "rate = inf"), "must be finite"),
    "a broken number": (GRID.replace("n = 5", "n = 5.5"), "n: must be int"),
    "a truth value": (GRID.replace("n = 5", "n = true"), "n: must be int"),
    "a text for a number": (GRID.replace("n = 5", 'n = "five"'), "n = five"),
    "an unknown problem": (GRID.replace("index", "indices"), "indices"),
    "an unknown protocol": (GRID.replace("majority", "majesty"), "is not a known protocol"),
    "an unknown model": (
        '[[grid]]\nproblem = "index"\nn = 5\nmodel = "grü"',
        "grü: is not a known name",
    ),
    "n too small": (GRID.replace("n = 5", "n = -2"), "-2"),
    "rate and numbers": (GRID + "rate = 0.5\nnumbers = 2", "say the same thing"),
    "a rate of nothing": (GRID.replace("state_bits = 3", "rate = 0"), "must be a number above 0"),
    "half a bit": (GRID.replace("state_bits = 3", "total_bits = 2.5"), "must be a whole number"),
    "too many tasks": (
        '[[grid]]\nproblem = "index"\nn = "1..2000"\nseed = "1..2000"',
        "more than 1000000 tasks",
    ),
    "negative trials": ("[stop]\ntrials = -4\n" + GRID, "trials = -4"),
    "trials in words": ('[stop]\ntrials = "many"\n' + GRID, "trials = many"),
    "no width": ("[stop]\nwidth = 0\n" + GRID, "width = 0: must be between 0 and 1"),
    "a stop that is no table": ("stop = 3\n" + GRID, "must be a table"),
    "an unknown rule": ("[stop]\nhours = 3\n" + GRID, "stop"),
    "a title that is no text": ("title = 3\n" + GRID, "title = 3: must be a text"),
    "an unknown kind": ('kind = "dance"\n' + GRID, "kind = dance: is not known"),
    "a figure that is no table": ("figure = 3\n" + GRID, "must be tables"),
    "another kind's key": ('kind = "duality"\n' + GRID, "has no meaning for duality"),
    "another kind's lack": ('kind = "duality"\n[[grid]]\nn = 5', "model = None: is needed"),
    "another kind's type": (
        'kind = "duality"\n[[grid]]\nmodel = "mamba2"\nn = 5\nbits = 1.5',
        "bits = 1.5: must be int",
    ),
}


@pytest.mark.parametrize("mistake", sorted(MISTAKES))
def test_a_mistake_in_a_file_is_one_line(cli, tmp_path, mistake):
    text, said = MISTAKES[mistake]
    outcome = cli("sweep", written(tmp_path, text), "--dry-run")
    assert (outcome.code, outcome.out) == (2, "")
    assert said in outcome.err
    assert outcome.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == [tmp_path / "small.toml"]


WORDS = {
    "no such file": (("nowhere.toml",), "cannot be read"),
    "no such experiment": (("nowhere",), "is neither a file nor a ready experiment"),
    "nothing": ((), "names no sweep"),
    "negative trials": (("FILE", "--trials", -1), "trials = -1"),
    "a wide width": (("FILE", "--width", 2), "width = 2.0"),
    "negative jobs": (("FILE", "--jobs", -1), "jobs = -1"),
    "shard 0/3": (("FILE", "--shard", "0/3"), "must be i/N"),
    "shard 4/3": (("FILE", "--shard", "4/3"), "must be i/N"),
    "shard x": (("FILE", "--shard", "x"), "must be i/N"),
    "another key": (("FILE", "--grid", "layers=3"), "is in no grid of this sweep"),
    "no value": (("FILE", "--grid", "n="), "must be KEY=VALUE"),
    "no list": (("FILE", "--grid", "n=5,,6"), "n = "),
    "nan": (("FILE", "--grid", "rate=nan"), "must be finite"),
    "a style": (("FILE", "--style", "baroque"), "is not a known style"),
    "no address": (("FILE", "--dask", "nonsense://"), "is no address"),
}


@pytest.mark.parametrize("mistake", sorted(WORDS))
def test_a_mistake_on_the_command_line_is_one_line(cli, tmp_path, monkeypatch, mistake):
    monkeypatch.chdir(tmp_path)
    file = written(tmp_path)
    words, said = WORDS[mistake]
    outcome = cli("sweep", *[file if word == "FILE" else word for word in words])
    assert (outcome.code, outcome.out) == (2, "")
    assert said in outcome.err
    assert outcome.err.count("\n") == 1
    assert not (tmp_path / "results").exists()


def test_quick_needs_its_table(cli, tmp_path):
    outcome = cli("sweep", written(tmp_path, GRID), "--quick", "--dry-run")
    assert outcome.code == 2
    assert "no table [quick]" in outcome.err
    for text, said in (("m = 3", "is in no grid"), ("stop = 3", "must be a table")):
        outcome = cli("sweep", written(tmp_path, f"{GRID}[quick]\n{text}"), "--quick")
        assert outcome.code == 2
        assert said in outcome.err


def test_quick_replaces_and_is_named(tmp_path):
    quick = files.read(str(written(tmp_path)), quick=True)
    tasks, _ = quick.expanded
    assert {task.arguments["n"] for task in tasks} == {5}
    assert quick.stop == files.Stop(1500)
    assert quick.name == "small-quick"
    nested = GRID.replace("state_bits = 3\n", "set.width = 2\n") + "[quick.set]\nwidth = 4\n"
    (task,), _ = files.read(str(written(tmp_path, nested)), quick=True).expanded
    assert task.arguments["settings"] == {"width": 4}


def test_a_grid_is_a_product_without_repeats(tmp_path):
    made = files.read(str(written(tmp_path)))
    tasks, notes = made.expanded
    assert len(tasks) == len({task.id for task in tasks}) == TASKS
    assert notes == []
    twice = files.read(str(written(tmp_path, SMALL + GRID + GRID)))
    assert len(twice.expanded[0]) == TASKS + 1
    ranged = files.read(str(written(tmp_path, GRID.replace("n = 5", 'n = "2^2..2^4"'))))
    assert [task.arguments["n"] for task in ranged.expanded[0]] == [4, 8, 16]


def test_sizes_by_what_crosses(tmp_path):
    """A rate takes the nearest size above; an exact total is left out where there is none."""
    text = '[[grid]]\nproblem = "index"\nn = 16\nmodel = "lstm"\nbits = [1, 4]\n'
    tasks, notes = files.read(str(written(tmp_path, text + "rate = [0.25, 0.3125]"))).expanded
    sizes = [(task.arguments["bits"], task.arguments["numbers"]) for task in tasks]
    assert sizes == [(1, 4), (1, 6), (4, 2)]
    assert notes == []
    tasks, notes = files.read(str(written(tmp_path, text + "total_bits = [5, 8]"))).expanded
    sizes = [(task.arguments["bits"], task.arguments["numbers"]) for task in tasks]
    assert sizes == [(1, 8), (4, 2)]
    assert notes == [f"lstm: no state of 5 bits at {bits} bits a number" for bits in (1, 4)]


def test_overrides(cli, tmp_path):
    words = ("--grid", "n=4,7", "--grid", "seed=3", "--trials", 99, "--width", 0.5)
    outcome = cli("sweep", written(tmp_path), *words, "--print-config", "--json")
    assert outcome.row["stop"] == {"trials": 99, "width": 0.5}
    assert [grid["n"] for grid in outcome.row["grid"]] == [[4, 7], [4, 7]]
    assert [grid.get("seed") for grid in outcome.row["grid"]] == [None, 3]


@pytest.mark.parametrize("words", [(), ("--quick",), ("--grid", "n=2^3..2^5", "--width", 0.1)])
def test_what_is_printed_is_the_same_sweep(cli, tmp_path, words):
    text = SMALL + FIGURE
    outcome = cli("sweep", written(tmp_path, text), *words, "--print-config")
    assert outcome.code == 0
    again = tmp_path / "again.toml"
    again.write_text(outcome.out)
    assert cli("sweep", again, "--print-config").out == outcome.out
    made, first = (files.made(tomllib.loads(each), "x") for each in (outcome.out, text))
    assert made.figures == first.figures
    assert len(made.figures) == 1
    if not words:
        assert (made.config, made.stop, made.title) == (first.config, first.stop, first.title)


def test_a_dry_run_writes_nothing(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcome = cli("sweep", written(tmp_path), "--dry-run", "--json")
    assert list(tmp_path.iterdir()) == [tmp_path / "small.toml"]
    assert outcome.code == 0
    assert outcome.row["left"] == TASKS == len(outcome.row["tasks"])
    assert outcome.row["seconds"] > 0
    part = cli("sweep", written(tmp_path), "--dry-run", "--json", "--shard", "2/3")
    assert part.row["tasks"] == outcome.row["tasks"][1::3]


def test_a_dry_run_tells_what_is_there(cli, tmp_path):
    file, out = written(tmp_path), tmp_path / "r"
    assert cli("sweep", file, "--shard", "1/2", "--jobs", 1, "--out", out).code == 0
    before = {path: path.read_bytes() for path in out.iterdir()}
    outcome = cli("sweep", file, "--dry-run", "--json", "--out", out)
    states = [task["state"] for task in outcome.row["tasks"]]
    assert states == ["finished", "to do"] * (TASKS // 2)
    more = cli("sweep", file, "--dry-run", "--json", "--out", out, "--trials", 5000)
    begun = [task for task in more.row["tasks"] if task["state"] == "begun"]
    assert [(task["done"], task["left"]) for task in begun] == [(2, 3)] * (SAMPLES // 2)
    assert {path: path.read_bytes() for path in out.iterdir()} == before
    other = cli("sweep", file, "--dry-run", "--out", out, "--grid", "n=4")
    assert other.code == 1
    assert "another configuration" in other.err


def test_a_folder_that_cannot_be(cli, tmp_path):
    file = written(tmp_path)
    (tmp_path / "taken").write_text("")
    outcome = cli("sweep", file, "--out", tmp_path / "taken", "--jobs", 1)
    assert outcome.code == 1
    assert "cannot be written" in outcome.err
    assert cli("sweep", file, "--grid", "seed=5", "--out", tmp_path / "r", "--jobs", 1).code == 0
    outcome = cli("sweep", file, "--out", tmp_path / "r", "--jobs", 1)
    assert outcome.code == 1
    assert "another configuration; choose another folder with --out" in outcome.err


def test_a_table_is_named_by_what_is_in_it(tmp_path):
    """The same path with other contents is another task, and another configuration."""
    import numpy as np

    path = tmp_path / "t.npz"
    x = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    made = []
    for message in (x[:, :1], x[:, 1:]):
        np.savez(path, x=x, message=message.astype(np.uint8) << 7)
        text = f'[[grid]]\nproblem = "index"\nn = 2\nprotocol = "table:{path}"\nstate_bits = 1\n'
        made.append(files.read(str(written(tmp_path, text))))
        made[-1].config  # noqa: B018  (read while the file is there)
    first, second = made
    assert first.expanded[0][0].id != second.expanded[0][0].id
    assert first.config["digest"] != second.config["digest"]
    Path(path).unlink()
    with pytest.raises(UsageError, match="cannot be read"):
        files.read(str(written(tmp_path, text))).config  # noqa: B018


def test_the_ready_ones_can_be_read(cli):
    outcome = cli("sweep", "--list", "--json")
    assert outcome.code == 0
    for each in files.ready():
        assert each.title
        assert each.expanded[0]


def test_the_example_of_the_manual(cli, tmp_path):
    """It can be read, and so can all that is said of its parts."""
    manual = Path(__file__).parents[2] / "docs" / "sweeps.md"
    text = manual.read_text(encoding="utf-8")
    example = text.partition("```toml\n")[2].partition("```")[0]
    file = written(tmp_path, example)
    tasks, notes = files.read(str(file)).expanded
    assert len(tasks) == 5 * 2 * 3 * 2 * 3 + 5 * 2
    assert notes == []
    assert cli("sweep", file, "--quick", "--print-config").code == 0
    parts = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    named = {word.strip(" []`") for part in parts for word in part.split(", ")}
    assert named == set(files._TOP)
