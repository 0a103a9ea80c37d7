"""The table of states: its lines are measured, and equal what is published."""

from __future__ import annotations

from pathlib import Path

import pytest

from statebound import registry
from statebound.experiments import catalogue
from statebound.models._build import PACKAGE, family

PAGE = Path(__file__).parents[2] / "docs" / "models.md"
SIZES = {  # numbers of all layers, from the published sizes by hand
    "mamba-130m": 24 * 1536 * (16 + 3),
    "mamba-2.8b": 64 * 5120 * (16 + 3),
    "mamba2-130m": 24 * (24 * 64 * 128 + 3 * (1536 + 2 * 128)),
    "rwkv-4-169m": 12 * 4 * 768,
    "recurrentgemma-2b, recurrent layers": 18 * 2560 * 4,
    "delta_net-1.3b": 24 * (16 * 128 * 128 + 3 * 3 * 2048),
    "gla-1.3b": 24 * 4 * 256 * 512,
}


def lines() -> list[str]:
    return [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line[:3] == "| `"]


def test_the_page_shows_every_model_at_its_default_size():
    shown = catalogue.page(catalogue.catalogue(registry.names(PACKAGE), published=False))
    found = [line for line in shown.splitlines() if line.startswith("| `")]
    assert found == lines()[: len(found)]


def test_the_page_shows_every_published_size():
    every = [known.model for n in registry.names(PACKAGE) for known in family(n).published]
    assert sorted(every) == sorted(SIZES)
    for name, numbers in SIZES.items():
        (line,) = [line for line in lines() if f"| {name} |" in line]
        assert f"| {numbers:,} | {16 * numbers:,} | 0 |" in line


def test_mamba_130m_is_measured():
    """24 layers of 29,184 live numbers; implementations store a dead column beside them."""
    (known,) = [k for k in family("mamba").published if k.model == "mamba-130m"]
    found = catalogue.row("mamba", known.model, known.layers, known.settings)
    assert found["numbers"] == 700_416
    assert found["state_bits"] == 16 * 700_416
    assert found["fields"] == "h 1536x16, conv 3x1536"


@pytest.mark.parametrize(("model", "growing"), [("attention", 8), ("hybrid", 4), ("gru", 0)])
def test_what_grows_is_told_a_token(model, growing):
    assert catalogue.row(model, "default", 1, None)["growing"] == growing
