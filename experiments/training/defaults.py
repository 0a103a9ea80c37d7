"""What trains well: for each model and regime the parts of a recipe that differ from `Recipe`'s.

Found by trial on Index at 7 to 32 bits, one bit a number.
"""

from __future__ import annotations

from typing import Any

ENCODING = "pairs"
"""Tokens that tell their position: without them the linear cells hardly learn."""

_MODELS: dict[str, dict[str, Any]] = {
    "rnn": {"rate": 0.02},
    "lstm": {"rate": 0.02},
    "s4d": {"settings": {"d_state": 2}},
    "s4d_real": {"settings": {"d_state": 1}},
    "deltanet": {"settings": {"width": 16}},
    "mamba": {"settings": {"d_state": 1, "d_conv": 1, "d_model": 16}},
}
_STEP: dict[str, Any] = {"steps": 1600, "rate": 0.02, "soften": 0.5}


def recommended(model: str, n: int, regime: str = "handoff") -> dict[str, Any]:
    """Return the parts of a recipe for a model at size n.

    Examples
    --------
    >>> recommended("rnn", 16)
    {'encoding': 'pairs', 'steps': 800, 'rate': 0.02}
    """
    steps = 400 if n <= 8 else 800 if n <= 16 else 1200
    found: dict[str, Any] = {"encoding": ENCODING, "steps": steps}
    found |= _MODELS.get(model, {})
    return found | _STEP if regime == "step" else found
