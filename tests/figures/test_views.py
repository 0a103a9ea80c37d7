"""What the figures of several n, of maps and of columns show is what the rows say."""

from __future__ import annotations

import json
from math import isnan, log2
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.lines import Line2D

from statebound.errors import UsageError
from statebound.experiments import curves
from statebound.experiments.figures import (
    _columns,
    _facets,
    _maps,
    _views,
    _xy,
    budget,
    drift,
    lines,
    phase,
    precision,
    rescaled,
)
from statebound.experiments.figures._columns import Choices
from statebound.experiments.figures._lines import labelled, select
from statebound.experiments.plot import KINDS
from statebound.experiments.results import Writer
from statebound.protocols.limits.report import wall
from statebound.protocols.problems.index import Index

Row = dict[str, Any]
HELD: dict[str, list[Row]] = json.loads(
    (Path(__file__).parent / "golden" / "rows.json").read_text()
)
SEVERAL, WIDTHS, ROUNDINGS = HELD["several"], HELD["widths"], HELD["roundings"]


def named(axes: Axes, name: str) -> list[Line2D]:
    return [line for line in axes.lines if line.get_label() == name]


def places(line: Line2D) -> list[tuple[float, float]]:
    return [(round(float(x), 9), round(float(y), 9)) for x, y in np.asarray(line.get_xydata())]


def panels(figure: Any) -> list[Axes]:
    return [axes for axes in figure.axes if axes.axison and axes.get_subplotspec() is not None]


def window(n: int, M: int, **changes: Any) -> Row:
    row = next(r for r in SEVERAL if r["model"] == "sliding_window" and r["n"] == n)
    return row | {"state_bits": M, "success": 0.5 + M / (2 * n)} | changes


# rescaled


def test_all_n_are_on_one_axis_with_the_walls_of_each():
    figure, notes = KINDS["rescaled"].make(SEVERAL)
    assert notes == []
    axes = next(a for a in panels(figure) if "sliding" in a.get_title("left"))
    for n in (6, 8):
        (line,) = named(axes, str(n))
        expected = [(M / n, 0.5 + M / (2 * n)) for M in range(2, n + 1, 2)]
        assert places(line) == [(round(x, 9), round(y, 9)) for x, y in expected]
    for n, ball in zip((6, 8), named(axes, "_ball"), strict=True):
        exact = [wall(Index(n), 2**M) for M in range(n + 1)]
        assert [y for _, y in places(ball)][: n + 1] == [
            round(float(w), 9) for w in exact if w is not None
        ]


def test_the_limit_of_every_n_is_above_the_walls_of_each():
    limit = curves.rate_limit(2)
    x, y = np.array(limit).T
    for n in (3, 7, 16, 23):
        for M, ball in curves.collapse_curves(Index(n), n)["ball"]:
            # Between its points the drawn limit is a chord, so a little below the concave curve.
            assert ball <= np.interp(M / n, x, y) + 2e-4
    assert (np.diff(y) > 0).all()


def test_no_limit_of_every_n_where_queries_have_weights():
    figure, _ = rescaled.make([window(6, 2)], {6: {"ball": [(0, 0.5), (6, 1.0)]}}, [])
    assert not named(panels(figure)[0], "_limit")
    assert not named(panels(figure)[0], "_impossible")
    heavy = [row | {"query_law": "zipf"} for row in SEVERAL if row["n"] == 6]
    figure, _ = KINDS["rescaled"].make(heavy)
    assert not named(panels(figure)[0], "_limit")


# maps


def test_cells_are_means_over_seeds_and_stairs_are_the_wall():
    figure, notes = KINDS["phase"].make(SEVERAL)
    assert notes == []
    axes = next(a for a in panels(figure) if a.get_title("left") == "gru, random, step")
    (cells,) = (c for c in axes.collections if isinstance(c, PolyCollection))
    held = [r for r in SEVERAL if r["model"] == "gru" and r["regime"] == "step"]
    seen = {}
    for path, value in zip(cells.get_paths(), np.asarray(cells.get_array()), strict=True):
        n, M = np.asarray(path.vertices)[:4].mean(axis=0)
        seen[round(n), round(M)] = value
    for place, value in seen.items():
        seeds = [r["success"] for r in held if (r["n"], r["state_bits"]) == place]
        assert len(seeds) == 2
        assert value == pytest.approx(sum(seeds) / 2)
    assert len(seen) == 7
    for line, level in zip(named(axes, "_stairs"), phase.LEVELS, strict=True):
        for (left, low), (right, _) in zip(*[iter(places(line))] * 2, strict=True):
            n = round((left + right) / 2)
            below, above = (wall(Index(n), 2 ** int(M)) for M in (low - 0.5, low + 0.5))
            assert below is not None
            assert above is not None
            assert float(below) < level <= float(above)


