"""mLSTM: the matrix memory of xLSTM, with exponential input gates.

    q, k, v = W_q x / sqrt(K), W_k x, W_v x;    i = exp(c(w_i x + b_i)),    c(u) = 15 tanh(u / 15)
    f       = sigmoid(c(w_f x + b_f)),  or exp of it with exp_forget = 1
    C'      = f C + i k v^T,    n' = f n + i k,    h = q C' / max(|q . n'|, 1)           (1)
    y       = W_out (norm(h) * sigmoid(W_o x))

H heads of K by V > 1 in a layer of width D; norm takes the mean away and divides by the standard
deviation of a head, which leaves nothing of a head of one value. Parameters: ``q.weight``,
``k.weight`` (H K, D), ``v.weight``, ``ogate_preact.weight`` (H V, D), ``igate_preact.weight``,
``fgate_preact.weight`` (H, D) with biases (H), ``multihead_norm.weight`` (H V),
``out_proj.weight`` (D, H V).

The gates make (1) overflow, so implementations keep C e^-s, n e^-s and s, with a running
maximum s = max(log f + s, log i) that has to begin at minus infinity, or somewhere. Here the
common scale is the *mass* z of all that was read:

    z' = f z + i,    C = z C~,    n = z n~,    z = e^m - 1

and the state is C~, n~ and m. Putting this into (1), with b = i / z' and a = f z / z' = 1 - b,

    C~' = a C~ + b k v^T,    n~' = a n~ + b k,
    h   = q z' C~' / max(|q . z' n~'|, 1) = q C~' / max(|q . n~'|, 1 / z'),

the same h for every z > 0. So C~ and n~ are weighted means of the k v^T and k that were
read, and never leave the convex hull of these; m = log(1 + z) is not negative and grows like
the logarithm of the gates' sum. The start state of zeros says that nothing was read: then
a = 0 and b = 1. A published state (C^, n^, s) is C~ = C^ e^s / z and likewise n~, where z may
be any mass, and no sum ever needs e^m:

    r  = max(m + min(log f, 0), log i, 0)
    A  = f z e^-r = exp(m + log f - r) (1 - e^-m),    B = i e^-r = exp(log i - r)
    a  = A / (A + B),    b = B / (A + B),    m' = r + log1p(A + B + e^-r - 1)

State: C~, n~ and m, H (K V + K + 1) numbers, as published. One a head is redundant: z C~ and
z n~ alone decide all outputs.

Initialised as the authors do it: maps normal of variance 2/(5 D), W_out of 4/D, biases of the
forget gates from 3 to 6 (with exp_forget: those that give the same f), of the input gates
normal of deviation 0.1 as in the paper's program. (That of xLSTM 7B has -10 there; |q . n'| is
then below 1/z for thousands of tokens, and n idle.) Only w_i, w_f and W_o, which they start at
0, are drawn like the other maps: gates that do not depend on the input would leave nothing to m
but the time.

Beck, Poeppel, Spanring, Auer, Prudnikova, Kopp, Klambauer, Brandstetter and Hochreiter (2024),
"xLSTM: extended long short-term memory"; the layer is that of xLSTM 7B (Beck et al. 2025).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from statebound.errors import UsageError
from statebound.jit import kernel
from statebound.models._activations import exp, expm1, log1p
from statebound.models._cell import Array, Field, State, Tokens, Weights
from statebound.models._heads import HeadsConfig, flag, parts, positive, solve
from statebound.models._lanes import LANES
from statebound.models._layer import Layer, LayerCell
from statebound.models._linear import linear
from statebound.models._matrix_state import decay_scan, read
from statebound.models._pointwise import layer_norm, logistic, softplus, tanh
from statebound.models._short_conv import BLOCK, serial

GATE_CAP = 15.0
INPUT_DEVIATION = 0.1
FORGET_BIASES = 3.0, 6.0
NORM_EPSILON = 1e-6
MOST_MASS = 40.0  # 1/z is kept above e^-40, so that what is read stays finite


@dataclass(frozen=True)
class MLSTMConfig(HeadsConfig):
    """H heads of K by V, in a layer of width D; exp_forget is 0 or 1."""

    exp_forget: int = 0

    @property
    def numbers(self) -> int:
        """H (K V + K + 1)."""
        return self.heads * (self.d_key * self.d_value + self.d_key + 1)

    @classmethod
    def of(cls, numbers: int, settings: Mapping[str, int]) -> Self:
        """One head with the greatest K up to V, D = H V and sigmoid forget gates, unless set."""
        cls.check_settings(settings)
        heads, d_key, d_value = cls.sizes(numbers, settings)
        width = cls.wide(settings, heads, d_key, d_value)
        return cls(heads, d_key, d_value, width, flag(settings, "exp_forget"))

    @classmethod
    def sizes(cls, numbers: int, settings: Mapping[str, int]) -> tuple[int, int, int]:
        """Return H, K and V for H (K V + K + 1) numbers."""
        heads = positive(settings, "heads", 1)
        if "d_value" in settings:
            d_value = positive(settings, "d_value", 1)
            if d_value == 1:
                raise UsageError(
                    "set", "d_value=1", "leaves nothing after the norm of a head", "pass 2 or more"
                )
            if "d_key" in settings:
                return heads, positive(settings, "d_key", 1), d_value
            return heads, solve(numbers, heads * (d_value + 1), heads, "mlstm"), d_value
        if "d_key" in settings:
            d_key = positive(settings, "d_key", 1)
            more = heads * (2 * d_key + 1)  # beside K (V - 1) a head
            return heads, d_key, solve(numbers, heads * d_key, more, "mlstm") + 1
        product = solve(numbers, heads, heads, "mlstm")  # K (V + 1)
        if product < 3:
            raise UsageError("numbers", numbers, "mlstm needs 4 a head", f"pass {4 * heads}")
        d_key = max(K for K in range(1, product) if product % K == 0 and product // K > K)
        return heads, d_key, product // d_key - 1


@kernel
def _share(m: Any, i: Any, f: Any, zero: Any, one: Any) -> Any:
    """Return the share of what was read before, that of the new token, and the new m.

    Where both vanish in floating point all is the new token's.
    """
    m = max(m, zero)
    r = max(m + min(f, zero), i, zero)
    old, new = exp(m + f - r) * -expm1(-m), exp(i - r)
    total = old + new
    m = r + log1p(max(total + expm1(-r), zero))
    some = total > zero
    return old / total if some else zero, new / total if some else one, m


@kernel
def _shares(m: Array, which: Tokens, i: Array, f: Array, a: Array, b: Array, out: Array) -> None:
    """Take the mass through a sequence.

    m, out (tiles, H, LANES); which (tiles, T, LANES); i and f, the logarithms of the gates,
    (H, columns); a and b, the shares of old and new, (H, tiles T LANES).
    """
    tiles, T = which.shape[0], which.shape[1]
    zero, one = np.zeros(1, m.dtype)[0], np.ones(1, m.dtype)[0]
    for tile in range(tiles):
        for h in range(m.shape[1]):
            now = out[tile, h]
            for lane in range(LANES):
                now[lane] = m[tile, h, lane]
            for t in range(T):
                first = (tile * T + t) * LANES
                old, new = a[h, first : first + LANES], b[h, first : first + LANES]
                for lane in range(LANES):
                    at = which[tile, t, lane]
                    one_share = _share(now[lane], i[h, at], f[h, at], zero, one)
                    old[lane], new[lane], now[lane] = one_share


@kernel
def _weigh(m: Array, qC: Array, qn: Array, most: float, out: Array) -> None:
    """Compute qC / max(|qn|, 1/z), both multiplied by z / (1 + z) = 1 - e^-m.

    m, qn (tiles, H, LANES); qC, out (tiles, H V, LANES).
    """
    tiles, heads, _ = m.shape
    V = qC.shape[1] // heads
    zero, cap = np.zeros(1, m.dtype)[0], np.full(1, most, m.dtype)[0]
    for tile in range(tiles):
        for h in range(heads):
            for i in range(LANES):
                mass = max(m[tile, h, i], zero)
                share = -expm1(-mass)
                under = max(share * abs(qn[tile, h, i]), exp(-min(mass, cap)))
                for j in range(h * V, (h + 1) * V):
                    out[tile, j, i] = share * qC[tile, j, i] / under


class MLSTMLayer(Layer):
    """The layer of the mLSTM; streams k, v, log i, log f, q and the output gate."""

    Config = MLSTMConfig

    def __init__(self, config: MLSTMConfig, weights: Weights, dtype: np.dtype[Any]) -> None:
        self.config, self.width = config, config.width
        H, K, V = config.heads, config.d_key, config.d_value
        self.fields = (Field("C", (H, K, V)), Field("n", (H, K)), Field("m", (H,), low=0.0))
        self._w = {name: np.ascontiguousarray(weights[name], dtype) for name in self.shapes(config)}
        self._q = self._w["q.weight"] * dtype.type(K**-0.5)

    @classmethod
    def shapes(cls, config: MLSTMConfig) -> dict[str, tuple[int, ...]]:
        """Return the shapes under the authors' names."""
        D, H = config.width, config.heads
        HK, HV = H * config.d_key, H * config.d_value
        return {
            "q.weight": (HK, D),
            "k.weight": (HK, D),
            "v.weight": (HV, D),
            "ogate_preact.weight": (HV, D),
            "igate_preact.weight": (H, D),
            "igate_preact.bias": (H,),
            "fgate_preact.weight": (H, D),
            "fgate_preact.bias": (H,),
            "multihead_norm.weight": (HV,),
            "out_proj.weight": (D, HV),
        }

    @classmethod
    def config_of(cls, weights: Weights, settings: Mapping[str, int]) -> MLSTMConfig:
        """Read H off the gates, and K, V and D off the maps."""
        MLSTMConfig.check_settings(settings)
        heads = weights["igate_preact.weight"].shape[0]
        HK, D = weights["k.weight"].shape
        V = parts(weights["v.weight"].shape[0], heads)
        return MLSTMConfig(heads, parts(HK, heads), V, D, flag(settings, "exp_forget"))

    @classmethod
    def random(cls, config: MLSTMConfig, generator: np.random.Generator) -> Weights:
        """Draw the maps and set the biases as the authors do."""
        H, D = config.heads, config.width
        drawn: Weights = {}
        for name, shape in cls.shapes(config).items():
            if len(shape) == 2:
                scale = 2.0 if name == "out_proj.weight" else 0.4**0.5
                drawn[name] = generator.standard_normal(shape) * scale * D**-0.5
        forget = np.linspace(*FORGET_BIASES, H)
        drawn["igate_preact.bias"] = generator.standard_normal(H) * INPUT_DEVIATION
        drawn["fgate_preact.bias"] = -np.log1p(np.exp(-forget)) if config.exp_forget else forget
        drawn["multihead_norm.weight"] = np.ones(H * config.d_value)
        return drawn

    def _gate(self, name: str, inputs: Array) -> Array:
        w = self._w
        raw = linear(w[f"{name}_preact.weight"], inputs, w[f"{name}_preact.bias"])
        cap = raw.dtype.type(GATE_CAP)
        capped: Array = cap * tanh(raw / cap)
        return capped

    def project(self, inputs: Array) -> Array:
        """Return k, v, log i, log f, q / sqrt(K) and the output gate: (H (2 K + 2 V + 2), R)."""
        forget = self._gate("fgate", inputs)
        return np.concatenate(
            [
                linear(self._w["k.weight"], inputs),
                linear(self._w["v.weight"], inputs),
                self._gate("igate", inputs),
                forget if self.config.exp_forget else -softplus(-forget),
                linear(self._q, inputs),
                linear(self._w["ogate_preact.weight"], inputs),
            ]
        )

    def _split(self, streams: Array) -> list[Array]:
        H = self.config.heads
        HK, HV = H * self.config.d_key, H * self.config.d_value
        return np.split(streams, np.cumsum([HK, HV, H, H, HK]))

    def advance(self, state: State, streams: Array, which: Tokens) -> State:
        """Go through a sequence."""
        k, v, i, f, _, _ = self._split(streams)
        H, tiles = self.config.heads, len(which)
        C, n, m = (part.copy() for part in state)
        block = max(1, BLOCK // ((len(k) + len(v)) * tiles * LANES))
        for t in range(0, which.shape[1], block):
            now = np.ascontiguousarray(which[:, t : t + block])
            a, b = np.empty((H, now.size), m.dtype), np.empty((H, now.size), m.dtype)
            _shares(m.copy(), now, i, f, a, b, m)
            at, columns = serial(now), now.reshape(-1)
            keys = np.ascontiguousarray(k[:, columns])
            values = v[:, columns] * np.repeat(b, self.config.d_value, axis=0)
            decay_scan(C, H, keys, values, a, at, at)
            decay_scan(n, H, keys, b, a, at, at)
        return C, n, m

    def read(self, old: State, new: State, streams: Array, which: Tokens) -> Array:
        """Return h, (tiles, H V, LANES)."""
        C, n, m = new
        q, H = self._split(streams)[4], self.config.heads
        qC, qn = read(C, H, self.config.d_value, q, which), read(n, H, 1, q, which)
        out = np.empty_like(qC)
        _weigh(np.ascontiguousarray(m), qC, qn, MOST_MASS, out)
        return out

    def emit(self, reads: Array, streams: Array) -> Array:
        """Return W_out (norm(h) * sigmoid(gate))."""
        normed = layer_norm(reads, self.config.heads, NORM_EPSILON)
        gated = normed * self._w["multihead_norm.weight"][:, None]
        return linear(self._w["out_proj.weight"], gated * logistic(self._split(streams)[5]))


class MLSTM(LayerCell):
    """The matrix memory of xLSTM."""

    name: ClassVar[str] = "mlstm"
    summary: ClassVar[str] = "xLSTM's matrix memory with exponential gates"
    layer = MLSTMLayer
    Config = MLSTMConfig


CELL = MLSTM
