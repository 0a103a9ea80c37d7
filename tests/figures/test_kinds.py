"""Every kind of figure, from the live list: its stored picture, and what all must keep to."""

from __future__ import annotations

import copy
import importlib.util
import random
from io import BytesIO
from itertools import combinations
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from matplotlib import colormaps
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from PIL import Image

from statebound.errors import UsageError
from statebound.experiments.figures._columns import Choices
from statebound.experiments.figures._maps import SHADES
from statebound.experiments.figures._style import style
from statebound.experiments.plot import KINDS

Row = dict[str, Any]
GOLDEN = Path(__file__).parent / "golden"
BLOCK = 5  # pixels: letters may be drawn a little otherwise by another library
FAR = 5.0  # of 255, root of the mean square over blocks
WORST = 60.0  # of 255, in any block


def _remake() -> ModuleType:
    about = importlib.util.spec_from_file_location("remake", GOLDEN / "remake.py")
    assert about is not None
    assert about.loader is not None
    module = importlib.util.module_from_spec(about)
    about.loader.exec_module(module)
    return module


REMAKE = _remake()
ROWS: dict[str, list[Row]] = REMAKE.load()


def rows_of(kind: str) -> list[Row]:
    return copy.deepcopy(ROWS[REMAKE.FIGURES[kind]])


def pixels(figure: Figure) -> np.ndarray:
    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=REMAKE.SMALL)
    return blocks(buffer)


def blocks(source: Any) -> np.ndarray:
    """Return an image as the means of its blocks, (rows, columns, colours)."""
    with Image.open(source) as image:
        held = np.asarray(image.convert("RGB"), float)
    height, width = (side // BLOCK * BLOCK for side in held.shape[:2])
    return (
        held[:height, :width]
        .reshape(height // BLOCK, BLOCK, width // BLOCK, BLOCK, 3)
        .mean(axis=(1, 3))
    )


def distance(first: np.ndarray, second: np.ndarray) -> tuple[float, float]:
    assert first.shape == second.shape
    apart = np.abs(first - second)
    return float(np.sqrt((apart**2).mean())), float(apart.max())


def entries(figure: Figure) -> list[str]:
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def test_every_kind_has_a_picture() -> None:
    assert set(REMAKE.FIGURES) == set(KINDS)
    assert {path.stem for path in GOLDEN.glob("*.png")} == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_a_figure_looks_as_its_stored_picture(kind: str) -> None:
    figure, _ = KINDS[kind].make(rows_of(kind))
    mean, worst = distance(pixels(figure), blocks(GOLDEN / f"{kind}.png"))
    assert mean < FAR
    assert worst < WORST


@pytest.mark.parametrize("kind", ["rescaled", "phase", "drift"])
def test_other_rows_look_otherwise(kind: str) -> None:
    changed = rows_of(kind)
    for row in changed:
        row["success"] = row["success_low"] = row["success_high"] = row["success"] * 0.8
    figure, _ = KINDS[kind].make(changed)
    mean, worst = distance(pixels(figure), blocks(GOLDEN / f"{kind}.png"))
    assert mean > FAR or worst > WORST


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_rows_is_of_no_consequence_and_none_is_changed(kind: str) -> None:
    rows = rows_of(kind)
    random.Random(3).shuffle(rows)
    before = copy.deepcopy(rows)
    figure, notes = KINDS[kind].make(rows)
    other, same = KINDS[kind].make(rows_of(kind))
    assert rows == before
    assert notes == same
    assert (pixels(figure) == pixels(other)).all()


@pytest.mark.parametrize("look", ["paper", "slides"])
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_cut_off_and_keys_cover_no_panel(kind: str, look: str) -> None:
    figure, _ = KINDS[kind].make(rows_of(kind), look)
    with style(look):
        figure.draw_without_rendering()
        panels = [axes.get_tightbbox() for axes in figure.axes if axes.axison]
        keys = [legend.get_window_extent() for legend in figure.legends]
    edge = figure.bbox.padded(1)
    for box in [*panels, *keys]:
        assert box is not None
        assert edge.containsx(box.x0)
        assert edge.containsx(box.x1)
        assert edge.containsy(box.y0)
        assert edge.containsy(box.y1)
    for panel in panels:
        assert panel is not None
        assert not any(panel.padded(-1).overlaps(key) for key in keys)
    for first, second in combinations(keys, 2):
        assert not first.padded(-1).overlaps(second)


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_that_broke_a_limit_is_ringed_and_noted(kind: str) -> None:
    rows = rows_of(kind)
    largest = max(row["n"] for row in rows)
    chosen = next(row for row in rows if row["n"] == largest and row["model"] is not None)
    chosen |= {"violates_wall": True, "leak": "told"}
    figure, notes = KINDS[kind].make(rows)
    rings = [line for axes in figure.axes for line in axes.lines if line.get_label() == "_broken"]
    assert rings
    assert "1 row that broke a proved limit, ringed" in notes
    assert "breaks a proved limit" in entries(figure)


@pytest.mark.parametrize("kind", KINDS)
def test_lines_are_told_apart_without_colour(kind: str) -> None:
    figure, _ = KINDS[kind].make(rows_of(kind))
    for axes in figure.axes:
        shown = [line for line in axes.lines if not str(line.get_label()).startswith("_")]
        looks = {
            (
                str(line.get_label()),
                line.get_marker(),
                line.is_dashed(),
                to_hex(line.get_markerfacecolor()) == "#ffffff",
            )
            for line in shown
        }
        assert len(looks) == len({look[1:] for look in looks})


def test_shades_rise_evenly_in_grey() -> None:
    red, green, blue = colormaps[SHADES](np.linspace(0, 1, 256))[:, :3].T
    lightness = 0.299 * red + 0.587 * green + 0.114 * blue
    assert (np.diff(lightness) > 0).all()
    assert lightness[-1] - lightness[0] > 0.6
    assert np.ptp(np.diff(lightness, n=1)) < 0.01


@pytest.mark.parametrize("kind", KINDS)
def test_a_single_row_is_drawn_or_refused_in_words(kind: str) -> None:
    for row in (rows_of(kind)[0], rows_of(kind)[-1]):
        refused = None
        try:
            figure, _ = KINDS[kind].make([row])
        except UsageError as error:
            refused = error
        else:
            assert figure.axes
        if kind in ("precision", "drift"):
            assert refused is not None
        assert refused is None or (kind != "lines" and refused.remedy)


@pytest.mark.parametrize("kind", KINDS)
def test_choices_that_a_figure_does_not_have_are_refused(kind: str) -> None:
    module = importlib.import_module(f"statebound.experiments.figures.{kind}")
    takes = getattr(module, "TAKES", ())
    given = {
        "x": Choices(x="n"),
        "y": Choices(y="success"),
        "group": Choices(group=("regime",)),
        "facet": Choices(facet=("regime",)),
    }
    for option, choices in given.items():
        if option in takes:
            KINDS[kind].make(rows_of(kind), "paper", choices)
        else:
            with pytest.raises(UsageError, match=f"has no choice of {option}"):
                KINDS[kind].make(rows_of(kind), "paper", choices)


@pytest.mark.parametrize("kind", KINDS)
def test_no_rows_is_a_usage_error(kind: str) -> None:
    with pytest.raises(UsageError, match="nothing to draw"):
        KINDS[kind].make([])