def test_stairs_are_not_drawn_across_sizes_that_were_not_measured():
    sides = {6.0: (5.0, 7.0), 12.0: (11.0, 13.0)}
    corners = phase._stairs([(6, 2.0), (12, 3.2)], sides)
    assert corners[:2] == [(5.0, 1.5), (7.0, 1.5)]
    assert isnan(corners[2][0])
    assert corners[3:] == [(11.0, 3.5), (13.0, 3.5)]


def test_a_cell_does_not_reach_over_what_was_not_measured():
    sides = _maps.edges([2, 4, 6, 20])
    assert sides[6] == (5, 7)
    assert sides[20] == (19, 21)
    assert _maps.edges([5]) == {5: (4.5, 5.5)}


def test_rows_without_information_are_left_out_of_the_map_and_noted():
    rows = [r for r in SEVERAL if r["n"] == 8]
    rows[0] = rows[0] | {"information_by_query": None}
    figure, notes = KINDS["retention"].make(rows)
    assert notes == ["1 row without information_by_query (sampled, or too many queries) left out"]
    axes = next(a for a in panels(figure) if "sliding" in a.get_title("left"))
    (cells,) = (c for c in axes.collections if isinstance(c, PolyCollection))
    assert set(np.asarray(cells.get_array()).tolist()) == {0.0, 1.0}
    with pytest.raises(UsageError, match="samples cannot know"):
        KINDS["retention"].make([r | {"information_by_query": None} for r in rows])


# budget and cliff


def test_the_parts_of_a_column_are_the_bits_of_its_rows():
    rows = [r for r in SEVERAL if r["n"] == 8]
    held, notes = budget.columns(rows)
    assert notes == []
    assert [c.bits for c in held] == sorted(c.bits for c in held)
    for column in held:
        assert sum(column.parts) == pytest.approx(column.bits)
        assert min(column.parts) > -1e-9
    (column,) = (c for c in held if c.name == "gru, random, step" and c.bits == 4)
    own = [r for r in rows if (r["model"], r["regime"], r["state_bits"]) == ("gru", "step", 4)]
    assert len(own) == 2
    assert column.parts[0] == pytest.approx(sum(r["stored_bits"] for r in own) / 2)
    assert column.parts[3] == pytest.approx(4 - sum(log2(r["distinct_messages"]) for r in own) / 2)


def test_samples_have_no_budget_and_say_so():
    rows = [r for r in SEVERAL if r["n"] == 8]
    rows[0] = rows[0] | {"distinct_messages": None}
    assert budget.columns(rows)[1] == ["1 row that cannot know the messages (sampled) left out"]
    with pytest.raises(UsageError, match="samples cannot count"):
        budget.columns([r | {"message_entropy": None} for r in rows])


def test_both_limits_are_drawn_above_all_points():
    rows = [r for r in SEVERAL if r["n"] == 8]
    figure, _ = KINDS["cliff"].make(rows)
    upper, lower = panels(figure)[0], panels(figure)[2]
    ball, whole = named(upper, "_limit")
    assert places(whole)[:9] == [(M, 2.0 ** (M - 8)) for M in range(9)]
    assert places(ball)[4] == (4, round(float(wall(Index(8), 16) or 0), 9))
    for axes, line in ((upper, whole), (lower, named(lower, "_limit")[0])):
        for row in rows:
            assert row["all_correct"] <= dict(places(line))[row["state_bits"]] + 1e-12
        assert axes.get_ylim()[1] > 1


# columns against columns


def test_a_line_of_precision_has_one_M_and_its_wall():
    figure, notes = precision.make(WIDTHS)
    assert notes == []
    (axes,) = panels(figure)
    for M in (4, 8):
        (line,) = named(axes, f"M = {M}")
        for width, height in places(line):
            seeds = [
                r["success"]
                for r in WIDTHS
                if (r["state_bits"], r["bits_per_number"]) == (M, width)
            ]
            assert height == pytest.approx(sum(seeds) / len(seeds))
    levels = {tuple({y for _, y in places(line)}) for line in named(axes, "_ball")}
    assert levels == {(round(r["wall_ball"], 9),) for r in WIDTHS}


def test_what_has_one_width_or_one_n_is_left_out_and_noted():
    more = [*WIDTHS, WIDTHS[0] | {"state_bits": 3, "state_numbers": 3}]
    assert precision.make(more)[1] == ["1 row with state bits that only one width has left out"]
    more = [*ROUNDINGS, ROUNDINGS[0] | {"state_numbers": 5, "state_bits": 5}]
    assert drift.make(more)[1] == ["1 row of sizes with one n left out"]
    handoff = [row | {"regime": "handoff"} for row in ROUNDINGS[:2]]
    assert drift.make([*ROUNDINGS, *handoff])[1] == ["2 rows not of the regime step left out"]
    with pytest.raises(UsageError, match="in the regime step at several n"):
        drift.make([row for row in ROUNDINGS if row["n"] == 4])


