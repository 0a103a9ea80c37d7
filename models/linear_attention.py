"""Linear attention: an associative memory that is a sum of outer products.

    S' = g S + k v^T,    o_r = q_r S'

g = 1 unless ``--set decay=0.97`` or the like says so. K key and V value dimensions, R query
heads that share keys and values; k, v and q are columns of ``k_proj.weight`` (K,
vocabulary), ``v_proj.weight`` (V, vocabulary) and ``q_proj.weight`` (R K, vocabulary).
State: S, K V numbers, unbounded while g = 1.

With the normaliser (normalise = 1) keys and queries pass the feature map elu(x) + 1, so
that weights are positive, and the output is their mean:

    z' = g z + phi(k),    o_r = phi(q_r) S' / (phi(q_r) . z' + 1e-10)

which adds z, K numbers, to the state.

Constructed parameters (V = 1, bits with positions): position a has key k_a and its
bit b the value 2b - 1. While n <= K the keys are unit vectors, so that S holds the
bits themselves; beyond, they are random signs, as they are from the start with
``--init random_keys``. Bit a is read by the sign of k_a . S. A query token writes nothing
(k = v = 0) and carries one query head for each bit of its parity: with u = (-1)^bit, the
answer's sign is the product of the heads.

How often is a random key read rightly? With values u = +-1, g = 1 and j the bit asked,

    u_j k_j . S = K + sum_(i != j) u_i u_j k_i . k_j,

and each of the n - 1 products k_i . k_j is a sum of K fair signs, independent of the others
(k_j being given) and of the values: the sum has mean 0 and variance K (n - 1). Taken as
normal, which is the only approximation, bit j is right with probability

    Phi(sqrt(K / (n - 1))),   Phi the normal distribution function.

With g < 1 the signal is g^a K at age a and the variance K (sum_b g^(2b) - g^(2a)) over all
ages b = 0..n-1, that is with SNR_a = K g^(2a) / (sum_b g^(2b) - g^(2a))

    success = mean over a of Phi(sqrt(SNR_a)).

When no age dominates the sum, the SNR_a add up to K whatever g is, and Phi(sqrt(.)) is
concave: for equally likely queries g = 1 is best, and forgetting only moves the knowledge.

Of a sign bit a number instead of S: S_c = k_jc u_j + T with T a sum of n - 1 fair signs, so
E[k_jc u_j sign S_c] = E[sign(1 + T)], about sqrt(2 / (pi n)) for large n. K of these, each
with variance about 1, make

    Phi(sqrt(2 K / (pi n))).

Katharopoulos et al. (2020); without its feature map and normaliser unless asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from statebound.errors import UsageError
from statebound.models._cell import Array, Config, Field, State, Tokens, Weights, multiple_of
from statebound.models._diagonal import real_scan
from statebound.models._dual import Terms
from statebound.models._keyed import KeyedCell
from statebound.models._lanes import LANES
from statebound.models._linear_attention import LinearLayer
from statebound.models._vocabulary import Vocabulary


@dataclass(frozen=True)
class LinearAttentionConfig(Config):
    """K by V, whether there is a normaliser (0 or 1), and g as text."""

    d_key: int
    d_value: int
    normalise: int = 0
    decay: str = "1"

    @property
    def numbers(self) -> int:
        """K times V, and K for the normaliser."""
        return self.d_key * (self.d_value + self.normalise)

    @classmethod
    def of(cls, numbers: int, settings: Mapping[str, Any]) -> Self:
        """V is 1 unless set, there is no normaliser and no decay."""
        cls.check_settings(settings)
        decay = cls.rate(settings)
        d_value = settings.get("d_value", 1)
        if d_value < 1:
            raise UsageError("set", f"d_value={d_value}", "must be positive", "pass 1 or more")
        normalise = cls.flag(settings)
        step = d_value + normalise
        d_key = settings.get("d_key", multiple_of(numbers, step, "linear_attention"))
        return cls(d_key, d_value, normalise, decay)

    def settings(self) -> dict[str, int | str]:
        """Return the settings; a decay of 1 is none."""
        settings = super().settings()
        if self.decay == "1":
            del settings["decay"]
        return settings

    @staticmethod
    def rate(settings: Mapping[str, Any]) -> str:
        """Return the setting ``decay``, a number in (0, 1], as text."""
        text = str(settings.get("decay", 1))
        try:
            held = 0 < float(text) <= 1
        except ValueError:
            held = False
        if not held:
            raise UsageError("set", f"decay={text}", "must be in (0, 1]", "write decay=0.97")
        return "1" if float(text) == 1 else text

    @staticmethod
    def flag(settings: Mapping[str, Any]) -> int:
        """Return the setting ``normalise``, 0 or 1."""
        normalise = int(settings.get("normalise", 0))
        if normalise > 1:
            raise UsageError("set", f"normalise={normalise}", "must be 0 or 1", "pass 0 or 1")
        return normalise


def features(x: Array) -> Array:
    """Return elu(x) + 1: x + 1 above 0 and exp(x) below."""
    return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))


class LinearAttention(KeyedCell):
    """The linear attention layer."""

    name: ClassVar[str] = "linear_attention"
    summary: ClassVar[str] = "sum of outer products k v^T"
    encoding: ClassVar[str] = "pairs"
    key_form: ClassVar[str] = "d_value = 1 and no normaliser"
    Config = LinearAttentionConfig
    layer = LinearLayer

    def __init__(
        self,
        config: LinearAttentionConfig,
        weights: Weights,
        vocabulary: Vocabulary,
        dtype: str = "float32",
    ) -> None:
        super().__init__(config, weights, vocabulary, dtype)
        K, V = config.d_key, config.d_value
        self.fields = (Field("S", (K, V)),)
        k, v = self.table("k_proj.weight"), self.table("v_proj.weight")
        if config.normalise:
            k = features(k)
            self.fields = (*self.fields, Field("z", (K,)))
        self._u: Array = np.ascontiguousarray((k[:, None] * v[None]).reshape(K * V, -1))
        self._k: Array = k
        self._a: Array = np.full(K * V, float(config.decay), self.dtype)

    @classmethod
    def shapes(
        cls, config: LinearAttentionConfig, vocabulary: Vocabulary
    ) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the key and value maps."""
        return {
            "k_proj.weight": (config.d_key, vocabulary.size),
            "v_proj.weight": (config.d_value, vocabulary.size),
        }

    @classmethod
    def readout_shapes(
        cls, config: LinearAttentionConfig, vocabulary: Vocabulary
    ) -> dict[str, tuple[int | None, ...]]:
        """Return the shape of the query map: any number of heads."""
        return {"q_proj.weight": (None, vocabulary.size)}

    @classmethod
    def config_of(cls, weights: Weights, settings: Mapping[str, Any]) -> LinearAttentionConfig:
        """Read K and V off the two maps; the rest is in the settings."""
        LinearAttentionConfig.check_settings(settings)
        K, V = weights["k_proj.weight"].shape[0], weights["v_proj.weight"].shape[0]
        flag, rate = LinearAttentionConfig.flag(settings), LinearAttentionConfig.rate(settings)
        return LinearAttentionConfig(K, V, flag, rate)

    @classmethod
    def random(
        cls,
        config: LinearAttentionConfig,
        vocabulary: Vocabulary,
        generator: np.random.Generator,
    ) -> Weights:
        """Draw standard normal keys, over sqrt(K), and values."""
        K, V = config.d_key, config.d_value
        return {
            "k_proj.weight": generator.standard_normal((K, vocabulary.size)) * K**-0.5,
            "v_proj.weight": generator.standard_normal((V, vocabulary.size)),
        }

    @classmethod
    def takes_keys(cls, config: LinearAttentionConfig) -> bool:
        """Whether values are numbers, and nothing is normalised."""
        return config.d_value == 1 and not config.normalise

    @classmethod
    def keyed(
        cls,
        config: LinearAttentionConfig,
        vocabulary: Vocabulary,
        generator: np.random.Generator,
        *,
        orthogonal: bool,
    ) -> Weights:
        """Return keys and values of every bit, and a query for every position that is asked."""
        n, K = vocabulary.length, config.d_key
        axes = orthogonal and n <= K
        keys = np.eye(K)[:n] if axes else 1.0 - 2.0 * generator.integers(0, 2, (n, K))
        k = np.zeros((K, vocabulary.size))
        v = np.zeros((1, vocabulary.size))
        k[:, : 2 * n] = np.repeat(keys, 2, axis=0).T
        v[0, : 2 * n] = np.tile([-1.0, 1.0], n)
        weights = {"k_proj.weight": k, "v_proj.weight": v}
        if vocabulary.parities:
            heads = max(len(p) for p in vocabulary.parities)
            q = np.zeros((heads, K, vocabulary.size))
            for query, positions in enumerate(vocabulary.parities):
                for head, position in enumerate(positions):
                    q[head, :, vocabulary.stream_tokens + query] = keys[position]
            weights["q_proj.weight"] = q.reshape(heads * K, -1)
        return weights

    def scan(self, state: State, tokens: Tokens) -> State:
        """Read tokens from `state`."""
        out = tuple(np.empty_like(part) for part in state)
        real_scan(state[0], tokens, self._a, self._u, out[0])
        if self.config.normalise:
            real_scan(state[1], tokens, self._a[: len(self._k)], self._k, out[1])
        return out

    def both_forms(self, tokens: Array) -> tuple[Array, Terms]:
        """Return q S', over q . z' with the normaliser, at each token; q = k without queries."""
        K, V, normalise = self.config.d_key, self.config.d_value, bool(self.config.normalise)
        k, v = self._k.T[tokens, None], self.table("v_proj.weight").T[tokens, None]
        state, outputs = self.start(1), []
        for token, q in zip(tokens, k[:, 0], strict=True):
            state = self.scan(state, np.full((1, 1, LANES), token, np.int32))
            S = state[0][0, :, 0].reshape(K, V)
            outputs.append(q @ S / (q @ state[1][0, :, 0] if normalise else 1.0))
        g = np.full(k.shape[:2], np.log(float(self.config.decay)))
        return np.stack(outputs), Terms(k, k, v, log_decay=g, normalise=normalise)

    @property
    def has_readout(self) -> bool:
        """Whether there are query heads, values of one dimension, and queries to read."""
        return (
            "q_proj.weight" in self.weights
            and self.config.d_value == 1
            and self.vocabulary.queries > 0
        )

    def logits(self, old: State, new: State, tokens: Tokens) -> Array:
        """Return (0, -prod_r(-o_r)), o_r = q_r . S'."""
        S = new[0]
        q = self.table("q_proj.weight").reshape(-1, self.config.d_key, self.vocabulary.size)
        sign = np.full((len(S), S.shape[2]), -1.0, S.dtype)
        for head in q:
            query = head[:, tokens[:, 0]]
            if self.config.normalise:
                query = features(query)
                query = query / (np.einsum("ktl,tkl->tl", query, new[1]) + S.dtype.type(1e-10))
            sign = sign * -np.einsum("ktl,tkl->tl", query, S)
        return np.stack([np.zeros_like(sign), sign], axis=1)


CELL = LinearAttention
