"""The state of published models in bits, from the configurations of this package."""

from __future__ import annotations

import pytest

from statebound.models.mamba2 import Mamba2, Mamba2Config
from statebound.protocols.problems.index import Index
from statebound.reductions.machine import cut


@pytest.mark.parametrize(
    ("width", "depth", "bits"), [(64, 16, 1245184), (128, 10, 1556480), (128, 18, 2801664)]
)
def test_the_mambas_of_the_paper(width, depth, bits):
    """d_state 16, expansion 2, convolutions of 4 taps with 3 live columns, in float32."""
    settings = {"layers": f"mamba*{depth}", "width": width, "d_inner": 2 * width}
    machine = cut(
        Index(2),
        "stack",
        init="random",
        quantiser="fp32",
        settings=settings | {"d_state": 16, "d_conv": 4},
    )
    assert machine.state_bits == 8 * machine.message_bytes == bits
    assert machine.numbers == bits // 32 == depth * 2 * width * (16 + 3)
    kept = {field.name.split(".")[1]: field.numbers for field in machine.spec.fields}
    assert sorted(kept.values()) == [3 * 2 * width, 16 * 2 * width]
    message = machine.encode(machine.problem.enumerate(0, 1))
    assert message.shape == (1, bits // 8)


def test_mamba2_of_130_million():
    (known,) = (p for p in Mamba2.published if p.model == "mamba2-130m")
    config = Mamba2Config.of(0, known.settings)
    state = config.heads * config.head_dim * config.d_state
    assert known.layers == 24
    assert known.layers * state == 4718592
    taps = known.layers * (config.d_conv - 1) * (24 * 64 + 2 * config.groups * 128)
    assert known.layers * config.numbers == 4718592 + taps