def test_drift_shows_error_as_well():
    success, _ = drift.make(ROUNDINGS)
    error, _ = drift.make(ROUNDINGS, "paper", Choices(y="error"))
    for name in ("nearest rounding", "stochastic rounding", "feedback rounding", "_ball"):
        for one, other in zip(
            named(panels(success)[0], name), named(panels(error)[0], name), strict=True
        ):
            assert [(x, round(1 - y, 6)) for x, y in places(one)] == [
                (x, round(y, 6)) for x, y in places(other)
            ]
    assert "error" in panels(error)[0].get_ylabel()


def test_lines_draw_what_is_chosen():
    chosen = Choices("config.units", "message_entropy", ("regime", "n"), ("machine_seed",))
    figure, notes = lines.make([r for r in SEVERAL if r["model"] == "gru"], "paper", chosen)
    assert notes == []
    first = panels(figure)[0]
    assert first.get_title("left") == "machine_seed = 0"
    assert (first.get_xlabel(), first.get_ylabel()) == ("config.units", "message entropy (bits)")
    (line,) = named(first, "step, n = 6")
    assert places(line) == [
        (r["config"]["units"], round(r["message_entropy"], 9))
        for r in SEVERAL
        if (r["model"], r["n"], r["regime"], r["machine_seed"]) == ("gru", 6, "step", 0)
    ]
    assert not named(first, "_ball")


def test_means_over_machines_that_differ_are_noted():
    rows = [r for r in SEVERAL if r["n"] == 6]
    _, notes = lines.make(rows, "paper", Choices(group=("regime",)))
    (note,) = (note for note in notes if note.startswith("points are means"))
    assert "model" in note
    assert "config" not in note  # follows from the model
    assert "--group" in note
    assert lines.make(rows)[1] == []


def test_a_wall_is_drawn_only_where_all_rows_at_a_point_have_it():
    rows = [window(6, 2), window(8, 2)]
    view = _views.View("state_bits", "success")
    held, _ = _views.sort(rows, view)
    (line,) = held[""].values()
    assert _xy.walls([line], "success") == [{}]
    view = _views.View("state_bits", "success", facet=("n",))
    held, _ = _views.sort(rows, view)
    known = [_xy.walls(list(each.values()), "success") for each in held.values()]
    assert known == [[{2: rows[0]["wall_ball"]}], [{2: rows[1]["wall_ball"]}]]


def test_points_stand_by_themselves_where_the_axis_is_an_outcome():
    figure, _ = lines.make([r for r in SEVERAL if r["n"] == 8], "paper", Choices("stored_bits"))
    shown = [line for line in panels(figure)[0].lines if "gru" in str(line.get_label())]
    assert {line.get_linestyle() for line in shown} == {"None"}
    assert not named(panels(figure)[0], "_ball")


def test_rows_that_are_no_measurements_are_drawn_by_their_columns(cli, tmp_path: Path):
    rows = [
        {"form": form, "tokens": t, "bits": b * t}
        for form, b in (("one", 1), ("two", 3))
        for t in (1, 2, 4)
    ]
    figure, notes = lines.make(rows, "paper", Choices("tokens", "bits", ("form",)))
    assert notes == []
    (line,) = named(panels(figure)[0], "form = two")
    assert places(line) == [(1, 3), (2, 6), (4, 12)]
    doubled = [*rows, rows[0] | {"bits": 9, "where": "elsewhere"}]
    figure, notes = lines.make(doubled, "paper", Choices("tokens", "bits", ("form",)))
    assert "differ in where:" in notes[0]
    assert "range over rows" in [t.get_text() for k in figure.legends for t in k.get_texts()]
    with Writer(tmp_path / "r", {}, []) as writer:
        for at, row in enumerate(rows):
            writer.append(f"{at:032x}", row)
    words = ("plot", "lines", tmp_path / "r", "--x", "tokens", "--y", "bits", "--group", "form")
    assert cli(*words).code == 0
    assert "so it is no result" in cli("plot", "collapse", tmp_path / "r").err


def test_rows_without_a_value_are_left_out_and_noted():
    rows = [window(6, 2), window(6, 4, needed_bits=None)]
    assert lines.make(rows, "paper", Choices(y="needed_bits"))[1] == [
        "1 row without state_bits or needed_bits left out"
    ]


@pytest.mark.parametrize("argument", ["x", "y"])
def test_a_column_that_is_not_there_lists_those_that_are(argument):
    with pytest.raises(UsageError) as told:
        lines.make(SEVERAL, "paper", Choices(**{argument: "sucess"}))
    assert told.value.argument == argument
    assert "config.units" in told.value.remedy
    assert "problem_options.marked" in told.value.remedy
    assert " success," in told.value.remedy
    with pytest.raises(UsageError, match="not a number"):
        lines.make(SEVERAL, "paper", Choices(**{argument: "model"}))
    with pytest.raises(UsageError, match="facet = nothing"):
        lines.make(SEVERAL, "paper", Choices(facet=("nothing",)))


