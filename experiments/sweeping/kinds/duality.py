"""Two forms of one layer, `statebound duality`: the bits of each by handoff."""

from __future__ import annotations

from typing import Any


def rows(
    *,
    model: str,
    n: int,
    numbers: int | None = None,
    settings: str = "",
    bits: int = 16,
    seed: int = 0,
) -> list[dict[str, Any]]:
    """Return a row for each form at handoffs after 1, 2, 4, ... and n tokens."""
    from statebound.experiments import duality
    from statebound.experiments.request import parse_settings

    pairs = [text for text in settings.split(",") if text]
    found = duality.duality(
        model, n, numbers=numbers, bits=bits, settings=parse_settings(pairs), seed=seed
    )
    about = {
        name: found[name]
        for name in ("model", "n", "bits_per_number", "largest_difference", "equal_after", "seed")
    }
    return [
        {**about, "form": form, "tokens_read": row["tokens"], "message_bits": row[form]}
        for row in duality.rows(found)
        for form in ("recurrent", "quadratic")
    ]
