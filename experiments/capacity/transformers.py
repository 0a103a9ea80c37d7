"""Families of attention alone: to all tokens, in a sliding window, or both by turns.

Defaults are those of the classes in transformers 5.24, as is what its caches hold: the
keys and values of the last W - 1 tokens under a window of W.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from statebound.errors import UsageError
from statebound.experiments.capacity import parts
from statebound.experiments.capacity.config import Config
from statebound.experiments.capacity.parts import Part
from statebound.experiments.capacity.recurrent import positive

FULL, SLIDING = "full_attention", "sliding_attention"


@dataclass(frozen=True)
class Plain:
    """The defaults of a family of attention alone.

    Parameters
    ----------
    vocabulary, layers, width, heads
        Sizes.
    kv
        Heads of keys and values; None for as many as there are heads.
    head
        Their size; None for width / heads.
    window
        The default window; None for none.
    rule
        Which layers slide where no list says so: all if there is a window, all but every
        `period`-th, or those from ``max_window_layers`` on if ``use_sliding_window``.
    period
        Of the rule ``but every``.
    period_key
        The key that the period goes by, if any.
    grouped
        Whether keys and values may have fewer heads than queries, of any size.
    names
        Names of layers, width and heads, where they are others.
    """

    vocabulary: int
    layers: int
    width: int
    heads: int
    kv: int | None = None
    head: int | None = None
    window: int | None = None
    rule: Literal["all", "but every", "if used"] = "all"
    period: int = 1
    period_key: str | None = None
    grouped: bool = True
    names: tuple[str, str, str] = ("num_hidden_layers", "hidden_size", "num_attention_heads")


PLAIN = {
    "llama": Plain(32000, 32, 4096, 32),
    "mistral": Plain(32000, 32, 4096, 32, 8, window=4096),
    "ministral": Plain(32000, 32, 4096, 32, 8, window=4096),
    "mixtral": Plain(32000, 32, 4096, 32, 8),
    "gemma": Plain(256000, 28, 3072, 16, 16, 256),
    "gemma2": Plain(256000, 26, 2304, 8, 4, 256, 4096, "but every", 2),
    "gemma3_text": Plain(
        262208, 26, 2304, 8, 4, 256, 4096, "but every", 6, "sliding_window_pattern"
    ),
    "qwen2": Plain(151936, 32, 4096, 32, 32, window=4096, rule="if used"),
    "qwen3": Plain(151936, 32, 4096, 32, 32, 128, 4096, "if used"),
    "phi3": Plain(32064, 32, 3072, 32),
    "starcoder2": Plain(49152, 30, 3072, 24, 2),
    "cohere": Plain(256000, 40, 8192, 64),
    "cohere2": Plain(
        256000, 40, 8192, 64, None, None, 4096, "but every", 4, "sliding_window_pattern"
    ),
    "olmo": Plain(50304, 32, 4096, 32),
    "olmo2": Plain(50304, 32, 4096, 32),
    "olmo3": Plain(50304, 32, 4096, 32, None, None, 4096, "but every", 4),
    "granite": Plain(32000, 32, 4096, 32),
    "gpt_oss": Plain(201088, 36, 2880, 64, 8, 64, 128, "but every", 2),
    "gpt_neox": Plain(50432, 44, 6144, 64, grouped=False),
    "gpt2": Plain(50257, 12, 768, 12, grouped=False, names=("n_layer", "n_embd", "n_head")),
}


def plain(family: Plain) -> Callable[[Config, str], list[Part]]:
    """Return what gives the parts of a family of attention alone."""

    def given(config: Config, dtype: str) -> list[Part]:
        depth, breadth, many = family.names
        layers = config.layers(family.layers, key=depth)
        width = config.size(breadth, family.width)
        heads = config.size(many, family.heads)
        kv = heads
        if family.grouped:
            kv = config.size("num_key_value_heads", family.kv or heads, null=heads)
        size = positive(many, width // heads)
        if family.head is not None or (family.grouped and config.has("head_dim")):
            size = config.size("head_dim", family.head or size, null=size)
        window, kinds = _windows(config, family, layers)
        found: list[Part] = []
        if SLIDING in kinds:
            if window is None or window < 2:
                raise UsageError(
                    "sliding_window", window, "is no window of 2 or more", "give its size"
                )
            sliding = kinds.count(SLIDING)
            found += parts.keys_and_values(sliding, kv, size, dtype, window)
        if FULL in kinds:
            found += parts.keys_and_values(kinds.count(FULL), kv, size, dtype)
        return found

    return given


def _windows(config: Config, family: Plain, layers: int) -> tuple[int | None, list[str]]:
    """Return the window, and whether each layer slides."""
    used = family.rule != "if used" or config.flag("use_sliding_window", default=False)
    listed = config.has("layer_types")
    window = config.window(family.window) if used or listed else None
    if listed:
        return window, config.kinds("layer_types", layers, (FULL, SLIDING), list)
    if family.rule == "but every":
        period = family.period
        if family.period_key is not None:
            period = config.size(family.period_key, period)
        return window, [SLIDING if (i + 1) % period else FULL for i in range(layers)]
    if window is None:
        return None, [FULL] * layers
    first = config.size("max_window_layers", 28, least=0) if family.rule == "if used" else 0
    return window, [SLIDING if i >= first else FULL for i in range(layers)]


def latent(layers: int) -> Callable[[Config, str], list[Part]]:
    """Return what gives the parts of latent attention [1]_: one latent and one rotated key.

    This is what transformers 5 caches; implementations that expand the latent to keys and
    values before they cache hold more.

    References
    ----------
    .. [1] DeepSeek-AI, "DeepSeek-V2", arXiv:2405.04434, 2024.
    """

    def given(config: Config, dtype: str) -> list[Part]:
        depth = config.layers(layers)
        rank = config.size("kv_lora_rank", 512)
        rotated = config.size("qk_rope_head_dim", 64)
        held = rank + rotated
        return [Part("latent and rotated key", "kv", depth, (held,), held, held, dtype)]

    return given
