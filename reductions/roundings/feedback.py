"""feedback: what rounding takes away is added before the next rounding.

In a machine that quantises after every token, with v the new number, r the residual and Q
the quantiser,

    q' = Q(v + r),    r' = v + r - q',

so that small changes add up until they move q. r is a float32 (at most the largest) and a
part of the state: it crosses the handoff, 32 bits a number. It starts at 0. Entries of a
cache are quantised once and have none. Beyond the outermost values of a quantiser with a
fixed range r goes on growing: nothing winds it back.

A machine that quantises once, at the handoff, has nothing to feed back.
"""

from __future__ import annotations

from typing import ClassVar

from statebound.reductions.rounding import Rounding


class Feedback(Rounding):
    """Nearest, with a residual."""

    name: ClassVar[str] = "feedback"
    summary: ClassVar[str] = "nearest, the residual is added the next time; it crosses, 32 bits"
    keeps_residual: ClassVar[bool] = True


ROUNDING = Feedback
