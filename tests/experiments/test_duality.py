"""Both forms of a layer give the same outputs, and what each sends is counted."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statebound.errors import UsageError
from statebound.experiments.duality import duality, rows, words
from statebound.protocols.problems.index import Index
from statebound.reductions.machine import cut

SIZES = [
    ("gla", {"heads": 2, "d_key": 3, "d_value": 5}),
    ("retnet", {"heads": 2, "d_key": 5, "d_value": 2}),
    ("mamba2", {"heads": 4, "groups": 2, "head_dim": 2, "d_state": 3}),
    ("mamba2", {"heads": 2, "head_dim": 2, "d_state": 3, "d_conv": 4}),
    ("linear_attention", {"d_key": 4, "d_value": 3}),
    ("linear_attention", {"d_key": 4, "d_value": 3, "normalise": 1}),
]


@pytest.mark.parametrize(("model", "sizes"), SIZES, ids=str)
@pytest.mark.parametrize("n", [1, 2, 33])
def test_the_forms_agree_to_the_precision_of_floats(model, sizes, n):
    found = duality(model, n, settings=sizes, seed=n)
    assert found["outputs"] >= n
    assert 0 <= found["largest_difference"] < 1e-12 * found["largest_output"]


@pytest.mark.parametrize(("model", "sizes"), SIZES, ids=str)
def test_the_recurrent_form_sends_what_the_cut_machine_sends(model, sizes):
    found = duality(model, 9, settings=sizes, bits=3)
    machine = cut(Index(9), model, settings=sizes, bits=3, init="random", quantiser="quantile")
    message = machine.encode(np.ones((1, 9), np.uint8))
    assert set(found["recurrent_bits"]) == {machine.state_bits}
    assert len(message[0]) == -(-machine.state_bits // 8)


@settings(max_examples=15)
@given(st.integers(1, 60), st.integers(1, 32))
def test_one_message_grows_and_the_other_does_not(n, bits):
    found = duality("gla", n, bits=bits, settings={"d_key": 3, "d_value": 4})
    assert found["recurrent_bits"] == [12 * bits] * n
    assert found["quadratic_bits"] == [7 * bits * (t + 1) for t in range(n)]
    assert found["equal_after"] == 1
    assert [row["tokens"] for row in rows(found)][-1] == n
    json.dumps(found, allow_nan=False)
    assert "gla" in words(found)


def test_what_has_no_attention_form_is_refused():
    for model in ("gru", "deltanet"):
        with pytest.raises(UsageError, match="attention form"):
            duality(model, 4)
    with pytest.raises(UsageError, match="at least 1"):
        duality("gla", 0)
    with pytest.raises(UsageError, match="1 to 32"):
        duality("gla", 3, bits=33)
