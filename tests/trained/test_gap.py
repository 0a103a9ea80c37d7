"""The gap figure: parts that add up to the wall, every machine in its place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from statebound.errors import UsageError
from statebound.experiments import plot
from statebound.experiments.figures import gap
from statebound.experiments.figures.gap import (
    LOST_ALICE,
    LOST_BOB,
    LOST_BOTH,
    OPTIMAL,
    OWN,
    UNKNOWN,
    columns,
    make,
)


def row(model: str | None = "gru", M: int = 4, **changes: Any) -> dict[str, Any]:
    return {
        "problem": "index",
        "n": 16,
        "effective_n": 16,
        "alphabet": 2,
        "query_law": "uniform",
        "chance": 0.5,
        "model": model,
        "protocol": None if model else "hamming",
        "init": "trained",
        "regime": "handoff",
        "state_bits": M,
        "bits_per_number": 1,
        "quantiser": "trained",
        "rounding": "nearest",
        "dtype": "float32",
        "encoding": "bits",
        "bob": "optimal",
        "machine_seed": None,
        "success": 0.65,
        "optimal_success": 0.65,
        "own_success": 0.6,
        "best_known": 0.7,
        "wall_ball": 0.75,
    } | changes


def only(*rows: dict[str, Any]) -> gap.Column:
    (column,), notes = columns(rows)
    assert notes == []
    return column


def parts(column: gap.Column) -> dict[str, float]:
    return {name: round(height, 9) for name, height in column.parts}


def test_the_parts_are_the_split_of_the_loss():
    column = only(row())
    assert (column.name, column.bits, column.bottom) == ("gru", 4, 0.5)
    assert parts(column) == {OWN: 0.1, LOST_BOB: 0.05, LOST_ALICE: 0.05, UNKNOWN: 0.05}
    assert column.wall == pytest.approx(0.75)
    assert [name for name, _ in column.parts] == [OWN, LOST_BOB, LOST_ALICE, UNKNOWN]


def test_what_is_not_known_is_not_split():
    sampled = only(row(optimal_success=None, bob="learned", success=0.62))
    assert parts(sampled) == {OWN: 0.1, LOST_BOTH: 0.1, UNKNOWN: 0.05}
    assert parts(only(row(own_success=None))) == {OPTIMAL: 0.15, LOST_ALICE: 0.05, UNKNOWN: 0.05}
    assert parts(only(row(best_known=None)))[UNKNOWN] == 0.1
    for changes in ({}, {"optimal_success": None}, {"own_success": None}, {"best_known": None}):
        assert only(row(**changes)).wall == pytest.approx(0.75)


def test_a_machine_may_be_better_than_known_codes():
    found = parts(only(row(success=0.72, optimal_success=0.72)))
    assert found == {OWN: 0.1, LOST_BOB: 0.12, LOST_ALICE: 0.0, UNKNOWN: 0.03}


def test_seeds_are_one_column_and_sizes_are_apart():
    drawn = {"init": "random", "quantiser": "quantile"}
    rows = [row(machine_seed=s, own_success=0.56 + s / 50, **drawn) for s in range(3)]
    rows += [row(M=2, regime="step", **drawn), row("rnn", M=2, **drawn)]
    found, notes = columns(rows)
    assert notes == []
    assert [(c.name, c.bits) for c in found] == [
        ("gru, random, step", 2),
        ("rnn, random", 2),
        ("gru, random", 4),
    ]
    assert parts(found[2])[OWN] == 0.08


def test_one_machine_is_one_column_whoever_answered():
    rows = [row(), row(bob="model", success=0.6)]
    assert parts(only(*rows)) == parts(only(rows[0]))
    sampled = row(bob="learned", optimal_success=None)
    found, _ = columns([*rows, sampled])
    assert [c.name for c in found] == ["gru, exact Bob", "gru, sampled Bob"]


def test_trained_machines_stand_alone():
    rows = [row(), row(None), row("s4d", init="random"), row("mqar", wall_ball=None)]
    found, notes = columns(rows)
    assert [c.name for c in found] == ["gru"]
    assert notes == ["1 row of machines that were not trained left out"]
    with pytest.raises(UsageError, match="no row is of a machine"):
        columns([row(None), row(wall_ball=None)])


def test_a_row_above_its_wall_is_told():
    _, notes = columns([row(optimal_success=0.8, success=0.8)])
    assert notes == ["gru: above its limit, so a bit was not counted"]


def bars(figure: Figure) -> dict[str, list[tuple[float, float]]]:
    """Return the lower and upper ends of the bars that are drawn, by part."""
    found: dict[str, list[tuple[float, float]]] = {}
    for container in figure.axes[0].containers:
        patch = container.patches[0]
        low = patch.get_y()
        name = str(container.get_label()).removeprefix("_")
        found.setdefault(name, []).append((round(low, 9), round(low + patch.get_height(), 9)))
    return found


def test_every_part_is_drawn_where_it_is():
    figure, notes = make([row(), row("rnn", optimal_success=None), row(M=8, wall_ball=1.0)])
    assert notes == []
    drawn = bars(figure)
    assert drawn[OWN] == [(0.5, 0.6)] * 3
    assert drawn[LOST_BOB] == [(0.6, 0.65)] * 2
    assert drawn[LOST_BOTH] == [(0.6, 0.7)]
    assert drawn[UNKNOWN] == [(0.7, 0.75), (0.7, 0.75), (0.7, 1.0)]
    axes = figure.axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["gru", "rnn", "gru"]
    assert axes.get_ylabel() == "success probability"
    assert {text.get_text() for text in axes.texts} == {"M = 4", "M = 8"}
    assert max(patch.get_y() + patch.get_height() for patch in axes.patches) <= 1.0
    (legend,) = figure.legends
    entries = [text.get_text() for text in legend.get_texts()]
    assert entries[0] == "impossible for any protocol"
    assert entries[-1] == "answered by the machine's own Bob"
    assert not any("not counted" in text for text in entries)


@pytest.mark.parametrize("style", plot.STYLES)
def test_the_picture_is_written(tmp_path, style):
    rows = [row(model, M) for model in ("gru", "rnn", "s4d") for M in (2, 4, 8)]
    files, notes = plot.gap(rows, tmp_path / "gap", style)
    assert notes == []
    assert [path.suffix for path in files] == [".png", ".svg"]
    with Image.open(files[0]) as image:
        assert "Source" in image.text
        pixels = np.asarray(image.convert("L"))
        assert len(np.unique(pixels)) > 20
