"""duality: one layer in its recurrent and in its attention form, and what each must send.

The two forms compute the same outputs. Cut at a handoff they differ: the recurrent form
hands over its state, of one size for ever; the attention form hands over the keys and
values of all tokens so far. Dao and Gu (2024); Katharopoulos et al. (2020).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from statebound.errors import UsageError
from statebound.models._dual import FORMS
from statebound.protocols.problem import make
from statebound.reductions.machine import uncut


def duality(
    model: str,
    n: int,
    *,
    numbers: int | None = None,
    bits: int = 16,
    settings: Mapping[str, int | str] | None = None,
    seed: int = 0,
) -> dict[str, Any]:
    """Run both forms of a layer on n random bits, in float64, and count both messages.

    Parameters
    ----------
    model
        A model whose layer has an attention form.
    n
        Bits of Index, a token each.
    numbers, settings
        The size of the model.
    bits
        Bits a number, of either form.
    seed
        Of the parameters and of the bits.

    Returns
    -------
    ``outputs`` (how many numbers were compared), ``largest_output`` and
    ``largest_difference``, and for every handoff after 1..n tokens the message bits of
    each form; ``equal_after`` is the last handoff at which the attention form's message
    is not the larger one.

    Raises
    ------
    UsageError
        When the model has no attention form, or a size does not fit.

    Examples
    --------
    >>> found = duality("gla", 12, bits=1)
    >>> found["recurrent_bits"][11], found["quadratic_bits"][11], found["equal_after"]
    (8, 108, 0)
    """
    if n < 1:
        raise UsageError("n", n, "must be at least 1", "pass 16, say")
    if not 1 <= bits <= 32:
        raise UsageError("bits", bits, "must be 1 to 32 bits a number", "pass a precision there")
    cell, encoding, _ = uncut(
        make("index", n),
        model,
        numbers=numbers,
        settings=settings,
        init="random",
        machine_seed=seed,
        dtype="float64",
    )
    generator = np.random.Generator(np.random.PCG64(seed))
    x = generator.integers(0, 2, (1, n), dtype=np.uint8)
    tokens = encoding.tokens(x)[0]
    try:
        recurrent, terms = cell.both_forms(tokens)
    except TypeError as error:
        raise UsageError(
            "model",
            model,
            "has no attention form here",
            "choose gla, linear_attention, mamba2 or retnet",
        ) from error
    quadratic = terms.outputs().reshape(n, -1)
    sent = {form: [terms.crossing_bits(form, t + 1, bits) for t in range(n)] for form in FORMS}
    window = bits * (cell.config.numbers - sum(f.numbers for f in cell.fields if not f.cache))
    for form in FORMS:  # a convolution's last inputs cross in both
        sent[form] = [each + window for each in sent[form]]
    smaller = [t + 1 for t in range(n) if sent["quadratic"][t] <= sent["recurrent"][t]]
    return {
        "model": model,
        "n": n,
        "config": cell.settings(),
        "bits_per_number": bits,
        "outputs": int(recurrent.size),
        "largest_output": float(np.abs(quadratic).max()),
        "largest_difference": float(np.abs(recurrent - quadratic).max()),
        "recurrent_bits": sent["recurrent"],
        "quadratic_bits": sent["quadratic"],
        "equal_after": max(smaller, default=0),
        "seed": seed,
    }


def rows(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the message bits of a record at handoffs after 1, 2, 4, ... and n tokens."""
    n, one, other = found["n"], found["recurrent_bits"], found["quadratic_bits"]
    at = sorted({*(2**j for j in range(n.bit_length())), n})
    return [{"tokens": t, "recurrent": one[t - 1], "quadratic": other[t - 1]} for t in at]


def words(found: dict[str, Any]) -> str:
    """Return in a sentence each whether the forms agree, and what is counted."""
    return (
        f"{found['model']}: {found['outputs']} outputs of both forms differ by at most "
        f"{found['largest_difference']:.1e}; the largest is {found['largest_output']:.2g}.\n"
        f"Bits that cross a handoff, {found['bits_per_number']} bits a number:\n"
    )