def test_more_lines_than_can_be_told_apart_are_noted_and_none_that_broke_a_limit():
    rows = [window(8, 2, model=f"m{c}", machine_seed=s) for c in range(9) for s in range(2)]
    rows += [window(8, 2, model="bad", violates_wall=True)]
    figure, notes = lines.make(rows)
    assert notes[0].startswith("2 lines left out, more than the 8 that a figure can show: m")
    assert named(panels(figure)[0], "bad, constructed")
    names, _ = _facets.largest(["n = 10", "n = 6", "n = 8"], 3, "panel")
    assert names == ["n = 6", "n = 8", "n = 10"]


# rows and columns


def test_machines_of_one_size_and_seed_are_told_apart_by_their_settings():
    first, second = (
        window(8, 4, model="s4d", config={"channels": c, "d_state": 4 // c}) for c in (1, 2)
    )
    names = [name for name, _ in labelled([first, second])]
    assert names == ["s4d, constructed, channels = 1", "s4d, constructed, channels = 2"]
    assert {name for name, _ in labelled([first])} == {"s4d, constructed"}
    seeds = [first, first | {"machine_seed": 1}]
    assert {name for name, _ in labelled(seeds)} == {"s4d, constructed"}


def test_other_problems_are_left_out_of_all_sizes():
    tree = window(8, 2, problem="istree")
    kept, notes = select([*SEVERAL, tree], sizes=True)
    assert {row["n"] for row in kept} == {6, 8}
    assert notes == [
        "1 row of istree (2 symbols, uniform queries) left out: the figure shows index "
        "(2 symbols, uniform queries)"
    ]


def test_conditions_keep_rows():
    step = _columns.filtered(SEVERAL, [("regime", "step"), ("n", "6")])
    assert {(row["regime"], row["n"]) for row in step} == {("step", 6)}
    either = _columns.filtered(SEVERAL, [("config.units", "2"), ("config.units", "4")])
    assert {row["config"]["units"] for row in either} == {2, 4}
    assert _columns.filtered(SEVERAL, [("protocol", "null")]) == [
        row for row in SEVERAL if row["protocol"] is None
    ]
    with pytest.raises(UsageError, match=r"there are 6, 8"):
        _columns.filtered(SEVERAL, [("n", "7")])
    with pytest.raises(UsageError, match="is not a column"):
        _columns.filtered(SEVERAL, [("colour", "red")])


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    found = []
    for n in (6, 8):
        found.append(tmp_path / f"n{n}")
        with Writer(found[-1], {"n": n}, []) as writer:
            for at, row in enumerate(SEVERAL):
                if row["n"] == n:
                    writer.append(str(at), row)
    return found


def test_the_verb_draws_folders_as_one(cli, folders: list[Path], tmp_path: Path):
    out = tmp_path / "drawn" / "figure"
    done = cli("plot", "rescaled", *folders, "--where", "model=gru", "--out", out, "--json")
    assert done.code == 0
    assert done.row == {"figures": [f"{out}.png", f"{out}.svg"], "rows": 28}
    plain = cli(
        "plot", "lines", folders[0], "--x", "n", "--y", "success", "--group", "model,regime"
    )
    assert plain.out.split() == [str(folders[0] / f"lines.{ending}") for ending in ("png", "svg")]
    assert "note: points are means over rows that differ in" in plain.err
    twice = cli("plot", "budget", folders[0], folders[0], "--json")
    assert twice.row["rows"] == 17


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("phase", "--x", "n"), "the figure phase has no choice of x; it takes --facet"),
        (("lines", "--where", "n"), "is not COLUMN=VALUE"),
        (("lines", "--y", "nothing"), "is not a column of these rows; choose from"),
        (("pie",), "choose from collapse, rescaled, phase"),
        (("lines", "--style", "poster"), "choose paper or slides"),
    ],
)
def test_mistakes_are_one_line(cli, folders: list[Path], words: Any, said: str):
    kind, *rest = words
    done = cli("plot", kind, *folders, *rest)
    assert done.code == 2
    assert said in done.err
    assert len(done.err.splitlines()) == 1


def test_rows_of_bobs_who_do_not_think_are_left_out_and_noted():
    rows = [*HELD["thoughts"], *(r for r in SEVERAL if r["n"] == 6)]
    _, notes = KINDS["cot"].make(rows)
    assert notes == ["17 rows of Bobs who do not think left out"]
    with pytest.raises(UsageError, match="statebound think makes such rows"):
        KINDS["cot"].make(SEVERAL)
