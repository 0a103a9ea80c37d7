"""The collapse figure shows every row, says what it leaves out, and repeats to the byte."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import matplotlib
import networkx as nx
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from PIL import Image

from statebound import registry
from statebound.errors import StateboundError, UsageError
from statebound.experiments.curves import POINTS, collapse_curves
from statebound.experiments.figures import _labels, collapse, gadget
from statebound.experiments.figures._lines import labels, lines, models, protocols, select
from statebound.experiments.figures._save import save
from statebound.experiments.figures._style import LOOKS, marks, style
from statebound.protocols.limits.report import wall
from statebound.protocols.problem import make as make_problem
from statebound.protocols.problems.index import Index
from statebound.protocols.problems.istree import IsTree

Row = dict[str, Any]
N = 8
COMMAND = "statebound run index --n 8 --out 'a <b> & c'"
DIGEST = "0123456789abcdef" * 4


def row(model: str | None = "window", M: int = 4, **changes: Any) -> Row:
    """A row of a window that keeps M bits, but for what is changed."""
    kept = min(M, N)
    facts = [0.0] * (N - kept) + [1.0] * kept
    success = 0.5 + kept / (2 * N)
    return {
        "problem": "index",
        "model": model,
        "protocol": None,
        "init": "random",
        "n": N,
        "effective_n": N,
        "alphabet": 2,
        "query_law": "uniform",
        "state_bits": M,
        "bits_per_number": 1,
        "quantiser": "quantile",
        "dtype": "float32",
        "encoding": "bits",
        "bob": "optimal",
        "regime": "handoff",
        "success": success,
        "success_low": success,
        "success_high": success,
        "interval_level": None,
        "information_by_query": facts,
        "efficiency": 0.5 if M else None,
        "violates_wall": False,
        "machine_seed": 0,
    } | changes


def protocol(name: str, M: int) -> Row:
    """A row of a protocol that is as good as a window."""
    made = row(None, M, protocol=name, init=None, regime=None, bits_per_number=None)
    return made | {"machine_seed": None, "quantiser": None, "dtype": None, "encoding": None}


def rows(*models: str) -> list[Row]:
    """Two regimes, two seeds and three sizes of each model."""
    return [
        row(model, M, regime=regime, machine_seed=seed, success=0.5 + (M - j / 2 - seed) / 40)
        for j, model in enumerate(models)
        for regime, seed, M in product(("handoff", "step"), (0, 1), (2, 4, 8))
    ]


def drawn(axes: Axes) -> list[Line2D]:
    """The lines that stand for rows."""
    return [line for line in axes.lines if not str(line.get_label()).startswith("_")]


def named(axes: Axes, name: str) -> Line2D:
    return next(line for line in axes.lines if line.get_label() == name)


def entries(figure: Figure) -> list[str]:
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


@pytest.fixture(scope="module")
def curves() -> dict[str, list[tuple[int, float]]]:
    return collapse_curves(Index(N), 12)


@pytest.fixture(scope="module")
def two(curves: Any) -> tuple[Figure, list[str]]:
    return collapse.make(rows("alpha", "beta_two"), curves)


def test_three_panels_say_what_they_are(two: tuple[Figure, list[str]]) -> None:
    figure, notes = two
    main, upper, lower = figure.axes
    assert notes == []
    assert (main.get_xlabel(), main.get_ylabel()) == (
        "state bits M / effective n",
        "success probability",
    )
    assert upper.get_ylabel() == "needed bits / M"
    assert (lower.get_xlabel(), lower.get_ylabel()) == ("position asked, k", "information (bits)")
    for axes, letter, title in zip(
        figure.axes,
        "abc",
        ("Success on index, n = 8", "Efficiency", "Kept at M = 4, handoff"),
        strict=True,
    ):
        assert axes.get_title("left").startswith(rf"$\mathbf{{{letter}}}$")
        assert axes.get_title("left").endswith(title)
    assert {t.get_text() for t in main.texts} == {
        "coin toss",
        "M raw bits kept",
        "impossible for any protocol",
    }
    assert entries(figure) == [
        "alpha, random",
        "beta two, random",
        "handoff",
        "step",
        "range over seeds",
        "ball limit",
        "rate-distortion limit",
    ]


def test_a_line_a_model_and_regime_with_the_mean_over_seeds(two: tuple[Figure, Any]) -> None:
    main, upper, lower = two[0].axes
    assert len(drawn(main)) == len(drawn(upper)) == 4
    assert len(drawn(lower)) == 2
    (line,) = (
        line
        for line in drawn(main)
        if line.get_label() == "alpha, random" and line.get_linestyle() == "-"
    )
    assert line.get_xdata() == pytest.approx([2 / 8, 4 / 8, 1])
    assert line.get_ydata() == pytest.approx([0.5 + (M - 0.5) / 40 for M in (2, 4, 8)])
    bands = [c for c in main.collections if c.get_label() == "_seeds"]
    heights = {round(float(band.get_datalim(main.transData).height), 6) for band in bands}
    assert heights == {round(6 / 40 + 1 / 40, 6)}  # from M = 2, seed 1 to M = 8, seed 0


def test_regimes_differ_by_dash_and_filling_models_by_marker(two: tuple[Figure, Any]) -> None:
    seen = {}
    for line in drawn(two[0].axes[0]):
        dashed, filled = line.is_dashed(), to_hex(line.get_markerfacecolor()) != "#ffffff"
        assert dashed != filled
        seen[str(line.get_label()), dashed] = line.get_marker(), to_hex(line.get_color())
    assert set(seen) == set(product(("alpha, random", "beta two, random"), (True, False)))
    assert seen["alpha, random", True] == seen["alpha, random", False]
    assert seen["alpha, random", True][0] != seen["beta two, random", True][0]


def test_looks_differ_in_every_respect() -> None:
    for respect in ("colour", "marker", "dashes"):
        assert len({getattr(look, respect) for look in LOOKS}) == len(LOOKS) == 8


def test_the_wall_is_exact_and_above_all_points(two: tuple[Figure, Any]) -> None:
    main = two[0].axes[0]
    x, y = (np.asarray(side, float) for side in named(main, "_ball").get_data())
    exact = [wall(Index(N), 2**M) for M in range(N + 1)]
    assert y[: N + 1].tolist() == [float(value) for value in exact if value is not None]
    for line in drawn(main):
        assert (np.asarray(line.get_ydata()) <= np.interp(np.asarray(line.get_xdata()), x, y)).all()
    (region,) = (c for c in main.collections if c.get_label() == "_impossible")
    assert region.get_datalim(main.transData).y1 == pytest.approx(main.get_ylim()[1])
    assert np.asarray(named(main, "_chance").get_ydata()).tolist() == [0.5] * len(x)


def test_a_row_that_breaks_the_wall_is_ringed_and_noted(curves: Any) -> None:
    leaky = row("leaky", 2, success=0.95, violates_wall=True)
    figure, notes = collapse.make([row(), leaky], curves)
    ring = named(figure.axes[0], "_broken")
    assert np.asarray(ring.get_xydata()).tolist() == [[0.25, 0.95]]
    assert notes[0] == "1 row that broke a proved limit, ringed"
    assert "breaks a proved limit" in entries(figure)


def test_sampled_rows_show_their_interval(curves: Any) -> None:
    sampled = row(
        success=0.7,
        success_low=0.66,
        success_high=0.73,
        interval_level=0.95,
        bob="learned",
        information_by_query=None,
    )
    figure, notes = collapse.make([sampled], curves)
    main, _, lower = figure.axes
    (bar,) = (c for c in main.containers if c.get_label() == "_interval")
    (segments,) = bar[2][0].get_segments()
    assert segments.tolist() == [[0.5, pytest.approx(0.66)], [0.5, pytest.approx(0.73)]]
    assert "95 % interval" in entries(figure)
    assert notes == ["no exact information at M/n near 1/2: what is kept by position is not drawn"]
    assert [t.get_text() for t in lower.texts] == ["no exact rows near M/n = 1/2"]


PARTIAL: dict[str, list[Row]] = {
    "one row": [row()],
    "nothing sent": [row(M=0)],
    "one size beyond n": [row(M=12)],
    "only step": [row(M=M, regime="step") for M in (2, 4)],
    "no efficiency": [row(M=M, efficiency=None) for M in (2, 4)],
    "a protocol": [row(None, protocol="send_everything", init=None, regime=None, M=8)],
    "a long name": [row("a_model_with_quite_a_long_name_" + c, init="constructed") for c in "abc"],
    "eight models": rows(*"abcdefgh"),
    "below chance": [row(success=0.41, success_low=0.4, success_high=0.43, interval_level=0.9)],
}


@pytest.mark.parametrize("case", PARTIAL)
def test_partial_data_is_drawn_whole_and_nothing_is_cut_off(case: str, curves: Any) -> None:
    for kind in ("paper", "slides") if case in ("one row", "a long name") else ("paper",):
        figure, _ = collapse.make(PARTIAL[case], curves, kind)
        main = figure.axes[0]
        assert len(drawn(main)) == len(lines(PARTIAL[case]))
        (x0, x1), (y0, y1) = main.get_xlim(), main.get_ylim()
        for point in PARTIAL[case]:
            assert x0 <= point["state_bits"] / N <= x1
            assert y0 < point["success_low"] <= point["success_high"] < y1
        with style(kind):
            boxes = [axes.get_tightbbox() for axes in figure.axes]
            keys = [legend.get_window_extent() for legend in figure.legends]
        for box in [*boxes, *keys]:
            assert box is not None
            assert figure.bbox.padded(1).containsx(box.x0)
            assert figure.bbox.padded(1).containsx(box.x1)
            assert figure.bbox.padded(1).containsy(box.y0)
            assert figure.bbox.padded(1).containsy(box.y1)
        for first, second in product(boxes, keys):
            assert first is not None
            assert not first.padded(-1).overlaps(second)


def test_no_wall_is_drawn_where_none_is_known() -> None:
    figure, notes = collapse.make([row()], {"chance": [(0, 0.5), (8, 0.5)]})
    labels_drawn = {line.get_label() for line in figure.axes[0].lines}
    assert labels_drawn == {"_chance", "window, random"}
    assert notes == ["no proved limit is known for this problem: none is drawn"]
    assert [t.get_text() for t in figure.axes[0].texts] == ["coin toss"]


def test_what_is_left_out_is_noted(curves: Any) -> None:
    other = row(n=9, effective_n=9)
    lacking = [row("beta", 4, information_by_query=None), row("gamma", 2, efficiency=None)]
    figure, notes = collapse.make([row(), row(M=2), *lacking, other], curves)
    assert notes == [
        "1 row of index at n = 9 (uniform queries) left out: the figure shows index at n = 8 "
        "(uniform queries)",
        "1 row without efficiency (M = 0, or no limit known)",
        "beta, random: no exact row at M = 4, absent from what is kept",
        "gamma, random: no exact row at M = 4, absent from what is kept",
    ]
    assert [line.get_label() for line in drawn(figure.axes[2])] == ["window, random"]


def test_no_rows_is_a_usage_error(curves: Any) -> None:
    with pytest.raises(UsageError, match="nothing to draw"):
        collapse.make([], curves)


def test_no_such_style(curves: Any) -> None:
    with pytest.raises(UsageError, match="choose paper or slides"):
        collapse.make([row()], curves, "poster")


def test_the_larger_of_equal_groups_is_kept() -> None:
    kept, notes = select([row(), row(n=9, effective_n=9)])
    assert [r["n"] for r in kept] == [9]
    assert len(notes) == 1


def test_labels_name_what_differs_and_nothing_else() -> None:
    varied = [
        row("gru", bits_per_number=1),
        row("gru", bits_per_number=2, bob="learned"),
        row("rnn", bits_per_number=2),
        protocol("send_nothing", 0),
        protocol("polar", 4),
        protocol("table:my_file.npz", 4),
        protocol("mine", 4),
    ]
    assert labels(models(lines(varied))) == [
        "gru, random, 1 bit, optimal Bob",
        "gru, random, 2 bits, learned Bob",
        "rnn, random",
    ]
    assert protocols(lines(varied)) == {
        "code: polar": "polar",
        "control: send nothing": "send_nothing",
        "protocol: mine": "mine",
        "table:my_file.npz": "table:my_file.npz",
    }


def test_codes_are_points_of_their_own_beside_the_models(curves: Any) -> None:
    codes = [protocol(name, M) for name in ("polar", "linear", "mine") for M in (2, 4, 6)]
    figure, notes = collapse.make([*rows("alpha"), *codes], curves)
    assert notes == []
    main, upper, lower = figure.axes
    assert [text for text in entries(figure) if ":" in text] == [
        "code: linear",
        "code: polar",
        "protocol: mine",
    ]
    for axes in (main, upper):
        points = [line for line in drawn(axes) if ":" in str(line.get_label())]
        assert len(points) == 3
        assert all(line.get_linestyle() == "None" for line in points)
        assert len({line.get_marker() for line in points}) == 3
        assert {to_hex(line.get_color()) for line in points} == {"#000000"}
        for line in points:
            assert line.get_xdata() == pytest.approx([2 / N, 4 / N, 6 / N])
    assert [line.get_label() for line in drawn(lower)] == ["alpha, random"]


def test_codes_do_not_count_as_models(curves: Any) -> None:
    names = "abcdefgh"
    codes = [protocol(name, 4) for name in ("polar", "linear")]
    figure, _ = collapse.make([*rows(*names), *codes], curves)
    assert len(figure.axes) == 3
    figure, _ = collapse.make([*rows(*names, "i"), *codes], curves)
    panels = [axes for axes in figure.axes if axes.axison]
    assert len(panels) == 9
    for axes in panels:
        assert {str(line.get_label()) for line in drawn(axes)} >= {"code: polar", "code: linear"}
    assert entries(figure)[:2] == ["code: linear", "code: polar"]


def test_codes_alone_leave_the_panel_of_positions_empty(curves: Any) -> None:
    figure, notes = collapse.make([protocol("polar", 4)], curves)
    assert [t.get_text() for t in figure.axes[2].texts] == ["drawn for models only"]
    assert "handoff" not in entries(figure)
    assert notes == []


def test_every_protocol_has_its_own_mark() -> None:
    names = [*registry.names("statebound.protocols.codes"), *(f"mine_{i}" for i in range(20))]
    found = marks({name: name for name in names})
    assert len(set(found.values())) == len(names)
    alone = marks({"polar": "polar"})
    assert alone["polar"] == found["polar"]
    two = marks({"polar, learned Bob": "polar", "polar, optimal Bob": "polar"})
    assert len(set(two.values())) == 2


def test_many_models_become_small_multiples(curves: Any) -> None:
    names = [f"model_{c}" for c in "abcdefghi"]
    figure, notes = collapse.make(rows(*names), curves)
    panels = [axes for axes in figure.axes if axes.axison]
    assert [axes.get_title("left") for axes in panels] == [
        f"model {c}\nrandom" for c in "abcdefghi"
    ]
    for axes in panels:
        own = drawn(axes)
        assert {line.get_label() for line in own} == {axes.get_title("left").replace("\n", ", ")}
        assert len(own) == 2
        others = np.asarray(named(axes, "_others").get_ydata(), float)
        assert np.isnan(others).sum() == 2 * (len(names) - 1)
        assert named(axes, "_ball").get_linewidth() > 3 * named(axes, "_others").get_linewidth()
    assert any("small multiples" in note for note in notes)
    assert "impossible for any protocol" in entries(figure)


def test_istree_shows_its_gadget() -> None:
    tree = row(problem="istree", n=N + 3)
    figure, _ = collapse.make([tree], collapse_curves(IsTree(N + 3), 4))
    assert figure.axes[0].get_title("left").endswith("istree, n = 11, effective n = 8")
    (host,) = (axes for axes in figure.axes if axes.child_axes)
    verdicts = [axes.texts[-1].get_text().split("\n")[1] for axes in host.child_axes]
    assert verdicts == ["a tree", "a cycle: no tree"]


def graph_of(axes: Axes) -> nx.Graph:
    """Read a drawn graph back from its lines and vertex numbers."""
    vertices = {text.xy: int(text.get_text()) for text in axes.texts if text.get_text().isdigit()}
    ends = [line.get_xydata() for line in axes.lines if line.get_label() in ("_alice", "_bob")]
    graph = nx.Graph()
    graph.add_nodes_from(vertices.values())
    graph.add_edges_from((vertices[tuple(a)], vertices[tuple(b)]) for a, b in map(np.asarray, ends))
    return graph


@pytest.mark.parametrize("n", [4, 5])
def test_the_drawn_graph_is_a_tree_where_it_says_so(n: int) -> None:
    problem = IsTree(n)
    for x, query in product(problem.enumerate(0, problem.inputs), range(problem.queries)):
        axes = Figure().subplots()
        gadget.draw_graph(axes, problem, x, query)
        graph = graph_of(axes)
        assert len(graph.edges) == n - 1
        assert nx.is_tree(graph) == axes.texts[-1].get_text().endswith("a tree")
        assert nx.is_tree(graph) == bool(problem.answers(x[None])[0, query])
        (bob,) = (line for line in axes.lines if line.get_label() == "_bob")
        assert bob.is_dashed()
        alice = [line for line in axes.lines if line.get_label() == "_alice"]
        assert not any(line.is_dashed() for line in alice)
        assert bob.get_linewidth() > max(line.get_linewidth() for line in alice)
        widths = {line.get_linewidth() for line in alice}
        assert len(widths) == 1 or not nx.is_tree(graph)


def test_a_given_pair_differs_in_one_answer() -> None:
    problem = IsTree(6)
    left, right = Figure().subplots(1, 2)
    gadget.draw_pair(left, right, problem, problem.parse("0011")[0], 2)
    assert nx.is_tree(graph_of(left))
    assert not nx.is_tree(graph_of(right))
    assert set(graph_of(right).edges) - {(3, 4)} == {(1, 5), (2, 5), (3, 6), (4, 6)}
    left, right = Figure().subplots(1, 2)
    gadget.draw_pair(left, right, problem, problem.parse("0011")[0], 0)
    assert set(graph_of(left).edges) - {(1, 2)} == {(1, 5), (2, 6), (3, 5), (4, 5)}
    with pytest.raises(UsageError, match="all three or none"):
        gadget.draw_pair(left, right, problem)


def test_a_name_is_written_beside_its_line_or_not_at_all() -> None:
    figure = Figure(figsize=(4, 4))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, 1), ylim=(0, 1))
    curve = np.array([[0.0, 0.0], [1.0, 1.0]])
    label = _labels.along(axes, curve, "name", [np.array([[0.0, 0.3], [0.7, 1.0]])], "black")
    assert label is not None
    assert label.get_rotation() == pytest.approx(45)
    x, y = label.get_position()
    assert y < x  # the other line is above
    crowd = [np.array([[0.0, shift], [1.0, 1 + shift]]) for shift in np.linspace(-1, 1, 81)]
    count = len(axes.texts)
    assert _labels.along(axes, curve, "name", crowd, "black") is None
    assert len(axes.texts) == count


@pytest.fixture(scope="module")
def saved(two: tuple[Figure, Any], tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return save(two[0], tmp_path_factory.mktemp("saved") / "new" / "collapse.v1", COMMAND, DIGEST)


def test_both_files_hold_command_and_digest(saved: list[Path]) -> None:
    png, svg = saved
    assert [path.name for path in saved] == ["collapse.v1.png", "collapse.v1.svg"]
    assert sorted(png.parent.iterdir()) == sorted(saved)  # nothing temporary is left
    with Image.open(png) as image:
        assert image.size == (1400, 980)
        text = dict(image.text)  # type: ignore[attr-defined]
    assert text["Description"] == COMMAND
    assert text["Source"] == f"sha256:{DIGEST}"
    root = ElementTree.parse(svg).getroot()
    core = "{http://purl.org/dc/elements/1.1/}"
    assert [e.text for e in root.iter(f"{core}description")] == [COMMAND]
    assert [e.text for e in root.iter(f"{core}source")] == [f"sha256:{DIGEST}"]
    assert not list(root.iter(f"{core}date"))


def test_equal_rows_in_any_order_give_equal_bytes(
    saved: list[Path], curves: Any, tmp_path: Path
) -> None:
    shuffled = rows("alpha", "beta_two")
    random.Random(5).shuffle(shuffled)
    figure, _ = collapse.make(shuffled, curves)
    again = save(figure, tmp_path / "other", COMMAND, DIGEST)
    for first, second in zip(saved, again, strict=True):
        assert first.read_bytes() == second.read_bytes()


def test_other_rows_give_other_bytes(saved: list[Path], curves: Any, tmp_path: Path) -> None:
    figure, _ = collapse.make(rows("alpha", "beta"), curves)
    for first, second in zip(saved, save(figure, tmp_path / "o", COMMAND, DIGEST), strict=True):
        assert first.read_bytes() != second.read_bytes()


def test_odd_characters_in_a_command_do_no_harm(tmp_path: Path) -> None:
    png, svg = save(Figure(), tmp_path / "odd", "run \x1b[1m \udc80 é\n", DIGEST)
    escaped = r"run \x1b[1m \udc80 é\n"
    with Image.open(png) as image:
        assert image.text["Description"] == escaped  # type: ignore[attr-defined]
    assert escaped in svg.read_text(encoding="utf-8")
    ElementTree.parse(svg)


def test_a_figure_that_cannot_be_written_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StateboundError, match="choose a writable folder"):
        save(Figure(), tmp_path / "file" / "stem", COMMAND, DIGEST)
    (tmp_path / "kept.png").write_bytes(b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StateboundError, match="No space left"):
        save(Figure(), tmp_path / "kept", COMMAND, DIGEST)
    assert (tmp_path / "kept.png").read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "kept.png"]


def test_settings_of_others_are_left_as_they_were(curves: Any) -> None:
    before = dict(matplotlib.rcParams)
    collapse.make([row()], curves, "slides")
    assert dict(matplotlib.rcParams) == before


def test_no_global_figure_state_and_no_early_import() -> None:
    code = (
        "import sys\n"
        "import statebound.experiments.curves, statebound.experiments.figures._lines\n"
        "assert 'matplotlib' not in sys.modules\n"
        "import statebound.experiments.figures.collapse\n"
        "assert 'matplotlib.figure' in sys.modules\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_curves_are_the_walls_at_every_size(curves: Any) -> None:
    assert [bits for bits, _ in curves["ball"]] == list(range(13))
    for bits, value in curves["ball"]:
        exact = wall(Index(N), 2**bits)
        assert exact is not None
        assert value == float(exact)
    assert curves["truncation"][4] == (4, 0.75)
    assert curves["rate_distortion"][8] == (8, 1.0)
    for (_, ball), (_, rate) in zip(curves["ball"], curves["rate_distortion"], strict=True):
        assert ball <= rate


def test_curves_go_on_to_where_all_answers_fit_and_are_thinned() -> None:
    assert collapse_curves(IsTree(11), 0)["ball"][-1] == (8, 1.0)
    many = collapse_curves(make_problem("index", 16), 3 * POINTS)["truncation"]
    assert len(many) == POINTS + 1
    assert many[-1] == (3 * POINTS, 1.0)
    with pytest.raises(UsageError, match="max_bits"):
        collapse_curves(Index(4), -1)


@pytest.mark.slow
def test_other_processes_give_the_same_bytes(tmp_path: Path) -> None:
    code = (
        "import json, sys\n"
        "from pathlib import Path\n"
        "from statebound.experiments.curves import collapse_curves\n"
        "from statebound.experiments.figures import collapse\n"
        "from statebound.experiments.figures._save import save\n"
        "from statebound.protocols.problems.index import Index\n"
        "rows = json.loads(sys.stdin.read())\n"
        "figure, _ = collapse.make(rows, collapse_curves(Index(8), 12))\n"
        "save(figure, Path(sys.argv[1]), 'command', 'ab')\n"
    )
    for seed in ("1", "2"):
        subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / seed)],
            input=json.dumps(rows("alpha", "beta")),
            text=True,
            check=True,
            env=os.environ | {"PYTHONHASHSEED": seed},
        )
    for ending in ("png", "svg"):
        first, second = (tmp_path / f"{seed}.{ending}" for seed in ("1", "2"))
        assert first.read_bytes() == second.read_bytes()
