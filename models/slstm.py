"""sLSTM: the scalar memory of xLSTM, with exponential gates and a memory mixed by heads.

    i~, f~, z~, o~ = W x + R h + b;    z = tanh(z~),  o = sigmoid(o~)
    i  = exp(i~),    f = sigmoid(f~),  or exp(f~) with exp_forget = 1
    c' = f c + i z,  n' = f n + i,     h' = o c' / n',    y = (1 + w) * norm(h')         (1)

d units in H heads, each with d/H units that see each other: W and R are block-diagonal. norm
takes the mean away and divides by the standard deviation of a head, which leaves nothing of a
head of one unit, so d > H. Parameters: ``igate.weight``, ``fgate.weight``, ``zgate.weight``,
``ogate.weight`` (H, d/H, d/H), ``recurrent_kernel`` (H, d/H from, 4, d/H to), ``bias`` (H, 4,
d/H), gates in the order i, f, z, o, and ``group_norm.weight`` (d), which is w. (The authors'
program feeds the map that it names fgate to the input gate, and the other way round; here the
names mean what they say.) Their convolution before i and f is left out.

State: h, c, n and m, 4 d numbers. What is held for c and n in (1) is c e^-m and n e^-m, with

    m' = max(log f + m, i~),    or i~ where n = 0: then nothing was read, and m has no meaning,
    c' = A c + B z,  n' = A n + B,    A = exp(log f + m - m') (0 where n = 0),  B = exp(i~ - m').

(c, n, m) and (c s, n s, m - log s) mean the same, and give the same h, so this is (1) exactly.
The start state is all zeros and needs no minus infinity. One of A and B is 1 and n = 1 after
the first token, so from then on 1 <= n <= tokens read; |c| <= n because |z| <= 1; and m is at
least the newest i~ and, with sigmoid gates, at most the greatest i~. In exact arithmetic c/n,
h and m + log n would do, 3 d numbers; the 4 d that implementations keep are counted.

|c'/n'| <= 1 in every state that is reached. A quantised c and n may say otherwise, so the
quotient is cut off at 1, and h never leaves [-1, 1].

Initialised as the authors do it: maps normal of variance 2 H/(5 d), biases 0 but for f~,
5 - 12 (j / (d/H - 1))^0.3 for unit j of a head (with exp_forget log sigmoid of it), w = 0; R
uniform within 1/sqrt(d), of their two choices the one that is not 0.

Beck, Poeppel, Spanring, Auer, Prudnikova, Kopp, Klambauer, Brandstetter and Hochreiter (2024),
"xLSTM: extended long short-term memory".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from statebound.errors import UsageError
from statebound.jit import fma, kernel
from statebound.models._activations import exp, sigmoid, softplus, tanh
from statebound.models._cell import Array, Config, Field, State, Tokens, Weights
from statebound.models._heads import flag, positive, solve
from statebound.models._lanes import LANES
from statebound.models._layer import Layer, LayerCell
from statebound.models._linear import headwise
from statebound.models._pointwise import layer_norm

GATES = ("igate", "fgate", "zgate", "ogate")
FORGET_BIASES = 5.0, -12.0, 0.3  # of the first unit, the range, the power law


@dataclass(frozen=True)
class SLSTMConfig(Config):
    """d units in H heads; exp_forget is 0 or 1."""

    units: int
    heads: int
    exp_forget: int

    @property
    def numbers(self) -> int:
        """4 d."""
        return 4 * self.units

    @property
    def width(self) -> int:
        """D = d."""
        return self.units

    @classmethod
    def of(cls, numbers: int, settings: Mapping[str, int]) -> Self:
        """One head and sigmoid forget gates unless set."""
        cls.check_settings(settings)
        heads = positive(settings, "heads", 1)
        if "units" not in settings:
            more = 4 * heads  # a head has at least two units
            units = heads * (1 + solve(numbers, 4 * heads, more, "slstm"))
            return cls(units, heads, flag(settings, "exp_forget"))
        units = positive(settings, "units", 1)
        if units % heads or units == heads:
            raise UsageError(
                "set",
                f"units={units}",
                f"must be a multiple of heads={heads}, and more",
                f"pass {2 * heads} or {3 * heads}",
            )
        return cls(units, heads, flag(settings, "exp_forget"))


@kernel
def _mix(n: Any, m: Any, i: Any, f: Any, zero: Any) -> Any:
    """Return how much stays, how much enters, and the new m; i and f are logarithms."""
    kept = f + m
    most = max(kept, i) if n > zero else i
    return exp(kept - most) if n > zero else zero, exp(i - most), most


@kernel
def _scan(
    h: Array, c: Array, n: Array, m: Array, which: Tokens, x: Array, R: Array, exponential: bool
) -> None:
    """Run in place: h, c, n, m (tiles, d, LANES); x (4 d, columns); R (d, 4, d/H), a row a unit."""
    tiles, d, _ = h.shape
    size = R.shape[2]
    zero, one = np.zeros(1, h.dtype)[0], np.ones(1, h.dtype)[0]
    gates, old = np.empty((4, LANES), h.dtype), np.empty((d, LANES), h.dtype)
    for tile in range(tiles):
        for t in range(which.shape[1]):
            for j in range(d):
                for lane in range(LANES):
                    old[j, lane] = h[tile, j, lane]
            for j in range(d):
                for gate in range(4):
                    for lane in range(LANES):
                        gates[gate, lane] = x[gate * d + j, which[tile, t, lane]]
                    for k in range(size):
                        r, other = R[j, gate, k], j // size * size + k
                        for lane in range(LANES):
                            gates[gate, lane] = fma(r, old[other, lane], gates[gate, lane])
                if not exponential:
                    for lane in range(LANES):
                        gates[1, lane] = -softplus(-gates[1, lane])
                for lane in range(LANES):
                    i, f = gates[0, lane], gates[1, lane]
                    stays, enters, most = _mix(n[tile, j, lane], m[tile, j, lane], i, f, zero)
                    memory = fma(stays, c[tile, j, lane], enters * tanh(gates[2, lane]))
                    total = fma(stays, n[tile, j, lane], enters)
                    c[tile, j, lane], n[tile, j, lane], m[tile, j, lane] = memory, total, most
                    mean = min(max(memory / total, -one), one)
                    h[tile, j, lane] = sigmoid(gates[3, lane]) * mean


class SLSTMLayer(Layer):
    """The layer of the sLSTM; streams i~, f~, z~ and o~ before R h is added."""

    Config = SLSTMConfig

    def __init__(self, config: SLSTMConfig, weights: Weights, dtype: np.dtype[Any]) -> None:
        self.config, self.width = config, config.units
        d, size = config.units, config.units // config.heads
        names = ("c", "n", "m")
        self.fields = (Field("h", (d,), -1.0, 1.0), *(Field(name, (d,)) for name in names))
        w = {name: np.ascontiguousarray(weights[name], dtype) for name in self.shapes(config)}
        self._w = w
        kernel = w["recurrent_kernel"].transpose(0, 3, 2, 1)
        self._R: Array = np.ascontiguousarray(kernel).reshape(d, 4, size)

    @classmethod
    def shapes(cls, config: SLSTMConfig) -> dict[str, tuple[int, ...]]:
        """Return the shapes."""
        H, size = config.heads, config.units // config.heads
        shapes: dict[str, tuple[int, ...]] = {f"{gate}.weight": (H, size, size) for gate in GATES}
        shapes["recurrent_kernel"] = (H, size, 4, size)
        shapes["bias"] = (H, 4, size)
        shapes["group_norm.weight"] = (config.units,)
        return shapes

    @classmethod
    def config_of(cls, weights: Weights, settings: Mapping[str, int]) -> SLSTMConfig:
        """Read d and H off the biases."""
        SLSTMConfig.check_settings(settings)
        H, _, size = weights["bias"].shape
        return SLSTMConfig(H * size, H, flag(settings, "exp_forget"))

    @classmethod
    def random(cls, config: SLSTMConfig, generator: np.random.Generator) -> Weights:
        """Draw parameters as the authors do."""
        size = config.units // config.heads
        shapes = cls.shapes(config)
        drawn: Weights = {
            f"{gate}.weight": generator.standard_normal(shapes[f"{gate}.weight"])
            * (0.4 / size) ** 0.5
            for gate in GATES
        }
        bound = config.units**-0.5
        drawn["recurrent_kernel"] = generator.uniform(-bound, bound, shapes["recurrent_kernel"])
        first, span, power = FORGET_BIASES
        forget = first + span * (np.arange(size) / max(1, size - 1)) ** power
        drawn["bias"] = np.zeros(shapes["bias"])
        drawn["bias"][:, 1] = -np.log1p(np.exp(-forget)) if config.exp_forget else forget
        drawn["group_norm.weight"] = np.zeros(config.units)
        return drawn

    def project(self, inputs: Array) -> Array:
        """Return W x + b: (4 d, R), gate by gate."""
        bias = self._w["bias"]
        parts = [headwise(self._w[f"{g}.weight"], inputs, bias[:, i]) for i, g in enumerate(GATES)]
        return np.concatenate(parts)

    def advance(self, state: State, streams: Array, which: Tokens) -> State:
        """Go through a sequence."""
        h, c, n, m = (part.copy() for part in state)
        _scan(h, c, n, m, which, streams, self._R, bool(self.config.exp_forget))
        return h, c, n, m

    def read(self, old: State, new: State, streams: Array, which: Tokens) -> Array:
        """Return h', (tiles, d, LANES)."""
        return new[0]

    def emit(self, reads: Array, streams: Array) -> Array:
        """Return (1 + w) * norm(h')."""
        normed = layer_norm(reads, self.config.heads)
        out: Array = normed * (1 + self._w["group_norm.weight"][:, None])
        return out


class SLSTM(LayerCell):
    """The scalar memory of xLSTM."""

    name: ClassVar[str] = "slstm"
    summary: ClassVar[str] = "xLSTM's scalar memory with exponential gates"
    layer = SLSTMLayer
    Config = SLSTMConfig


CELL = SLSTM
