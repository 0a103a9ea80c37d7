"""The quadratic (attention) form of matrix states, and what crosses a handoff in each form.

    o_t = sum_(s <= t) (q_t . exp(L_ts) R(s-t) k_s) v_s,    L_ts = sum_(s < j <= t) g_j

for S' = diag(exp g) R(-1) S + k v^T with o = q S'. Linear attention has g = 0, retention a
constant g and a rotation R, Mamba-2 a g a head, and gated linear attention a g a key
channel. Written from that sum alone, in float64, and sharing nothing with the scans: an
independent second implementation of small sequences, quadratic in their length.

Both forms compute the same, but a message differs: the recurrent form hands over its state,
of fixed size; the quadratic form hands over the keys and values of all tokens so far. Decay
and rotation add nothing to either, since the sender can apply them up to the handoff: a
decay a key channel to the keys, a decay a head to the values.

Dao and Gu (2024), "Transformers are SSMs"; Katharopoulos et al. (2020).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from statebound.errors import UsageError

Floats = NDArray[np.float64]
FORMS = ("recurrent", "quadratic")


@dataclass(frozen=True)
class Terms:
    """What the attention form of a layer is made of, for one sequence of T inputs.

    Attributes
    ----------
    q, k, v
        (T, H, K), (T, H, K), (T, H, V), scaled and mapped already.
    log_decay, angles, normalise
        As `quadratic` takes them.
    skip
        (T, H, V), added to its outputs; none is 0.
    groups
        How many heads have keys of their own, where not all.
    """

    q: Floats
    k: Floats
    v: Floats
    log_decay: Floats | None = None
    angles: Floats | None = None
    normalise: bool = False
    skip: Floats | None = None
    groups: int | None = None

    def outputs(self) -> Floats:
        """Return what the layer reads, (T, H, V), by attention over all inputs so far."""
        o = quadratic(
            self.q,
            self.k,
            self.v,
            log_decay=self.log_decay,
            angles=self.angles,
            normalise=self.normalise,
        )
        return o if self.skip is None else o + self.skip

    def crossing_bits(self, form: str, tokens: int, bits: int) -> int:
        """Return how many bits cross a handoff after so many tokens, see `crossing_bits`."""
        _, heads, d_key = self.k.shape
        return crossing_bits(
            form,
            tokens,
            heads=heads,
            d_key=d_key,
            d_value=self.v.shape[2],
            bits=bits,
            groups=self.groups,
            normalise=self.normalise,
        )


def by_head(rows: Floats, heads: int) -> Floats:
    """Return rows (H C, T) as (T, H, C), in float64."""
    return np.asarray(rows, np.float64).T.reshape(rows.shape[1], heads, -1)


def spans(g: Floats) -> Floats:
    """Return L (T, T, ...): L[t, s] = g[s+1] + ... + g[t], and -inf where s > t.

    A masked running sum; the difference of two running sums would cancel when they are large.

    Parameters
    ----------
    g
        (T, ...).
    """
    T = len(g)
    at = np.arange(T)
    shape = (T, T) + (1,) * (g.ndim - 1)
    kept = np.where((at[:, None] > at).reshape(shape), g[:, None], 0.0)
    below = (at[:, None] >= at).reshape(shape)
    sums: Floats = np.where(below, np.cumsum(kept, axis=0), -np.inf)
    return sums


def rotated(x: Floats, turns: Floats) -> Floats:
    """Turn the channels 2j, 2j+1 of x (..., K) by the angles `turns` (..., K // 2)."""
    pairs = turns.shape[-1]
    z = (x[..., 0 : 2 * pairs : 2] + 1j * x[..., 1 : 2 * pairs : 2]) * np.exp(1j * turns)
    out = x.copy()
    out[..., 0 : 2 * pairs : 2], out[..., 1 : 2 * pairs : 2] = z.real, z.imag
    return out


def quadratic(
    q: Floats,
    k: Floats,
    v: Floats,
    *,
    log_decay: Floats | None = None,
    angles: Floats | None = None,
    normalise: bool = False,
) -> Floats:
    """Return the outputs (T, H, V) of a whole sequence from the zero state.

    Parameters
    ----------
    q, k
        (T, H, K), scaled and mapped already.
    v
        (T, H, V).
    log_decay
        g, (T, H) or (T, H, K); none is 0.
    angles
        theta, (K // 2): what R(1) turns pairs of channels by; none is 0.
    normalise
        Whether to divide by the sum of the weights.
    """
    T, H, _ = k.shape
    if log_decay is None:
        log_decay = np.zeros((T, H))
    if angles is not None:
        turns = np.arange(T)[:, None, None] * angles
        q, k = rotated(q, turns), rotated(k, turns)
    weights = np.exp(spans(log_decay))
    terms = "thk,shk,tsh->tsh" if log_decay.ndim == 2 else "thk,shk,tshk->tsh"
    scores = np.einsum(terms, q, k, weights)
    outputs: Floats = np.einsum("tsh,shv->thv", scores, v)
    if normalise:
        outputs = outputs / scores.sum(axis=1)[..., None]
    return outputs


def crossing_bits(
    form: str,
    tokens: int,
    *,
    heads: int,
    d_key: int,
    d_value: int,
    bits: int,
    groups: int | None = None,
    normalise: bool = False,
) -> int:
    """Return how many bits cross the handoff after so many tokens.

    Recurrent: ``heads d_key d_value`` numbers, and ``heads d_key`` more for a normaliser.
    Quadratic: ``groups d_key + heads d_value`` numbers a token; the sum of weights needs
    nothing more. So the quadratic form sends less only before H K V / (G K + H V) tokens.

    Parameters
    ----------
    form
        ``recurrent`` or ``quadratic``.
    tokens
        Tokens before the handoff.
    heads, d_key, d_value
        H, K, V.
    bits
        Bits a number.
    groups
        How many heads have keys of their own; all by default.
    normalise
        Whether the state has a normaliser.

    Examples
    --------
    >>> [crossing_bits(f, 4, heads=1, d_key=8, d_value=8, bits=1) for f in FORMS]
    [64, 64]
    """
    if form not in FORMS:
        raise UsageError("form", form, "is not a known form", f"choose {' or '.join(FORMS)}")
    if form == "recurrent":
        return bits * heads * d_key * (d_value + normalise)
    return bits * tokens * ((heads if groups is None else groups) * d_key + heads * d_value)
