"""Subjects whose loss under rounding is known."""

from __future__ import annotations

import numpy as np

VOCABULARY, LENGTH = 32, 40


class Induction:
    """A window of tokens, each held as one number t / V + 1 / 2V; answers by the longest match.

    The scores are of the token after the latest place whose last two tokens are those read,
    else whose last token is.
    """

    vocabulary = VOCABULARY

    def fresh(self):
        return {"seen": np.full(LENGTH, -1.0)}

    def read(self, tokens, state):
        seen, rows = state["seen"], []
        for token in tokens:
            seen = np.append(seen[1:], (token + 0.5) / VOCABULARY)
            rows.append(self.score(seen))
        return np.array(rows), {"seen": seen}

    def score(self, seen):
        held = np.floor(seen * VOCABULARY).astype(int)
        at = np.arange(1, LENGTH - 1)
        found = (held[at] == held[-1]) & (held[at + 1] >= 0) & (held[at + 1] < VOCABULARY)
        at = at[found]
        scores = np.zeros(VOCABULARY)
        np.maximum.at(scores, held[at + 1], at + LENGTH * (held[at - 1] == held[-2]))
        return scores


class HostileName:
    """Its state's key, and so every path, is HTML."""

    vocabulary = 4

    def fresh(self):
        return {"</td><script>alert('x')</script>": np.zeros(3), "<img src=http://x.y/>": 0.0}

    def read(self, tokens, state):
        (one, h), (two, s) = state.items()
        rows = []
        for token in tokens:
            h = np.tanh(np.roll(h, 1) + np.array((0.3 * token, 0.1, s)))
            s = 0.5 * s + float(token)
            rows.append([*h, s])
        return np.array(rows), {one: h, two: s}
