"""The hierarchy's figures show every row, and no name covers another."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from PIL import Image

from statebound.errors import UsageError
from statebound.experiments.figures import hierarchy
from statebound.experiments.figures._style import style
from statebound.experiments.hierarchy.record import draw, record

SMALL = {"bits": (8, 16, 32), "hops": (3, 16), "passes": (16, 32)}


@pytest.fixture(scope="module")
def records():
    return {what: record(what, sizes, trials=20) for what, sizes in SMALL.items()}


def lines(axes):
    return {line.get_label(): line.get_xydata() for line in axes.lines}


def shown(rows, kind, key, by="n"):
    held = sorted((row[by], row[key]) for row in rows if row["kind"] == kind)
    return np.array(held, float)


def test_bits_are_those_of_the_rows(records):
    made = records["bits"]
    (axes,) = hierarchy.make(made).axes
    drawn, rows = lines(axes), made["rows"]
    for label, kind, key in (
        ("_fixed state", "fixed state", "recurrent_bits"),
        ("_window", "window", "recurrent_bits"),
        ("_hybrid", "hybrid", "recurrent_bits"),
        ("_two passes", "two passes", "bits"),
        ("_query first", "query first", "bits"),
        ("_kept hybrid", "hybrid", "cache_bits"),
        ("_kept transformer", "transformer", "cache_bits"),
        ("_kept search", "search", "cache_bits"),
    ):
        assert (drawn[label] == shown(rows, kind, key)).all(), label
    assert axes.get_xscale() == axes.get_yscale() == "log"
    (shade,) = (c for c in axes.collections if c.get_label() == "_impossible")
    assert shade.get_paths()[0].vertices[:, 1].max() == drawn["_fixed state"][:, 1].max()


@pytest.mark.parametrize("kind", ["paper", "slides"])
def test_names_do_not_cover_one_another(records, kind):
    figure = hierarchy.make(records["bits"], kind)
    with style(kind):
        figure.draw_without_rendering()
        (axes,) = figure.axes
        boxes = [t.get_window_extent() for t in axes.texts if t.get_gid() == "end"]
    assert len(boxes) == 8
    for one, other in combinations(boxes, 2):
        assert min(one.y1, other.y1) - max(one.y0, other.y0) < 1
    assert all(box.x0 >= 0 and box.x1 <= figure.bbox.x1 for box in boxes)


def test_hops_are_exact_lines_and_measured_points(records):
    made = records["hops"]
    panels = hierarchy.make(made).axes
    assert len(panels) == 2
    for axes, n in zip(panels, made["sizes"], strict=True):
        drawn = lines(axes)
        for kind in ("1 layer", "2 layers", "4 layers", "1 layer, chain of thought"):
            rows = [row for row in made["rows"] if row["n"] == n]
            assert (drawn[f"_{kind}"] == shown(rows, kind, "success", "hops")).all()
            assert (drawn[f"_{kind} exact"] == shown(rows, kind, "expected", "hops")).all()
        assert len(drawn["_fixed state as large, at most"]) == 1
        assert len(drawn["_window, half the table"]) == (8 if n == 3 else 1)


def test_passes_are_those_of_the_rows(records):
    made = records["passes"]
    (axes,) = hierarchy.make(made).axes
    drawn = [line.get_xydata() for line in axes.lines if line.get_label() == "_disjointness"]
    for line, n in zip(drawn, made["sizes"], strict=True):
        rows = [row for row in made["rows"] if row["n"] == n]
        assert (line == shown(rows, "disjointness", "ratio", "state_bits")).all()
    assert lines(axes)["_floor"][:, 1].tolist() == [1, 1]
    assert "Index, two passes" in [text.get_text() for text in axes.texts]
    one = made | {"sizes": [16], "rows": [row for row in made["rows"] if row["n"] == 16]}
    (axes,) = hierarchy.make(one).axes
    assert "r = 1" in [text.get_text() for text in axes.texts]
    most = next(text for text in axes.texts if text.get_text().startswith("r = "))
    assert most.get_window_extent().y1 < axes.bbox.y1


def test_names_are_parted_by_the_least_moves():
    assert hierarchy._rising(np.array([1.0, 3.0, 2.0, 2.0, 5.0])).tolist() == [
        *(1, 7 / 3, 7 / 3, 7 / 3, 5),
    ]


def test_both_files_are_written(records, tmp_path):
    found = draw(records["passes"], tmp_path / "again")
    assert [path.name for path in found] == ["again.png", "again.svg"]
    with Image.open(found[0]) as image:
        assert "Source" in image.info
    with pytest.raises(UsageError, match="has no figure"):
        draw({"what": "ledger", "sizes": [32]}, tmp_path / "none")
