"""What every table of the hierarchy says about a success: its interval, and where from."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statebound.experiments.estimates import clopper_pearson
from statebound.models.constructions.ledger import Ledger

PROVED, COUNTED = "proved", "constructed, counted"
EXACT, SAMPLED = "constructed, exact over all", "constructed, sampled"


def generator(seed: int, n: int) -> np.random.Generator:
    """Return the generator of the inputs of size n; the models share them."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, n])))


def stated(success: Fraction | float | None, status: str) -> dict[str, Any]:
    """Return a success that is proved or counted, the same in all three places."""
    value = None if success is None else float(success)
    return {
        "success": value,
        "success_low": value,
        "success_high": value,
        "interval_level": None,
        "trials": None,
        "seed": None,
        "status": None if success is None else status,
    }


def judged(right: NDArray[np.bool_], seed: int, *, every: bool) -> dict[str, Any]:
    """Return the success of answers that were right or wrong (B,).

    On all inputs it is exact; else inputs are independent, one query each, and the interval
    is that of Clopper and Pearson.
    """
    trials, successes = len(right), int(np.count_nonzero(right))
    if every:
        return stated(Fraction(successes, trials), EXACT) | {"trials": trials}
    found = clopper_pearson(successes, trials)
    return {
        "success": found.best,
        "success_low": found.low,
        "success_high": found.high,
        "interval_level": found.level,
        "trials": trials,
        "seed": seed,
        "status": SAMPLED,
    }


def costs(ledger: Ledger) -> dict[str, Any]:
    """Return the columns of a ledger, and its record."""
    return {
        "recurrent_bits": ledger.recurrent_bits,
        "cache_bits": ledger.cache_bits,
        "tokens_written": ledger.tokens_written,
        "ledger": ledger.record(),
    }


def fixed(state_bits: int, *, written: int | None = 0) -> dict[str, Any]:
    """Return the same columns of a fixed state without a ledger; None: any number written."""
    return {
        "recurrent_bits": state_bits,
        "cache_bits": 0,
        "tokens_written": written,
        "ledger": None,
    }
