"""Index by one search: right on all inputs, and what its text takes."""

from __future__ import annotations

import numpy as np
import pytest

from statebound.errors import UsageError
from statebound.models.constructions.searching import IndexSearch


@pytest.mark.parametrize("engine", ["re", pytest.param("re2", marks=pytest.mark.parity)])
@pytest.mark.parametrize("n", [1, 2, 5, 6])
def test_every_input(n, engine):
    if engine == "re2":
        pytest.importorskip("re2")
    x = np.repeat(np.arange(2**n)[:, None] >> np.arange(n) & 1, n, axis=0)
    query = np.tile(np.arange(n), 2**n)
    assert (IndexSearch(n, engine)(x, query) == x[np.arange(len(x)), query]).all()


def test_the_ledger_is_that_of_the_text():
    model = IndexSearch(100)
    ledger, text = model.ledger(), model.prompt(np.zeros(100, int))
    assert ledger.cache_bits == 8 * len(text)
    assert ledger.tokens_written == len(model.call(99))
    assert ledger.recurrent_fields == {"address": 7, "place": 5}
    with pytest.raises(UsageError, match=r"^n = 0:"):
        IndexSearch(0)
