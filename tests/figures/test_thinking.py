"""The thinking figure shows what rows say, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from statebound.errors import UsageError
from statebound.experiments.figures import thinking

TOKENS = (0, 1, 4, 16)


def row(model: str | None, seed: int, tokens: int, **changes: Any) -> dict[str, Any]:
    return {
        "problem": "index",
        "n": 10,
        "effective_n": 10,
        "alphabet": 2,
        "query_law": "uniform",
        "chance": 0.5,
        "model": model,
        "protocol": None if model else "linear",
        "regime": "handoff" if model else None,
        "machine_seed": seed if model else None,
        "state_bits": 6,
        "tokens": tokens,
        "success": 0.6 + 0.02 * seed - 0.002 * tokens,
        "interval_level": None,
        "optimal_success": 0.7 + 0.02 * seed,
        "wall_ball": 0.875,
        "information": 4.0 + seed,
        "transcript_information": min(tokens, 3.0),
        "leak": None,
    } | changes


def rows(*models: str | None) -> list[dict[str, Any]]:
    return [row(m, s, t) for m in models for t in TOKENS for s in ((0, 1) if m else (0,))]


def drawn(axes: Axes, name: str) -> list[Line2D]:
    return [line for line in axes.lines if line.get_label() == name]


def places(line: Line2D) -> list[tuple[float, float]]:
    return [(float(x), round(float(y), 9)) for x, y in np.asarray(line.get_xydata())]


def test_lines_levels_and_limits_are_those_of_the_rows():
    figure = thinking.make(rows("gru", None))
    left, right = figure.axes
    (own,) = drawn(left, "gru")
    assert places(own) == [(t, round(0.61 - 0.002 * t, 9)) for t in TOKENS]
    levels = sorted({round(float(line.get_ydata()[0]), 9) for line in drawn(left, "_optimal")})
    assert levels == [0.7, 0.71]
    assert {line.get_color() for line in drawn(left, "_optimal")} == {
        own.get_color(),
        drawn(left, "code: linear")[0].get_color(),
    }
    (wall,), (most,) = drawn(left, "_limit"), drawn(right, "_limit")
    assert set(wall.get_ydata()) == {0.875}
    assert set(most.get_ydata()) == {6}
    both, alone = drawn(right, "gru")
    assert [y for _, y in places(both)] == [4.5] * 4
    assert places(alone) == [(t, min(t, 3.0)) for t in TOKENS]
    assert left.get_xlim()[0] < 0 < 16 < left.get_xlim()[1]
    assert "tokens" in left.get_xlabel()
    assert "bits" in right.get_ylabel()


def test_the_order_of_rows_does_not_matter_and_none_is_changed():
    given = rows("gru", "rnn", None)
    before = [dict(r) for r in given]
    first, second = thinking.make(given), thinking.make(given[::-1])
    assert given == before
    for one, other in zip(first.axes, second.axes, strict=True):
        assert [places(line) for line in one.lines] == [places(line) for line in other.lines]


def test_a_problem_without_walls_has_neither_limit_nor_chance():
    bare = [r | {"wall_ball": None, "chance": None} for r in rows("gru")]
    left, right = thinking.make(bare, "slides").axes
    assert not drawn(left, "_limit")
    assert not drawn(left, "_chance")
    assert drawn(right, "_limit")


def test_both_regimes_of_a_model_are_two_lines():
    every = rows("gru") + [r | {"regime": "step"} for r in rows("gru")]
    left, _ = thinking.make(every).axes
    assert len(drawn(left, "gru, handoff")) == len(drawn(left, "gru, step")) == 1


def test_more_than_can_be_told_apart_is_refused():
    with pytest.raises(UsageError, match="tell apart"):
        thinking.make(rows(*"abcdefg"))
