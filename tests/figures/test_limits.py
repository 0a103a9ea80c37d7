"""The limits figure shows every limit and code, and codes are what they are said to be."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from PIL import Image

from statebound.errors import UsageError
from statebound.experiments import plot
from statebound.experiments.curves import code_points, limits_curves
from statebound.experiments.figures import limits
from statebound.experiments.figures._style import style
from statebound.experiments.measure import measure
from statebound.experiments.reduce import reduced
from statebound.experiments.request import Request
from statebound.protocols.limits import report
from statebound.protocols.problem import make as make_problem
from statebound.protocols.problems.index import Index

N = 7
ABOUT = {"problem": "index", "n": N, "effective_n": N, "alphabet": 2, "query_law": "uniform"}


def point(name: str, M: int, success: float, **changes: Any) -> dict[str, Any]:
    limit = report.limits(Index(N), M)["ball"]
    return {
        "protocol": name,
        "state_bits": M,
        "success": success,
        "success_low": success,
        "success_high": success,
        "interval_level": None,
        "wall_ball": limit,
    } | changes


def named(axes: Axes, name: str) -> Line2D:
    return next(line for line in axes.lines if line.get_label() == name)


def entries(figure: Figure) -> list[str]:
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def places(line: Line2D) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in np.asarray(line.get_xydata())]


@pytest.fixture(scope="module")
def curves() -> dict[str, list[tuple[int, float]]]:
    return limits_curves(Index(N))


@pytest.fixture(scope="module")
def points() -> list[dict[str, Any]]:
    return code_points(Index(N))


@pytest.fixture(scope="module")
def drawn(curves: Any, points: Any) -> tuple[Figure, list[str]]:
    return limits.make(ABOUT, curves, points)


def test_curves_are_the_report_at_every_size(curves: Any) -> None:
    for bits in range(N + 1):
        record = report.limits(Index(N), bits)
        for name in report.WALLS:
            assert dict(curves[name]).get(bits) == record[name]
    assert dict(curves["chance"]) == dict.fromkeys(range(N + 1), 0.5)


def test_curves_are_thinned_but_keep_the_ends() -> None:
    problem = make_problem("index", 300)
    bits = [m for m, _ in limits_curves(problem, 20)["ball"]]
    assert bits[:2] == [0, 1]
    assert bits[-2:] == [299, 300]
    assert len(bits) == 22
    symbols = make_problem("index", 3, {"alphabet": 3})
    assert [m for m, _ in limits_curves(symbols)["ball"]] == list(range(7))
    with pytest.raises(UsageError, match="points"):
        limits_curves(problem, 1)


def test_codes_stand_where_theory_puts_them(points: list[dict[str, Any]]) -> None:
    found = {(p["protocol"], p["state_bits"]): p["success_fraction"] for p in points}
    assert found["hamming", 4] == "7/8"  # perfect: 1 - 1/(n + 1)
    assert found["majority", 1] == "21/32"  # 1/2 + C(6, 3) / 2^7
    assert found["truncation", 2] == "9/14"  # 1/2 + M / 2n
    for p in points:
        assert p["success"] <= p["wall_ball"]
        assert p["success_low"] == p["success"] == p["success_high"]
    assert [p for p in points if p["engine"] == "enumerate"]


def test_an_enumerated_point_is_the_row_that_measure_makes() -> None:
    enumerated = [p for p in code_points(Index(8)) if p["engine"] == "enumerate"]
    assert {p["protocol"] for p in enumerated} == {"polar", "trellis", "syndrome_trellis"}
    for p in enumerated:
        request = Request("index", 8, protocol=p["protocol"], state_bits=p["state_bits"])
        row = measure(request).row
        for key in ("success", "success_fraction", "trials", "bob", "engine", "wall_ball"):
            assert p[key] == row[key]


@pytest.mark.slow
def test_a_sampled_point_says_so_and_covers_its_wall() -> None:
    points = code_points(make_problem("index", 32))
    sampled = [p for p in points if p["engine"] == "sample"]
    assert {p["protocol"] for p in sampled} == {"polar", "trellis", "syndrome_trellis"}
    for p in sampled:
        assert (p["trials"], p["seed"], p["interval_level"], p["bob"]) == (2048, 0, 0.95, "model")
        assert p["success_low"] < p["success"] < p["success_high"]
        assert p["success_low"] < p["wall_ball"]
    exact = [p for p in points if p["engine"] == "formula"]
    assert all(p["trials"] is p["interval_level"] is None for p in exact)


def test_codes_of_other_problems() -> None:
    symbols = code_points(make_problem("index", 9, {"alphabet": 3}))
    assert {p["protocol"] for p in symbols} == {"truncation"}
    assert all(p["state_bits"] % 2 == 0 for p in symbols)
    skewed = code_points(make_problem("index", 9, {"query_law": "recency:0.5"}))
    kept = next(p for p in skewed if p["protocol"] == "truncation" and p["state_bits"] == 2)
    top = 511 - 127  # weights 2^0 .. 2^8 over 511; the two heaviest are kept
    assert kept["success"] == pytest.approx(top / 511 + (511 - top) / 1022)


def test_three_panels_say_what_they_are(drawn: tuple[Figure, list[str]]) -> None:
    figure, notes = drawn
    assert notes == []
    titles = ("Limits of index, n = 7", "Distance to the ball limit", "All queries right at once")
    for axes, letter, title in zip(figure.axes, "abc", titles, strict=True):
        assert axes.get_title("left") == rf"$\mathbf{{{letter}}}$   {title}"
    assert entries(figure) == [
        "code: hamming",
        "code: linear",
        "code: majority",
        "code: syndrome trellis",
        "code: truncation",
        "ball limit",
        "best protocol: known",
        "random coding reaches",
        "M raw bits kept",
        "rate-distortion limit",
        "streaming wall (step)",
        "coin toss",
    ]
    assert [t.get_text() for t in figure.axes[0].texts] == ["impossible for any protocol"]
    assert [t.get_text() for t in figure.axes[2].texts] == ["average, as in a"]


def test_all_limits_are_drawn_as_given(drawn: tuple[Figure, Any], curves: Any) -> None:
    main, _, cliff = drawn[0].axes
    for name in ("ball", "rate_distortion", "truncation", "random_coding", "chance"):
        assert places(named(main, f"_{name}")) == curves[name]
    assert places(named(main, "_optimum")) == curves["optimum_low"]  # all known at n = 7
    known = dict(curves["streaming"])
    for m, value in places(named(main, "_streaming")):
        assert np.isnan(value) if m not in known else value == known[m]
    assert places(named(cliff, "_all_correct")) == curves["all_correct"]
    assert places(named(cliff, "_all_correct"))[-2:] == [(6, 0.5), (7, 1.0)]


def test_an_unknown_optimum_is_a_band(curves: Any) -> None:
    changed = curves | {"optimum_low": [(m, v - 0.01 * (m == 3)) for m, v in curves["ball"]]}
    changed |= {"optimum_high": curves["ball"]}
    figure, _ = limits.make(ABOUT, changed, [])
    main, gaps, _ = figure.axes
    assert [m for m, _ in places(named(main, "_optimum"))] == [0, 1, 2, 4, 5, 6, 7]
    assert "best protocol: in here" in entries(figure)
    (bars,) = (c for c in gaps.collections if c.get_label() == "_range")
    ((bottom, top),) = bars.get_segments()  # type: ignore[attr-defined]
    assert bottom[0] == top[0] == 3
    assert bottom[1] == places(named(gaps, "_ball"))[0][1]
    assert top[1] == pytest.approx(0.01)


def test_codes_are_unconnected_points_and_perfect_ones_at_distance_zero(
    drawn: tuple[Figure, Any], points: list[dict[str, Any]]
) -> None:
    main, gaps, _ = drawn[0].axes
    zero = places(named(gaps, "_ball"))[0][1]
    seen = set()
    for name in sorted({p["protocol"] for p in points}):
        held = [p for p in points if p["protocol"] == name]
        line = named(main, name)
        assert line.get_linestyle() == "None"
        assert places(line) == [(p["state_bits"], p["success"]) for p in held]
        seen.add((line.get_marker(), line.get_markerfacecolor()))
        for (m, height), p in zip(places(named(gaps, name)), held, strict=True):
            gap = p["wall_ball"] - p["success"]
            assert m == p["state_bits"]
            assert height == (pytest.approx(gap) if gap else zero)
    assert len(seen) == len({p["protocol"] for p in points})
    assert dict(places(named(gaps, "hamming")))[4] == zero
    ticks = dict(zip(gaps.get_yticks(), gaps.get_yticklabels(), strict=True))
    assert ticks[zero].get_text() == "0"


def test_sampled_codes_show_intervals_and_chance_above_the_limit(curves: Any) -> None:
    limit = dict(curves["ball"])[4]
    interval = {"success_low": limit - 0.1, "success_high": limit + 0.02, "interval_level": 0.95}
    lucky = point("polar", 4, limit + 0.01, **interval)
    figure, notes = limits.make(ABOUT, curves, [lucky])
    main, gaps, _ = figure.axes
    assert notes == [
        "1 sampled code above the ball limit by chance, inside the interval: drawn at distance 0"
    ]
    (bar,) = (c for c in main.containers if c.get_label() == "_interval")
    (segment,) = bar[2][0].get_segments()
    assert segment[:, 1] == pytest.approx([limit - 0.1, limit + 0.02])
    (bar,) = (c for c in gaps.containers if c.get_label() == "_interval")
    (segment,) = bar[2][0].get_segments()
    zero = places(named(gaps, "_ball"))[0][1]
    assert segment[:, 1] == pytest.approx([zero, 0.1])
    assert "95 % interval" in entries(figure)


def test_nothing_is_drawn_that_is_not_known() -> None:
    figure, notes = limits.make(ABOUT, {"chance": [(0, 0.5), (7, 0.5)]}, [])
    main, gaps, cliff = figure.axes
    assert [line.get_label() for line in main.lines] == ["_chance"]
    assert [t.get_text() for t in gaps.texts] == ["no ball limit is known"]
    assert [t.get_text() for t in cliff.texts] == ["no limit is known"]
    assert notes == [
        "no proved limit is known for this problem: none is drawn",
        "no limit for streams is known for this problem",
    ]


@pytest.mark.parametrize(("n", "kind"), list(product((1, 2, 64), ("paper", "slides"))))
def test_nothing_is_cut_off(n: int, kind: str) -> None:
    problem = Index(n)
    about = ABOUT | {"n": n, "effective_n": n}
    some = [point(name, 0, 0.5, wall_ball=0.5) for name in ("polar", "linear", "mine", "golay")]
    figure, _ = limits.make(about, limits_curves(problem), some, kind)
    with style(kind):
        boxes = [axes.get_tightbbox() for axes in figure.axes]
        keys = [legend.get_window_extent() for legend in figure.legends]
    assert len(keys) == 2
    for box in [*boxes, *keys]:
        assert box is not None
        for inside, ends in (("x", (box.x0, box.x1)), ("y", (box.y0, box.y1))):
            contains = getattr(figure.bbox.padded(2), f"contains{inside}")
            assert all(contains(end) for end in ends)
    for first, second in product(boxes, keys):
        assert first is not None
        assert not first.padded(-1).overlaps(second)


def test_the_verb_writes_equal_files_twice(tmp_path: Path) -> None:
    first, notes = plot.limits(Index(5), tmp_path / "a")
    second, _ = plot.limits(Index(5), tmp_path / "b")
    assert notes == []
    assert [path.name for path in first] == ["a.png", "a.svg"]
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()
    with Image.open(first[0]) as image:
        assert image.size == (1400, 980)
    with pytest.raises(UsageError, match="paper or slides"):
        plot.limits(Index(5), tmp_path / "c", "poster")


@pytest.mark.parametrize("size", [20, 37])
def test_large_gadgets_keep_their_vertex_numbers(
    size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from statebound.experiments.figures import _save

    figures: list[Figure] = []
    monkeypatch.setattr(_save, "save", lambda figure, *_: figures.append(figure) or [])
    record = reduced("index", "istree", "01" * (size // 2) + "1" * (size % 2), 3)
    plot.graph(record, tmp_path / "g")
    figure = figures[0]
    numbers = [t for t in figure.axes[0].texts if t.get_text().isdigit()]
    assert sorted(int(t.get_text()) for t in numbers) == list(range(1, record["target_n"] + 1))
    with style("paper"):
        figure.draw_without_rendering()
        boxes = [t.get_window_extent() for t in numbers]
    for j, box in enumerate(boxes):
        assert not any(box.padded(-0.5).overlaps(other) for other in boxes[:j])


def test_a_gadget_beyond_forty_vertices_is_refused(tmp_path: Path) -> None:
    record = reduced("index", "istree", "0" * 38, 3)
    with pytest.raises(UsageError, match="at most 40"):
        plot.graph(record, tmp_path / "g")
    assert list(tmp_path.iterdir()) == []
